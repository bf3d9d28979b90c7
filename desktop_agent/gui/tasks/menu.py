"""What can be done with a task, for its context menu in the list and in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.gui.kit.theme import Theme

# A longer menu can't be read; the others are picked from a list.
_MAX_BLOCKERS = 40

Edit = Callable[[TaskEdit], None]


def fill_task_menu(
    menu: QMenu, theme: Theme, task: Task, tasks: Sequence[Task], edit: Edit
) -> None:
    """Add the edits that make sense for this task."""
    if task.status == "completed":
        _add(menu, theme, "circle", _tr("Reopen"), lambda: edit(_status(task, "pending")), "Space")
    else:
        done = _status(task, "completed")
        _add(menu, theme, "circle-check", _tr("Mark as done"), lambda: edit(done), "Space")
        _add(menu, theme, "zap", _tr("Do this next"), lambda: edit(TaskEdit("next", task.id)))
        _add(menu, theme, "circle-slash", _tr("Skip"), lambda: edit(TaskEdit("skip", task.id)))
        _add_blockers(menu, theme, task, tasks, edit)
    menu.addSeparator()
    numbers = [one.id for one in tasks]
    place = numbers.index(task.id)
    up = TaskEdit("move", task.id, before=numbers[place - 1] if place else task.id)
    after = numbers[place + 2] if place + 2 < len(numbers) else 0
    down = TaskEdit("move", task.id, before=after)
    one_up = _add(menu, theme, "arrow-up", _tr("Move up"), lambda: edit(up), "Alt+Up")
    one_up.setEnabled(place > 0)
    one_down = _add(menu, theme, "arrow-down", _tr("Move down"), lambda: edit(down), "Alt+Down")
    one_down.setEnabled(place + 1 < len(numbers))
    menu.addSeparator()
    delete = TaskEdit("delete", task.id)
    _add(menu, theme, "trash-2", _tr("Delete"), lambda: edit(delete), "Del", token="err")


def _add_blockers(menu: QMenu, theme: Theme, task: Task, tasks: Sequence[Task], edit: Edit) -> None:
    others = [one for one in tasks if one.id != task.id]
    if not others:
        return
    submenu = menu.addMenu(theme.icon("lock"), _tr("Waits for"))
    for other in _nearest(task, tasks):
        action = submenu.addAction(_short(other.subject))
        action.setCheckable(True)
        action.setChecked(other.id in task.blocked_by)
        action.toggled.connect(
            lambda is_on, number=other.id: edit(_with_blocker(task, number, is_on=is_on))
        )
    if len(others) > _MAX_BLOCKERS:
        submenu.addSeparator()
        parent = menu.parentWidget()
        submenu.addAction(_tr("Another task…"), lambda: _ask_blocker(parent, task, others, edit))


def _nearest(task: Task, tasks: Sequence[Task]) -> list[Task]:
    """Return what it waits for already, and the tasks that stand around it."""
    place = next(n for n, one in enumerate(tasks) if one.id == task.id)
    first = max(0, min(place - _MAX_BLOCKERS // 2, len(tasks) - _MAX_BLOCKERS - 1))
    near = {one.id for one in tasks[first : first + _MAX_BLOCKERS + 1]} | {*task.blocked_by}
    return [one for one in tasks if one.id in near and one.id != task.id]


def _ask_blocker(parent: QWidget | None, task: Task, others: Sequence[Task], edit: Edit) -> None:
    """Ask for one of many tasks; typing finds it."""
    numbers = {f"#{one.id}  {_flat(one.subject)}": one.id for one in others}
    dialog = QInputDialog(parent)
    dialog.setObjectName("blockerDialog")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(_tr("Waits for"))
    dialog.setLabelText(_tr("“{subject}” waits for:").format(subject=_flat(task.subject)))
    dialog.setComboBoxItems(list(numbers))
    dialog.textValueSelected.connect(
        lambda text: edit(_with_blocker(task, numbers[text], is_on=True))
    )
    dialog.open()


def _with_blocker(task: Task, number: int, *, is_on: bool) -> TaskEdit:
    others = tuple(blocker for blocker in task.blocked_by if blocker != number)
    return TaskEdit("blockers", task.id, blocked_by=(*others, number) if is_on else others)


def _status(task: Task, status: str) -> TaskEdit:
    return TaskEdit("status", task.id, status="completed" if status == "completed" else "pending")


def _add(
    menu: QMenu,
    theme: Theme,
    icon: str,
    text: str,
    act: Callable[[], None],
    shortcut: str = "",
    token: str = "muted",
) -> QAction:
    action = menu.addAction(theme.icon(icon, token), text)
    action.triggered.connect(act)
    if shortcut:
        action.setShortcut(shortcut)
    return action


def _short(text: str) -> str:
    return _flat(text).replace("&", "&&")


def _flat(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 50 else f"{flat[:49]}…"


def _tr(text: str) -> str:
    return QCoreApplication.translate("TaskMenu", text)

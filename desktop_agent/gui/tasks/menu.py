"""What can be done with a task, for its context menu in the list and in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import named

# A longer menu can't be read; the others are picked from a list.
_MAX_BLOCKERS = 40

Edit = Callable[[TaskEdit], None]


def fill_task_menu(
    menu: QMenu,
    theme: Theme,
    task: Task,
    tasks: Sequence[Task],
    edit: Edit,
    shown: Sequence[int] = (),
) -> None:
    """Add the edits that make sense for this task; `shown` are those that it is moved among."""

    def add(
        icon: str, text: str, change: TaskEdit, keys: str = "", token: str = "muted"
    ) -> QAction:
        action = menu.addAction(theme.icon(icon, token), text, lambda: edit(change))
        action.setShortcut(keys)
        return action

    if task.status == "completed":
        add("circle", _tr("Reopen"), TaskEdit("status", task.id, status="pending"), "Space")
    else:
        done = TaskEdit("status", task.id, status="completed")
        add("circle-check", _tr("Mark as done"), done, "Space")
        add("zap", _tr("Do this next"), TaskEdit("next", task.id))
        add("circle-slash", _tr("Skip"), TaskEdit("skip", task.id))
        _add_blockers(menu, theme, task, tasks, edit)
    menu.addSeparator()
    numbers = list(shown) or [one.id for one in tasks]
    place = numbers.index(task.id)
    up = TaskEdit("move", task.id, before=numbers[place - 1] if place else task.id)
    after = numbers[place + 2] if place + 2 < len(numbers) else 0
    down = TaskEdit("move", task.id, before=after)
    add("arrow-up", _tr("Move up"), up, "Alt+Up").setEnabled(place > 0)
    add("arrow-down", _tr("Move down"), down, "Alt+Down").setEnabled(place + 1 < len(numbers))
    menu.addSeparator()
    add("trash-2", _tr("Delete"), TaskEdit("delete", task.id), "Del", token="err")


def _add_blockers(menu: QMenu, theme: Theme, task: Task, tasks: Sequence[Task], edit: Edit) -> None:
    others = [one for one in tasks if one.id != task.id]
    if not others:
        return
    submenu = menu.addMenu(theme.icon("lock"), _tr("Waits for"))
    for other in _nearest(task, tasks):
        is_on = other.id in task.blocked_by
        action = submenu.addAction(_flat(other.subject).replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(is_on)
        change = _with_blocker(task, other.id, is_on=not is_on)
        action.toggled.connect(lambda _=False, change=change: edit(change))
    if len(others) > _MAX_BLOCKERS:
        submenu.addSeparator()
        parent = menu.parentWidget()
        submenu.addAction(_tr("Another task…"), lambda: _ask_blocker(parent, task, others, edit))


def _nearest(task: Task, tasks: Sequence[Task]) -> list[Task]:
    """Return what it waits for already, and the tasks that stand around it."""
    place = next(n for n, one in enumerate(tasks) if one.id == task.id)
    first = max(0, min(place - _MAX_BLOCKERS // 2, len(tasks) - _MAX_BLOCKERS - 1))
    around = {one.id for one in tasks[first : first + _MAX_BLOCKERS + 1]} | {*task.blocked_by}
    return [one for one in tasks if one.id in around and one.id != task.id]


def _ask_blocker(parent: QWidget | None, task: Task, others: Sequence[Task], edit: Edit) -> None:
    """Ask for one of many tasks; typing finds it."""
    numbers = {f"#{one.id}  {_flat(one.subject)}": one.id for one in others}
    dialog = named(QInputDialog(parent), "blockerDialog")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(_tr("Waits for"))
    dialog.setLabelText(_tr("“{subject}” waits for:").format(subject=_flat(task.subject)))
    dialog.setComboBoxItems(list(numbers))

    def choose(text: str) -> None:
        edit(_with_blocker(task, numbers[text], is_on=True))

    dialog.textValueSelected.connect(choose)
    dialog.open()


def _with_blocker(task: Task, number: int, *, is_on: bool) -> TaskEdit:
    others = tuple(blocker for blocker in task.blocked_by if blocker != number)
    return TaskEdit("blockers", task.id, blocked_by=(*others, number) if is_on else others)


def _flat(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 50 else f"{flat[:49]}…"


def _tr(text: str) -> str:
    return QCoreApplication.translate("TaskMenu", text)

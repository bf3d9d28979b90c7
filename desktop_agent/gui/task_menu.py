"""What can be done with a task, for its context menu in the list and in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.gui.theme import Theme

# A longer menu can't be read; the graph serves then.
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
    others = [one for one in tasks if one.id != task.id][:_MAX_BLOCKERS]
    if not others:
        return
    submenu = menu.addMenu(theme.icon("lock"), _tr("Waits for"))
    for other in others:
        action = submenu.addAction(_short(other.subject))
        action.setCheckable(True)
        action.setChecked(other.id in task.blocked_by)
        action.toggled.connect(
            lambda is_on, number=other.id: edit(_with_blocker(task, number, is_on=is_on))
        )


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
    flat = " ".join(text.split()).replace("&", "&&")
    return flat if len(flat) <= 50 else f"{flat[:49]}…"


def _tr(text: str) -> str:
    return QCoreApplication.translate("TaskMenu", text)

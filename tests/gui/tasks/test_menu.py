"""What the menu of a task offers: every edit, for every task, however long the list is."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.tasks.menu import fill_task_menu
from tests.gui.tasks.test_panel import task


class Opened:
    """A menu, and the edits that were chosen in it."""

    def __init__(self, theme: Theme, parent: QWidget, chosen: Task, *others: Task) -> None:
        self.edits: list[TaskEdit] = []
        self.menu = QMenu(parent)
        fill_task_menu(self.menu, theme, chosen, others, self.edits.append)

    def action(self, text: str, menu: QMenu | None = None) -> QAction:
        return next(one for one in (menu or self.menu).actions() if one.text() == text)

    @property
    def blockers(self) -> QMenu:
        menu = self.action("Waits for").menu()
        assert isinstance(menu, QMenu)
        return menu


@pytest.fixture
def parent(qtbot) -> QWidget:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    return parent


def test_every_edit_is_in_the_menu(theme: Theme, parent: QWidget) -> None:
    tasks = (task(1), task(2), task(3))
    wanted = {
        "Mark as done": TaskEdit("status", 2, status="completed"),
        "Do this next": TaskEdit("next", 2),
        "Skip": TaskEdit("skip", 2),
        "Move up": TaskEdit("move", 2, before=1),
        "Move down": TaskEdit("move", 2, before=0),
        "Delete": TaskEdit("delete", 2),
    }
    for text, edit in wanted.items():
        menu = Opened(theme, parent, tasks[1], *tasks)
        menu.action(text).trigger()
        assert menu.edits == [edit]


def test_a_task_that_is_done_can_be_reopened_and_no_more_skipped(theme, parent) -> None:
    done = task(1, status="completed")
    menu = Opened(theme, parent, done, done, task(2))
    menu.action("Reopen").trigger()
    assert menu.edits == [TaskEdit("status", 1, status="pending")]
    assert "Skip" not in [action.text() for action in menu.menu.actions()]
    assert not menu.action("Move up").isEnabled()


def test_blockers_are_set_and_taken_away(theme: Theme, parent: QWidget) -> None:
    blocked = task(3, blocked_by=(1,), open_blockers=(1,))
    menu = Opened(theme, parent, blocked, task(1, blocks=(3,)), task(2), blocked)
    first, second = menu.blockers.actions()
    assert (first.isChecked(), second.isChecked()) == (True, False)
    second.trigger()
    first.trigger()
    assert [edit.blocked_by for edit in menu.edits] == [(1, 2), ()]


def test_of_a_long_list_the_menu_shows_what_is_near_and_any_other_can_be_picked(
    theme: Theme, parent: QWidget, qtbot
) -> None:
    chosen = task(200, blocked_by=(3,), open_blockers=(3,))
    tasks = [task(n) for n in range(1, 501)]
    tasks[199] = chosen
    menu = Opened(theme, parent, chosen, *tasks)
    shown = [action.text() for action in menu.blockers.actions() if action.isCheckable()]
    assert shown[0] == "task 3", "what it waits for is always there"
    assert {"task 199", "task 201"} <= set(shown)
    assert len(shown) < 50
    menu.action("Another task…", menu.blockers).trigger()
    dialog = parent.findChild(QInputDialog, "blockerDialog")
    assert len(dialog.comboBoxItems()) == 499
    dialog.setTextValue("#450  task 450")
    dialog.accept()
    assert menu.edits == [TaskEdit("blockers", 200, blocked_by=(3, 450))]

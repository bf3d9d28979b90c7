"""A task is moved where the user says, and what is done concerns the task it was begun with."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu

from desktop_agent.core.events import ListChanged
from desktop_agent.core.tasks import TaskEdit
from desktop_agent.gui.tasks.list_view import TaskListView
from desktop_agent.gui.tasks.panel import TaskPanel
from tests.gui.tasks.test_panel import AGENT, SESSION, index_of, opened, task
from tests.helpers.panels import follow, state_of

DONE = tuple(task(n, status="completed") for n in range(1, 10))
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def edits(panel: TaskPanel) -> list[TaskEdit]:
    """What the engine is asked for."""
    heard: list[TaskEdit] = []
    panel.edited.connect(heard.append)
    return heard


def test_the_first_open_task_stays_first_when_it_is_moved_up(panel, edits, qtbot) -> None:
    follow(panel, opened(*DONE, task(10), task(11), task(12)))
    panel.select(10)
    qtbot.keyClick(panel.list, Qt.Key.Key_Up, ALT)
    assert edits == [], "it went to the end"
    panel.select(11)
    qtbot.keyClick(panel.list, Qt.Key.Key_Up, ALT)
    assert edits == [TaskEdit("move", 11, before=10)]


def test_delete_on_the_line_of_completed_tasks_asks_for_nothing(panel, edits, qtbot) -> None:
    follow(panel, opened(*DONE, task(10)))
    panel.list.setCurrentIndex(index_of(panel, 0))
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    assert edits == []


def menu_of(panel: TaskPanel, number: int) -> QMenu:
    panel.list.customContextMenuRequested.emit(
        panel.list.visualRect(index_of(panel, number)).center()
    )
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return panel.findChildren(QMenu, options=direct)[0]


def test_the_menu_moves_a_task_over_what_is_shown_as_the_keys_do(panel, edits) -> None:
    follow(panel, opened(task(20), *DONE, task(10)))
    menu = menu_of(panel, 10)
    next(one for one in menu.actions() if one.text() == "Move up").trigger()
    assert edits == [TaskEdit("move", 10, before=20)], "it went over a task that is folded away"
    menu.close()


def test_rename_concerns_the_task_its_menu_was_opened_for(panel, edits, qtbot) -> None:
    follow(panel, opened(task(1), task(2), task(3)))
    menu = menu_of(panel, 2)
    follow(panel, ListChanged(AGENT, 2, (task(2), task(3))))
    next(one for one in menu.actions() if one.text() == "Rename").trigger()
    field = panel.list.findChild(object, "renameTask")
    assert field.text() == "task 2"
    menu.close()


class Drop(QDropEvent):
    """What was dragged from the list is let go over it."""

    def __init__(self, of: TaskListView, where: QPoint) -> None:
        action, button = Qt.DropAction.MoveAction, Qt.MouseButton.LeftButton
        super().__init__(
            QPointF(where), action, QMimeData(), button, Qt.KeyboardModifier.NoModifier
        )
        self._of = of

    def source(self) -> TaskListView:
        return self._of


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_task_that_went_while_it_was_dragged_takes_no_other_along(panel, edits, is_gone) -> None:
    follow(panel, opened(task(1), task(2), task(3), task(4)))
    panel.select(2)
    panel.list.startDrag(Qt.DropAction.MoveAction)
    if is_gone:
        follow(panel, ListChanged(AGENT, 2, (task(1), task(3), task(4))))
    panel.list.dropEvent(Drop(panel.list, panel.list.rect().bottomLeft()))
    assert edits == ([] if is_gone else [TaskEdit("move", 2, before=0)])


def test_a_task_dropped_on_the_line_of_completed_ones_is_the_first_open_one(panel, edits) -> None:
    follow(panel, opened(*DONE, task(10), task(11), task(12)))
    panel.select(12)
    panel.list.startDrag(Qt.DropAction.MoveAction)
    panel.list.dropEvent(Drop(panel.list, panel.list.visualRect(index_of(panel, 0)).topLeft()))
    assert edits == [TaskEdit("move", 12, before=10)]


def test_a_name_longer_than_its_field_takes_is_not_cut_by_looking_at_it(
    panel, edits, qtbot
) -> None:
    long = "word " * 150 + "\N{GRINNING FACE} end"
    follow(panel, opened(task(1, subject=long)))
    panel.select(1)
    qtbot.keyClick(panel.list, Qt.Key.Key_F2)
    field = panel.list.findChild(object, "renameTask")
    with qtbot.waitSignal(panel.list.tasks.closeEditor):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert edits == []


def test_what_may_not_be_deleted_here_is_not_said_to_be_deleted(panel, edits, qtbot) -> None:
    follow(panel, opened(task(1), task(2)))
    state = state_of(panel)
    panel.show_state(state, state.know_elsewhere(frozenset({SESSION})))
    panel.select(1)
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    assert edits == [TaskEdit("delete", 1)], "which is refused, and why is said"
    assert not panel.findChild(object, "undoTask").isVisible()

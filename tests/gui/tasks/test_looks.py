"""What a person sees and hears of tasks: each state looks and reads as what it is."""

from __future__ import annotations

from itertools import groupby

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtWidgets import QApplication, QProgressBar

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import AgentsChanged, ListChanged
from desktop_agent.gui.tasks.panel import SidePanel, TaskPanel
from tests.gui.tasks.test_panel import AGENT, SESSION, index_of, nodes, opened, show_graph, task
from tests.helpers.panels import follow
from tests.helpers.windows import Painted, turn_spinners

IDLE = AgentsChanged(SESSION, (AgentInfo(AGENT, SESSION, "Main"),))


@pytest.fixture
def side(qtbot, theme) -> SidePanel:
    theme.configure("light", reduce_motion=True)
    side = SidePanel(theme)
    qtbot.addWidget(side)
    side.resize(348, 600)
    side.show()
    yield side
    theme.configure("light", reduce_motion=False)


@pytest.fixture
def panel(side: SidePanel) -> TaskPanel:
    return side.tasks


def drawn(panel: TaskPanel, number: int) -> QImage:
    """Return what stands in a task's row, without its icon."""
    box = panel.list.visualRect(index_of(panel, number))
    return panel.list.viewport().grab(box.adjusted(44, 0, 0, 0)).toImage()


def icon(panel: TaskPanel, number: int) -> QImage:
    box = panel.list.visualRect(index_of(panel, number))
    return panel.list.viewport().grab(QRect(box.left(), box.top(), 44, 32)).toImage()


def shown(panel: TaskPanel, *, is_live: bool = True, **changes) -> QImage:
    follow(panel, opened(task(1, subject="the subject", **changes), is_live=is_live))
    return drawn(panel, 1)


def test_a_completed_task_is_struck_through_and_quiet(panel: TaskPanel) -> None:
    plain = shown(panel)
    done = shown(panel, status="completed")
    assert done != plain
    assert longest_line(done) > 50
    assert longest_line(plain) < 20


def test_a_subject_can_not_turn_its_line_around(panel: TaskPanel) -> None:
    follow(panel, opened(task(1, subject="a \u202egnp.exe"), task(2, subject="a gnp.exe")))
    assert drawn(panel, 1) == drawn(panel, 2)


def longest_line(image: QImage) -> int:
    """Return the length of the longest level line through the words."""
    ground, longest = image.pixelColor(0, 0), 0
    for y in range(image.height()):
        is_ink = [image.pixelColor(x, y) != ground for x in range(image.width())]
        runs = [len(list(run)) for ink, run in groupby(is_ink) if ink]
        longest = max(longest, *runs, 0)
    return longest


def test_what_is_worked_on_stands_on_a_second_line(panel: TaskPanel) -> None:
    plain = shown(panel, status="in_progress")
    told = shown(panel, status="in_progress", active_form="Running the tests")
    assert told.height() > plain.height()


def test_the_owner_stands_in_the_row_of_a_task_that_is_not_done(panel: TaskPanel) -> None:
    assert shown(panel, owner="explorer") != shown(panel)
    done = shown(panel, status="completed")
    assert shown(panel, status="completed", owner="explorer") == done


def test_each_state_has_an_icon_of_its_own(panel: TaskPanel) -> None:
    tasks = (
        task(1),
        task(2, status="in_progress"),
        task(3, status="completed"),
        task(4, status="completed", metadata_json='{"skipped": true}'),
        task(5, blocked_by=(1,), open_blockers=(1,)),
    )
    follow(panel, opened(*tasks, is_live=True))
    live = [icon(panel, one.id) for one in tasks]
    follow(panel, IDLE)
    every = [*live, icon(panel, 2)]
    assert all(a != b for n, a in enumerate(every) for b in every[:n])


def test_the_header_tells_how_much_is_done(panel: TaskPanel) -> None:
    done = [task(n, status="completed") for n in (1, 2, 3)]
    follow(panel, opened(*done, *(task(n) for n in (4, 5, 6, 7))))
    assert panel.count_label.text() == "3 / 7"
    bar = panel.findChild(QProgressBar, "taskProgress")
    assert (bar.value(), bar.maximum()) == (3, 7)


def test_a_list_is_never_cleared_by_painting_it(panel: TaskPanel, qtbot) -> None:
    """Everything is done and nobody runs; only the engine ends a list."""
    done = (task(1, status="completed"), task(2, status="completed"))
    follow(panel, opened(*done, is_live=True))
    with qtbot.assertNotEmitted(panel.edited), qtbot.assertNotEmitted(panel.filled):
        follow(panel, IDLE)
        follow(panel, ListChanged(AGENT, 2, done))
        panel.grab()
        QApplication.processEvents()
    assert [one.status for one in panel.tasks] == ["completed", "completed"]
    assert panel.list.model().rowCount() == 2


# -- what a screen reader is told ----------------------------------------------------------


def names(panel: TaskPanel) -> list[str]:
    view = QAccessible.queryAccessibleInterface(panel.list)
    return [view.child(n).text(QAccessible.Text.Name) for n in range(view.childCount())]


def test_a_screen_reader_is_told_subject_state_owner_and_what_blocks(panel: TaskPanel) -> None:
    tasks = (
        task(1, subject="Build", status="in_progress", owner="tester", active_form="Building"),
        task(2, subject="Plan", status="completed"),
        task(3, subject="Ship", owner="me", blocked_by=(1, 4), open_blockers=(1, 4)),
        task(4, subject="Sign"),
        task(5, subject="Skip it", status="completed", metadata_json='{"skipped": true}'),
    )
    follow(panel, opened(*tasks, is_live=True))
    assert names(panel) == [
        "Build, in progress, owner tester, Building",
        "Plan, completed",
        "Ship, waiting, owner me, waits for Build, Sign",
        "Sign, pending",
        "Skip it, skipped, Skipped by you",
    ]
    follow(panel, IDLE)
    assert names(panel)[0].startswith("Build, stalled, owner tester")


def test_a_screen_reader_is_told_of_a_change_at_once(panel: TaskPanel) -> None:
    follow(panel, opened(task(1, subject="Build"), task(2, blocked_by=(1,), open_blockers=(1,))))
    assert names(panel)[1] == "task 2, waiting, waits for Build"
    done = task(1, subject="Build", status="completed")
    follow(panel, ListChanged(AGENT, 2, (done, task(2, blocked_by=(1,)))))
    assert names(panel) == ["Build, completed", "task 2, pending"]


# -- what a spinner costs ------------------------------------------------------------------


@pytest.mark.parametrize("count", [20, 1000])
def test_a_spinner_paints_its_row_and_none_else(panel: TaskPanel, theme, count) -> None:
    theme.configure("light", reduce_motion=False)
    was_running = theme.pulse.is_running  # for something elsewhere
    tasks = [task(n, status="in_progress" if n in (3, 900) else "pending") for n in range(1, count)]
    follow(panel, opened(*tasks, is_live=True))
    panel.grab()
    QApplication.processEvents()
    painted = Painted(panel.list.viewport())
    turn_spinners(theme)
    QApplication.processEvents()
    assert painted.region.boundingRect() == panel.list.visualRect(index_of(panel, 3))
    follow(panel, IDLE)
    QApplication.processEvents()
    assert theme.pulse.is_running == was_running


@pytest.mark.parametrize("count", [20, 1000])
def test_a_change_of_one_task_of_many_paints_that_row(panel: TaskPanel, count, qtbot) -> None:
    tasks = [task(n) for n in range(1, count)]
    follow(panel, opened(*tasks))
    panel.grab()
    QApplication.processEvents()
    painted = Painted(panel.list.viewport())
    tasks[4] = task(5, subject="another")
    follow(panel, ListChanged(AGENT, 2, tuple(tasks)))
    middle = panel.list.visualRect(index_of(panel, 5)).center()
    qtbot.waitUntil(lambda: painted.region.contains(middle))
    if count > 300:
        assert painted.region.boundingRect() == panel.list.visualRect(index_of(panel, 5))
        painted.heights.clear()
        tasks[800] = task(801, subject="out of sight")
        follow(panel, ListChanged(AGENT, 3, tuple(tasks)))
        QApplication.processEvents()
        assert not painted.count


def test_a_change_keeps_selection_and_place_of_the_list(panel: TaskPanel) -> None:
    tasks = [task(n) for n in range(1, 1000)]
    follow(panel, opened(*tasks))
    panel.select(500)
    top = panel.list.indexAt(QPoint(100, 1)).row()
    follow(panel, ListChanged(AGENT, 2, (*tasks, task(1000, subject="new"))))
    QApplication.processEvents()
    assert panel.list.task_id(panel.list.currentIndex()) == 500
    assert panel.list.indexAt(QPoint(100, 1)).row() == top
    follow(panel, ListChanged(AGENT, 3, tuple(tasks[10:])))
    QApplication.processEvents()
    assert panel.list.task_id(panel.list.currentIndex()) == 500


def test_the_working_agent_stands_on_its_node(side: SidePanel) -> None:
    show_graph(side)

    def node(owner: str) -> QImage:
        worked = task(1, status="in_progress", owner=owner)
        follow(side, opened(worked, is_live=True))
        QApplication.processEvents()
        graph = side.graph
        box = graph.mapFromScene(nodes(graph)[1].sceneBoundingRect()).boundingRect()
        return graph.viewport().grab(box).toImage()

    assert node("explorer") != node("")

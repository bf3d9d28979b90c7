"""Subagents that have finished fold into one line, and nothing else moves because of it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.events import (
    ApprovalRequested,
    ListChanged,
    SessionOpened,
)
from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.messages import CommandDisplay, ToolCall
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.frame.side_panel import RightPanel
from desktop_agent.gui.kit.theme import Theme
from tests.gui.agents.test_painting import MAIN, SESSION, changed
from tests.helpers.panels import follow

LIVE, DEEP = AgentId("sa_live"), AgentId("sa_deep")


def agent(number: int | str, status: AgentStatus = "completed", **changes: Any) -> AgentInfo:
    now = time.time()
    values = {"parent_id": MAIN, "started_at": now - 90, "usage": Usage(900, 100), **changes}
    return AgentInfo(AgentId(f"sa_{number}"), SESSION, f"worker {number}", status=status, **values)


@pytest.fixture
def side(qtbot, theme: Theme) -> RightPanel:
    side = RightPanel(theme)
    qtbot.addWidget(side)
    side.resize(348, 900)
    follow(side, SessionOpened(SessionInfo(SESSION, MAIN, "t", Workspace("/w"), "m")))
    side.show()
    qtbot.waitExposed(side)
    return side


def hear(side: RightPanel, *agents: AgentInfo) -> None:
    follow(side, changed(*agents))
    side.agents.tree.flush()


def names(side: RightPanel) -> list[str]:
    return [one.key for one in side.agents.tree.model.rows()]


def line(side: RightPanel) -> QPushButton:
    return side.findChild(QPushButton, "finishedAgents")


def test_the_line_stands_right_below_the_rows_however_few(side, qtbot) -> None:
    ended = [agent(number) for number in range(4)]
    for shown in ((), (agent("live", "running"),)):
        hear(side, *ended, *shown)
        tree = side.agents.tree
        qtbot.waitUntil(lambda tree=tree: tree.view.height() == tree.view.sizeHint().height())
        assert line(side).text().strip() == "4 finished", "nobody knows that there are more"


def test_three_that_finished_are_one_line_that_opens(side, qtbot) -> None:
    ended = [agent(1), agent(2, "stopped"), agent(3, "over_budget")]
    hear(side, *ended[:2], agent("live", "running"))
    assert not line(side).isVisible()
    hear(side, *ended, agent("live", "running"))
    assert names(side) == [LIVE]
    heard = QAccessible.queryAccessibleInterface(line(side))
    assert (heard.text(QAccessible.Text.Name), heard.state().collapsed) == ("3 finished", True)
    qtbot.mouseClick(line(side), Qt.MouseButton.LeftButton)
    assert sorted(names(side)) == ["sa_1", "sa_2", "sa_3", LIVE]
    assert heard.state().expanded
    qtbot.mouseClick(line(side), Qt.MouseButton.LeftButton)
    assert names(side) == [LIVE]


def test_a_failure_the_one_that_is_looked_at_and_whose_subagents_work_stay_in_sight(side) -> None:
    ended = [agent(number) for number in range(5)]
    deep = agent("deep", "running", parent_id=AgentId("sa_1"))
    hear(side, *ended, agent("bad", "failed"), deep)
    assert sorted(names(side)) == ["sa_1", "sa_bad", DEEP]
    side.agents.select("sa_3")
    assert side.agents.tree.current.key == "sa_3"
    assert "sa_3" in names(side)
    assert "sa_4" not in names(side)
    hear(side, *ended, agent("bad", "failed"), deep)
    assert "sa_3" in names(side)


def test_no_row_goes_from_under_the_mouse(side, qtbot) -> None:
    working = [agent(number, "running") for number in range(4)]
    hear(side, *working)
    view = side.agents.tree.view
    where = view.visualRect(view.model().index(3, 0)).center()
    QTest.mouseMove(view.viewport(), where)
    qtbot.waitUntil(view.underMouse)
    hear(side, *[agent(number) for number in range(3)], working[3])
    assert len(names(side)) == 4
    QTest.mouseMove(side.tasks, QPoint(5, 5))
    qtbot.waitUntil(lambda: names(side) == ["sa_3"])


def _tops(side: RightPanel) -> tuple[int, int]:
    """Where the line under the tasks is, and the row of the last subagent."""
    view = side.agents.tree.view
    last = view.visualRect(view.model().index(view.model().rowCount() - 1, 0))
    return side.tasks.height(), view.viewport().mapTo(side, last.topLeft()).y()


def test_nothing_above_moves_when_an_agent_is_chosen_or_something_waits(side, qtbot) -> None:
    tasks = tuple(Task(number, f"Task {number}") for number in range(1, 40))
    follow(side, ListChanged(MAIN, 1, tasks))
    hear(side, agent(1, "running"), agent(2, "waiting_approval"))
    qtbot.waitUntil(lambda: 440 < side.tasks.height() == side.tasks.maximumHeight() < 700)
    before = _tops(side)
    side.agents.select("sa_2")
    qtbot.waitUntil(side.agents.strip.isVisible)
    qtbot.wait(0)
    assert _tops(side) == before
    call = ToolCall("c1", "shell")
    asked = ApprovalRequest(
        RequestId("rq"), AgentId("sa_2"), call, "Run a command?", CommandDisplay("ls", "/w")
    )
    follow(side, ApprovalRequested(AgentId("sa_2"), asked))
    qtbot.waitUntil(side.agents.asks.isVisible)
    qtbot.wait(0)
    assert _tops(side) == before


def test_ask_and_budget_are_words(side) -> None:
    hear(side, agent("live", "running"))
    side.agents.select(LIVE)
    shown = [one for one in side.agents.strip.findChildren(QPushButton) if one.isVisible()]
    assert {"Ask…", "Budget…"} <= {one.text().strip("\u2009 ") for one in shown}
    wide = side.agents.strip.contentsRect()
    places = [one.mapTo(side.agents.strip, one.rect().bottomRight()) for one in shown]
    assert all(wide.contains(place) for place in places)

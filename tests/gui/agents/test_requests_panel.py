"""The list of all that waits: nothing is missed, and nothing is allowed by mistake."""

from __future__ import annotations

import time

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import AllowOnce, ApprovalRequest, Deny
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, QuestionId, RequestId, SessionId
from desktop_agent.core.messages import CommandDisplay, DiffDisplay, ToolCall
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.forms import FormField, ServerForm
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.agents.request_row import RequestRow
from desktop_agent.gui.agents.requests_panel import ARM_S, RequestsPanel
from desktop_agent.gui.kit.theme import Theme
from tests.helpers.panels import follow

SESSION, MAIN, ONE, DEEP = SessionId("se"), AgentId("ag"), AgentId("sa_1"), AgentId("sa_2")
OTHER, ELSEWHERE = SessionId("se_2"), AgentId("ag_2")


def agents(one: str = "waiting_approval", deep: str = "waiting_approval"):
    return (
        AgentInfo(MAIN, SESSION, "Main", status="running"),
        AgentInfo(ONE, SESSION, "Research", status=one, parent_id=MAIN),  # type: ignore[arg-type]
        AgentInfo(DEEP, SESSION, "Prices", status=deep, parent_id=ONE),  # type: ignore[arg-type]
    )


def opened(*events, session=SESSION, main=MAIN, all_agents=None) -> SessionOpened:
    info = SessionInfo(session, main, "t", Workspace("/w"), "m")
    return SessionOpened(info, agents() if all_agents is None else all_agents, events)


def request(number: int, agent: AgentId = ONE, tool: str = "shell", at: float | None = None):
    return ApprovalRequested(
        agent,
        ApprovalRequest(
            RequestId(f"rq_{number}"),
            agent,
            ToolCall(f"c{number}", tool),
            "Run a command?",
            CommandDisplay(f"echo {number}", "/w"),
            created_at=time.time() - 100 + number if at is None else at,
        ),
    )


def question(number: int, agent: AgentId = ONE) -> QuestionAsked:
    asked = Question(QuestionId(f"qu_{number}"), agent, "c", "Which one?", (), time.time() + number)
    return QuestionAsked(agent, asked)


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def panel(qtbot, theme: Theme, clock) -> RequestsPanel:
    panel = RequestsPanel(theme)
    panel.clock = lambda: clock[0]
    qtbot.addWidget(panel)
    panel.resize(348, 400)
    follow(panel, opened())
    return panel


def rows(panel: RequestsPanel) -> list[RequestRow]:
    """In the order on screen."""
    found = panel.findChildren(RequestRow)
    column = found[0].parentWidget().layout() if found else None
    listed = [column.itemAt(place) for place in range(column.count())] if column else []
    return [item.widget() for item in listed]


def said(row: RequestRow, name: str) -> str:
    return row.findChild(QLabel, name).text()


def together(panel: RequestsPanel, name: str) -> QPushButton:
    return panel.findChild(QPushButton, name)


def keys(panel: RequestsPanel) -> list[str]:
    return [one.ask.key for one in rows(panel)]


def press(row: RequestRow, name: str) -> None:
    row.findChild(QPushButton, name).click()


def test_requests_of_the_whole_tree_stand_in_one_list_oldest_first(panel, clock) -> None:
    follow(panel, request(3, DEEP))
    follow(panel, request(1, MAIN))
    follow(panel, question(2))
    assert keys(panel) == ["rq_1", "rq_3", "qu_2"]
    assert [row.findChild(QLabel, "askWho").accessibleName() for row in rows(panel)] == [
        "Main",
        "Main ▸ Research ▸ Prices",
        "Main ▸ Research",
    ]
    assert not panel.isHidden()


def test_the_row_says_who_what_and_how_long_to_a_screen_reader(panel) -> None:
    follow(panel, request(1, DEEP, at=time.time() - 65))
    row = rows(panel)[0]
    said = "Main ▸ Research ▸ Prices asks: Run a command?, waiting 1:05"
    assert row.accessibleName() == said
    assert row.accessibleDescription() == "echo 1\nin /w"


def test_all_of_a_long_word_in_a_command_is_seen(panel) -> None:
    word = "x" * 300 + "/end"
    call, display = ToolCall("c9", "shell"), CommandDisplay(f"rm {word}", "/w")
    asked = ApprovalRequest(RequestId("rq_9"), ONE, call, "Run a command?", display)
    follow(panel, ApprovalRequested(ONE, asked))
    panel.show()
    label = rows(panel)[0].findChild(QLabel, "askEffect")
    assert label is not None
    assert label.text().replace("\u200b", "").startswith(f"rm {word}")
    room, flags = QRect(0, 0, panel.width() - 40, 0), Qt.TextFlag.TextWordWrap
    assert label.fontMetrics().boundingRect(room, flags, label.text()).width() <= room.width()


def test_hidden_characters_of_a_command_are_shown(panel) -> None:
    asked = request(1)
    display = CommandDisplay("echo \u202eevil", "/w")
    hidden = ApprovalRequest(
        RequestId("rq_9"), ONE, ToolCall("c", "shell"), "Run?", display, created_at=1.0
    )
    follow(panel, ApprovalRequested(ONE, hidden))
    follow(panel, asked)
    assert "\u202e" not in said(rows(panel)[0], "askEffect")


def test_allow_and_refuse_reach_the_request(panel, qtbot, clock) -> None:
    follow(panel, request(1))
    clock[0] = 1.0
    with qtbot.waitSignal(panel.decided) as hit:
        press(rows(panel)[0], "askAllow")
    assert hit.args == ["rq_1", AllowOnce()]
    with qtbot.waitSignal(panel.decided) as hit:
        press(rows(panel)[0], "askRefuse")
    assert hit.args == ["rq_1", Deny()]


def test_a_click_right_after_the_rows_moved_allows_nothing(panel, qtbot, clock) -> None:
    follow(panel, request(1))
    follow(panel, request(2))
    clock[0] = 10.0
    follow(panel, ApprovalResolved(ONE, RequestId("rq_1"), AllowOnce()))
    clock[0] = 10.0 + ARM_S / 2
    with qtbot.assertNotEmitted(panel.decided):
        press(rows(panel)[0], "askAllow")
    clock[0] = 10.0 + ARM_S
    with qtbot.waitSignal(panel.decided):
        press(rows(panel)[0], "askAllow")


def test_several_of_one_kind_are_allowed_together(panel, qtbot, clock) -> None:
    for number in range(1, 5):
        follow(panel, request(number))
    follow(panel, request(5, tool="write"))
    clock[0] = 1.0
    for row in rows(panel)[:4]:
        row.mark.setChecked(True)
    assert together(panel, "asksAllow").text() == "Allow 4"
    decided = []
    panel.decided.connect(lambda key, decision: decided.append((key, decision)))
    together(panel, "asksAllow").click()
    assert decided == [(f"rq_{n}", AllowOnce()) for n in range(1, 5)]


def test_different_kinds_are_not_lumped_but_can_be_refused(panel, qtbot, clock) -> None:
    follow(panel, request(1))
    follow(panel, request(2, tool="write"))
    clock[0] = 1.0
    for row in rows(panel):
        row.mark.setChecked(True)
    assert not together(panel, "asksAllow").isEnabled()
    assert "one kind" in together(panel, "asksAllow").toolTip()
    decided = []
    panel.decided.connect(lambda key, _: decided.append(key))
    together(panel, "asksRefuse").click()
    assert decided == ["rq_1", "rq_2"]


def test_a_click_or_enter_goes_to_the_card_and_allows_nothing(panel, qtbot, clock) -> None:
    panel.show()
    qtbot.waitExposed(panel)
    panel.activateWindow()
    follow(panel, request(1, DEEP))
    clock[0] = 1.0
    row = rows(panel)[0]
    row.setFocus()
    qtbot.waitFocus(row)
    with qtbot.waitSignal(panel.ask_chosen) as hit, qtbot.assertNotEmitted(panel.decided):
        qtbot.mouseClick(row, Qt.MouseButton.LeftButton, pos=QPoint(60, 8))
    assert hit.args == [DEEP, "rq_1"]
    with qtbot.waitSignal(panel.ask_chosen), qtbot.assertNotEmitted(panel.decided):
        qtbot.keyClick(row, Qt.Key.Key_Return)


def test_a_question_is_answered_in_its_row(panel, qtbot, clock) -> None:
    follow(panel, question(1))
    clock[0] = 1.0
    field = rows(panel)[0].findChild(QLineEdit, "askField")
    with qtbot.assertNotEmitted(panel.answered):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    field.insert("of these, " * 4_000)  # a pasted list, say
    qtbot.keyClicks(field, "the left one")
    with qtbot.waitSignal(panel.answered) as hit, qtbot.assertNotEmitted(panel.ask_chosen):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args == ["qu_1", "of these, " * 4_000 + "the left one"]


def test_a_servers_form_is_declined_in_its_row_and_filled_in_on_its_card(
    panel, qtbot, clock
) -> None:
    form = ServerForm("Which one?", (FormField("which"),), server="tracker")
    follow(panel, QuestionAsked(ONE, replace(question(1).question, form=form)))
    clock[0] = 1.0
    row = rows(panel)[0]
    assert row.findChild(QLineEdit, "askField") is None
    with qtbot.waitSignal(panel.ask_chosen) as shown:
        press(row, "askShow")
    assert shown.args == [ONE, "qu_1"]
    with qtbot.waitSignal(panel.answered) as declined:
        press(row, "askDecline")
    assert declined.args == ["qu_1", ""]


def test_an_answer_that_is_typed_survives_what_else_comes(panel, qtbot) -> None:
    follow(panel, question(1))
    field = rows(panel)[0].findChild(QLineEdit, "askField")
    field.setText("half")
    follow(panel, request(2))
    follow(panel, AgentsChanged(SESSION, agents()))
    assert rows(panel)[1].findChild(QLineEdit, "askField").text() == "half"


def test_what_is_settled_anywhere_leaves_the_list(panel, qtbot) -> None:
    for event in (request(1), request(2), question(3)):
        follow(panel, event)
    assert panel.count == 3
    follow(panel, ApprovalResolved(ONE, RequestId("rq_1"), AllowOnce()))
    follow(panel, QuestionAnswered(ONE, QuestionId("qu_3"), "yes", "ag"))
    assert keys(panel) == ["rq_2"]
    with qtbot.waitSignal(panel.count_changed) as hit:
        follow(panel, TurnEnded(ONE, "cancelled"))
    assert hit.args == [0]
    assert panel.isHidden()


def test_a_replayed_session_shows_what_still_waits_and_only_that(panel) -> None:
    settled = ApprovalResolved(ONE, RequestId("rq_1"), AllowOnce())
    follow(panel, opened(request(1), request(2, MAIN), settled))
    assert keys(panel) == ["rq_2"]


def test_after_a_crash_nobody_is_said_to_wait(panel) -> None:
    resting = tuple(
        AgentInfo(info.id, SESSION, info.name, status="paused", parent_id=info.parent_id)
        for info in agents()
    )
    follow(panel, opened(request(1), request(2, DEEP), all_agents=resting))
    assert panel.count == 0


def test_what_subagents_asked_is_still_there_after_looking_at_another_session(panel) -> None:
    follow(panel, request(1, DEEP))
    other = (AgentInfo(ELSEWHERE, OTHER, "Main", status="running"),)
    follow(panel, opened(session=OTHER, main=ELSEWHERE, all_agents=other))
    assert panel.count == 0
    follow(panel, request(2, ONE))
    follow(panel, opened())
    assert keys(panel) == ["rq_1", "rq_2"]


def test_a_transcript_that_is_opened_tells_what_its_agent_waits_for(panel) -> None:
    follow(panel, AgentOpened(agents()[2], (request(7, DEEP),)))
    assert keys(panel) == ["rq_7"]


def test_the_arrow_keys_walk_the_list(panel, qtbot) -> None:
    panel.show()
    qtbot.waitExposed(panel)
    panel.activateWindow()
    follow(panel, request(1))
    follow(panel, request(2))
    assert panel.focus_oldest()
    qtbot.waitFocus(rows(panel)[0])
    qtbot.keyClick(rows(panel)[0], Qt.Key.Key_Down)
    qtbot.waitFocus(rows(panel)[1])


def test_the_focus_never_moves_by_itself(panel, qtbot) -> None:
    field = QLineEdit(panel)
    panel.show()
    qtbot.waitExposed(panel)
    panel.activateWindow()
    field.show()
    field.setFocus()
    qtbot.waitFocus(field)
    follow(panel, request(1))
    follow(panel, question(2))
    assert field.hasFocus()


def test_after_an_answer_the_focus_is_on_what_waits_next_and_then_on_nothing_at_random(
    panel, qtbot
) -> None:
    panel.show()
    qtbot.waitExposed(panel)
    panel.activateWindow()
    for number in (1, 2, 3):
        follow(panel, request(number))
    allow = rows(panel)[1].findChild(QPushButton, "askAllow")
    allow.setFocus()
    qtbot.waitFocus(allow)
    with qtbot.assertNotEmitted(panel.left):
        follow(panel, ApprovalResolved(ONE, "rq_2", AllowOnce()))
        assert keys(panel) == ["rq_1", "rq_3"]
        qtbot.waitFocus(rows(panel)[1])
        follow(panel, ApprovalResolved(ONE, "rq_3", AllowOnce()))
        qtbot.waitFocus(rows(panel)[0])
    with qtbot.waitSignal(panel.left):
        follow(panel, ApprovalResolved(ONE, "rq_1", AllowOnce()))


def test_a_flood_of_requests_is_counted_in_full(panel) -> None:
    for number in range(80):
        follow(panel, request(number))
    assert panel.count == 80
    assert len(rows(panel)) == 50
    assert panel.findChild(QLabel, "asksRest").text() == "and 30 more"


def test_each_request_of_a_flood_is_said_once(panel, monkeypatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda one: said.append(one.message()))
    for number in range(60):
        follow(panel, request(number))
    assert len(said) == 60


# The last two look like the head of a patch.
@pytest.mark.parametrize("lines", ["-old\n+new", "--- DROP\n+++ counted"])
def test_a_change_is_named_by_its_file_and_size_before_its_lines(panel, lines: str) -> None:
    patch = f"--- a/b.sql\n+++ b/b.sql\n@@ -1,2 +1,2 @@\n same\n{lines}\n"
    asked = request(1, tool="edit")
    change = msgspec.structs.replace(asked.request, display=DiffDisplay("b.sql", patch, 1, 1))
    follow(panel, opened(msgspec.structs.replace(asked, request=change)))
    assert said(rows(panel)[0], "askEffect") == f"b.sql  +1 −1\n{lines}"


def test_a_command_in_a_row_reads_from_left_to_right(panel) -> None:
    asked = request(1)
    display = CommandDisplay("שלום && rm -rf x", "/w")
    follow(
        panel,
        opened(msgspec.structs.replace(asked, request=replace(asked.request, display=display))),
    )
    assert said(rows(panel)[0], "askEffect").startswith("\u200e")


def test_a_change_without_a_diff_says_why(panel) -> None:
    note = "[Too large or not text: 5 bytes become 7.]"
    asked = request(1, tool="write")
    change = msgspec.structs.replace(asked.request, display=DiffDisplay("a.bin", note, 0, 0))
    follow(panel, opened(msgspec.structs.replace(asked, request=change)))
    assert said(rows(panel)[0], "askEffect") == f"a.bin\n{note}"


def asked_to_run(number: int, kept: Containment) -> ApprovalRequested:
    event = request(number)
    display = CommandDisplay("docker ps", "/w", ("docker ps",), kept)
    return replace(event, request=replace(event.request, display=display))


def test_what_would_run_outside_is_not_allowed_together_with_what_runs_inside(panel) -> None:
    follow(panel, asked_to_run(1, Containment()))
    follow(panel, asked_to_run(2, Containment(is_contained=False, reason="x")))
    for row in rows(panel):
        row.mark.setChecked(True)
    assert not together(panel, "asksAllow").isEnabled()
    rows(panel)[1].mark.setChecked(False)
    assert together(panel, "asksAllow").isEnabled()


def test_a_host_is_asked_for_in_a_sentence(panel) -> None:
    event = request(1, tool="network")
    reason = "`npm install` wants to reach it (port 443)."
    wanted = replace(event.request, title="Allow x.example?", display=None, reason=reason)
    follow(panel, replace(event, request=wanted))
    assert said(rows(panel)[0], "askEffect") == "npm install wants to reach it (port 443)."
    assert "asks: Allow x.example?" in rows(panel)[0].accessibleName()

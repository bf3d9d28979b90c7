"""What the window knows of its sessions: one state, the same for every panel."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

import desktop_agent.gui
from desktop_agent.core.agents import AgentInfo, Budget, Spent
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    BudgetChanged,
    BudgetReached,
    Event,
    ListChanged,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, NoteId, QuestionId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.state.agent_notes import DONE_KEPT
from desktop_agent.gui.state.session_state import NOTHING, Facet, SessionState

HERE, THERE = SessionId("se_here"), SessionId("se_there")
MAIN, CHILD, OTHER = AgentId("ag_main"), AgentId("sa_child"), AgentId("ag_other")


def info(session: SessionId = HERE, main: AgentId = MAIN) -> SessionInfo:
    return SessionInfo(session, main, "Title", Workspace("/w"), "m")


def team(status="running", child="running") -> tuple[AgentInfo, ...]:
    return (
        AgentInfo(MAIN, HERE, "Main", status),
        AgentInfo(CHILD, HERE, "Prices", child, MAIN),
    )


@pytest.fixture
def state() -> SessionState:
    """A state that knows two sessions, of which the one with a subagent is shown."""
    one = SessionState()
    one.apply(SessionsChanged((info(), info(THERE, OTHER))))
    one.apply(SessionOpened(info(THERE, OTHER), (AgentInfo(OTHER, THERE, "Main", "running"),)))
    one.apply(SessionOpened(info(), team()))
    one.show(HERE, MAIN)
    return one


def asks(agent: AgentId, number: int = 1) -> QuestionAsked:
    return QuestionAsked(agent, Question(QuestionId(f"qu_{number}"), agent, "call", "Which?"))


def queued(agent: AgentId = CHILD, note_id: str = "no_1") -> NoteQueued:
    return NoteQueued(agent, Note(NoteId(note_id), "Use euros.", "steer"))


def test_only_what_concerns_the_session_that_is_shown_is_shown_anew(state: SessionState) -> None:
    assert state.apply(TurnStarted(CHILD)) == Facet.NOTES
    assert state.apply(ListChanged(MAIN, 1, (Task(1, "a"),))) == Facet.TASKS
    assert state.apply(asks(CHILD)) == Facet.REQUESTS
    assert state.apply(TurnStarted(OTHER)) == NOTHING
    assert state.apply(asks(OTHER, 2)) == NOTHING
    assert state.apply(PartDelta(MAIN, MessageId("me"), "text", "word")) == NOTHING


def test_a_session_that_is_opened_again_answers_for_itself(state: SessionState) -> None:
    assert Facet.SESSION in state.show(THERE, OTHER)
    assert [agent.id for agent in state.agents] == [OTHER]
    assert Facet.SESSION not in state.show(HERE, CHILD)
    assert [agent.id for agent in state.agents] == [MAIN, CHILD]


def test_what_was_asked_elsewhere_waits_there_until_it_is_answered(state: SessionState) -> None:
    state.apply(asks(OTHER))
    assert state.waiting() == ()
    state.show(THERE, OTHER)
    assert [ask.key for ask in state.waiting()] == ["qu_1"]
    state.apply(QuestionAnswered(OTHER, QuestionId("qu_1"), "yes"))
    assert state.waiting() == ()


@pytest.mark.parametrize("status", ["paused", "stopped", "completed", "failed", "over_budget"])
def test_nobody_waits_for_an_answer_where_nothing_runs(state: SessionState, status) -> None:
    state.apply(asks(CHILD))
    state.apply(AgentsChanged(HERE, team(child=status)))
    assert state.waiting() == ()


def test_one_note_is_the_same_on_the_card_and_over_the_message_box(state: SessionState) -> None:
    state.apply(queued())
    state.apply(TurnEnded(CHILD, "cancelled"))
    state.apply(NoteReturned(CHILD, NoteId("no_1"), "stopped", MAIN))
    notes = state.notes(CHILD)
    assert notes.rows == notes.recent
    assert (notes.rows[0].state, notes.rows[0].stopper) == ("stopped", "Main")
    state.forget_note(CHILD, NoteId("no_1"))
    assert notes.rows == notes.recent == ()


def test_a_delivered_note_leaves_the_message_box_and_stays_on_the_card(state) -> None:
    state.apply(queued())
    state.apply(NoteDelivered(CHILD, NoteId("no_1"), 3))
    notes = state.notes(CHILD)
    assert [row.state for row in notes.rows] == ["delivered"]
    notes.fold(NoteId("no_1"))
    assert notes.rows == ()
    assert [row.state for row in notes.recent] == ["delivered"]


def test_notes_that_nobody_shows_any_more_are_let_go(state: SessionState) -> None:
    for number in range(20):
        state.apply(queued(note_id=f"no_{number}"))
        state.apply(NoteDelivered(CHILD, NoteId(f"no_{number}"), number))
        state.notes(CHILD).fold(NoteId(f"no_{number}"))
    known = [n for n in range(20) if state.notes(CHILD).row(NoteId(f"no_{n}")) is not None]
    assert known == list(range(20 - DONE_KEPT, 20))


def test_a_subagent_that_is_opened_tells_of_its_notes_and_whether_it_runs(state) -> None:
    child = team(child="paused")[1]
    state.apply(AgentOpened(child, (TurnStarted(CHILD), queued())))
    state.show(HERE, CHILD)
    notes = state.notes(CHILD)
    assert [row.state for row in notes.rows] == ["queued"]
    assert notes.is_running
    assert state.agent(CHILD) == child


def test_who_holds_elsewhere_is_not_offered_here(state: SessionState) -> None:
    reached = Spent(tokens=9), Budget(tokens=9)
    state.apply(AgentsChanged(THERE, (AgentInfo(OTHER, THERE, "Main", "paused"),)))
    state.apply(BudgetReached(OTHER, OTHER, *reached))
    assert state.held == ()
    state.apply(AgentsChanged(HERE, team(child="paused")))
    assert state.apply(BudgetReached(CHILD, MAIN, *reached)) == Facet.BUDGETS
    assert state.held == (CHILD,)
    state.apply(BudgetChanged(MAIN, Budget()))
    assert state.held == ()
    state.apply(BudgetReached(CHILD, MAIN, *reached))
    state.apply(AgentsChanged(HERE, team()))
    assert state.held == ()


def test_a_deleted_session_leaves_nothing_behind(state: SessionState) -> None:
    state.apply(asks(CHILD))
    state.apply(queued())
    state.apply(ListChanged(CHILD, 1, (Task(1, "a"),)))
    state.apply(SessionsChanged((info(THERE, OTHER),)))
    assert state.agents == ()
    assert state.tasks(CHILD) == ()
    assert state.question_of(CHILD) is None
    assert state.session_of(CHILD) is None
    assert state.agent(CHILD) is None
    assert state.notes(CHILD).rows == ()


def test_a_stop_names_how_many_go_with_it(state: SessionState) -> None:
    assert state.below(MAIN) == 1
    state.apply(AgentsChanged(HERE, team(child="completed")))
    assert state.below(MAIN) == 0


def test_an_agent_in_a_turn_can_be_stopped_and_works_unless_it_is_paused() -> None:
    agents = {status: AgentInfo(CHILD, HERE, "a", status) for status in ("paused", "running")}
    assert agents["running"].is_working
    assert agents["running"].is_in_turn
    assert agents["paused"].is_in_turn
    assert not agents["paused"].is_working
    assert not AgentInfo(CHILD, HERE, "a").is_in_turn
    assert not AgentInfo(CHILD, HERE, "a", "completed").is_in_turn


# The engine's own thread tells that it failed, a window's line what it refused; streamed words are
# joined for a second reading.
ALLOWED = {
    "bridge/engine_thread.py: EngineFailed",
    "bridge/window_bridge.py: CommandRefused",
    "state/event_log.py: PartDelta",
    "state/event_log.py: ToolOutput",
}


def test_the_window_never_makes_an_event() -> None:
    events = {event.__name__ for event in get_args(Event)}
    made = set()
    for path in Path(desktop_agent.gui.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                made.add(f"{path.parent.name}/{path.name}: {name}")
    assert {one for one in made if one.partition(": ")[2] in events} == ALLOWED

"""One window of several has a session for writing; which commands would change one is known."""

from __future__ import annotations

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.commands import EngineCommands
from desktop_agent.core.events import (
    NoteQueued,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId, QuestionId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.state.session_holds import (
    OF_AGENT,
    OF_REQUEST,
    OF_SESSION,
    SessionHolds,
    session_changed_by,
)
from desktop_agent.gui.state.session_state import Facet, SessionState

ONE, TWO = SessionId("se_1"), SessionId("se_2")
MAIN = AgentId("ag_1")

# What changes no session: reading, the list, folders, skills, servers, and the app's own rules.
FREE = {
    "open_agent", "open_session", "new_session", "pin_session", "mark_read", "restore_session",
    "erase_session", "empty_deleted", "apply_settings", "add_rule", "delete_rule", "get_ready",
    "watch_skills", "rescan_skills", "switch_skill", "trust_folder", "check_sandbox",
    "list_mcp", "watch_mcp", "save_mcp", "remove_mcp", "switch_mcp", "switch_mcp_tools",
    "allow_mcp_outside", "restart_mcp", "sign_in_mcp", "sign_out_mcp",
}  # fmt: skip


def known() -> SessionState:
    info = SessionInfo(ONE, MAIN, "Title", Workspace("/w"), "m")
    state = SessionState()
    state.apply(SessionsChanged((info,)))
    state.apply(SessionOpened(info, (AgentInfo(MAIN, ONE, "Main", "running"),)))
    state.show(ONE, MAIN)
    return state


def test_the_first_window_that_shows_a_session_writes_and_the_next_one_follows() -> None:
    holds = SessionHolds[str]()
    holds.show("a", ONE)
    holds.show("b", ONE)
    assert holds.writer(ONE) == "a"
    assert holds.held_by_others("b") == {ONE}
    assert holds.held_by_others("a") == frozenset()
    holds.show("a", ONE)
    assert holds.writer(ONE) == "a"
    holds.show("a", TWO)
    assert (holds.writer(ONE), holds.writer(TWO)) == ("b", "a")
    holds.show("b", None)
    assert holds.writer(ONE) is None


def test_a_window_that_takes_a_session_over_writes_and_the_other_one_reads() -> None:
    holds = SessionHolds[str]()
    for window in ("a", "b", "c"):
        holds.show(window, ONE)
    holds.take("c")
    assert holds.writer(ONE) == "c"
    assert holds.held_by_others("a") == {ONE}
    holds.show("c", None)
    assert holds.writer(ONE) == "a"


def test_of_every_command_it_is_known_whether_it_changes_a_session() -> None:
    commands = {name for base in EngineCommands.__mro__ for name in vars(base)}
    commands = {name for name in commands if not name.startswith("_")}
    changing = OF_AGENT | OF_REQUEST | OF_SESSION
    assert commands - FREE == changing - {"ask_aside", "run_on"}
    assert not changing & FREE


def test_a_command_is_about_the_session_of_its_agent_or_of_what_is_asked() -> None:
    state = known()
    asked = Question(QuestionId("qu_1"), MAIN, "c1", "Which?", (), 1.0)
    state.apply(QuestionAsked(MAIN, asked))
    assert session_changed_by(state, "send", (MAIN,)) == ONE
    assert session_changed_by(state, "run_on", (MAIN, "box", "Look")) == ONE
    assert session_changed_by(state, "answer", ("qu_1", "This")) == ONE
    assert session_changed_by(state, "rename_session", (TWO, "x")) == TWO
    assert session_changed_by(state, "pin_session", (ONE, True)) is None
    assert session_changed_by(state, "get_ready", ()) is None


def test_only_the_session_that_is_shown_becomes_one_to_be_read() -> None:
    state = known()
    assert not state.know_elsewhere(frozenset({TWO}))
    assert not state.is_read_only
    assert state.know_elsewhere(frozenset({ONE})) == Facet.WRITER
    assert state.is_read_only
    state.hide()
    assert not state.is_read_only


def test_a_window_that_opens_later_knows_what_was_heard_before_and_goes_on_by_itself() -> None:
    state = known()
    state.apply(TurnStarted(MAIN))
    asked = Question(QuestionId("qu_1"), MAIN, "c1", "Which?", (), 1.0)
    state.apply(QuestionAsked(MAIN, asked))
    twin = state.copied()
    assert twin.session_id is None
    assert twin.sessions == state.sessions
    assert twin.question_of(MAIN) == asked
    assert twin.notes(MAIN).is_running
    twin.apply(NoteQueued(MAIN, Note(NoteId("no_1"), "Only there")))
    twin.apply(SessionsChanged(()))
    assert state.notes(MAIN).row(NoteId("no_1")) is None
    assert state.sessions

"""The states of notes, folded from events."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    BranchStarted,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    SessionOpened,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import Message, ToolCall, ToolResult
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.state.session_state import SessionState

AGENT = "ag_1"


def opened(*events, status="idle", notes=()):
    info = SessionInfo("se_1", AGENT, "Title", Workspace("/tmp"), "demo")
    agent = AgentInfo(AGENT, "se_1", "Main", status=status)
    return SessionOpened(info, (agent,), tuple(events), notes=notes)


class Shown:
    """The notes to the agent, as the message box shows them, fed through the window's state."""

    def __init__(self):
        self.state = SessionState()
        self.apply = self.state.apply

    def __getattr__(self, name):
        return getattr(self.state.notes(AGENT), name)


def ledger(*events, status="idle"):
    one = Shown()
    one.apply(opened(*events, status=status))
    return one


def queued(note_id="no_1", **changes):
    return NoteQueued(AGENT, Note(note_id, "Use euros.", **changes))


def states(one):
    return [row.state for row in one.rows]


def test_a_message_that_wakes_an_idle_agent_needs_no_row():
    one = ledger()
    for event in (queued(), TurnStarted(AGENT), StepStarted(AGENT, 1)):
        one.apply(event)
    one.apply(NoteTaken(AGENT, "no_1", "me_1"))
    assert one.rows == ()
    one.apply(NoteDelivered(AGENT, "no_1", 1, 5.0))
    assert one.rows == ()


def test_a_note_sent_while_the_agent_runs_goes_through_its_states():
    one = ledger(status="running")
    one.apply(queued())
    assert states(one) == ["queued"]
    assert one.rows[0].can_change
    one.apply(StepStarted(AGENT, 14))
    one.apply(NoteTaken(AGENT, "no_1", "me_1"))
    assert states(one) == ["taken"]
    assert not one.rows[0].can_change
    one.apply(NoteDelivered(AGENT, "no_1", 14, 99.0))
    assert (states(one), one.rows[0].step, one.rows[0].at) == (["delivered"], 14, 99.0)


def test_an_edited_note_keeps_its_place():
    one = ledger(status="running")
    one.apply(queued("no_1"))
    one.apply(queued("no_2"))
    one.apply(NoteQueued(AGENT, Note("no_1", "Use pounds.")))
    assert [row.note.text for row in one.rows] == ["Use pounds.", "Use euros."]


def test_a_withdrawn_note_is_gone_and_a_returned_one_stays_for_the_person():
    one = ledger(status="running")
    one.apply(queued("no_1"))
    one.apply(queued("no_2"))
    one.apply(NoteReturned(AGENT, "no_1", "withdrawn"))
    one.apply(NoteReturned(AGENT, "no_2", "finished"))
    assert states(one) == ["finished"]


def test_a_failed_request_shows_the_providers_words_and_a_later_delivery_settles_it():
    one = ledger(status="running")
    one.apply(queued())
    one.apply(NoteTaken(AGENT, "no_1", "me_1"))
    fault = Fault("overloaded", "The provider is overloaded.")
    one.apply(TurnEnded(AGENT, "error", fault=fault))
    assert states(one) == ["failed"]
    assert one.rows[0].words == "The provider is overloaded."
    assert one.rows[0].is_in_history
    one.apply(TurnStarted(AGENT))
    one.apply(NoteDelivered(AGENT, "no_1", 3, 1.0))
    assert states(one) == ["delivered"]


def test_a_note_that_came_back_to_the_inbox_is_shown_as_waiting_again():
    one = ledger(status="running")
    one.apply(queued())
    one.apply(NoteTaken(AGENT, "no_1", "me_1"))
    one.apply(queued())
    assert states(one) == ["queued"]


def test_the_words_of_a_fault_reach_a_note_that_was_returned_before_it():
    one = ledger(status="running")
    one.apply(queued())
    one.apply(NoteReturned(AGENT, "no_1", "failed"))
    one.apply(TurnEnded(AGENT, "error", fault=Fault("auth", "Wrong key.")))
    assert one.rows[0].words == "Wrong key."


def test_a_first_message_that_was_left_in_the_inbox_by_a_stop_is_not_lost_from_sight():
    one = ledger()
    one.apply(queued())
    one.apply(TurnStarted(AGENT))
    one.apply(TurnEnded(AGENT, "cancelled"))
    assert states(one) == ["queued"]


def test_after_a_crash_a_note_that_still_waits_is_shown_and_old_news_is_not():
    one = ledger(
        TurnStarted(AGENT),
        queued("no_1"),
        NoteTaken(AGENT, "no_1", "me_1"),
        NoteDelivered(AGENT, "no_1", 1),
        queued("no_2"),
        NoteReturned(AGENT, "no_2", "finished"),
        TurnEnded(AGENT, "finished"),
        TurnStarted(AGENT),
        queued("no_3"),
    )
    assert [row.note.id for row in one.rows] == ["no_3"]
    assert not one.is_running


def test_a_note_that_waits_in_a_turn_longer_than_the_newest_page_stays_in_sight():
    one = ledger(status="running")
    one.apply(queued())
    later = (StepStarted(AGENT, 99), queued("no_2"), StepStarted(AGENT, 100))
    waiting = (queued(), queued("no_2"))
    one.apply(opened(*later, status="running", notes=waiting))
    assert [row.note.id for row in one.rows] == ["no_1", "no_2"]
    one.apply(TurnEnded(AGENT, "cancelled"))
    one.apply(opened(StepStarted(AGENT, 100), TurnEnded(AGENT, "cancelled"), notes=waiting))
    assert [row.note.id for row in one.rows] == ["no_1", "no_2"]
    subagent = AgentInfo(AGENT, "se_1", "Main", status="running")
    one.apply(AgentOpened(subagent, later, notes=waiting))
    assert [row.note.id for row in one.rows] == ["no_1", "no_2"]


def test_a_message_that_is_just_being_read_needs_no_row_when_the_session_is_opened():
    one = ledger(queued(), TurnStarted(AGENT), status="running")
    assert one.rows == ()
    one.apply(opened(queued(), TurnStarted(AGENT), status="running", notes=(queued(),)))
    assert one.rows == ()


@pytest.mark.parametrize(("is_said", "state"), [(True, "delivered"), (False, "queued")])
def test_edits_of_the_list_wait_on_a_branch_only_if_no_message_before_it_holds_them(is_said, state):
    edits, message = queued(kind="task_edit"), Message("me_1", "user", (), note_ids=("no_1",))
    read = [MessageAdded(AGENT, message), NoteDelivered(AGENT, "no_1", 1)] if is_said else []
    one = ledger(edits, NoteTaken(AGENT, "no_1", "me_1"), *read, BranchStarted(AGENT, "me_2"))
    assert one.row("no_1").state == state
    assert (one.edit is not None) is not is_said


def test_notes_of_other_senders_and_other_agents_are_not_the_composers():
    one = ledger(status="running")
    one.apply(queued(sender="Research"))
    one.apply(NoteQueued("ag_2", Note("no_9", "x")))
    assert one.rows == ()


def test_running_tools_are_known_until_they_end_or_the_turn_does():
    one = ledger(status="running")
    one.apply(ToolStarted(AGENT, ToolCall("c1", "shell"), "running pytest -q", 10.0))
    one.apply(ToolStarted(AGENT, ToolCall("c2", "read")))
    assert [tool.doing for tool in one.tools] == ["running pytest -q", "read"]
    one.apply(ToolEnded(AGENT, ToolResult("c1", "ok")))
    assert [tool.doing for tool in one.tools] == ["read"]
    one.apply(TurnEnded(AGENT, "cancelled"))
    assert one.tools == ()


def test_the_snapshot_of_agents_says_whether_it_runs():
    one = ledger(TurnStarted(AGENT), status="idle")
    assert not one.is_running
    one.apply(AgentsChanged("se_1", (AgentInfo(AGENT, "se_1", "Main", status="stopping"),)))
    assert one.is_running
    assert one.status == "stopping"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["queue", "take", "deliver", "finish", "withdraw", "turn", "end"]),
            st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_no_order_of_events_loses_or_doubles_a_row(steps):
    one = ledger(status="running")
    for what, number in steps:
        note_id = f"no_{number}"
        event = {
            "queue": queued(note_id),
            "take": NoteTaken(AGENT, note_id, "me"),
            "deliver": NoteDelivered(AGENT, note_id, 1, 1.0),
            "finish": NoteReturned(AGENT, note_id, "finished"),
            "withdraw": NoteReturned(AGENT, note_id, "withdrawn"),
            "turn": TurnStarted(AGENT),
            "end": TurnEnded(AGENT, "finished"),
        }[what]
        assert msgspec.json.encode(event)
        one.apply(event)
        ids = [row.note.id for row in one.rows]
        assert len(ids) == len(set(ids))


def test_an_ended_subagent_that_is_opened_has_no_turn_to_stop():
    one = ledger(status="completed")
    assert not one.is_running

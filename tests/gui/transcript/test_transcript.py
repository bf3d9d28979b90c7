"""The fold of events into items."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import AllowOnce, Deny
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalResolved,
    BranchStarted,
    EngineFailed,
    MessageAdded,
    NoteDelivered,
    NoteReturned,
    QuestionAnswered,
    RetryScheduled,
    StepStarted,
    ToolOutput,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolResult
from desktop_agent.core.sessions import BranchPoint
from desktop_agent.gui.transcript.state.event_log import LIVE_OUTPUT_LIMIT
from desktop_agent.gui.transcript.state.items import (
    AnswerItem,
    ApprovalItem,
    BranchItem,
    QuestionItem,
    RetryItem,
    ThinkingItem,
    ToolItem,
    TurnItem,
    UserItem,
    is_open,
)
from desktop_agent.gui.transcript.state.rows import ActivityRow, build_rows
from desktop_agent.gui.transcript.state.transcript import Transcript
from tests.gui.transcript.story import (
    AGENT,
    asks,
    begins,
    call,
    delta,
    ends,
    gives,
    needs,
    opened,
    reads,
    runs,
    says,
    starts_to_say,
    wonders,
)
from tests.helpers.panels import transcript_of

OTHER = "ag_2"


def folded(*events):
    transcript = Transcript(AGENT)
    for event in events:
        transcript.apply(event)
    return transcript


def only(transcript, kind):
    found = [item for item in transcript.items if isinstance(item, kind)]
    assert len(found) == 1
    return found[0]


def test_a_message_is_sending_until_the_provider_has_it():
    transcript = folded(begins(), *asks(1, delivered=False))
    assert only(transcript, UserItem).state == "sending"
    transcript.apply(NoteDelivered(AGENT, "no_1", 14, 7.0))
    item = only(transcript, UserItem)
    assert (item.state, item.step, item.at) == ("delivered", 14, 7.0)


def test_a_message_that_never_got_out_is_not_shown_as_sent():
    transcript = folded(begins(), *asks(1, delivered=False))
    transcript.apply(ends("error", fault=Fault("refused", "No answer.")))
    assert only(transcript, UserItem).state == "failed"
    transcript.apply(NoteDelivered(AGENT, "no_1", 2, 9.0))
    assert only(transcript, UserItem).state == "delivered"


def test_a_returned_note_is_not_shown_as_sent():
    transcript = folded(*asks(1, delivered=False), NoteReturned(AGENT, "no_1", "stopped"))
    assert only(transcript, UserItem).state == "failed"


def test_attached_files_are_named_and_not_poured_into_the_bubble():
    parts = (
        TextPart("Look at these"),
        TextPart('<file path="src/a &amp; b.py">\n```\nsecret\n```\n</file>'),
        ImagePart("image/png", b"x", "photo.png"),
    )
    item = only(folded(MessageAdded(AGENT, Message("m", "user", parts))), UserItem)
    assert item.text == "Look at these"
    assert item.attachments == ("src/a & b.py", "photo.png")


def test_streamed_text_and_the_whole_message_are_one_answer():
    transcript = folded(begins(), starts_to_say(1), delta(1, "Hel"), delta(1, "lo"))
    item = only(transcript, AnswerItem)
    assert (item.text, item.is_live) == ("Hello", True)
    transcript.apply(says(1, "Hello!"))
    whole = only(transcript, AnswerItem)
    assert (whole.key, whole.text, whole.is_live) == (item.key, "Hello!", False)


def test_thinking_before_an_answer_keeps_its_own_item():
    transcript = folded(begins(), delta(1, "hm", "thinking"), delta(1, "Yes."))
    assert [type(item) for item in transcript.items] == [ThinkingItem, AnswerItem]
    parts = (ThinkingPart("hm"), TextPart("Yes."))
    transcript.apply(MessageAdded(AGENT, Message("me_a1", "assistant", parts)))
    assert [item.text for item in transcript.items] == ["hm", "Yes."]
    assert not any(item.is_live for item in transcript.items)


def test_a_delta_that_comes_late_does_not_double_the_answer():
    transcript = folded(says(1, "Hello"), delta(1, "Hel"))
    assert [item.text for item in transcript.items] == ["Hello"]


def test_a_tool_call_goes_from_queued_over_running_to_done():
    one = call(1)
    transcript = folded(begins(), says(1, "", one))
    states = [only(transcript, ToolItem).state]
    for event in (runs(one), ToolOutput(AGENT, one.id, "line\n"), gives(one)):
        transcript.apply(event)
        states.append(only(transcript, ToolItem).state)
    assert states == ["queued", "running", "running", "ok"]


def test_live_output_is_bounded_and_keeps_its_end():
    one = call(1)
    transcript = folded(says(1, "", one), runs(one))
    for number in range(2_000):
        transcript.apply(ToolOutput(AGENT, one.id, f"line {number} is rather long\n"))
    output = only(transcript, ToolItem).output
    assert len(output) <= LIVE_OUTPUT_LIMIT
    assert output.endswith("line 1999 is rather long\n")


def test_a_result_in_the_history_closes_a_call_whose_end_was_not_heard():
    one = call(1)
    message = Message("t", "tool", (ToolResult(one.id, "no", is_error=True),))
    transcript = folded(says(1, "", one), runs(one), MessageAdded(AGENT, message))
    assert only(transcript, ToolItem).state == "failed"


def test_an_approval_stands_in_the_place_of_its_call_until_it_is_settled():
    first, second = call(1), call(2)
    transcript = folded(begins(), says(1, "", first, second), needs(first))
    assert [item.key for item in transcript.items] == ["rq_1", first.id, second.id]
    rows = build_rows(transcript.items, transcript.asked_calls)
    assert [row.key for row in rows] == ["rq_1", second.id]
    assert [item.key for item in transcript.waiting()] == ["rq_1"]
    transcript.apply(ApprovalResolved(AGENT, "rq_1", AllowOnce()))
    transcript.apply(runs(first, at=77.0))
    assert transcript.waiting() == ()
    assert only(transcript, ApprovalItem).at == 77.0
    rows = build_rows(transcript.items, transcript.asked_calls)
    assert [row.key for row in rows] == ["rq_1", first.id, second.id]


def test_a_question_takes_the_place_of_its_call():
    one = call(1, "ask_user", question="Which one?")
    transcript = folded(begins(), says(1, "", one), runs(one), wonders(one, "a", "b"))
    rows = build_rows(transcript.items, transcript.asked_calls)
    assert [type(row) for row in rows] == [QuestionItem]
    transcript.apply(QuestionAnswered(AGENT, "qu_1", "b"))
    assert only(transcript, QuestionItem).answer == "b"


def test_the_end_of_a_turn_leaves_nothing_open():
    one, two = call(1), call(2, "ask_user")
    transcript = folded(
        begins(),
        says(1, "", one, two),
        needs(one),
        wonders(two),
        delta(2, "and"),
        ends("cancelled"),
    )
    assert not transcript.is_running
    assert transcript.waiting() == ()
    assert {item.state for item in transcript.items if isinstance(item, ToolItem)} == {"stopped"}
    assert only(transcript, ApprovalItem).decision == Deny(by="withdrawn")
    assert not any(is_open(item) for item in transcript.items if not isinstance(item, TurnItem))


def test_only_the_newest_end_of_a_turn_offers_to_go_on():
    transcript = folded(begins(1), ends("error", 2.0), begins(3), ends("error", 4.0))
    assert [item.is_current for item in transcript.items] == [False, True]


def test_a_turn_that_never_ended_leaves_its_call_unknown():
    one = call(1)
    transcript = folded(begins(1), says(1, "", one), runs(one), begins(5))
    assert only(transcript, ToolItem).state == "unknown"


def test_an_idle_agent_has_nothing_that_spins_after_opening():
    one = call(1)
    transcript = transcript_of(opened(begins(), says(1, "", one), runs(one)))
    assert not transcript.is_running
    assert only(transcript, ToolItem).state == "unknown"


def test_a_retry_is_shown_until_the_model_answers():
    fault = Fault("overloaded", "Busy.")
    transcript = folded(begins(), RetryScheduled(AGENT, 1, 4.0, fault))
    transcript.apply(RetryScheduled(AGENT, 2, 8.0, fault))
    assert only(transcript, RetryItem).attempt == 2
    transcript.apply(starts_to_say(1))
    assert transcript.items == ()


def test_the_working_sign_shows_only_when_nothing_else_does():
    one = call(1)
    transcript = folded(begins(), StepStarted(AGENT, 1))
    assert transcript.is_silent
    transcript.apply(delta(1, "I"))
    assert not transcript.is_silent
    transcript.apply(says(1, "I", one))
    transcript.apply(needs(one))
    assert not transcript.is_silent
    transcript.apply(ends())
    assert not transcript.is_silent


def test_what_goes_as_expected_is_one_line_from_its_first_call_on():
    events = [event for number in range(3) for event in reads(number)]
    transcript = folded(begins(), *events[:3])
    (first,) = build_rows(transcript.items, frozenset())
    for event in events[3:]:
        transcript.apply(event)
        (line,) = build_rows(transcript.items, frozenset())
        assert isinstance(line, ActivityRow)
        assert line.key == first.key
    assert len(line.items) == 3


def test_an_activity_that_is_opened_is_followed_by_its_calls():
    transcript = folded(begins(), *reads(1), *reads(2), says(9, "Done"))
    line, *_ = build_rows(transcript.items, frozenset())
    rows = build_rows(transcript.items, frozenset(), {line.key: True})
    assert [row.key for row in rows[1:3]] == ["call_1", "call_2"]


def test_a_failed_call_stands_on_its_own_between_two_lines():
    failed = call(2, "read", path="gone.py")
    trouble = [says(5, "", failed), runs(failed), gives(failed, "no file", "failed")]
    transcript = folded(begins(), *reads(1), *trouble, *reads(3))
    rows = build_rows(transcript.items, frozenset())
    assert [type(row) for row in rows] == [ActivityRow, ToolItem, ActivityRow]


def test_task_updates_join_the_line_beside_them_and_other_kinds_have_their_own():
    def does(number, name):
        one = call(number, name, subject="x")
        return [says(f"t{number}", "", one), runs(one), gives(one)]

    events = [*does(1, "TaskUpdate"), *reads(2), *does(3, "TaskUpdate"), *does(4, "spawn")]
    rows = build_rows(folded(begins(), *events).items, frozenset())
    assert [len(row.items) for row in rows] == [3, 1]


def test_events_of_other_agents_stay_out():
    transcript = folded(begins(), MessageAdded(OTHER, Message("x", "assistant", (TextPart("no"),))))
    assert transcript.items == ()
    transcript.apply(AgentsChanged("se_1", (AgentInfo(OTHER, "se_1", "Helper one"),)))
    assert transcript.agent_names == {OTHER: "Helper one"}


def test_a_failure_of_the_app_is_shown_once():
    failed = EngineFailed("agent", "boom", AGENT)
    assert len(folded(failed, failed).items) == 1


def test_earlier_messages_come_before_and_what_spans_the_cut_is_joined():
    one = call(1)
    before = [begins(1), *asks(1), says(1, "text", one), runs(one)]
    after = [gives(one), says(2, "more"), ends(at=9.0)]
    split, whole = folded(*after), folded(*before, *after)
    split.prepend(before)
    assert split.items == whole.items


def test_a_branch_without_its_message_yet_is_not_shown_under_an_earlier_one():
    begun = [BranchStarted(AGENT, "me_9"), begins(), ends("cancelled")]
    point = BranchPoint(7, None, 1, (0, 1))
    transcript = transcript_of(replace(opened(*begun), branches=(point,)))
    transcript.prepend([begins(), *asks(1), says(1, "text"), ends()])
    assert not any(isinstance(item, BranchItem) for item in transcript.items)
    for event in (begins(), *asks(2)):
        transcript.apply(event)
    assert isinstance(transcript.items[-1], BranchItem)


def _any_events():
    one, two = call(1), call(2, "ask_user")
    return st.sampled_from(
        [
            begins(1),
            begins(2),
            ends("finished", 3.0),
            ends("cancelled", 4.0),
            ends("error", 5.0, fault=Fault("auth", "No.")),
            *asks(1),
            *asks(2),
            starts_to_say(1),
            delta(1, "Hel"),
            delta(1, "hm", "thinking"),
            delta(2, "again"),
            delta(2, ""),
            says(1, "Hello", one, two),
            says(2, ""),
            runs(one),
            ToolOutput(AGENT, one.id, "out"),
            gives(one),
            gives(two, outcome="denied"),
            needs(one),
            ApprovalResolved(AGENT, "rq_1", AllowOnce()),
            wonders(two, "a"),
            QuestionAnswered(AGENT, "qu_1", "a"),
            NoteReturned(AGENT, "no_1", "stopped"),
            RetryScheduled(AGENT, 1, 1.0, Fault("server", "500")),
        ]
    )


@settings(max_examples=150)
@given(st.lists(_any_events(), max_size=40))
def test_no_order_of_events_breaks_the_fold(events):
    transcript = Transcript(AGENT)
    for event in events:
        keys = {item.key for item in transcript.items}
        changed = transcript.apply(event)
        items = transcript.items
        assert len({item.key for item in items}) == len(items)
        assert keys ^ {item.key for item in items} <= changed
        assert list(transcript.waiting()) == [
            i for i in items if isinstance(i, ApprovalItem) and i.decision is None
        ]
    transcript.apply(ends("interrupted", 99.0))
    assert not any(is_open(i) for i in transcript.items if not isinstance(i, TurnItem | UserItem))


@settings(max_examples=80)
@given(st.lists(_any_events(), max_size=30), st.integers(0, 30))
def test_loading_earlier_messages_gives_what_was_there_from_the_start(events, cut):
    whole, split = folded(*events), folded(*events[cut:])
    split.prepend(events[:cut])
    assert split.items == whole.items


def test_a_subagent_that_has_ended_is_not_shown_thinking():
    transcript = transcript_of(opened(begins(), ends(), status="completed"))
    assert not transcript.is_running

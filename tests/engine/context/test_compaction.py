"""A session that grew too long goes on, and says what it left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import (
    CommandRefused,
    CompactionUndone,
    ContextCleared,
    ContextCompacted,
    MessageAdded,
    SideCallEnded,
    TurnEnded,
)
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, new_message_id
from desktop_agent.core.messages import Message, Role, TextPart, open_calls
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.parts.origins import ContextSummary, PickedSkill
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import Access, ToolContext, ToolOutput
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.context.compaction import split
from desktop_agent.engine.context.estimate import Estimate
from desktop_agent.engine.context.windows import refused_size, refused_window
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.tasks import task_tools
from tests.engine.context.window_rig import SUMMARY, LongRig, WindowModel, texts, tokens_of
from tests.engine.rig import tool
from tests.helpers.scripted import Answer, calls, says
from tests.helpers.stores import abandon

FIRST = "Paint the lighthouse. Never use red."
SKILL = "How to paint: thinly, twice."


def dumps(count: int, size: int = 6_000) -> list[Answer]:
    """Return steps whose outputs are so long, each with words of its own."""
    return [calls(("dump", {"what": f"out{n}", "size": size})) for n in range(count)]


async def learn(_: Mapping[str, Any], __: ToolContext) -> ToolOutput:
    """Load the one skill there is."""
    return ToolOutput(SKILL, facts=PickedSkill("painting"))


async def tagged(_: Mapping[str, Any], __: ToolContext) -> ToolOutput:
    """Give nothing."""
    return ToolOutput("saved")


def known(window: int) -> Any:
    """Return what knows every model's window."""

    async def describe(name: str) -> ModelInfo:
        return ModelInfo(name, context_limit=window)

    return describe


def put_aside(request: ModelRequest) -> list[str]:
    """Return the files that a request names in place of outputs."""
    found = (
        re.search(r"was put aside .*`read` opens it: (.*)\]", t) for t in texts(request.messages)
    )
    return [match[1] for match in found if match]


async def test_a_request_that_a_provider_refuses_as_too_long_is_made_shorter_and_the_step_goes_on(
    tmp_path: Path,
) -> None:
    model = WindowModel(8_000, *dumps(6), says("Painted."))
    rig = LongRig(tmp_path, model)
    ended = await rig.run(FIRST)
    assert (ended.reason, ended.fault) == ("finished", None)
    assert len(model.refused) == 1
    assert rig.of(ContextCompacted)[0].reason == "refused"
    assert rig.messages[-1].text == "Painted."
    first, *_, last = model.requests[-1].messages
    assert first.text == FIRST
    assert last.results[0].text.startswith("out5 out5")
    assert len(last.results[0].text) == 6_000
    await rig.end()


async def test_what_was_put_aside_is_what_the_agent_reads_in_the_file_that_is_named(
    tmp_path: Path,
) -> None:
    def reading(request: ModelRequest) -> Answer:
        return calls(("read", {"path": put_aside(request)[0]}))

    model = WindowModel(8_000, *dumps(5), reading, says("Painted."))
    rig = LongRig(tmp_path, model, tools=[read])
    await rig.run(FIRST)
    (again,) = [r.text for r in rig.results if r.text.strip().startswith("1\tout0")]
    assert "out0 out0 out0" in again
    await rig.end()


async def test_where_the_window_is_known_no_request_is_ever_refused(tmp_path: Path) -> None:
    model = WindowModel(8_000, *dumps(30, 1_500), says("Painted."))
    rig = LongRig(tmp_path, model, describe_model=known(8_000))
    ended = await rig.run(FIRST)
    assert ended.reason == "finished"
    assert not model.refused
    assert {event.reason for event in rig.of(ContextCompacted)} == {"limit"}
    assert max(map(tokens_of, model.requests)) <= 0.85 * 8_000
    assert not any(open_calls(request.messages) for request in model.requests)
    info = rig.listed.sessions[0]
    assert (info.context_limit, info.context_source) == (8_000, "known")
    await rig.end()


async def test_a_window_that_the_user_set_counts_when_it_is_smaller(tmp_path: Path) -> None:
    model = WindowModel(100_000, *dumps(30, 1_500))
    settings = Settings(context_window=6_000)
    rig = LongRig(tmp_path, model, describe_model=known(100_000), settings=settings)
    await rig.run(FIRST)
    assert max(map(tokens_of, model.requests)) <= 0.85 * 6_000
    assert rig.listed.sessions[0].context_source == "set"
    await rig.end()


async def test_first_message_skills_open_tasks_and_last_message_are_in_every_request_word_for_word(
    tmp_path: Path,
) -> None:
    tasks = {"subject": "Scrape the north wall"}
    prepared = [calls(("learn", {})), calls(("TaskCreate", tasks))]
    model = WindowModel(9_000, *prepared, says("Ready."), *dumps(60, 1_500), says("Painted."))
    tools = [tool("learn", learn, access=Access.INTERNAL), *task_tools()]
    rig = LongRig(tmp_path, model, tools=tools)
    await rig.run(FIRST)
    await rig.run("Now go on, and mind the gulls.")
    assert any(event.summary is not None for event in rig.of(ContextCompacted))
    for request in model.requests[4:]:
        said = texts(request.messages)
        assert FIRST in said
        assert "Now go on, and mind the gulls." in said
        assert said.count(SKILL) == 1
        assert any("#1" in text and "Scrape the north wall" in text for text in said)
    assert len(model.refused) == 1
    await rig.end()


async def test_older_turns_become_a_summary_by_the_model_without_tools_and_are_charged(
    tmp_path: Path,
) -> None:
    words = [says(f"{n} " + "word " * 700) for n in range(8)]
    model = WindowModel(8_000, *words)
    rig = LongRig(tmp_path, model, describe_model=known(8_000))
    for n in range(8):
        await rig.run(f"Message {n}")
    (asked, *_) = model.summaries
    assert not asked.tools
    assert "Message 1" in asked.messages[0].text
    event = next(one for one in rig.of(ContextCompacted) if one.summary is not None)
    assert event.summary is not None
    assert event.summary.parts[0] == TextPart(SUMMARY, ContextSummary())
    assert event.tokens_after < event.tokens_before <= 8_000
    assert {one.model for one in rig.of(SideCallEnded)} == {"m"}
    assert rig.listed.sessions[0].usage.cost == 0.5 * len(model.summaries)
    assert texts(model.requests[-1].messages)[0] == "Message 0"
    await rig.end()


async def test_a_summary_says_which_files_were_read_and_changed_also_the_second_time(
    tmp_path: Path,
) -> None:
    files = [
        calls(("look", {"path": f"r{n}.txt"}), ("save", {"path": f"w{n}.txt"})) for n in (1, 2)
    ]
    script = [files[0], *dumps(60, 2_000), files[1], *dumps(60, 2_000)]
    tools = [tool("look", tagged), tool("save", tagged, access=Access.WRITE)]
    model = WindowModel(8_000, *script)
    rig = LongRig(tmp_path, model, tools=tools, describe_model=known(8_000), mode="free")
    await rig.run(FIRST)
    made = [one.summary for one in rig.of(ContextCompacted) if one.summary is not None]
    assert len(made) > 1
    assert made[0].text.endswith("Files changed: w1.txt\n\nFiles read: r1.txt")
    assert made[-1].text.endswith("Files changed: w1.txt, w2.txt\n\nFiles read: r1.txt, r2.txt")
    await rig.end()


async def test_the_summary_needs_no_model_that_can_write_it(tmp_path: Path) -> None:
    broken = ModelError(Fault("protocol", "An empty answer.", "retry"))
    model = WindowModel(8_000, *dumps(40, 2_000), summary=broken)
    rig = LongRig(tmp_path, model, describe_model=known(8_000))
    assert (await rig.run(FIRST)).reason == "finished"
    made = next(one.summary for one in rig.of(ContextCompacted) if one.summary is not None)
    assert "Agent calls dump" in made.text
    await rig.end()


async def test_an_output_longer_than_the_window_is_cut_to_its_ends_and_can_be_read(
    tmp_path: Path,
) -> None:
    model = WindowModel(8_000, *dumps(1, 60_000), says("Painted."))
    rig = LongRig(tmp_path, model)
    assert (await rig.run(FIRST)).reason == "finished"
    (result,) = model.requests[-1].messages[-1].results
    assert result.text.startswith("out0 out0")
    path = re.search(r"`read` opens it, a part at a time: (.*)\]", result.text)
    assert path is not None
    assert len(Path(path[1]).read_text()) == 60_000
    await rig.end()


async def test_when_nothing_more_can_be_left_out_it_is_said_with_one_action(tmp_path: Path) -> None:
    model = WindowModel(8_000, says("Painted."))
    rig = LongRig(tmp_path, model)
    ended = await rig.run("Paint " * 8_000)
    assert ended.fault is not None
    assert (ended.fault.kind, ended.fault.action) == ("too_large", "switch_model")
    model.window = 100_000
    rig.engine.set_model(rig.session_id, "another")
    rig.engine.resume(rig.agent_id)
    assert (await rig.until(TurnEnded, 2)).reason == "finished"
    await rig.end()


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_message_longer_than_the_window_does_not_end_the_session(
    tmp_path: Path, is_first: bool
) -> None:
    """It can't be answered, but what is said next can."""
    rig = LongRig(tmp_path, model := WindowModel(8_000))
    if not is_first:
        await rig.run(FIRST)
    long = "The log begins. " + "Gulls. " * 8_000
    assert (await rig.run(long)).fault is not None
    assert (await rig.run("Then look at the last line alone.")).reason == "finished"
    said = texts(model.requests[-1].messages)
    assert said[-1] == "Then look at the last line alone."
    assert is_first or FIRST in said
    assert any("The log begins." in text for text in texts(model.summaries[-1].messages))
    assert any(event.message.text == long for event in rig.of(MessageAdded)), "it is not kept"
    await rig.end()


async def test_the_first_message_stays_word_for_word_where_the_newest_nearly_fills_the_window(
    tmp_path: Path,
) -> None:
    model = WindowModel(8_000)
    rig = LongRig(tmp_path, model)
    await rig.run(FIRST)
    await rig.run("What I know: " + "Gulls. " * 1_500)
    assert (await rig.run(newest := "More: " + "Gulls. " * 3_500)).reason == "finished"
    said = texts(model.requests[-1].messages)
    assert FIRST in said
    assert said[-1] == newest
    await rig.end()


def test_a_long_message_before_the_newest_becomes_part_of_the_summary() -> None:
    """What a summary of the short answers alone stands for is shorter than it: no room is made."""

    def said(role: Role, text: str) -> Message:
        return Message(new_message_id(), role, (TextPart(text),))

    long = "Gulls. " * 500
    history = [said("user", FIRST), said("assistant", "Yes."), said("user", f"Log: {long}")]
    history += [said("assistant", "Read."), said("user", f"More: {long}")]
    parted = split(history, 200, Estimate())
    assert parted is not None
    assert parted.dropped == (history[1], history[2])
    assert parted.kept == (history[0], *history[3:])


async def test_messages_that_are_too_long_together_do_not_end_the_session(tmp_path: Path) -> None:
    """The first was never answered, so nothing but it can make room for the second."""
    model = WindowModel(8_000, ModelError(Fault("server", "Overloaded.", "retry")), says("Read."))
    rig = LongRig(tmp_path, model)
    first, second = (f"log{n} begins. {'Gulls. ' * 2_400}" for n in range(2))
    assert (await rig.run(first)).fault is not None
    assert (await rig.run(second)).reason == "finished"
    assert texts(model.requests[-1].messages)[-1] == second
    assert any("log0 begins." in text for text in texts(model.summaries[-1].messages))
    await rig.end()


async def test_after_a_restart_the_history_is_the_compacted_one_and_the_transcript_the_whole(
    tmp_path: Path,
) -> None:
    model = WindowModel(8_000, *dumps(40, 2_000), says("Painted."))
    rig = LongRig(tmp_path, model)
    await rig.run(FIRST)
    history, told = rig.history, rig.messages
    assert rig.stored().history == history
    assert len(history) < len(told) == 82
    await rig.end()
    model = WindowModel(8_000)
    again = LongRig(tmp_path, model)
    again.engine.open_session(again.session_id)
    assert again.history == history
    await again.run("Go on")
    assert not model.refused
    page = again.store.page(again.session_id, None, 1_000, again.agent_id)
    said = [event.message for event in page.events if isinstance(event, MessageAdded)]
    assert [one.id for one in said][: len(told)] == [one.id for one in told]
    await again.end()


@pytest.mark.parametrize("after", [ContextCompacted, SideCallEnded])
async def test_killed_around_a_compaction_nothing_is_lost_and_no_note_is_said_twice(
    after: type, tmp_path: Path
) -> None:
    """The disk as it is right after an event: what a kill leaves."""
    model = WindowModel(8_000, *dumps(40, 2_000), says("Painted."))
    rig = LongRig(tmp_path, model)
    sent = rig.send(FIRST)
    await rig.until(after)
    abandon(rig.store)  # type: ignore[arg-type]
    again = LongRig(tmp_path, WindowModel(8_000), store=SqliteStore(rig.file))
    again.engine.open_session(again.session_id)
    again.engine.resume(again.agent_id)
    assert (await again.until(TurnEnded)).reason == "finished"
    request = again.model.requests[0]
    assert [one for one in texts(request.messages) if one == FIRST] == [FIRST]
    assert not open_calls(request.messages)
    assert all(event.note.id == sent.id for event in again.opened.notes)
    await again.end()


async def test_a_disk_that_refuses_leaves_the_history_as_it_is(tmp_path: Path) -> None:
    class Full(SqliteStore):
        def record(self, session_id: Any, *events: Any, info: Any = None) -> None:
            if any(isinstance(event, ContextCompacted) for event in events):
                raise StoreError("The disk is full.")
            super().record(session_id, *events, info=info)

    model = WindowModel(8_000, *dumps(6))
    rig = LongRig(tmp_path, model, store=Full(tmp_path / "full.db"))
    ended = await rig.run(FIRST)
    assert ended.fault is not None
    assert ended.fault.kind == "storage"
    assert rig.history == rig.stored().history
    assert not rig.of(ContextCompacted)
    await rig.end()


# -- by hand ------------------------------------------------------------------------------------


async def test_compact_by_hand_keeps_what_is_asked_and_can_be_undone_until_work_goes_on(
    tmp_path: Path,
) -> None:
    model = WindowModel(100_000, *dumps(6), says("Painted."), says("More."))
    rig = LongRig(tmp_path, model)
    await rig.run(FIRST)
    await rig.run("And the door")
    await rig.at_rest()
    before = rig.history
    rig.engine.compact(rig.agent_id, "the colour of the door")
    event = await rig.until(ContextCompacted)
    await rig.until(TurnEnded, 3)
    await rig.at_rest()
    assert event.reason == "asked"
    assert "the colour of the door" in model.summaries[0].messages[0].text
    assert len(rig.history) < len(before)
    rig.engine.undo_compaction(rig.agent_id, event.compaction_id)
    assert rig.of(CompactionUndone)
    assert rig.history == before == rig.stored().history
    rig.engine.compact(rig.agent_id)
    event = await rig.until(ContextCompacted, 2)
    await rig.until(TurnEnded, 4)
    await rig.run("Go on")
    await rig.at_rest()
    rig.engine.undo_compaction(rig.agent_id, event.compaction_id)
    assert [one.command for one in rig.of(CommandRefused)] == ["undo_compaction"]
    await rig.end()


async def test_a_compaction_can_be_undone_after_a_restart(tmp_path: Path) -> None:
    rig = LongRig(tmp_path, WindowModel(100_000, *dumps(6), says("Painted.")))
    await rig.run(FIRST)
    await rig.at_rest()
    before = rig.history
    rig.engine.compact(rig.agent_id)
    event = await rig.until(ContextCompacted)
    await rig.until(TurnEnded, 2)
    await rig.end()
    again = LongRig(tmp_path, WindowModel(100_000))
    again.engine.undo_compaction(again.agent_id, event.compaction_id)
    assert again.history == before
    await again.end()


async def test_with_nothing_to_summarise_compact_says_so(tmp_path: Path) -> None:
    rig = LongRig(tmp_path, WindowModel(100_000))
    rig.engine.compact(rig.agent_id)
    assert rig.of(CommandRefused)[0].message == "There is nothing to summarise yet."
    await rig.end()


async def test_clear_begins_context_and_task_list_anew_with_ids_from_1(tmp_path: Path) -> None:
    def create(subject: str) -> Answer:
        return calls(("TaskCreate", {"subject": subject}))

    model = WindowModel(100_000, create("One"), says("Ready."), create("Two"), says("Again."))
    rig = LongRig(tmp_path, model, tools=task_tools())
    await rig.run(FIRST)
    await rig.at_rest()
    rig.engine.clear_context(rig.agent_id)
    assert rig.of(ContextCleared)
    assert rig.history == () == rig.stored().history
    assert rig.agent(rig.agent_id).tasks.tasks == ()
    await rig.run("Something else")
    assert texts(model.requests[2].messages) == ["Something else"]
    assert [task.id for task in rig.agent(rig.agent_id).tasks.tasks] == [1]
    await rig.end()
    again = LongRig(tmp_path, WindowModel(100_000))
    assert [task.subject for task in again.agent(again.agent_id).tasks.tasks] == ["Two"]
    assert texts(again.history)[0] == "Something else"
    await again.end()


async def test_clear_waits_for_nobody_while_the_agent_works(tmp_path: Path) -> None:
    rig = LongRig(tmp_path, WindowModel(100_000, calls(("slow", {})), says("Done.")))
    rig.send(FIRST)
    await rig.gates.reached.wait()
    rig.engine.clear_context(rig.agent_id)
    assert rig.of(CommandRefused)[0].command == "clear_context"
    rig.gates.open.set()
    await rig.until(TurnEnded)
    assert rig.history
    await rig.end()


# -- what providers say -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("This model's maximum context length is 8192 tokens. However, you sent 9000.", 8192),
        ("prompt is too long: 200251 tokens > 199999 maximum", 199_999),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed "
         "(1048576).", 1_048_576),
        ("request (5000 tokens) exceeds the available context size (4096 tokens)", 4096),
        ('{"error": {"n_prompt_tokens": 5000, "n_ctx": 4096}}', 4096),
        ("the model is loaded with context length of only 4,096 tokens", 4096),
    ],
)  # fmt: skip
def test_the_window_is_learned_from_what_a_provider_says(words: str, window: int) -> None:
    tokens = int(window * 1.1)
    assert refused_window(Fault("too_large", words), tokens) == window
    assert refused_window(Fault("too_large", "No.", details=words), tokens) == window


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("request (2698 tokens) exceeds the available context size (1024 tokens), try increasing "
         "it", 2698),
        ("maximum context length is 8192 tokens. However, your messages resulted in 9,000 tokens.",
         9000),
        ("prompt is too long: 200251 tokens > 199999 maximum", 200_251),
        ("The request is too long.", None),
    ],
)  # fmt: skip
def test_what_a_refusal_counts_is_what_the_next_request_is_estimated_by(
    words: str, size: int | None
) -> None:
    assert refused_size(Fault("too_large", "No.", details=words)) == size
    message = Message(new_message_id(), "user", (TextPart("word " * 6_000),))
    request = ModelRequest(AgentId("ag"), "openai/m", "", (message,))
    plain, told = Estimate(), Estimate()
    before = plain.tokens(request)
    plain.refused(request, 4_096)
    told.refused(request, 4_096, before * 3 // 4)
    assert plain.tokens(request) == before
    # Where a server leaves out what it has no use for, such as tools, less has to go.
    assert told.tokens(request) == pytest.approx(before * 3 // 4, abs=2)
    told.refused(request, 4_096, 4_097)  # but no server is believed that counts next to nothing
    assert told.tokens(request) >= before // 2
    told.refused(request, 4_096, 10**11)
    assert told.tokens(request) <= before * 4 + 1


@pytest.mark.parametrize("words", ["Too long.", "maximum context length is 12", "context 9999999"])
def test_of_a_refusal_that_says_nothing_the_window_is_below_what_was_sent(words: str) -> None:
    assert refused_window(Fault("too_large", words), 10_000) == 9_000

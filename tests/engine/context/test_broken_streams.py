"""A server that cuts the stream of a request that is too long, and says nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace

import msgspec

from desktop_agent.core.events import ContextCompacted, RetryScheduled
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.requests import Accepted, ModelRequest, Retrying, StreamItem
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.context.windows import Windows
from tests.engine.context.test_compaction import FIRST, dumps
from tests.engine.context.window_rig import SUMMARY, LongRig, WindowModel, dump, texts, tokens_of
from tests.engine.rig import tool
from tests.helpers.scripted import says

OWN = "http://127.0.0.1:8080/v1"
BROKE = Fault("reset", "The answer broke off before its end.", "retry")


class CuttingModel(WindowModel):
    """Cuts what is longer than its window, as often as it is asked, up to five times."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        if self.count(request) <= self.window:
            async for item in super().stream(request):
                yield item
            return
        self.refused.append(request)
        yield Accepted()
        for attempt in range(1, 6):
            yield Retrying(attempt, 0.0, BROKE)
        raise ModelError(BROKE)


class PlainModel(CuttingModel):
    """One whose template leaves out the prompt and the tools, and that tells no usage."""

    def count(self, request: ModelRequest) -> int:
        return tokens_of(msgspec.structs.replace(request, system="", tools=()))

    def told(self, taken: int, cost: float) -> Usage:
        return Usage()


async def test_a_request_near_the_window_that_breaks_off_twice_is_made_shorter_and_goes_on(
    tmp_path: Path,
) -> None:
    model = CuttingModel(8_000, *dumps(6), says("Painted."))
    rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", OWN)
    ended = await rig.run(FIRST)
    assert (ended.reason, ended.fault) == ("finished", None)
    assert rig.messages[-1].text == "Painted."
    assert rig.of(ContextCompacted)[0].reason == "refused"
    # Five retries of each would have been told; the second break is the last.
    assert len(rig.of(RetryScheduled)) == len(model.refused)
    await rig.end()


async def test_what_seems_to_be_filled_by_the_tools_alone_is_made_shorter_all_the_same(
    tmp_path: Path,
) -> None:
    """The real server of a small model: of what it was told, half fitted."""
    model = PlainModel(1_500, *(says(f"word {n}") for n in range(1, 9)))
    words = "It does this and that. " * 100
    many = [msgspec.structs.replace(tool(f"t{n}", dump), description=words) for n in range(10)]
    rig = LongRig(tmp_path, model, tools=many)
    rig.engine.set_model(rig.session_id, "m", OWN)
    for turn in range(1, 9):
        ended = await rig.run(f"{turn} " * 1_000)
        assert (ended.reason, ended.fault) == ("finished", None)
        assert rig.messages[-1].text == f"word {turn}"
    assert any(SUMMARY in text for text in texts(rig.history))
    assert len(model.refused) <= 2
    await rig.end()


async def test_after_the_first_lesson_no_request_of_that_length_is_cut_again(
    tmp_path: Path,
) -> None:
    model = CuttingModel(40_000, *dumps(60, 8_000), says("Painted."))
    rig = LongRig(tmp_path, model)
    ended = await rig.run(FIRST)
    assert ended.reason == "finished"
    assert len(model.refused) <= 2
    assert rig.listed.sessions[0].context_source == "learned"
    await rig.end()


async def test_the_lesson_is_kept_with_the_answer_that_taught_it(tmp_path: Path) -> None:
    """Else an app that is closed then has its next request of that length cut again."""
    model = CuttingModel(8_000, *dumps(5), says("Painted."))
    rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", OWN)
    await rig.run(FIRST)
    assert len(rig.of(ContextCompacted)) == 1
    assert rig.messages[-1].text == "Painted."
    assert rig.listed.sessions[0].context_source == "learned"
    learned = rig.listed.sessions[0].context_limit
    assert learned
    # What was learned says nothing of another model.
    rig.engine.set_model(rig.session_id, "larger", OWN, 128_000)
    await rig.once(lambda: rig.listed.sessions[0].model == "larger")
    now = rig.listed.sessions[0]
    assert (now.context_limit, now.context_source) == (128_000, "known")
    await rig.end()


class LeftModel(CuttingModel):
    """While it answers for the last time, another is chosen, and the window asks about that."""

    rig: LongRig

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        async for item in super().stream(request):
            if self.requests and not self.script and isinstance(item, Accepted):
                self.rig.engine.set_model(self.rig.session_id, "larger", OWN, 128_000)
                await self.rig.engine.context_use(self.rig.agent_id)
            yield item


async def test_what_an_answer_taught_is_not_kept_of_a_model_that_was_chosen_meanwhile(
    tmp_path: Path,
) -> None:
    """After a restart the larger one's history would be cut down to the smaller one's window."""
    model = LeftModel(8_000, *dumps(5), says("Painted."))
    model.rig = rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", OWN)
    await rig.run(FIRST)
    assert rig.messages[-1].text == "Painted."
    now = rig.store.sessions()[0]
    assert (now.model, now.context_limit, now.context_source) == ("larger", 128_000, "known")
    assert (now.calibration.model, now.context_tokens) == ("m", tokens_of(model.requests[-1]))
    await rig.end()


async def test_a_model_that_is_chosen_again_is_given_the_whole_again(tmp_path: Path) -> None:
    """Its server was started anew with a larger context, as the check of the model said."""
    model = CuttingModel(8_000, *dumps(5), says("Painted."))
    rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", OWN)
    await rig.run(FIRST)
    assert rig.listed.sessions[0].context_source == "learned"
    model.window = 400_000
    model.script = [*dumps(20), says("Varnished.")]
    rig.engine.set_model(rig.session_id, "m", OWN)
    seen = len(rig.of(ContextCompacted))
    await rig.run("And now the boat.")
    assert rig.messages[-1].text == "Varnished."
    assert len(rig.of(ContextCompacted)) == seen
    await rig.end()


async def test_a_short_request_that_breaks_off_is_retried_as_ever_and_nothing_is_left_out(
    tmp_path: Path,
) -> None:
    model = CuttingModel(0)
    rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", "https://provider.example")
    ended = await rig.run(FIRST)
    assert ended.fault is not None
    assert ended.fault.kind == "reset"
    assert len(rig.of(RetryScheduled)) == 5
    assert not rig.of(ContextCompacted)
    await rig.end()


async def test_where_nothing_can_be_left_out_it_is_retried_to_the_end_and_said(
    tmp_path: Path,
) -> None:
    model = CuttingModel(0)
    rig = LongRig(tmp_path, model)
    rig.engine.set_model(rig.session_id, "m", OWN)
    ended = await rig.run(FIRST * 2_000)
    assert ended.fault is not None
    assert ended.fault.message == BROKE.message
    assert not rig.of(ContextCompacted)
    await rig.end()


def test_what_another_session_learned_before_a_model_was_chosen_again_does_not_hold() -> None:
    sources = SimpleNamespace(describe_model=None, served_window=None)
    windows = Windows(sources, Settings)
    info = SessionInfo(SessionId("s"), AgentId("a"), "", Workspace("/tmp"), "m", api_base=OWN)
    other = msgspec.structs.replace(info, context_limit=6_000, context_source="learned")
    windows.remember(other)
    assert windows.learned("m", OWN) == 6_000
    windows.forget("m", OWN)
    windows.remember(other)
    assert windows.learned("m", OWN) is None
    # What is learned from now on does.
    windows.learn("m", OWN, 20_000)
    assert windows.learned("m", OWN) == 20_000

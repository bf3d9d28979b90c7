"""Whatever a provider does wrong: one clear end with one thing to do, and then it goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from desktop_agent.compose import compose
from desktop_agent.core.events import MessageAdded, PartDelta, ToolEnded, ToolStarted, TurnEnded
from desktop_agent.core.faults import Fault, FaultAction, FaultKind
from desktop_agent.core.messages import open_calls
from desktop_agent.core.requests import Limits
from desktop_agent.core.settings import Settings
from tests.e2e import wire
from tests.e2e.desk import Conversation, Desk
from tests.helpers.forked import FORKS
from tests.helpers.patience import HANG_S
from tests.helpers.providers import (
    DIALECTS,
    BadJson,
    Calls,
    CutOffArguments,
    EmptyChoices,
    ErrorEvent,
    Fail,
    Finish,
    HalfEvent,
    LoopbackProvider,
    NeverEnding,
    Received,
    Reset,
    Say,
    Stall,
    Step,
    Wait,
    refused,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(
    connect_s=HANG_S, first_byte_s=HANG_S, idle_s=HANG_S, retry_total_s=60, max_retries=1
)
# For who says nothing at all, and for who stops after some words.
NO_WORD = msgspec.structs.replace(LIMITS, connect_s=2, first_byte_s=2, idle_s=2)
NO_MORE = msgspec.structs.replace(LIMITS, idle_s=8)
WELL = "I am well again."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """One engine and one model host for all of these."""
    home = tmp_path_factory.mktemp("home")
    desk = Desk()
    desk.backend = await compose(
        desk.hear,
        data_dir=home / "data",
        config_dir=home / "config",
        settings=Settings(limits=LIMITS),
        is_warmed=False,
    )
    with FORKS.hosts():
        yield desk
        await desk.backend.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("milk\n")
    return tmp_path


@dataclass(frozen=True)
class Case:
    """What the provider does every time, and what the person is told."""

    name: str
    step: Step
    kinds: tuple[FaultKind, ...]
    action: FaultAction
    text: str = ""
    dialects: Sequence[str] = DIALECTS
    limits: Limits = LIMITS


NO_WAIT = {"retry-after": "0"}
WITH_TEXT_ARGUMENTS = ("openai", "responses", "anthropic")
CASES = [
    Case("reset before an answer", Reset(), ("reset",), "retry"),
    Case("reset mid-stream", Reset(after_chunks=5), ("reset",), "continue", "piece 0"),
    Case("half an event", HalfEvent(), ("reset", "protocol"), "continue", "some text"),
    Case("invalid JSON", BadJson(late=False), ("protocol", "reset"), "retry"),
    Case("invalid JSON late", BadJson(), ("protocol", "reset"), "continue", "some text"),
    Case("400", Fail(400), ("bad_request",), "switch_model"),
    Case("401", Fail(401), ("auth",), "edit_key"),
    Case("402", Fail(402), ("billing",), "settings"),
    Case("403", Fail(403), ("auth",), "edit_key"),
    Case("404", Fail(404), ("not_found",), "switch_model"),
    Case("408", Fail(408, NO_WAIT), ("timeout",), "retry"),
    Case("413", Fail(413), ("too_large",), "switch_model"),
    Case("429 with Retry-After", Fail(429, NO_WAIT), ("rate_limit",), "retry"),
    Case(
        "429 with a long Retry-After", Fail(429, {"retry-after": "900"}), ("rate_limit",), "retry"
    ),
    Case("429 without Retry-After", Fail(429), ("rate_limit",), "retry"),
    Case("500", Fail(500, NO_WAIT), ("server",), "retry"),
    Case("503", Fail(503, NO_WAIT), ("overloaded",), "retry"),
    Case("529", Fail(529, NO_WAIT), ("overloaded",), "retry"),
    Case("an error in the stream", [Say("So "), ErrorEvent()], ("overloaded",), "continue", "So "),
    Case("no byte at all", Stall(headers=False), ("timeout",), "retry", limits=NO_WORD),
    Case("silence after the headers", Stall(), ("timeout",), "retry", limits=NO_WORD),
    Case(
        "silence after some text",
        Stall("And then "),
        ("timeout",),
        "continue",
        "And then ",
        limits=NO_MORE,
    ),
    Case("never-ending", NeverEnding(size=100_000), ("cut_off",), "continue", "0000", ("openai",)),
    Case("empty choices", EmptyChoices(), ("protocol", "reset"), "retry"),
    Case(
        "arguments cut off",
        [Say("I read it."), CutOffArguments()],
        ("cut_off",),
        "continue",
        "I read it.",
        WITH_TEXT_ARGUMENTS,
    ),
    Case("length", [Say("Some of it"), Finish("length")], ("cut_off",), "continue", "Some of it"),
    Case(
        "content filter",
        [Say("Some of it"), Finish("content_filter")],
        ("filtered",),
        "switch_model",
        "Some of it",
        [name for name in DIALECTS if name != "ollama"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_fault_ends_with_one_thing_to_do_and_the_session_goes_on(
    desk: Desk, folder: Path, case: Case
) -> None:
    engine = desk.backend.engine
    engine.apply_settings(Settings(limits=case.limits))
    is_told = asyncio.Barrier(len(case.dialects))

    async def check(dialect: str) -> None:
        with provider_of(dialect, is_well := threading.Event(), lambda _: case.step) as provider:
            conversation = await check_one_provider(desk, folder, case, provider)
            await is_told.wait()
            engine.apply_settings(Settings(limits=LIMITS))
            is_well.set()
            await goes_on(conversation, provider)

    await asyncio.gather(*map(check, case.dialects))


async def check_one_provider(
    desk: Desk, folder: Path, case: Case, provider: LoopbackProvider
) -> Conversation:
    conversation = await desk.session(folder, provider.model, provider.api_base)
    conversation.send("Go on with the work")
    fault = await faulted(conversation)
    assert fault.kind in case.kinds, fault
    assert fault.action == case.action, fault
    assert len(provider.requests) <= 1 + LIMITS.max_retries
    said = "".join(m.text for m in conversation.history if m.role == "assistant")
    assert said.startswith(case.text) if case.text else not said
    assert not [e for e in conversation.events if isinstance(e, ToolStarted)]
    return conversation


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_server_that_is_not_there_is_named_and_can_come_back(
    desk: Desk, folder: Path, dialect: str
) -> None:
    conversation = await desk.session(folder, *refused(dialect))
    conversation.send("Go on with the work")
    fault = await faulted(conversation)
    assert (fault.kind, fault.action) == ("refused", "settings")
    is_well = threading.Event()
    is_well.set()
    with provider_of(dialect, is_well, lambda _: Fail(500)) as provider:
        desk.backend.engine.set_model(conversation.id, provider.model, provider.api_base)
        await goes_on(conversation, provider)


MISTAKES: list[tuple[str, Calls, str, Sequence[str]]] = [
    ("an unknown tool", Calls(("fly", {"to": "Rome"})), "there is no tool 'fly'", DIALECTS),
    ("a missing argument", Calls(("read", {})), "path", DIALECTS),
    ("a wrong type", Calls(("read", {"path": ["a", 1]})), "path", DIALECTS),
    (
        "arguments that are no JSON",
        Calls(("read", '{"path": notes')),
        "not a JSON object",
        WITH_TEXT_ARGUMENTS,
    ),
    ("arguments that are a list", Calls(("read", '["a"]')), "not a JSON object", ("openai",)),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
async def test_a_models_mistake_is_told_to_the_model_which_goes_on(
    desk: Desk, folder: Path, mistake: tuple[str, Calls, str, Sequence[str]]
) -> None:
    _, calls, words, dialects = mistake

    async def check(dialect: str) -> None:
        with LoopbackProvider(dialect, [calls, lambda r: Say(f"I see: {r.results[-1]}")]) as server:
            conversation = await desk.session(folder, server.model, server.api_base)
            conversation.send("Go on with the work")
            ended = await conversation.ended()
            assert (ended.reason, ended.fault) == ("finished", None)
            assert words in conversation.history[-1].text
            check_is_valid(conversation, server)

    await asyncio.gather(*map(check, dialects))


async def test_two_calls_with_one_id_both_run_and_each_gets_its_own_result(
    desk: Desk, folder: Path
) -> None:
    (folder / "more.md").write_text("bread\n")
    calls = Calls(("read", {"path": "notes.md"}), ("read", {"path": "more.md"}), ids=["one", "one"])

    async def check(dialect: str) -> None:
        with LoopbackProvider(dialect, [calls, lambda r: Say(" / ".join(r.results))]) as server:
            conversation = await desk.session(folder, server.model, server.api_base)
            conversation.send("Read both")
            assert (await conversation.ended()).reason == "finished"
            said = conversation.history[-1].text
            assert said.index("milk") < said.index("bread")
            ended = [e for e in conversation.events if isinstance(e, ToolEnded)]
            assert len({event.result.call_id for event in ended}) == len(ended) == 2
            check_is_valid(conversation, server)

    await asyncio.gather(*map(check, WITH_TEXT_ARGUMENTS))


async def test_when_the_model_host_is_killed_every_session_says_so_and_goes_on(
    desk: Desk, folder: Path
) -> None:
    gate, is_well = threading.Event(), threading.Event()
    half = [Say("Half of ", chunks=1), Wait(gate)]
    with ExitStack() as stack:
        talks = []
        for dialect in DIALECTS:
            provider = stack.enter_context(provider_of(dialect, is_well, lambda _: half))
            conversation = await desk.session(folder, provider.model, provider.api_base)
            conversation.send("Go on with the work")
            await conversation.until(PartDelta)
            talks.append((conversation, provider))
        host = desk.backend.model.pid
        assert host is not None
        os.kill(host, signal.SIGKILL)
        for conversation, _ in talks:
            fault = await faulted(conversation)
            assert (fault.kind, fault.action) == ("host_died", "continue")
            assert conversation.history[-1].text == "Half of "
        is_well.set()
        gate.set()
        for conversation, provider in talks:
            await goes_on(conversation, provider)
        assert desk.backend.model.pid not in (None, host)


async def test_a_fault_after_tools_ran_keeps_their_results_and_runs_none_again(
    desk: Desk, folder: Path
) -> None:
    is_well = threading.Event()
    count = {"requests": 0}

    def step(_: Received) -> Step:
        count["requests"] += 1
        first = count["requests"] == 1
        return Calls(("read", {"path": "notes.md"})) if first else Reset(after_chunks=2)

    with provider_of("anthropic", is_well, step) as provider:
        conversation = await desk.session(folder, provider.model, provider.api_base)
        conversation.send("Read it")
        assert (await faulted(conversation)).action == "continue"
        is_well.set()
        await goes_on(conversation, provider)
        assert "milk" in provider.requests[-1].results[0]
        assert len([e for e in conversation.events if isinstance(e, ToolStarted)]) == 1


# -- what all of them check


def provider_of(
    dialect: str, is_well: threading.Event, step: Callable[[Received], Step]
) -> LoopbackProvider:
    """Return a provider that does `step` until it is well."""

    def answer(request: Received) -> Step:
        return Say(WELL) if is_well.is_set() else step(request)

    return LoopbackProvider(dialect, otherwise=answer)


async def faulted(conversation: Conversation) -> Fault:
    """Wait for the end, which must be one fault in words for a person; the history is whole."""
    ended = await conversation.ended()
    assert ended.reason == "error"
    assert ended.fault is not None
    assert ended.fault.message[0].isupper()
    assert ended.fault.message[-1] in ".!?…"
    assert "\n" not in ended.fault.message
    assert "Traceback" not in ended.fault.message + ended.fault.details
    assert not open_calls(conversation.history)
    return ended.fault


async def goes_on(conversation: Conversation, provider: LoopbackProvider) -> None:
    """Retry or continue; the provider must be sent a history that it accepts."""
    conversation.engine.resume(conversation.agent)
    ended = await conversation.ended()
    assert (ended.reason, ended.fault) == ("finished", None)
    assert conversation.history[-1].text == WELL
    check_is_valid(conversation, provider)
    turns = [e for e in conversation.events if isinstance(e, TurnEnded)]
    assert [turn.reason for turn in turns] == ["error", "finished"]
    sent = "\n".join(provider.requests[-1].user_texts)
    assert sent.count("Go on with the work") + sent.count("Read it") == 1


def check_is_valid(conversation: Conversation, provider: LoopbackProvider) -> None:
    assert not open_calls(conversation.history)
    for request in provider.requests:
        assert not wire.problem(provider.dialect, request.body)
    ids = [e.message.id for e in conversation.events if isinstance(e, MessageAdded)]
    assert len(ids) == len(set(ids))

"""The checks of what runs: the engine and the model host, over each kind of provider."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.compose import Backend, compose
from desktop_agent.core.approvals import Mode
from desktop_agent.core.changes import UndoError
from desktop_agent.core.events import (
    CommandRefused,
    EngineFailed,
    Event,
    MessageAdded,
    SandboxChanged,
    SessionOpened,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import new_agent_id, new_message_id, new_note_id, new_session_id
from desktop_agent.core.mcp import McpServer
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.network.command_proxy import PORT
from desktop_agent.core.notes import Note
from desktop_agent.core.providers import PROVIDERS
from desktop_agent.core.requests import Limits, ModelRequest
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.self_check.dialects import DIALECTS, Dialect
from desktop_agent.self_check.loopback import LoopbackProvider
from desktop_agent.self_check.parts import CheckFailed

_SECONDS = 600.0  # only a hang takes that long, however slow the computer is
_WORD = "nasturtium"
_NOTE = "note.txt"
_FEWEST_MODELS = 500
_ASKING = (
    f"exec 3<>/dev/tcp/127.0.0.1/{PORT}; printf 'CONNECT 10.0.0.1:443 HTTP/1.1\\r\\n\\r\\n' >&3;"
    ' read -r line <&3; echo "$line"'
)
# Wherever the app was started from, and with whatever path.
_PROXIED = f"PATH=$PATH:/usr/bin:/bin bash -c {shlex.quote(_ASKING)}"
_REFUSED = "HTTP/1.1 403"


class EngineCheck:
    """One engine with its model host, in a folder of its own. To be used on one event loop."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._folder = place / "work"
        self._heard = asyncio.Event()
        self._events: list[Event] = []
        self._backend: Backend | None = None

    async def model_host(self) -> str:
        """Start both, and ask the host what it knows without a network."""
        self._folder.mkdir()
        (self._folder / _NOTE).write_text(f"The word is {_WORD}.\n", "utf-8")
        self._backend = await compose(
            self._hear,
            data_dir=self._place / "data",
            config_dir=self._place / "config",
            settings=Settings(),
            is_warmed=False,
        )
        async with asyncio.timeout(_SECONDS):
            known = await self._backend.model.call("price_map")
        if len(known) < _FEWEST_MODELS:
            raise CheckFailed(f"only {len(known)} models are known")
        return f"runs as a process of its own and knows {len(known):,} models"

    async def dialect(self, dialect: Dialect) -> str:
        """Let a model of this dialect read a file, and read its answer."""
        if self._backend is None:
            raise CheckFailed("the model host is missing")
        self._events.clear()
        with LoopbackProvider(dialect, "read", {"path": _NOTE}, _WORD) as provider:
            async with asyncio.timeout(_SECONDS):
                ended = await self._turn(self._backend, provider)
        if ended.reason != "finished":
            fault = ended.fault
            raise CheckFailed(f"{fault.message} {fault.details}" if fault else ended.reason)
        outcomes = [event.outcome for event in self._events if isinstance(event, ToolEnded)]
        if outcomes != ["ok"]:
            raise CheckFailed(f"the tool's outcome was {outcomes}")
        if _WORD not in "".join(self._answers()):
            raise CheckFailed("the answer did not arrive")
        return "a tool was called, and its result answered"

    async def providers(self) -> str:
        """Make a request to each provider that the app offers, by its own name."""
        if self._backend is None:
            raise CheckFailed("the model host is missing")
        model = self._backend.model
        names = [provider.name for provider in PROVIDERS]
        async with asyncio.timeout(_SECONDS):
            words = await asyncio.gather(*(_ask_provider(model, name) for name in names))
        failed = [f"{name}: {why}" for name, why in zip(names, words, strict=True) if why]
        if failed:
            raise CheckFailed("; ".join(failed))
        return f"the requests of all {len(names)} arrived"

    async def file_history(self) -> str:
        """Ask the process that keeps what agents change."""
        if self._backend is None:
            raise CheckFailed("the engine is missing")
        async with asyncio.timeout(_SECONDS):
            try:
                await self._backend.engine.undo_usage()
            except UndoError as error:
                raise CheckFailed(str(error)) from None
        return "runs as a process of its own and opens its store"

    async def servers(self) -> str:
        """Have the process that speaks MCP try an address where nobody is."""
        if self._backend is None:
            raise CheckFailed("the engine is missing")
        nobody = McpServer("nobody", url="http://127.0.0.1:9/mcp")
        async with asyncio.timeout(_SECONDS):
            state = await self._backend.engine.test_mcp("", nobody)
        if state.phase != "failed" or "ended" in state.problem:
            raise CheckFailed(state.problem or "a server was found where none is")
        return "runs as a process of its own and speaks with servers"

    async def sandbox(self) -> str:
        """Have a command, where it is contained, ask the guard for what that always refuses."""
        if self._backend is None:
            raise CheckFailed("the engine is missing")
        self._backend.engine.check_sandbox()
        async with asyncio.timeout(_SECONDS):
            state = await self._sandbox_state()
            if not state.holds:
                if state.probes:
                    raise CheckFailed(state.reason)
                return f"not on this computer: {state.reason}"
            self._events.clear()
            given = {"command": _PROXIED}
            with LoopbackProvider(DIALECTS[0], "shell", given, _REFUSED) as provider:
                await self._turn(self._backend, provider, "free")
        results = [event.result.text for event in self._events if isinstance(event, ToolEnded)]
        if not any(_REFUSED in text for text in results):
            raise CheckFailed(f"the guard did not answer: {results}")
        return f"holds in all {len(state.probes)} attempts, and its guard answers"

    async def close(self) -> None:
        """End the engine and the host."""
        if self._backend is not None:
            await self._backend.close()

    async def _sandbox_state(self) -> SandboxState:
        while True:
            self._heard.clear()
            for event in self._events:
                if isinstance(event, SandboxChanged):
                    return event.state
            await self._heard.wait()

    async def _turn(
        self, backend: Backend, provider: LoopbackProvider, mode: Mode = "look"
    ) -> TurnEnded:
        backend.engine.new_session(
            new_session_id(),
            Workspace(str(self._folder)),
            model=provider.model,
            api_base=provider.api_base,
            mode=mode,
        )
        agent = None
        while True:
            self._heard.clear()
            for event in self._events:
                if isinstance(event, EngineFailed | CommandRefused):
                    raise CheckFailed(event.message)
                if isinstance(event, TurnEnded):
                    return event
                if isinstance(event, SessionOpened) and agent is None:
                    agent = event.info.main_agent
                    backend.engine.send(agent, Note(new_note_id(), "What does the note say?"))
            await self._heard.wait()

    def _answers(self) -> Iterator[str]:
        for event in self._events:
            if isinstance(event, MessageAdded) and event.message.role == "assistant":
                yield event.message.text

    def _hear(self, event: Event) -> None:
        self._events.append(event)
        self._heard.set()


async def _ask_provider(model: HostedModel, name: str) -> str:
    """Return why no request of this provider's arrived, or nothing.

    What is answered is of one dialect only, so how it is read proves nothing here.
    """
    own = next((each for each in DIALECTS if each.name == name), DIALECTS[0])
    anywhere = replace(own, path="")
    with LoopbackProvider(anywhere, "read", {}, "") as provider:
        request = ModelRequest(
            new_agent_id(),
            f"{name}/check",
            "",
            (Message(new_message_id(), "user", (TextPart("Hello"),)),),
            api_base=provider.api_base,
            limits=Limits(max_retries=0),
        )
        try:
            async for _ in model.stream(request):
                pass
        except ModelError as error:
            if not provider.arrived:
                return f"{error.fault.message} {error.fault.details}"
        return "" if provider.arrived else "nothing arrived"

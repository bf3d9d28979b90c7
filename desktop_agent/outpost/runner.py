"""Runs jobs as sessions of one engine, each followed to its end by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.compose import SESSIONS_FILE, Backend, ForThisRun
from desktop_agent.core.agents import Budget, EndReason
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import (
    AgentsChanged,
    AgentSpawned,
    BudgetReached,
    CommandRefused,
    EngineFailed,
    Event,
    SessionOpened,
    SideCallEnded,
    StepEnded,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, SessionId, new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.headless.arguments import Options
from desktop_agent.headless.follow import Follower
from desktop_agent.headless.output import RunEnded, one_line
from desktop_agent.headless.run import NoSandbox, follow, lend_key, need_sandbox, open_engine

_NAMED = 5
_UNPRICED = "The price of its model is not known, so a limit in dollars can't be held."


class Ended(msgspec.Struct, frozen=True):
    """How a job came to its end; `error` says what went wrong, if anything did."""

    reason: EndReason
    text: str
    usage: Usage
    seconds: float
    error: str = ""


class _Quiet:
    """Prints nothing: keeps what went wrong, and tells what each step used."""

    def __init__(self, used: Callable[[Usage], None]) -> None:
        self.trouble = ""
        self._used = used

    def show(self, event: Event) -> None:
        """Look at one event."""
        match event:
            case StepEnded(usage=usage) | SideCallEnded(usage=usage):
                self._used(usage)
            case TurnEnded(fault=Fault(message=message)):
                self.trouble = message
            case EngineFailed(message=message) | CommandRefused(message=message):
                self.trouble = message
            case BudgetReached(spent=spent, budget=budget) if spent.unmeasured(budget):
                self.trouble = _UNPRICED
            case _:
                pass

    def end(self, ended: RunEnded) -> None:
        """Do nothing: whoever runs the job has its end."""


class _Engine(msgspec.Struct):
    """An engine, and who follows which of its agents."""

    backend: Backend
    by_session: dict[SessionId, Follower] = {}
    by_agent: dict[AgentId, Follower] = {}

    def hear(self, event: Event) -> None:
        """Hand an event to whoever follows its session."""
        match event:
            case SessionOpened(info=info):
                follower = self.by_session.get(info.id)
                if follower is not None:
                    self.by_agent[info.main_agent] = follower
            case AgentsChanged(session_id=session_id):
                follower = self.by_session.get(session_id)
            case AgentSpawned(agent_id=agent_id, spec=spec):
                follower = self.by_agent.get(spec.parent_id)
                if follower is not None:
                    self.by_agent[agent_id] = follower
            case _:
                follower = self.by_agent.get(getattr(event, "agent_id", None) or AgentId(""))
        if follower is not None:
            follower.hear(event)

    def forget(self, session_id: SessionId, follower: Follower) -> None:
        """Drop what ended, and erase it."""
        del self.by_session[session_id]
        self.by_agent = {key: one for key, one in self.by_agent.items() if one is not follower}
        self.backend.engine.delete_session(session_id)
        self.backend.engine.erase_session(session_id)


class Runner:
    """One engine for all jobs that need no other: `folder`, ours alone, holds their sessions.

    Sandbox, hosts and the limit of steps hold for an engine: jobs that differ in them have one
    each. `used` hears what each step of any job used. Without `model` this machine's are asked.
    """

    def __init__(
        self, folder: Path, used: Callable[[Usage], None], model: HostedModel | None = None
    ) -> None:
        self._folder = folder
        self._used = used
        self._model = model
        self._engines: dict[object, asyncio.Task[_Engine]] = {}
        self._running: set[Follower] = set()

    async def run(
        self,
        options: Options,
        cost_left: float | None = None,
        refusals: Sequence[Rule] = (),
    ) -> Ended:
        """Follow one job to its end. Raises NoSandbox, StoreLocked, StoreError or OSError.

        `refusals` are the rules of the folder that it works in a copy of.
        """
        engine = await self._engine(options)
        quiet, session_id, began = _Quiet(self._used), new_session_id(), time.monotonic()
        follower = Follower(quiet)
        follower.attach(engine.backend.engine)
        engine.by_session[session_id] = follower
        self._running.add(follower)
        for rule in refusals:
            bound = msgspec.structs.replace(rule, scope="session", where=session_id)
            engine.backend.engine.add_rule(bound)
        try:
            self._begin(engine.backend, options, session_id, follower, cost_left)
            await follow(follower, options.timeout_s)
        finally:
            self._running.discard(follower)
            engine.forget(session_id, follower)
        seconds = round(time.monotonic() - began, 3)
        return Ended(follower.reason, follower.text, follower.usage, seconds, quiet.trouble)

    def stop(self) -> None:
        """Interrupt every job that runs; a second time, don't wait for them either."""
        for follower in self._running:
            follower.cut("interrupted")

    async def close(self) -> None:
        """End the engines."""
        for engine in self._engines.values():
            if engine.done() and not engine.cancelled() and engine.exception() is None:
                await engine.result().backend.close()

    def _begin(
        self,
        backend: Backend,
        options: Options,
        session_id: SessionId,
        follower: Follower,
        cost_left: float | None,
    ) -> None:
        engine, root = backend.engine, str(options.workspace)
        if self._model is None:
            lend_key(options, backend.secrets)
        if options.is_trusted:
            engine.trust_folder(root, "trust", is_kept=False)
        model, base, mode = options.model, options.api_base, options.mode or "ask"
        engine.new_session(session_id, Workspace(root), model=model, api_base=base, mode=mode)
        if follower.session is None:
            follower.idle.set()
            return
        main = follower.session.main_agent
        if options.allows_all:
            engine.set_machine_sandbox(session_id, True)
        if cost_left is not None:
            engine.set_budget(main, _at_most(backend.settings.load().budget, cost_left))
        engine.send(main, Note(new_note_id(), options.prompt))

    async def _engine(self, options: Options) -> _Engine:
        needs = (options.sandbox, options.hosts, options.max_steps)
        if needs not in self._engines:
            number = len(self._engines)
            self._engines[needs] = asyncio.create_task(self._start(options, number))
        return await asyncio.shield(self._engines[needs])

    async def _start(self, options: Options, number: int) -> _Engine:
        folder = self._folder / f"engine-{number}"
        folder.mkdir(mode=0o700)
        started: list[_Engine] = []
        backend = await open_engine(
            options,
            lambda event: started[0].hear(event) if started else None,
            folder / SESSIONS_FILE,
            ForThisRun(options.hosts, keeps_changes=False, model=self._model),
        )
        started.append(_Engine(backend))
        try:
            await need_sandbox(options, backend)
        except NoSandbox:
            await backend.close()
            raise
        return started[0]


def too_large(names: Sequence[str]) -> str:
    """Say which changed files were too much to be sent home; nothing without any."""
    said = listed([one_line(name, 80) for name in names], _NAMED)
    return f"Too large to be sent, and lost: {said}" if names else ""


def _at_most(budget: Budget, cost: float) -> Budget:
    limit = cost if budget.cost is None else min(cost, budget.cost)
    return msgspec.structs.replace(budget, cost=limit)

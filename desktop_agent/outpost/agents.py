"""Agents of a desktop elsewhere: each a session of one engine here, in a copy of its folder."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.places.git_copy import GitError, GitStore
from desktop_agent.compose import SESSIONS_FILE, Backend, ForThisRun, compose
from desktop_agent.core.events import (
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    MessageStarted,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    ToolEnded,
    ToolOutput,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId, SessionId, new_session_id
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.engine import Engine
from desktop_agent.outpost.restoring import keep_step, lay_steps, restore_session
from desktop_agent.outpost.runner import too_large

_log = logging.getLogger(__name__)

# What nobody watches here; the whole of it follows.
_GROWING = (PartDelta, ToolOutput, MessageStarted)


class _Run(msgspec.Struct):
    """One agent: its session, its copy, what is to be told of it next, what it waits for."""

    order: pipe.StartAgent
    copy: Path
    session_id: SessionId = msgspec.field(default_factory=new_session_id)
    agent_id: AgentId | None = None
    told: set[NoteId] = set()
    stops: int = 0
    turns: int = 0
    asks: dict[str, AgentEvent] = {}
    waiting: list[AgentEvent] = []
    # The commit of its copy as the head of its cluster knows it, and whether calls ended since.
    kept: str = ""
    has_changed: bool = False
    keeping: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class AgentRuns:
    """All of an outpost's agents. `tell` is given each event with the number 0, to be counted.

    Where there is a `head` each step's end is a commit, which it is told before the next begins.
    """

    def __init__(
        self,
        folder: Path,
        store: GitStore,
        model: HostedModel,
        tell: Callable[[pipe.AgentNews], None],
        head: Callable[[pipe.AgentKept | pipe.AgentRefused], None] | None,
    ) -> None:
        self._folder, self._store, self._model, self._tell = folder, store, model, tell
        self._head = head
        self._runs: dict[str, _Run] = {}
        self._by_agent: dict[AgentId, _Run] = {}
        self._opened: dict[SessionId, AgentId] = {}
        self._backend: asyncio.Task[Backend] | None = None
        self._turns: set[asyncio.Task[None]] = set()
        self._ordering = asyncio.Lock()

    @property
    def has_any(self) -> bool:
        """Whether an agent is wanted still."""
        return bool(self._runs)

    async def keep(self, keys: tuple[str, ...]) -> None:
        """End all other agents: whoever waited for them is gone."""
        async with self._ordering:  # one whose copy is being made is ended once it is there
            for key in self._runs.keys() - set(keys):
                self._drop(key)

    async def carry_out(self, order: pipe.AgentOrder) -> None:
        """Do what is ordered; what was done already is ignored."""
        # One after the other, also when a new stream comes in the middle.
        async with self._ordering:
            if isinstance(order, pipe.StartAgent | pipe.RestoreAgent):
                if order.key not in self._runs:
                    await self._begin(order)
                return
            run = self._runs.get(order.key)
            if isinstance(order, pipe.ResumeAgent):
                self._tell_anew(order.key, run)
            elif run is not None and run.agent_id is not None:
                self._order(order, run, run.agent_id, (await self._started()).engine)

    def _tell_anew(self, key: str, run: _Run | None) -> None:
        if run is None:
            self._tell(pipe.TurnOver(0, key, problem="nothing is left there of its work"))
        else:
            self._tell(pipe.AgentWorked(0, key, tuple(run.asks.values())))

    def _order(self, order: pipe.AgentOrder, run: _Run, agent_id: AgentId, engine: Engine) -> None:
        match order:
            case pipe.TellAgent(note=note):
                if note.id not in run.told:
                    run.told.add(note.id)
                    engine.send(agent_id, note)
            case pipe.DecideForAgent(request_id=request_id, decision=decision):
                engine.decide(request_id, decision)
            case pipe.AnswerAgent(question_id=question_id, text=text):
                engine.answer(question_id, text)
            case pipe.StopAgent(number=number):
                if number > run.stops:
                    run.stops = number
                    engine.stop(agent_id)
            case pipe.SetAgentMode(mode=mode):
                engine.set_mode(run.session_id, mode)
            case pipe.DropAgent():
                self._drop(order.key)
            case pipe.StartAgent() | pipe.RestoreAgent() | pipe.ResumeAgent():
                pass

    async def close(self) -> None:
        """Stop all of them, and end the engine."""
        for turn in self._turns:
            turn.cancel()
        await asyncio.gather(*self._turns, return_exceptions=True)
        if self._backend is not None:
            backend = (await asyncio.gather(self._backend, return_exceptions=True))[0]
            if not isinstance(backend, BaseException):
                await backend.close()

    async def keep_step(self, agent_id: AgentId) -> None:
        """Tell the head what an agent's last step has left in its copy."""
        run = self._by_agent.get(agent_id)
        if run is None or self._head is None:
            return
        async with run.keeping:  # the end of a turn, and a note that begins another
            if not run.has_changed:
                return
            run.has_changed = False
            order, copy = run.order, run.copy
            try:
                kept = await asyncio.to_thread(keep_step, self._store, order, run.kept, copy)
            except (GitError, OSError) as error:
                # It works on; what is known of it is what the step before has left.
                _log.warning("a step of %s was not kept: %s", order.key, error)
                return
            run.kept = kept.commit
            self._head(kept)

    async def _begin(self, order: pipe.StartAgent | pipe.RestoreAgent) -> None:
        start = order if isinstance(order, pipe.StartAgent) else order.start
        place = self._folder / "agents" / start.key
        run = self._runs[start.key] = _Run(start, place / Path(start.folder).name)
        run.kept = start.commit
        try:
            place.mkdir(parents=True, mode=0o700)
            await asyncio.to_thread(self._store.copy, start.commit, run.copy)
            backend = await self._started()
            if isinstance(order, pipe.StartAgent):
                self._open(backend.engine, run, order)
            else:
                await self._restore(backend, run, order)
        except (GitError, StoreError, OSError) as error:
            if isinstance(order, pipe.RestoreAgent) and self._head is not None:
                del self._runs[start.key]
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
                self._head(pipe.AgentRefused(start.key, str(error)))
            else:
                self._tell(pipe.TurnOver(0, start.key, problem=str(error)))

    def _open(self, engine: Engine, run: _Run, order: pipe.StartAgent) -> None:
        engine.new_session(
            run.session_id,
            Workspace(str(run.copy)),
            model=order.model,
            api_base=order.api_base,
            mode=order.mode,
            title=order.name,
        )
        run.agent_id = self._opened.get(run.session_id)
        if run.agent_id is None:
            self._tell(pipe.TurnOver(0, order.key, problem="its session could not be begun there"))
            return
        self._by_agent[run.agent_id] = run
        self._tell(pipe.AgentBegun(0, order.key, run.agent_id))

    async def _restore(self, backend: Backend, run: _Run, order: pipe.RestoreAgent) -> None:
        """Go on where the head knows it to have been; whoever follows it hears what that closed."""
        if order.commits:
            await asyncio.to_thread(lay_steps, self._store, order, run.copy)
            run.kept = order.commits[-1]
        if order.agent_id in self._by_agent:
            raise StoreError("another agent there has its id")
        restored = restore_session(backend, run.session_id, order, run.copy)
        run.agent_id, run.told = order.agent_id, restored.told
        self._by_agent[order.agent_id] = run
        self._tell(pipe.AgentBegun(0, order.key, order.agent_id))
        if restored.closing:
            self._tell(pipe.AgentWorked(0, order.key, restored.closing))
        if restored.note is not None:
            backend.engine.send(order.agent_id, restored.note)
            backend.engine.resume(order.agent_id)
        elif restored.ended is not None and not order.is_over:
            work = self._end_turn(run, restored.ended, run.turns, restored.gone)
            self._in_background(work)

    def _drop(self, key: str) -> None:
        run = self._runs.pop(key)
        if run.agent_id is not None and self._backend is not None:
            self._by_agent.pop(run.agent_id, None)
            engine = self._backend.result().engine
            engine.delete_session(run.session_id)
            engine.erase_session(run.session_id)
        self._store.forget(run.copy)
        self._in_background(asyncio.to_thread(shutil.rmtree, run.copy.parent, ignore_errors=True))

    async def _started(self) -> Backend:
        if self._backend is None:
            self._backend = asyncio.create_task(self._start())
        return await asyncio.shield(self._backend)

    async def _start(self) -> Backend:
        config_dir = paths.config_dir()
        settings = settings_file.load(config_dir / "settings.json")
        folder = self._folder / "agents-engine"
        folder.mkdir(mode=0o700)
        return await compose(
            self._hear,
            data_dir=paths.data_dir(),
            config_dir=config_dir,
            settings=msgspec.structs.replace(settings, has_subagents=False),
            store_path=folder / SESSIONS_FILE,
            is_warmed=False,
            more=ForThisRun(keeps_changes=False, model=self._model),
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, SessionOpened):
            self._opened[event.info.id] = event.info.main_agent
            return
        run = self._by_agent.get(getattr(event, "agent_id", None) or AgentId(""))
        if run is None or not isinstance(event, AgentEvent) or isinstance(event, _GROWING):
            return
        _note_asks(run, event)
        run.has_changed |= isinstance(event, ToolEnded)
        run.waiting.append(event)
        if len(run.waiting) == 1:
            # Events of one transaction are told one right after the other.
            asyncio.get_running_loop().call_soon(self._hand_on, run)

    def _hand_on(self, run: _Run) -> None:
        events, run.waiting = tuple(run.waiting), []
        self._tell(pipe.AgentWorked(0, run.order.key, events))
        for event in events:
            run.turns += isinstance(event, TurnStarted)
            if isinstance(event, TurnEnded):
                self._in_background(self._end_turn(run, event, run.turns))

    async def _end_turn(self, run: _Run, ended: TurnEnded, turn: int, gone: str = "") -> None:
        if run.agent_id is not None:
            await self.keep_step(run.agent_id)
        try:
            commit, copy = run.order.commit, run.copy
            patch, files, large = await asyncio.to_thread(self._store.changed, commit, copy)
        except (GitError, OSError) as error:
            problem = f"what it changed is lost: {error}"
            over = pipe.TurnOver(0, run.order.key, problem=problem, ended=ended)
        else:
            problem = ". ".join(one for one in (gone, too_large(large)) if one)
            over = pipe.TurnOver(0, run.order.key, patch, problem, files, ended)
        if run.turns == turn:  # else a note that came meanwhile has begun another
            self._tell(over)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)


def _note_asks(run: _Run, event: AgentEvent) -> None:
    match event:
        case ApprovalRequested(request=request):
            run.asks[request.id] = event
        case QuestionAsked(question=question):
            run.asks[question.id] = event
        case ApprovalResolved(request_id=done) | QuestionAnswered(question_id=done):
            run.asks.pop(done, None)
        case _:
            pass

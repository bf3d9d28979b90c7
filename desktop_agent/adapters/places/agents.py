"""Agents that work at places: one outpost a place, one stream to each."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from desktop_agent.adapters.places.git_copy import GitError, GitStore, repository_of, unsent
from desktop_agent.adapters.places.home_model import HomeModel, HomeServices
from desktop_agent.adapters.places.link import OutpostLink
from desktop_agent.core.approvals import Decision, Mode
from desktop_agent.core.events import (
    AgentEvent,
    ApprovalResolved,
    NoteQueued,
    QuestionAnswered,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, QuestionId, RequestId
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.places import Place, PlaceFollowed
from desktop_agent.core.notes import Note
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.requests import ModelRequest
from desktop_agent.engine.base.places import FarStart, FarTurnOver, PlaceLost
from desktop_agent.engine.base.ports import Model

_MOST_AT_ONCE = 200
_NAMED = 5
# As long as an outpost waits for somebody to come: a day.
_MOST_TRIES = 86_400 // 15
Admit = Callable[[ModelRequest], Awaitable[ModelRequest]]


class FarAgent:
    """One agent's work, as ordered here and told from there."""

    def __init__(
        self, outpost: _Outpost, start: FarStart, admit: Admit, changed: Callable[[], None]
    ) -> None:
        # Not the agent's id: another computer's may have the same.
        key = f"{start.agent_id}-{secrets.token_hex(4)}"
        new = PlaceFollowed(start.agent_id, key, outpost=outpost.name)
        self._followed = start.followed or new
        self.key, self.there = self._followed.key, self._followed.there
        self.start, self.admit, self.changed = start, admit, changed
        self._is_resumed = bool(self.there)
        self._outpost = outpost
        self._orders: list[pipe.AgentOrder] = []
        self._came: deque[pipe.AgentNews] = deque()
        self._news = asyncio.Event()
        self._lost: PlaceLost | None = None
        self._stops, self._given = self._followed.stops, 0
        self._mode: Mode = start.mode
        self._snapshot: tuple[str, bytes] | None = None
        self._not_sent = self._followed.not_sent
        self._beginning = None if self.there else asyncio.create_task(self._begin())

    @property
    def away_since(self) -> float:
        """When the stream was cut; 0 while it is there."""
        return self._outpost.away_since

    @property
    def followed(self) -> PlaceFollowed:
        """How far it is followed, with what `next` returned last."""
        return msgspec.structs.replace(
            self._followed, stops=self._stops, not_sent=self._not_sent[:_NAMED]
        )

    def tell(self, note: Note) -> None:
        """Queue a note there."""
        self._order(pipe.TellAgent(self.key, note))

    def decide(self, request_id: RequestId, decision: Decision) -> None:
        """Settle an approval request."""
        self._order(pipe.DecideForAgent(self.key, request_id, decision))

    def answer(self, question_id: QuestionId, text: str) -> None:
        """Answer a question."""
        self._order(pipe.AnswerAgent(self.key, question_id, text))

    def set_mode(self, mode: Mode) -> None:
        """Let it do this from the next call on; without news of it, nothing is sent."""
        if mode != self._mode:
            self._mode = mode
            self._outpost.link.send(pipe.SetAgentMode(self.key, mode))

    def stop(self) -> None:
        """End the turn there."""
        self._stops += 1
        self._order(pipe.StopAgent(self.key, self._stops))

    async def next(self) -> tuple[AgentEvent, ...] | FarTurnOver:
        """Return what came next, again until it is `kept`. Raises PlaceLost."""
        while not self._came:
            if self._lost is not None:
                raise self._lost
            self._news.clear()
            await self._news.wait()
        first = self._came[0]
        if isinstance(first, pipe.TurnOver):
            self._given = 1
            return FarTurnOver(first.ended, first.patch, first.problem, first.files)
        # All that waits, as after a cut, goes to the disk at once.
        events: list[AgentEvent] = []
        self._given = 0
        for news in self._came:
            if isinstance(news, pipe.TurnOver) or len(events) > _MOST_AT_ONCE:
                break
            self._given += 1
            self._followed = msgspec.structs.replace(
                self._followed,
                there=self.there,
                epoch=self._outpost.link.epoch,
                number=news.number,
            )
            events += news.events if isinstance(news, pipe.AgentWorked) else ()
        return tuple(events)

    def kept(self) -> None:
        """What `next` returned is on disk here."""
        for _ in range(self._given):
            self._outpost.link.keep(self._came.popleft().number)
        self._given = 0

    def drop(self) -> None:
        """Nothing more is wanted of it."""
        if self._beginning is not None:
            self._beginning.cancel()
        self._outpost.drop(self)
        for news in self._came:
            self._outpost.link.keep(news.number)
        self._came.clear()

    # -- for the outpost -------------------------------------------------------------------

    def send_again(self) -> None:
        """Send what is not known to be done: the stream is there anew."""
        link, before = self._outpost.link, self.start.followed
        if before is not None and before.epoch not in ("", link.epoch):
            self.lose(PlaceLost(_gone(self.start.place)))
            return
        if self._is_resumed:
            self._is_resumed = False
            link.send(pipe.ResumeAgent(self.key))
        elif not self.there:
            if self._snapshot is None:
                return
            commit, bundle = self._snapshot
            if not link.has(commit):
                link.send_snapshot(commit, bundle)
            start = self.start
            folder, mode = Path(start.folder).name or "folder", start.mode
            model, base = start.model, start.api_base
            link.send(pipe.StartAgent(self.key, start.name, folder, commit, model, base, mode))
        self._send_orders()

    def take(self, news: pipe.AgentNews) -> None:
        """Take what is told of it."""
        before = self.start.followed
        if before is not None and news.number <= before.number:
            self._outpost.link.keep(news.number)  # it is on disk since before the app ended
            return
        if isinstance(news, pipe.AgentBegun):
            if self.there:  # on another node of a cluster: what was not carried out is lost
                self._send_orders()
            self.there = news.agent_id
        elif isinstance(news, pipe.AgentWorked):
            for event in news.events:
                self._confirm(event)
        self._came.append(news)
        self._news.set()

    def lose(self, why: PlaceLost) -> None:
        """Nothing more comes."""
        self._lost = why
        self._news.set()

    def _send_orders(self) -> None:
        for order in (pipe.SetAgentMode(self.key, self._mode), *self._orders):
            self._outpost.link.send(order)

    def _order(self, order: pipe.AgentOrder) -> None:
        self._orders.append(order)
        if self._snapshot is not None or self.there:
            self._outpost.link.send(order)

    def _confirm(self, event: AgentEvent) -> None:
        """Forget the orders that an event shows to be carried out."""
        match event:
            case NoteQueued(note=Note(id=done)) | ApprovalResolved(request_id=done):
                pass
            case QuestionAnswered(question_id=done):
                pass
            case TurnEnded():
                done = ""
            case _:
                return
        self._orders = [order for order in self._orders if _id_of(order) != done]

    async def _begin(self) -> None:
        """Copy the folder, then order what was wanted until then."""
        folder, refused = Path(self.start.folder), self.start.unreadable
        try:
            commit, bundle, self._not_sent = await asyncio.to_thread(_snapshot, folder, refused)
        except (GitError, OSError) as error:
            self.lose(PlaceLost(f"{folder} can't be copied: {error}"))
            return
        self._snapshot = commit, bundle
        if self._outpost.link.is_there:
            self.send_again()


class _Outpost:
    """One place's outpost, for as long as an agent works there."""

    def __init__(self, place: Place, name: str, services: HomeServices) -> None:
        self.place, self.name = place, name
        self.away_since = time.time()
        self._services = services
        self._agents: dict[str, FarAgent] = {}
        self._leaving: asyncio.Task[None] | None = None
        self.link = OutpostLink(place, name, self, most_tries=_MOST_TRIES)
        self._attached = asyncio.create_task(self._stay())

    @property
    def is_over(self) -> bool:
        """Whether it can't be used any more."""
        return self._attached.done() or self._leaving is not None

    def add(self, agent: FarAgent) -> None:
        self._agents[agent.key] = agent
        before = agent.start.followed
        if before is not None and not self.link.epoch:
            # It was reached once: one that can't be now is waited for.
            self.link.epoch = before.epoch
            self.away_since = before.at

    def drop(self, agent: FarAgent) -> None:
        """Have one ended there; without any the stream is not needed."""
        if self._agents.pop(agent.key, None) is not None:
            self.link.send(pipe.DropAgent(agent.key))
        if not self._agents:
            self._leaving = asyncio.create_task(self.link.leave(self._attached))

    def of(self, there: AgentId) -> FarAgent | None:
        """Return the agent that has this id there."""
        return next((one for one in self._agents.values() if one.there == there), None)

    async def close(self, *, goes_on: bool) -> None:
        """Let go of it; unless something there is to go on, have it end."""
        if self._agents and goes_on:
            self._attached.cancel()
            await asyncio.wait([self._attached])
            return
        if self._leaving is None:
            self._leaving = asyncio.create_task(self.link.leave(self._attached))
        await self._leaving

    # -- as the link's follower ------------------------------------------------------------

    def home(self) -> HomeModel:
        return HomeModel(self._services, self.link.send)

    def restarted(self) -> None:
        self._lose(PlaceLost(_gone(self.place)))

    async def attached(self) -> None:
        self.away_since = 0.0
        self.link.send(pipe.KeepAgents(tuple(self._agents)))
        for agent in list(self._agents.values()):
            agent.send_again()
            agent.changed()

    def detached(self) -> None:
        self.away_since = self.away_since or time.time()
        for agent in self._agents.values():
            agent.changed()

    def take(self, event: pipe.Numbered) -> None:
        agent = self._agents.get(event.key)
        if agent is None or isinstance(event, pipe.JobEnded):
            self.link.keep(event.number)
        else:
            agent.take(event)

    async def _stay(self) -> None:
        try:
            await self.link.stay_attached()
        except PlaceLost as error:
            self._lose(error)

    def _lose(self, why: PlaceLost) -> None:
        for agent in list(self._agents.values()):
            agent.lose(why)


class PlacesOfAgents:
    """Where agents work besides here. `data_dir` tells this app's outposts from another's.

    What they do there ends with the app, unless it `goes_on`.
    """

    def __init__(
        self,
        model: Model,
        describe: Callable[[str], Awaitable[ModelInfo | None]],
        forget: Callable[[AgentId], None],
        data_dir: Path,
        *,
        goes_on: bool = False,
    ) -> None:
        self.goes_on = goes_on
        said = f"{platform.node()}\n{data_dir.resolve()}".encode("utf-8", "surrogateescape")
        self._name = f"agents-{hashlib.sha256(said).hexdigest()[:16]}"
        self._services = HomeServices(model, self._admit, describe, forget)
        self._outposts: dict[tuple[Place, str], _Outpost] = {}

    def begin(self, start: FarStart, admit: Admit, changed: Callable[[], None]) -> FarAgent:
        """Begin an agent elsewhere; returns at once."""
        # A computer may be called otherwise than before: in another network, some are.
        before = start.followed.outpost if start.followed is not None else ""
        name = before or self._name
        outpost = self._outposts.get((start.place, name))
        if outpost is None or outpost.is_over:
            outpost = _Outpost(start.place, name, self._services)
            self._outposts[start.place, name] = outpost
        agent = FarAgent(outpost, start, admit, changed)
        outpost.add(agent)
        return agent

    async def close(self) -> None:
        """Let go of all places."""
        outposts = self._outposts.values()
        await asyncio.gather(*(one.close(goes_on=self.goes_on) for one in outposts))

    async def _admit(self, request: ModelRequest) -> ModelRequest | None:
        found = (outpost.of(request.agent_id) for outpost in self._outposts.values())
        agent = next((one for one in found if one is not None), None)
        return await agent.admit(request) if agent is not None else None


def _gone(place: Place) -> str:
    return f"{place.name} was started anew: what ran there is gone"


def _id_of(order: pipe.AgentOrder) -> str:
    match order:
        case pipe.TellAgent(note=Note(id=done)):
            return done
        case pipe.DecideForAgent(request_id=done) | pipe.AnswerAgent(question_id=done):
            return done
        case _:
            return ""


def _snapshot(folder: Path, refused: Sequence[str]) -> tuple[str, bytes, tuple[str, ...]]:
    """Return a folder as it is now: its commit, a bundle of it, and what stays here of it."""
    left = tuple(sorted(path.relative_to(folder).as_posix() for path in unsent(folder, refused)))
    with TemporaryDirectory(prefix="desktop-agent-snapshot-") as place:
        store = GitStore(Path(place) / "store")
        repository = repository_of(folder)
        store.make(repository.objects if repository is not None else None)
        commit = store.snapshot(folder, left)
        file = Path(place) / "bundle"
        store.bundle(commit, file)
        return commit, file.read_bytes(), left

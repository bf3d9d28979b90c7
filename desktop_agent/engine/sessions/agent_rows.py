"""What was told of each session's agents, so that only rows that are others now are told again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import msgspec

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import AgentsChanged
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionStatus
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.tree.agents import Agents

# Up to so many agents are all looked at for each change. Of more, those that a change is about and
# those above them are; the rest a little later, for a share of the time that looking takes.
_FEW = 32
_LATER_S = 0.25
_SHARE = 20
# What so many do is told ten times a second, for nobody reads faster than that; that one of them
# needs the person, or is new, is told at once.
_PACE_S = 0.1
_NEEDS = frozenset({"waiting_approval", "waiting_answer", "paused"})
_WAITS = frozenset({"waiting_approval", "waiting_answer"})
_ACTS = frozenset({"running", "waiting_children", "stopping", "queued"})


class _Held(msgspec.Struct):
    """The agents of a session whose changes wait, until when, and what tells them then."""

    agents: dict[AgentId, Agent] = {}
    until: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def drop(self, until: float = 0.0) -> None:
        """Let nothing wait any more: all is told, and the next changes wait until then."""
        self.agents, self.until = {}, until
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class AgentRows:
    """`read` returns a session's agents as they are now, parents before their children.

    `changed` hears when there is something to tell that no change was announced for.
    """

    def __init__(
        self,
        agents: Agents,
        read: Callable[[SessionId], tuple[AgentInfo, ...]],
        changed: Callable[[SessionId, Agent | None], None],
    ) -> None:
        self._agents = agents
        self._read = read
        self._changed = changed
        self._told: dict[SessionId, dict[AgentId, AgentInfo]] = {}
        self._later: dict[SessionId, asyncio.TimerHandle] = {}
        self._held: dict[SessionId, _Held] = {}
        self._last_took = 0.0

    def told(self, session_id: SessionId, agents: Iterable[AgentInfo]) -> None:
        """All agents of a session were told."""
        if (held := self._held.get(session_id)) is not None:
            held.drop()
        self._told[session_id] = {info.id: info for info in agents}

    def status(self, session_id: SessionId) -> SessionStatus | None:
        """Return what a session is by what was told of its agents; None if nothing is going on."""
        agents = self._told.get(session_id, {}).values()
        states = {agent.status for agent in agents}
        if states & _WAITS or any(map(self._is_held, agents)):
            return "needs_you"
        if "paused" in states and not states & (_ACTS - {"waiting_children"}):
            return "paused"
        return "running" if states & _ACTS else None

    def _is_held(self, info: AgentInfo) -> bool:
        """Whether it waits for more budget, its own or that of one above it."""
        agent = self._agents.find(info.id)
        has_owner = agent is not None and agent.life.budget_owner is not None
        return info.status == "paused" and (info.used >= 1 or has_owner)

    def forget(self, session_id: SessionId) -> None:
        """Drop a session."""
        self._told.pop(session_id, None)
        if (held := self._held.pop(session_id, None)) is not None:
            held.drop()
        if (timer := self._later.pop(session_id, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        """Tell nothing more by itself."""
        for session_id in list(self._told):
            self.forget(session_id)

    def take(self, session_id: SessionId, about: Agent | None) -> AgentsChanged | None:
        """Return what differs from what was told, None if nothing does; it counts as told now.

        In a large team that may be told a moment later, with what changes until then.
        """
        told = self._told.get(session_id, {})
        if about is not None and len(told) > _FEW:
            self._look_later(session_id)
            rows = self._due(session_id, about)
        else:
            began = time.monotonic()
            now = self._read(session_id)
            self._last_took = time.monotonic() - began
            ids = tuple(info.id for info in now)
            if not told or ids[: len(told)] != tuple(told):
                self.told(session_id, now)
                return AgentsChanged(session_id, now)
            rows = list(now)
        fresh = tuple(row for row in rows if told.get(row.id) != row)
        told.update((row.id, row) for row in fresh)
        return AgentsChanged(session_id, fresh, is_whole=False) if fresh else None

    def _due(self, session_id: SessionId, about: Agent) -> list[AgentInfo]:
        """Return the rows of all changes that waited; none if it is too early for them."""
        held = self._held.setdefault(session_id, _Held())
        held.agents[about.id] = about
        loop = asyncio.get_running_loop()
        if loop.time() < held.until and not self._is_urgent(session_id, about):
            if held.timer is None:
                held.timer = loop.call_at(held.until, self._tell, session_id, held)
            return []
        lines = [one for agent in held.agents.values() for one in self._line(agent)]
        held.drop(loop.time() + _PACE_S)
        return [self._agents.info(one) for one in {one.id: one for one in lines}.values()]

    def _is_urgent(self, session_id: SessionId, about: Agent) -> bool:
        before, now = self._told[session_id].get(about.id), self._agents.info(about)
        if before is None or before.question_id != now.question_id:
            return True
        if now.status in _ACTS - {before.status} and self.status(session_id) is None:
            # What is kept of a session follows from this: work that nobody was told of would not
            # be closed after a crash.
            return True
        return before.status != now.status and bool({before.status, now.status} & _NEEDS)

    def _tell(self, session_id: SessionId, held: _Held) -> None:
        held.until = 0.0
        self._changed(session_id, next(iter(held.agents.values())))

    def _line(self, agent: Agent) -> list[Agent]:
        """Return those above an agent, and then itself."""
        line = [agent]
        while (above := self._agents.parent(line[-1])) is not None:
            line.append(above)
        return line[::-1]

    def _look_later(self, session_id: SessionId) -> None:
        if session_id not in self._later:
            wait = max(_LATER_S, _SHARE * self._last_took)
            loop = asyncio.get_running_loop()
            self._later[session_id] = loop.call_later(wait, self._look, session_id)

    def _look(self, session_id: SessionId) -> None:
        self._later.pop(session_id, None)
        self._changed(session_id, None)

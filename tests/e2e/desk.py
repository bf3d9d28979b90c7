"""The engine with its real parts and a person who is a program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from desktop_agent.compose import Backend
from desktop_agent.core.approvals import Mode
from desktop_agent.core.events import AgentsChanged, Event, SessionOpened, TurnEnded
from desktop_agent.core.ids import AgentId, SessionId, new_note_id, new_session_id
from desktop_agent.core.messages import Message
from desktop_agent.core.notes import Note
from desktop_agent.core.workspace import Workspace
from tests.helpers.patience import HANG_S as SECONDS

E = TypeVar("E")


class Desk:
    """Keeps every event, and begins sessions."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.backend: Backend
        self._heard = asyncio.Event()

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self._heard.set()

    async def session(
        self, folder: Path, model: str, api_base: str, mode: Mode = "ask"
    ) -> Conversation:
        session_id = new_session_id()
        conversation = Conversation(self, session_id)
        self.backend.engine.new_session(
            session_id, Workspace(str(folder)), model=model, api_base=api_base, mode=mode
        )
        opened = await conversation.until(SessionOpened, lambda e: e.info.id == session_id)
        conversation.agent = opened.info.main_agent
        return conversation

    async def heard(self) -> None:
        self._heard.clear()
        await self._heard.wait()


class Conversation:
    """One session; `until` waits for an event that has not been waited for yet."""

    def __init__(self, desk: Desk, session_id: SessionId) -> None:
        self.id = session_id
        self.agent = AgentId("")
        self._desk = desk
        self._next = len(desk.events)
        self.engine = desk.backend.engine

    @property
    def events(self) -> list[Event]:
        """Everything about this session's agent."""
        return [e for e in self._desk.events if getattr(e, "agent_id", "") == self.agent]

    @property
    def history(self) -> tuple[Message, ...]:
        """The history as it is on disk."""
        store = self._desk.backend.store
        return next(a.history for a in store.load_agents(self.id) if a.agent_id == self.agent)

    def send(self, text: str) -> Note:
        note = Note(new_note_id(), text)
        self.engine.send(self.agent, note)
        return note

    async def until(self, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> E:
        async with asyncio.timeout(SECONDS):
            while True:
                while self._next < len(self._desk.events):
                    event = self._desk.events[self._next]
                    self._next += 1
                    if isinstance(event, kind) and self._is_own(event) and where(event):
                        return event
                await self._desk.heard()

    async def ended(self) -> TurnEnded:
        """Wait for the end of the turn and until the agent may be woken again."""
        event = await self.until(TurnEnded)
        await self.until(AgentsChanged, self._is_idle)
        return event

    def _is_idle(self, event: AgentsChanged) -> bool:
        return event.session_id == self.id and all(a.status == "idle" for a in event.agents)

    def _is_own(self, event: object) -> bool:
        return not self.agent or getattr(event, "agent_id", self.agent) == self.agent

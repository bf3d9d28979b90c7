"""The seam to places: work of an agent elsewhere, as the engine sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from desktop_agent.core.approvals import Decision, Deny, Mode
from desktop_agent.core.changes import FarFile
from desktop_agent.core.events import (
    AgentEvent,
    ApprovalResolved,
    QuestionAnswered,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, QuestionId, RequestId
from desktop_agent.core.messages import Value
from desktop_agent.core.network.places import Place, PlaceFollowed
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import ModelRequest


class PlaceLost(Exception):
    """A place can't be reached, or what ran there is gone; the text says why."""


class FarTurnOver(Value, frozen=True):
    """The last turn there is over. `patch` and `files` are what it changed since the agent began.

    `problem` says why the agent could not begin, or why what it changed can't be told.
    """

    ended: TurnEnded | None = None
    patch: str = ""
    problem: str = ""
    files: tuple[FarFile, ...] = ()


class FarRecord(msgspec.Struct):
    """What is on disk here of an agent's work at a place, folded from its events.

    `settled` are decisions and answers by the ids that requests and questions have there.
    """

    followed: PlaceFollowed | None = None
    settled: dict[str, Decision | str] = {}

    def apply(self, event: AgentEvent) -> None:
        """Take one event; others than those of this are ignored."""
        match event:
            case PlaceFollowed():
                self.followed = event
            case ApprovalResolved(decision=decision, there=there) if there:
                if not (isinstance(decision, Deny) and decision.by == "withdrawn"):
                    self.settled[there] = decision
            case QuestionAnswered(text=text, by=by, there=there) if there and by != "withdrawn":
                self.settled[there] = text
            case _:
                pass


class FarStart(msgspec.Struct, frozen=True):
    """What an agent elsewhere begins with: a copy of `folder` as it is now, and no words yet.

    With `followed` it goes on with what it began before the app ended. `unreadable` are patterns of
    the rules that keep files from being read: those stay here.
    """

    agent_id: AgentId
    name: str
    place: Place
    folder: str
    mode: Mode
    model: str
    api_base: str
    followed: PlaceFollowed | None = None
    unreadable: tuple[str, ...] = ()


class FarWork(Protocol):
    """One agent's work at a place. Orders are sent again until they are carried out."""

    @property
    def away_since(self) -> float:
        """When the stream was cut; 0 while it is there."""
        ...

    @property
    def followed(self) -> PlaceFollowed:
        """How far it is followed, with what `next` returned last."""
        ...

    def tell(self, note: Note) -> None:
        """Queue a note there."""
        ...

    def decide(self, request_id: RequestId, decision: Decision) -> None:
        """Settle an approval request."""
        ...

    def answer(self, question_id: QuestionId, text: str) -> None:
        """Answer a question."""
        ...

    def set_mode(self, mode: Mode) -> None:
        """Let it do this from the next call on; without news of it, nothing is sent."""
        ...

    def stop(self) -> None:
        """End the turn there."""
        ...

    async def next(self) -> tuple[AgentEvent, ...] | FarTurnOver:
        """Return what came next, again until it is `kept`. Raises PlaceLost."""
        ...

    def kept(self) -> None:
        """What `next` returned is on disk here."""
        ...

    def drop(self) -> None:
        """Nothing more is wanted of it."""
        ...


class FarPlaces(Protocol):
    """Where agents can work besides here."""

    @property
    def goes_on(self) -> bool:
        """Whether what works there goes on when the app ends, and is found by the next start."""
        ...

    def begin(
        self,
        start: FarStart,
        admit: Callable[[ModelRequest], Awaitable[ModelRequest]],
        changed: Callable[[], None],
    ) -> FarWork:
        """Begin an agent elsewhere; returns at once.

        Its requests to models are made here: each waits for `admit`, which returns it as it is
        made. `changed` hears that the stream was cut, or is there again.
        """
        ...

    async def close(self) -> None:
        """Let go of all places. What runs there was told to stop, ends by itself, or goes on."""
        ...

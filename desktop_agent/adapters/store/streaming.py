"""Text that is still arriving: joined, written twice a second, and dropped once it is whole."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from desktop_agent.core.events import AgentEvent, MessageAdded, PartDelta, ToolOutput
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.messages import Message, TextPart, ThinkingPart

Fragment = PartDelta | ToolOutput


class Streaming(msgspec.Struct):
    """The fragments of one message or one call that are not on disk yet.

    `is_written`: rows of it are in the `streaming` table.
    """

    session_id: SessionId
    agent_id: AgentId
    fragments: list[Fragment] = []
    is_written: bool = False


class Pending:
    """Everything that is streaming now, by item, and since when some of it is unwritten."""

    def __init__(self) -> None:
        self.items: dict[str, Streaming] = {}
        self._oldest: float | None = None

    def add(self, session_id: SessionId, fragment: Fragment) -> None:
        """Take a fragment in memory."""
        item = self.items.get(item_of(fragment))
        if item is None:
            item = self.items[item_of(fragment)] = Streaming(session_id, fragment.agent_id)
        item.fragments.append(fragment)
        if self._oldest is None:
            self._oldest = time.monotonic()

    def is_due(self, seconds: float) -> bool:
        """Whether a fragment has waited that long."""
        return self._oldest is not None and time.monotonic() - self._oldest >= seconds

    def unwritten(self) -> Iterator[tuple[str, Streaming]]:
        """Yield the items that have fragments in memory only."""
        return ((key, item) for key, item in self.items.items() if item.fragments)

    def mark_written(self) -> None:
        """All fragments are on disk now."""
        for _, item in self.unwritten():
            item.fragments.clear()
            item.is_written = True
        self._oldest = None

    def of_agent(self, agent_id: AgentId) -> tuple[str, ...]:
        """Return the items of one agent."""
        return tuple(key for key, item in self.items.items() if item.agent_id == agent_id)

    def forget_session(self, session_id: SessionId) -> None:
        """Drop what belongs to a session that was deleted."""
        gone = [key for key, item in self.items.items() if item.session_id == session_id]
        for key in gone:
            del self.items[key]


def item_of(fragment: Fragment) -> str:
    """Return what the fragment is a part of: a message's id or, apart from it, a call's."""
    if isinstance(fragment, PartDelta):
        return fragment.message_id
    return f"{fragment.agent_id}/{fragment.call_id}"


def joined(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Return the fragments of one item with neighbours of one kind made into one."""
    runs: list[Fragment] = []
    for _, group in groupby(fragments, key=_kind):
        run = list(group)
        text = "".join(fragment.text for fragment in run)
        first = run[0]
        if isinstance(first, PartDelta):
            runs.append(PartDelta(first.agent_id, first.message_id, first.kind, text))
        else:
            runs.append(ToolOutput(first.agent_id, first.call_id, text))
    return runs


def _kind(fragment: Fragment) -> str:
    return fragment.kind if isinstance(fragment, PartDelta) else "output"


def remains(fragments: Sequence[Fragment], at: float) -> list[AgentEvent]:
    """Return what is kept of an item that never came to its end: the app ended before.

    Of a message, a partial message, so that the model knows what it had said.
    """
    runs = joined(fragments)
    deltas = [run for run in runs if isinstance(run, PartDelta)]
    if not deltas:
        return list[AgentEvent](runs)
    parts = tuple(
        TextPart(delta.text) if delta.kind == "text" else ThinkingPart(delta.text)
        for delta in deltas
    )
    message = Message(MessageId(deltas[0].message_id), "assistant", parts, created_at=at)
    return [MessageAdded(deltas[0].agent_id, message, is_partial=True)]

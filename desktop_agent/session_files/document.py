"""The JSON of an exported session: what is in it, and how its ids are replaced.

All events of all branches, one a line, and the task lists. What depends on the computer (files of
outputs, what undo keeps, rules, the budget) is not in it; folder and model are told, and not
taken over. Ids are numbered in the order in which they first stand in the file, so that two
exports of the same content are equal. An import replaces each by a new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from desktop_agent.adapters.store.branches import Branch
from desktop_agent.adapters.store.importing import EventRow
from desktop_agent.core.events import BudgetChanged
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.usage import Usage

FORMAT = "desktop-agent-session"
VERSION = 1

_Number = Annotated[int, Meta(ge=0, le=1 << 40)]
_ID = rb"(?:se|ag|sa|me|no|rq|qu|co|cs)_[0-9a-f]{8}(?:[0-9a-f]{8})?"
_WHOLE = re.compile(rb'"(' + _ID + rb')"')
_ANY = re.compile(rb"(?<![A-Za-z0-9_])" + _ID + rb"(?![A-Za-z0-9_])")
ID_SHAPE = re.compile(_ID.decode())
# What goes back to a provider as it came, and the bytes of pictures.
_AS_IT_IS = frozenset({"signature", "data"})


class BranchEntry(msgspec.Struct):
    """A branch: a row of the store's table of branches."""

    number: _Number
    parent: _Number | None
    cut: _Number
    before: str
    used: _Number
    revision: Annotated[int, Meta(ge=-1, le=1 << 40)]


class About(msgspec.Struct):
    """The session itself. `model` and `folder` are for readers."""

    title: str
    created_at: float = 0.0
    updated_at: float = 0.0
    usage: Usage = Usage()
    model: str = ""
    folder: str = ""


class Head(msgspec.Struct):
    """All but the events."""

    format: Literal["desktop-agent-session"]
    version: int
    session: About
    main_agent: AgentId
    branches: tuple[BranchEntry, ...] = ()
    task_lists: dict[AgentId, TaskState] = {}
    task_versions: tuple[tuple[_Number, TaskState], ...] = ()
    task_marks: tuple[tuple[MessageId, _Number], ...] = ()


class EventEntry(msgspec.Struct):
    """One event."""

    seq: Annotated[int, Meta(ge=1, le=1 << 40)]
    branch: _Number
    at: float
    event: msgspec.Raw


class Document(Head):
    """The whole file; its events are looked at one by one."""

    events: tuple[EventEntry, ...] = ()


def branch_entries(branches: Iterable[Branch]) -> tuple[BranchEntry, ...]:
    """Return the branches for the file."""
    return tuple(
        BranchEntry(one.number, one.parent, one.cut, one.before, one.used, one.revision)
        for one in branches
    )


def is_portable(row: EventRow, main_agent: AgentId) -> bool:
    """Whether an event goes into the file: the main agent's budget is the user's, not its own."""
    return not (isinstance(row.event, BudgetChanged) and row.event.agent_id == main_agent)


class Ids:
    """Replaces ids in JSON. Those are replaced which stand alone as a string somewhere."""

    def __init__(self, make: Callable[[bytes], bytes]) -> None:
        self._make = make
        self._known: dict[bytes, bytes] = {}

    def learn(self, body: bytes) -> None:
        """Take in the ids of a piece, in order."""
        for found in _WHOLE.finditer(body):
            if found[1] not in self._known:
                self._known[found[1]] = self._make(found[1])

    def replace(self, body: bytes) -> bytes:
        """Return a piece with other ids, in its texts too: there a model reads them."""
        return _ANY.sub(lambda found: self._known.get(found[0], found[0]), body)


def numbered() -> Ids:
    """Return what counts ids, each prefix and length for itself."""
    counts: dict[tuple[bytes, int], int] = {}

    def make(old: bytes) -> bytes:
        prefix, _, digits = old.partition(b"_")
        counts[prefix, len(digits)] = number = counts.get((prefix, len(digits)), 0) + 1
        return b"%s_%0*x" % (prefix, len(digits), number)

    return Ids(make)


def renewed() -> Ids:
    """Return what makes new ids."""

    def make(old: bytes) -> bytes:
        prefix, _, digits = old.partition(b"_")
        return b"%s_%s" % (prefix, os.urandom(len(digits) // 2).hex().encode())

    return Ids(make)


def without_secrets(value: Any, name: str = "") -> Any:
    """Return decoded JSON without what looks like a key, or is named one."""
    if isinstance(value, str):
        if not name:
            return redact(value)
        # What is only named a key is known by its name.
        head, said = f"{name}: ", redact(f"{name}: {value}")
        return said[len(head) :] if said.startswith(head) else redact(value)
    if isinstance(value, list):
        items: list[Any] = value
        return [without_secrets(one) for one in items]
    if isinstance(value, dict):
        named: dict[str, Any] = value
        return {
            redact(key): one if key in _AS_IT_IS else without_secrets(one, key)
            for key, one in named.items()
        }
    return value

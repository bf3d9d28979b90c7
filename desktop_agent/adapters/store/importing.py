"""The part of the store that takes in a session from a file, a piece at a time.

Until it is whole the session counts as deleted long ago: what a crash leaves of it is erased like
any other that was deleted, and nobody ever sees a part.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable

import msgspec

from desktop_agent.adapters.store import tasks
from desktop_agent.adapters.store.branch_store import BranchStore
from desktop_agent.adapters.store.branches import Branch
from desktop_agent.adapters.store.rows import encode, read_value, searchable
from desktop_agent.core.events import AgentEvent, ListChanged
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import TaskState

_LONG_AGO = 1.0
_INSERT = (
    "INSERT INTO event (session, seq, agent, kind, body, crc, at, branch)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class EventRow(msgspec.Struct, frozen=True):
    """An event as it is stored: its number in the session, its branch, and when it was written."""

    seq: int
    branch: int
    at: float
    event: AgentEvent


class SessionFrame(msgspec.Struct, frozen=True):
    """What is stored of a session beside its events: branches, and task lists now and before.

    `versions` are lists as they were, by revision; `marks` are the revisions at user messages.
    """

    main_agent: AgentId
    branches: tuple[Branch, ...] = ()
    lists: dict[AgentId, TaskState] = {}
    versions: tuple[tuple[int, TaskState], ...] = ()
    marks: tuple[tuple[MessageId, int], ...] = ()


class ImportStore(BranchStore):
    """A part of SqliteStore."""

    _connection: sqlite3.Connection

    @abstractmethod
    def save_session(self, info: SessionInfo) -> None:
        """Insert or update a session's row."""

    def begin_import(self, info: SessionInfo, frame: SessionFrame) -> None:
        """Make the row of a session that nobody sees yet; raises StoreError."""
        with self._writing(is_forced=False):
            self._save_info(msgspec.structs.replace(info, deleted_at=_LONG_AGO))
            key = self._key(info.id)
            self._write_frame(key, frame)

    def add_imported(self, session_id: SessionId, rows: Iterable[EventRow]) -> None:
        """Write some of its events, in order; raises StoreError."""
        with self._writing(is_forced=False):
            key = self._key(session_id)
            for row in rows:
                self._write_imported(key, row)

    def end_import(self, info: SessionInfo) -> None:
        """The session is whole: it is one like any other. Raises StoreError."""
        with self._writing(is_forced=True):
            self._save_info(info)

    def _write_frame(self, key: int, frame: SessionFrame) -> None:
        execute = self._connection.execute
        for one in frame.branches:
            row = (one.number, one.parent, one.cut, one.before, one.used, one.revision)
            execute("INSERT INTO branch VALUES (?, ?, ?, ?, ?, ?, ?)", (key, *row))
        for agent_id, state in frame.lists.items():
            listed = ListChanged(agent_id, state.revision, state.tasks, state.next_id)
            self._lists.save(self._connection, key, listed)
        for revision, state in frame.versions:
            body = msgspec.json.encode(state)
            execute("INSERT INTO task_version VALUES (?, ?, ?)", (key, revision, body))
        for message_id, revision in frame.marks:
            execute("INSERT INTO task_mark VALUES (?, ?, ?)", (key, message_id, revision))

    def _write_imported(self, key: int, row: EventRow) -> None:
        body, crc = encode(row.event)
        kind = type(row.event).__name__
        values = (key, row.seq, row.event.agent_id, kind, body, crc, row.at, row.branch)
        number = self._connection.execute(_INSERT, values).lastrowid
        if words := searchable(row.event):
            self._connection.execute(
                "INSERT INTO words (rowid, text) VALUES (?, ?)", (number, words)
            )


def read_frame(connection: sqlite3.Connection, key: int, main_agent: AgentId) -> SessionFrame:
    """Return what is stored of a session beside its events."""
    branches = connection.execute(
        "SELECT number, parent, cut, before, used, revision FROM branch WHERE session = ?"
        " ORDER BY number",
        (key,),
    )
    versions = connection.execute(
        "SELECT revision, body FROM task_version WHERE session = ? ORDER BY revision", (key,)
    )
    marks = connection.execute(
        "SELECT message, revision FROM task_mark WHERE session = ? ORDER BY rowid", (key,)
    )
    return SessionFrame(
        main_agent,
        tuple(Branch(*row) for row in branches),
        tasks.load(connection, key),
        tuple((at, one) for at, body in versions if (one := read_value(body, TaskState))),
        tuple((MessageId(row[0]), row[1]) for row in marks),
    )

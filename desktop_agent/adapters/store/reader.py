"""Reading the sessions of a file beside whoever writes it: no lock is taken, nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path as FilePath
from typing import Self, TypeVar

from desktop_agent.adapters.store import search as sqlite_search
from desktop_agent.adapters.store.branches import Branches, Path
from desktop_agent.adapters.store.errors import readable_errors
from desktop_agent.adapters.store.importing import EventRow, SessionFrame, read_frame
from desktop_agent.adapters.store.rows import decode, read_rules, read_sessions
from desktop_agent.adapters.store.schema import SCHEMA_VERSION, StoreTooNew
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import AgentEvent
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import BranchPoint, SearchFound, SessionInfo
from desktop_agent.engine.base.ports import StoreError

_E = TypeVar("_E")


class StoreTooOld(StoreError):
    """The file is of an earlier version; whoever opens it to write brings it up to date."""


def rules_in(path: FilePath) -> tuple[Rule, ...]:
    """Return the rules in a file of sessions, of whatever version. Raises StoreError."""
    with readable_errors(), closing(_opened(path)) as connection:
        is_made = connection.execute("PRAGMA user_version").fetchone()[0] > 0
        return read_rules(connection) if is_made else ()


class SessionReader:
    """The sessions as they are at the first question: what is written meanwhile is not seen.

    Opened, used and closed on one thread. Raises StoreError.
    """

    def __init__(self, path: FilePath) -> None:
        with readable_errors():
            self._connection = _opened(path)
            try:
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                if version > SCHEMA_VERSION:
                    raise StoreTooNew("The sessions were last used by a newer version of the app.")
                if version < SCHEMA_VERSION:
                    raise StoreTooOld("The sessions were last used by an earlier version.")
                self._connection.execute("BEGIN")
            except BaseException:
                self._connection.close()
                raise
        self._branches = Branches(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        with suppress(sqlite3.Error):
            self._connection.execute("ROLLBACK")
        self._connection.close()

    def sessions(self) -> tuple[SessionInfo, ...]:
        """Return all sessions, deleted ones included, newest activity first."""
        with readable_errors():
            return read_sessions(self._connection)

    def session(self, session_id: SessionId) -> SessionInfo:
        """Return one session; raises LookupError."""
        found = next((one for one in self.sessions() if one.id == session_id), None)
        if found is None:
            raise LookupError(f"there is no session {session_id}")
        return found

    def search(self, text: str, limit: int, hidden: Collection[SessionId]) -> SearchFound:
        """Return what holds the words, as the store does."""
        with readable_errors():
            has_fts = sqlite_search.has_full_text(self._connection)
            return sqlite_search.search(self._connection, text, limit, hidden, has_fts=has_fts)

    def frame(self, info: SessionInfo) -> SessionFrame:
        """Return what is stored of a session beside its events."""
        with readable_errors():
            return read_frame(self._connection, self._key(info.id), info.main_agent)

    def count(self, info: SessionInfo) -> int:
        """Return how many events are stored of a session."""
        with readable_errors():
            counted = "SELECT COUNT(*) FROM event WHERE session = ?"
            return self._connection.execute(counted, (self._key(info.id),)).fetchone()[0]

    def rows(self, info: SessionInfo) -> Iterator[EventRow]:
        """Yield all events of a session, of all branches; damaged ones are left out."""
        with readable_errors():
            found = self._connection.execute(
                "SELECT seq, branch, at, body, crc FROM event WHERE session = ? ORDER BY seq",
                (self._key(info.id),),
            )
            for seq, branch, at, body, crc in found:
                if (event := decode(body, crc)) is not None:
                    yield EventRow(seq, branch, at, event)

    def shown_rows(self, info: SessionInfo) -> Iterator[EventRow]:
        """Yield every agent's events on the branch that was used last."""
        with readable_errors():
            key = self._key(info.id)
            on_path, args = self._branches.path(key).condition()
            found = self._connection.execute(
                "SELECT seq, branch, at, body, crc FROM event WHERE session = ?"
                f" AND {on_path} ORDER BY seq",
                (key, *args),
            )
            for seq, branch, at, body, crc in found:
                if (event := decode(body, crc)) is not None:
                    yield EventRow(seq, branch, at, event)

    def shown(self, info: SessionInfo, agent_id: AgentId) -> Iterator[AgentEvent]:
        """Yield an agent's events; of the main agent's those of the branch that was used last."""
        with readable_errors():
            key = self._key(info.id)
            path = self._branches.path(key) if agent_id == info.main_agent else Path()
            on_path, args = path.condition()
            found = self._connection.execute(
                f"SELECT body, crc FROM event WHERE session = ? AND agent = ? AND {on_path}"
                " ORDER BY seq",
                (key, agent_id, *args),
            )
            for body, crc in found:
                if (event := decode(body, crc)) is not None:
                    yield event

    def of_kind(self, info: SessionInfo, kind: type[_E]) -> Iterator[_E]:
        """Yield all events of one kind, of every agent and branch."""
        with readable_errors():
            found = self._connection.execute(
                "SELECT body, crc FROM event WHERE session = ? AND kind = ? ORDER BY seq",
                (self._key(info.id), kind.__name__),
            )
            for body, crc in found:
                event = decode(body, crc)
                if isinstance(event, kind):
                    yield event

    def branch_points(self, info: SessionInfo) -> tuple[BranchPoint, ...]:
        """Return where others branch off from the branch that is shown."""
        with readable_errors():
            return self._branches.points(self._key(info.id), info.main_agent)[0]

    def _key(self, session_id: SessionId) -> int:
        row = self._connection.execute(
            "SELECT key FROM session WHERE id = ?", (session_id,)
        ).fetchone()
        if row is None:
            raise LookupError(f"there is no session {session_id}")
        return int(row[0])


def _opened(path: FilePath) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)

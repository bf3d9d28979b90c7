"""Sessions in SQLite: what `record` returned for is on disk, whatever happens next."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from desktop_agent.adapters.files.file_lock import FileLock
from desktop_agent.adapters.store import indexing, tasks, usage
from desktop_agent.adapters.store import search as sqlite_search
from desktop_agent.adapters.store.branches import Branches
from desktop_agent.adapters.store.durability import is_forced
from desktop_agent.adapters.store.errors import readable_errors
from desktop_agent.adapters.store.importing import ImportStore
from desktop_agent.adapters.store.replay import REDUCED_KINDS, TREE_KINDS, divide, reduce
from desktop_agent.adapters.store.rows import (
    decode,
    decode_all,
    encode,
    info_row,
    read_info,
    read_rules,
    read_sessions,
    rule_rows,
    searchable,
)
from desktop_agent.adapters.store.schema import open_database, shrink_old
from desktop_agent.adapters.store.streaming import Fragment, Pending, item_of, joined, remains
from desktop_agent.core.approvals import Rule
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.commands import EventPage
from desktop_agent.core.events import (
    AgentEvent,
    FilesChanged,
    ListChanged,
    MessageAdded,
    PartDelta,
    SideCallEnded,
    StepEnded,
    ToolEnded,
    ToolOutput,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SearchFound, SessionInfo
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.usage import UsageReport
from desktop_agent.engine.base.ports import AgentRecord, StoreError

_log = logging.getLogger(__name__)

_CHANGES = "SELECT body, crc FROM event WHERE session = ? AND kind = 'FilesChanged' ORDER BY seq"
# Streamed text and live output may be lost for this long when the process is killed.
_FLUSH_AFTER_S = 0.4

_INSERT_EVENT = (
    "INSERT INTO event (session, seq, agent, kind, body, crc, at, branch)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_STREAMING = (
    "INSERT INTO streaming (session, item, agent, body, crc, at) VALUES (?, ?, ?, ?, ?, ?)"
)
# To look through a larger file takes a second a gigabyte, or minutes on a slow disk: that is done
# only if the system itself may have lost something.
_CHECKED_AT_EACH = 64 << 20


class SqliteStore(ImportStore):
    """The port `Store` over one file. Opened, used and closed on one thread.

    Raises StoreLocked when another running copy of the app has the file, else StoreError.
    `set_aside` is where a damaged file was moved, to be shown to the user; a new one, with
    what could be read of the old, is in use then. `was_interrupted` tells that the app did
    not close the file the last time.
    """

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path.with_name(f"{path.name}.lock"))
        self.was_interrupted = self._lock.was_abandoned
        try:
            with readable_errors():
                is_large = path.exists() and path.stat().st_size > _CHECKED_AT_EACH
                is_whole = is_large and self._lock.is_same_start
                opened = open_database(path, check=self.was_interrupted and not is_whole)
        except BaseException:
            self._lock.release(is_clean=False)
            raise
        self._connection, self.set_aside = opened
        self._pending = Pending()
        self._lists = tasks.SavedLists()
        self._branches = Branches(self._connection)
        self._keys: dict[SessionId, int] = {}
        self._last_seq: dict[int, int] = {}
        self._deleted: set[SessionId] = set()
        self._is_forced: bool | None = None
        self._is_closed = False
        # What was streaming when the app last ended, until it is among the events.
        self._remains: list[tuple[int, AgentEvent]] = []
        self._has_fts = sqlite_search.has_full_text(self._connection)
        try:
            self._remains = self._find_remains()
        except BaseException:
            self._connection.close()
            self._lock.release()
            raise
        if self._remains:
            self._try_to_keep_remains()

    def _try_to_keep_remains(self) -> None:
        """A full disk does not prevent opening sessions: it is tried again."""
        try:
            with self._writing(is_forced=True):
                pass
        except StoreError as error:
            _log.warning("what was streaming when the app ended is not put away yet: %s", error)

    def close(self) -> None:
        """Write what is pending and let the file go; once is enough, twice does no harm.

        Text that was streaming and is refused is lost; `flush_pending` tells, if asked before.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.flush_pending()
            with suppress(sqlite3.Error):  # the file only stays larger
                shrink_old(self._connection)
        except StoreError as error:
            _log.warning("the last streamed text could not be saved: %s", error)
        finally:
            self._connection.close()
            self._lock.release(is_clean=not self._remains)

    # Events

    def record(
        self, session_id: SessionId, *events: AgentEvent, info: SessionInfo | None = None
    ) -> None:
        """Put events on disk, all or none, before it returns; fragments within 0.5 s.

        `info` is saved along with them. Raises StoreError when that was impossible: nothing
        was written then, and fragments stay in memory for the next try. Events of a deleted
        session are dropped.
        """
        if session_id in self._deleted:
            return
        fragments = [event for event in events if isinstance(event, PartDelta | ToolOutput)]
        if fragments:
            self._key(session_id)  # an unknown session is a defect of this call, not of a flush
        try:
            if self._pending.is_due(_FLUSH_AFTER_S):
                self.flush_pending()
        finally:
            for fragment in fragments:
                self._pending.add(session_id, fragment)
        whole = [event for event in events if not isinstance(event, PartDelta | ToolOutput)]
        if whole or info is not None:
            self._append(session_id, whole, info)

    def flush_pending(self) -> None:
        """Write streamed text and live output that is in memory; call it every 0.4 s."""
        rows: list[tuple[object, ...]] = []
        for item, streaming in self._pending.unwritten():
            key = self._key(streaming.session_id)
            for run in joined(streaming.fragments):
                rows.append((key, item, run.agent_id, *encode(run), time.time()))
        if not rows:
            return
        with self._writing(is_forced=False):
            self._connection.executemany(_INSERT_STREAMING, rows)
        self._pending.mark_written()

    def page(
        self,
        session_id: SessionId,
        before_seq: int | None,
        count: int,
        agent_id: AgentId | None = None,
    ) -> EventPage:
        """Return the `count` events before `before_seq` (None: the newest).

        With `agent_id` only that agent's. The newest page ends with the text that is streaming
        right now.
        """
        before = before_seq if before_seq is not None else 1 << 62
        whose, args = ("AND agent = ?", (agent_id,)) if agent_id is not None else ("", ())
        with readable_errors():
            key, main = self._key(session_id), self._info(session_id).main_agent
            on_path, path = self._branches.path(key).condition()
            rows = self._connection.execute(
                f"SELECT seq, body, crc FROM event WHERE session = ? {whose} AND seq < ?"
                f" AND ({on_path} OR agent <> ?) ORDER BY seq DESC LIMIT ?",
                (key, *args, before, *path, main, count),
            ).fetchall()
            rows.reverse()
            events = decode_all((body, crc) for _, body, crc in rows)
            if before_seq is None:
                streaming = self._streaming_events(session_id, key)
                events += tuple(e for e in streaming if agent_id in {None, e.agent_id})
        return EventPage(events, rows[0][0] if len(rows) == count else 1)

    def load_agents(
        self, session_id: SessionId, more: Sequence[AgentEvent] = ()
    ) -> tuple[AgentRecord, ...]:
        """Return every agent of the session, with its whole history; as if `more` were on disk."""
        return self._reduced(session_id, REDUCED_KINDS, more)

    def load_agent(
        self, session_id: SessionId, agent_id: AgentId, more: Sequence[AgentEvent] = ()
    ) -> AgentRecord:
        """Return one agent of the session, with its whole history; as if `more` were on disk."""
        found = self._reduced(session_id, REDUCED_KINDS, more, agent_id)
        return next((one for one in found if one.agent_id == agent_id), AgentRecord(agent_id))

    def load_tree(self, session_id: SessionId) -> tuple[AgentRecord, ...]:
        """Return the session's subagents without their histories, parents first."""
        found = self._reduced(session_id, TREE_KINDS)
        return tuple(record for record in found if record.spec is not None)

    def _reduced(
        self,
        session_id: SessionId,
        kinds: Sequence[str],
        more: Sequence[AgentEvent] = (),
        agent_id: AgentId | None = None,
    ) -> tuple[AgentRecord, ...]:
        whose, args = ("AND agent = ?", (agent_id,)) if agent_id is not None else ("", ())
        marks = ",".join("?" * len(kinds))
        # Few kinds are found by theirs; SQLite would go through the session in its order.
        order = f"kind IN ({marks}) ORDER BY {'+seq' if kinds is TREE_KINDS else 'seq'}"
        with readable_errors():
            key, main = self._key(session_id), self._info(session_id).main_agent
            on_path, path = self._branches.path(key).condition()
            rows = self._connection.execute(
                f"SELECT body, crc, agent, kind, {on_path} FROM event WHERE session = ? {whose}"
                f" AND {order}",
                (*path, key, *args, *kinds),
            )
            events, aside, elsewhere = divide(rows, main)
        cut_off = [event for of_session, event in self._remains if of_session == key]
        return reduce((*events, *cut_off, *more), main, aside=aside, elsewhere=elsewhere)

    def task_states(self, session_id: SessionId) -> dict[AgentId, TaskState]:
        """Return the task lists of the session's agents: what the last ListChanged said."""
        with readable_errors():
            return tasks.load(self._connection, self._key(session_id))

    def told_changes(self, session_id: SessionId) -> tuple[ChangeSet, ...]:
        """Return what was told of changed files in the session, on all branches."""
        with readable_errors():
            rows = self._connection.execute(_CHANGES, (self._key(session_id),)).fetchall()
        return tuple(one.changes for one in decode_all(rows) if isinstance(one, FilesChanged))

    # Sessions and rules

    def save_session(self, info: SessionInfo) -> None:
        """Insert or update a session's row."""
        if info.id in self._deleted:
            return
        with self._writing(is_forced=False):
            self._save_info(info)

    def delete_session(self, session_id: SessionId) -> None:
        """Delete a session and all its events. Its id can't be used again."""
        with self._writing(is_forced=True):
            sqlite_search.forget(self._connection, session_id, has_fts=self._has_fts)
            self._count_rest(session_id)
            self._connection.execute("DELETE FROM session WHERE id = ?", (session_id,))
        self._pending.forget_session(session_id)
        self._deleted.add(session_id)
        self._last_seq.pop(self._keys.pop(session_id, -1), None)
        with suppress(sqlite3.Error):  # it is deleted; the file only stays larger
            # As a script: it is done page by page, and `execute` would do the first one alone.
            self._connection.executescript("PRAGMA incremental_vacuum")

    def sessions(self) -> tuple[SessionInfo, ...]:
        """Return all sessions, newest activity first."""
        with readable_errors():
            return read_sessions(self._connection)

    def search(self, text: str, limit: int, hidden: Collection[SessionId] = ()) -> SearchFound:
        """Return sessions whose title, and messages that hold the words; none of `hidden`."""
        with readable_errors():
            return sqlite_search.search(
                self._connection, text, limit, hidden, has_fts=self._has_fts
            )

    def usage(self, since: str) -> UsageReport:
        """Return what requests used from a day on; ever, if that is empty."""
        with readable_errors():
            return usage.report(self._connection, since)

    def index_more(self) -> bool:
        """Do a step of what is owed to the index of words; tell whether there is more."""
        with self._writing(is_forced=False):
            return indexing.step(self._connection, has_fts=self._has_fts)

    def count_more(self) -> bool:
        """Count some of the requests of before they were counted; tell whether there are more."""
        with self._writing(is_forced=False):
            return usage.count_more(self._connection)

    def rules(self) -> tuple[Rule, ...]:
        """Return the stored approval rules."""
        with readable_errors():
            return read_rules(self._connection)

    def save_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the stored approval rules."""
        with self._writing(is_forced=True):
            rows = rule_rows(self._connection, rules)
            self._connection.execute("DELETE FROM rule")
            self._connection.executemany("INSERT INTO rule (position, body) VALUES (?, ?)", rows)

    # Inside

    def _count_rest(self, session_id: SessionId) -> None:
        with suppress(LookupError):  # it was deleted before
            usage.count_rest(self._connection, self._key(session_id))

    def _append(
        self, session_id: SessionId, events: Sequence[AgentEvent], info: SessionInfo | None
    ) -> None:
        ended: list[str] = []
        forced = any(is_forced(event) for event in events)
        try:
            with self._writing(is_forced=forced):
                if info is not None:
                    self._save_info(info)
                key = self._key(session_id)
                for event in events:
                    ended += self._write(key, event, ended)
        except StoreError:
            self._lists.forget(self._keys.get(session_id, -1))
            raise
        for item in ended:
            del self._pending.items[item]

    def _write(self, key: int, event: AgentEvent, over: Sequence[str]) -> list[str]:
        """Write one event in a transaction; return what ended streaming by it, but for `over`."""
        if isinstance(event, ListChanged):
            self._lists.save(self._connection, key, event)
            return []
        ended = [item for item in self._ended_items(event) if item not in over]
        # What a message or a result holds whole is dropped; what a turn's end cuts is kept.
        for remnant in self._unfinished(ended) if isinstance(event, TurnEnded) else []:
            self._insert(key, remnant)
        number = self._insert(key, event)
        if isinstance(event, MessageAdded) and event.message.role == "user":
            self._branches.mark(key, event.agent_id, event.message.id)
        if words := searchable(event):
            self._connection.execute(
                "INSERT INTO words (rowid, text) VALUES (?, ?)", (number, words)
            )
        for item in ended:
            if self._pending.items[item].is_written:
                self._connection.execute("DELETE FROM streaming WHERE item = ?", (item,))
        return ended

    def _save_info(self, info: SessionInfo) -> None:
        self._connection.execute(
            "INSERT INTO session (id, title, updated_at, info) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET title = excluded.title,"
            " updated_at = excluded.updated_at, info = excluded.info",
            (info.id, info.title, info.updated_at, info_row(self._connection, info)),
        )

    def _insert(self, key: int, event: AgentEvent) -> int | None:
        seq = self._next_seq(key)
        body, crc = encode(event)
        branch = self._branches.head(key)
        at = time.time()
        row = (key, seq, event.agent_id, type(event).__name__, body, crc, at, branch)
        number = self._connection.execute(_INSERT_EVENT, row).lastrowid
        if isinstance(event, StepEnded | SideCallEnded):
            usage.count(self._connection, key, at, event)
        self._last_seq[key] = seq
        return number

    def _ended_items(self, event: AgentEvent) -> tuple[str, ...]:
        items: tuple[str, ...] = ()
        if isinstance(event, MessageAdded):
            items = (event.message.id,)
        elif isinstance(event, ToolEnded):
            items = (f"{event.agent_id}/{event.result.call_id}",)
        elif isinstance(event, TurnEnded):
            items = self._pending.of_agent(event.agent_id)
        return tuple(item for item in items if item in self._pending.items)

    def _unfinished(self, items: Iterable[str]) -> list[Fragment]:
        """Return what streamed of the items so far, joined."""
        kept: list[Fragment] = []
        for item in items:
            rows = self._connection.execute(
                "SELECT body, crc FROM streaming WHERE item = ? ORDER BY number", (item,)
            )
            kept += joined([*_fragments(rows), *self._pending.items[item].fragments])
        return kept

    def _streaming_events(self, session_id: SessionId, key: int) -> tuple[AgentEvent, ...]:
        rows = self._connection.execute(
            "SELECT body, crc FROM streaming WHERE session = ? ORDER BY number", (key,)
        )
        by_item: dict[str, list[Fragment]] = {}
        for fragment in _fragments(rows):
            by_item.setdefault(item_of(fragment), []).append(fragment)
        for item, streaming in self._pending.unwritten():
            if streaming.session_id == session_id:
                by_item.setdefault(item, []).extend(streaming.fragments)
        return tuple(run for fragments in by_item.values() for run in joined(fragments))

    def _find_remains(self) -> list[tuple[int, AgentEvent]]:
        """Return what was streaming when the app ended, with its session's key."""
        with readable_errors():
            rows = self._connection.execute(
                "SELECT session, item, at, body, crc FROM streaming ORDER BY session, item, number"
            ).fetchall()
        found: list[tuple[int, AgentEvent]] = []
        for (key, _), group in groupby(rows, key=lambda row: (row[0], row[1])):
            lines = list(group)
            fragments = _fragments((body, crc) for *_, body, crc in lines)
            found += [(key, event) for event in remains(fragments, lines[0][2])]
        return found

    def _keep_remains(self) -> None:
        """Move them into the events of their sessions, inside the first transaction there is."""
        for key, event in self._remains:
            self._insert(key, event)
        if self._remains:
            self._connection.execute("DELETE FROM streaming")

    def _key(self, session_id: SessionId) -> int:
        key = self._keys.get(session_id)
        if key is None:
            row = self._connection.execute(
                "SELECT key FROM session WHERE id = ?", (session_id,)
            ).fetchone()
            if row is None:
                raise LookupError(f"no session {session_id}: save_session comes first")
            key = self._keys[session_id] = int(row[0])
        return key

    def _next_seq(self, key: int) -> int:
        last = self._last_seq.get(key)
        if last is None:
            row = self._connection.execute(
                "SELECT COALESCE(MAX(seq), 0) FROM event WHERE session = ?", (key,)
            ).fetchone()
            last = int(row[0])
        return last + 1

    def _info(self, session_id: SessionId) -> SessionInfo:
        row = self._connection.execute(
            "SELECT info FROM session WHERE id = ?", (session_id,)
        ).fetchone()
        info = read_info(row[0])
        if info is None:
            raise LookupError(f"the row of session {session_id} can't be read")
        return info

    @contextmanager
    def _writing(self, *, is_forced: bool) -> Generator[None]:
        """One transaction; with `is_forced` it is on the disk itself at the end."""
        with readable_errors():
            if self._is_forced is not is_forced:
                self._connection.execute(
                    f"PRAGMA synchronous = {'FULL' if is_forced else 'NORMAL'}"
                )
                self._is_forced = is_forced
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._keep_remains()
                yield
                self._connection.execute("COMMIT")
                self._remains.clear()
            except BaseException:
                self._last_seq.clear()  # what was counted up may not have been written
                self._branches.forget()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _fragments(rows: Iterable[Any]) -> list[Fragment]:
    events = (decode(body, crc) for body, crc in rows)
    return [event for event in events if isinstance(event, PartDelta | ToolOutput)]

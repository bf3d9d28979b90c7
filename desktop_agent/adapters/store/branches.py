"""Branches of sessions: which of a main agent's events are on the branch that is shown.

A row a branch: its parent, and the last event of it that it goes on from (`cut`). The *path* of a
branch is what it shares with its parents, then its own events. The first branch has the number 0,
and no row while it is the only one. The *head* is the branch that was used last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from desktop_agent.adapters.store import tasks
from desktop_agent.adapters.store.rows import decode, read_value
from desktop_agent.core.events import ListChanged, MessageAdded, NoteQueued
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import BranchPoint
from desktop_agent.core.tasks import TaskState

TABLES = """
ALTER TABLE event ADD COLUMN branch INTEGER NOT NULL DEFAULT 0;
CREATE TABLE branch (
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    parent INTEGER,
    cut INTEGER NOT NULL,
    before TEXT NOT NULL,
    used INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (session, number)
);
CREATE TABLE task_version (
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, revision)
);
CREATE TABLE task_mark (
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    message TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (session, message)
);
"""
_END = 1 << 62
_UNKNOWN = -1  # no task list was kept


class Branch(msgspec.Struct, frozen=True):
    """A row. `before` is the message of the parent's that follows the cut, `used` grows with each
    switch; `revision` is of the task list, as it was when this branch was left.
    """

    number: int
    parent: int | None
    cut: int
    before: MessageId
    used: int
    revision: int


class Path(msgspec.Struct, frozen=True):
    """The branches that are shown, the first one first, each with its last event shown.

    Empty where there is one branch only.
    """

    parts: tuple[tuple[int, int], ...] = ()

    def condition(self) -> tuple[str, list[int]]:
        """Return the SQL that holds for an event on the path, and its arguments."""
        if not self.parts:
            return "1", []
        cases = " WHEN ? THEN ?" * len(self.parts)
        args = [number for part in self.parts for number in part]
        return f"(seq <= CASE branch{cases} ELSE -1 END)", args


class Branches:
    """Those of all sessions in one database; every method is called inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._trees: dict[int, dict[int, Branch]] = {}

    def forget(self) -> None:
        """Read everything again: what was written last may not have held."""
        self._trees.clear()

    def path(self, key: int) -> Path:
        """Return the path of the head."""
        tree = self._tree(key)
        return _path_of(tree, _newest(tree.values()).number) if tree else Path()

    def head(self, key: int) -> int:
        """Return the branch that new events are on."""
        tree = self._tree(key)
        return _newest(tree.values()).number if tree else 0

    # -- changes, in a transaction -----------------------------------------------------------

    def mark(self, key: int, agent_id: AgentId, message_id: MessageId) -> None:
        """Keep the agent's task list as it is when a message of the user's is read."""
        if agent_id.startswith("sa_"):
            return
        revision = self._keep_list(key, agent_id)
        self._connection.execute(
            "INSERT OR REPLACE INTO task_mark (session, message, revision) VALUES (?, ?, ?)",
            (key, message_id, revision),
        )

    def begin(self, key: int, main: AgentId, before: MessageId) -> ListChanged | None:
        """Begin a branch right before a message and make it the head; return its task list.

        None: it is as it is now. Raises LookupError.
        """
        found = self._find(key, main, before)
        if found is None:
            raise LookupError(f"no message {before} on this branch")
        seq, branch = found
        row = self._tree(key).get(branch)
        parent, cut, first = branch, seq - 1, before
        if row is not None and row.parent is not None and self._first(key, main, row) == before:
            # What a branch begins with is said once more: they are alternatives to each other.
            parent, cut, first = row.parent, row.cut, row.before
        self._leave(key, main)
        tree = self._tree(key)
        number, used = max(tree) + 1, _newest(tree.values()).used + 1
        self._connection.execute(
            "INSERT INTO branch VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, number, parent, cut, first, used, _UNKNOWN),
        )
        self._trees.pop(key, None)
        mark = self._connection.execute(
            "SELECT revision FROM task_mark WHERE session = ? AND message = ?", (key, before)
        ).fetchone()
        return self._list(key, main, _UNKNOWN if mark is None else mark[0])

    def switch(self, key: int, main: AgentId, head: int) -> ListChanged | None:
        """Make a branch the head; return its task list, None if it is as it is now."""
        row = self._tree(key).get(head)
        if row is None:
            raise LookupError(f"no branch {head}")
        self._leave(key, main)
        used = _newest(self._tree(key).values()).used + 1
        self._connection.execute(
            "UPDATE branch SET used = ? WHERE session = ? AND number = ?", (used, key, head)
        )
        self._trees.pop(key, None)
        return self._list(key, main, row.revision)

    def _leave(self, key: int, main: AgentId) -> None:
        """Keep the task list of the head; the first branch gets its row by it."""
        revision, number = self._keep_list(key, main), self.head(key)
        self._connection.execute(
            "INSERT INTO branch VALUES (?, ?, NULL, 0, '', 0, ?)"
            " ON CONFLICT (session, number) DO UPDATE SET revision = excluded.revision",
            (key, number, revision),
        )
        self._trees.pop(key, None)

    def _keep_list(self, key: int, agent_id: AgentId) -> int:
        """Keep the list as it is now; return its revision, which is never given twice."""
        execute = self._connection.execute
        row = execute(
            "SELECT revision FROM task_list WHERE session = ? AND agent = ?", (key, agent_id)
        ).fetchone()
        if row is None:
            return 0
        where = (key, row[0])
        known = "SELECT 1 FROM task_version WHERE session = ? AND revision = ?"
        if execute(known, where).fetchone() is None:
            state = tasks.load(self._connection, key, agent_id).get(agent_id, TaskState())
            body = msgspec.json.encode(state)
            execute("INSERT INTO task_version VALUES (?, ?, ?)", (*where, body))
        return row[0]

    def _list(self, key: int, main: AgentId, revision: int) -> ListChanged | None:
        """Return a kept list as the next revision of the one there is; its ids go on."""
        now = tasks.load(self._connection, key, main).get(main, TaskState())
        if revision in (_UNKNOWN, now.revision):
            return None
        row = self._connection.execute(
            "SELECT body FROM task_version WHERE session = ? AND revision = ?", (key, revision)
        ).fetchone()
        kept = (read_value(row[0], TaskState) if row is not None else None) or TaskState()
        return ListChanged(main, now.revision + 1, kept.tasks, max(now.next_id, kept.next_id))

    # -- questions -----------------------------------------------------------------------------

    def points(self, key: int, main: AgentId) -> tuple[tuple[BranchPoint, ...], int]:
        """Return where others branch off from the path, and a number for the path."""
        tree = self._tree(key)
        if not tree:
            return (), 0
        path = dict(_path_of(tree, self.head(key)).parts)
        groups: dict[tuple[int, int], list[Branch]] = {}
        for row in sorted(tree.values(), key=lambda one: one.number):
            if row.parent is not None:
                groups.setdefault((row.parent, row.cut), []).append(row)
        found: list[BranchPoint] = []
        for (parent, cut), rows in sorted(groups.items(), key=lambda item: item[0][1]):
            if path.get(parent, -1) < cut:
                continue
            heads = [_newest(_past(tree, parent, cut)), *(_newest(_below(tree, r)) for r in rows)]
            on_path = [at for at, row in enumerate(rows, 1) if row.number in path]
            place = on_path[0] if on_path else 0
            message = self._first(key, main, rows[place - 1]) if place else rows[0].before
            found.append(BranchPoint(cut, message, place, tuple(one.number for one in heads)))
        return tuple(found), _newest(tree.values()).used

    def holding(self, key: int, seq: int) -> int | None:
        """Return the branch to switch to for an event of the main agent's; None if it is shown."""
        row = self._connection.execute(
            "SELECT branch FROM event WHERE session = ? AND seq = ?", (key, seq)
        ).fetchone()
        tree = self._tree(key)
        if row is None or row[0] not in tree or dict(self.path(key).parts).get(row[0], -1) >= seq:
            return None
        return _newest(_past(tree, row[0], seq - 1)).number

    def notes_in(self, key: int, main: AgentId, message_id: MessageId) -> tuple[Note, ...]:
        """Return the notes that a message was made of, as they were last."""
        found = self._find(key, main, message_id)
        event = self._event(key, found[0]) if found is not None else None
        if not isinstance(event, MessageAdded):
            return ()
        notes = (self._note(key, main, note_id) for note_id in event.message.note_ids)
        return tuple(note for note in notes if note is not None)

    def _note(self, key: int, main: AgentId, note_id: str) -> Note | None:
        rows = self._holding(key, main, "NoteQueued", note_id, Path())
        events = (decode(body, crc) for _, _, body, crc in rows)
        for event in events:
            if isinstance(event, NoteQueued) and event.note.id == note_id:
                return event.note
        return None

    def _find(self, key: int, main: AgentId, message_id: MessageId) -> tuple[int, int] | None:
        """Return where a user message on the path is: its number, and its branch."""
        rows = self._holding(key, main, "MessageAdded", message_id, self.path(key))
        for seq, branch, body, crc in rows:
            event = decode(body, crc)
            if isinstance(event, MessageAdded) and event.message.id == message_id:
                return (seq, branch) if event.message.role == "user" else None
        return None

    def _holding(
        self, key: int, main: AgentId, kind: str, text: str, path: Path
    ) -> Sequence[tuple[int, int, bytes, int]]:
        """Return the events in whose bodies an id stands, newest first."""
        on_path, args = path.condition()
        return self._connection.execute(
            "SELECT seq, branch, body, crc FROM event WHERE session = ? AND agent = ? AND kind = ?"
            f" AND instr(body, ?) AND {on_path} ORDER BY seq DESC",
            (key, main, kind, text.encode(), *args),
        ).fetchall()

    def _first(self, key: int, main: AgentId, row: Branch) -> MessageId | None:
        """Return the message that a branch begins with, once it is written."""
        found = self._connection.execute(
            "SELECT body, crc FROM event WHERE session = ? AND agent = ? AND branch = ?"
            " AND kind = 'MessageAdded' AND seq > ? ORDER BY seq LIMIT 1",
            (key, main, row.number, row.cut),
        ).fetchone()
        event = decode(*found) if found is not None else None
        return event.message.id if isinstance(event, MessageAdded) else None

    def _event(self, key: int, seq: int) -> object:
        row = self._connection.execute(
            "SELECT body, crc FROM event WHERE session = ? AND seq = ?", (key, seq)
        ).fetchone()
        return decode(*row)

    def _tree(self, key: int) -> dict[int, Branch]:
        tree = self._trees.get(key)
        if tree is None:
            rows = self._connection.execute(
                "SELECT number, parent, cut, before, used, revision FROM branch WHERE session = ?",
                (key,),
            )
            tree = self._trees[key] = _reachable({row[0]: Branch(*row) for row in rows})
        return tree


def _reachable(rows: dict[int, Branch]) -> dict[int, Branch]:
    """Return those that lead back to the first branch: a salvaged database may lack some."""
    found: dict[int, Branch] = {}
    for number in sorted(rows):  # a parent has the smaller number
        row = rows[number]
        if row.parent is None or (row.parent in found and row.parent < number):
            found[number] = row
    return found


def _newest(rows: Iterable[Branch]) -> Branch:
    return max(rows, key=lambda row: row.used)


def _path_of(tree: dict[int, Branch], head: int) -> Path:
    parts: list[tuple[int, int]] = []
    number, last = head, _END
    while True:
        parts.append((number, last))
        row = tree[number]
        if row.parent is None:
            return Path(tuple(reversed(parts)))
        number, last = row.parent, row.cut


def _below(tree: dict[int, Branch], top: Branch) -> list[Branch]:
    """Return a branch and all that branch off from it or below it."""
    found = {top.number: top}
    for number in sorted(tree):
        if tree[number].parent in found:
            found[number] = tree[number]
    return list(found.values())


def _past(tree: dict[int, Branch], parent: int, cut: int) -> list[Branch]:
    """Return a branch and all below it that go past a cut."""
    later = [row for row in tree.values() if row.parent == parent and row.cut > cut]
    return [tree[parent], *(one for row in later for one in _below(tree, row))]

"""Task lists on disk: a row a task, so that one change writes what it changed, not the list."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from operator import attrgetter

import msgspec

from desktop_agent.adapters.store.rows import read_value
from desktop_agent.core.diffs.ordering import longest_increasing, same_ends
from desktop_agent.core.events import ListChanged
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tasks import Task, TaskState

TABLES = """
CREATE TABLE task_list (
    session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    next_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (session, agent)
);
CREATE TABLE task (
    session INTEGER NOT NULL,
    agent TEXT NOT NULL,
    position INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, agent, position),
    FOREIGN KEY (session, agent) REFERENCES task_list (session, agent) ON DELETE CASCADE
);
"""
# Rows were kept by position once: a task that left the head of a list moved all behind it.
BY_ID = """
ALTER TABLE task RENAME TO task_by_position;
CREATE TABLE task (
    session INTEGER NOT NULL,
    agent TEXT NOT NULL,
    id INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, agent, id),
    FOREIGN KEY (session, agent) REFERENCES task_list (session, agent) ON DELETE CASCADE
);
INSERT OR REPLACE INTO task (session, agent, id, rank, body)
    SELECT session, agent, task_id(body), position * 1048576, body FROM task_by_position
    WHERE task_id(body) IS NOT NULL;
DROP TABLE task_by_position;
"""

_SAVE_LIST = """
INSERT INTO task_list (session, agent, next_id, revision) VALUES (?, ?, ?, ?)
ON CONFLICT (session, agent) DO UPDATE SET next_id = excluded.next_id, revision = excluded.revision
"""
_SAVE_TASK = """
INSERT INTO task (session, agent, id, rank, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (session, agent, id) DO UPDATE SET rank = excluded.rank, body = excluded.body
"""
_DELETE_TASK = "DELETE FROM task WHERE session = ? AND agent = ? AND id = ?"
_DELETE_ALL = "DELETE FROM task WHERE session = ? AND agent = ?"
# Between two ranks there is room for twenty halvings before a list has to be ranked again.
_GAP = 1 << 20
_ID = attrgetter("id")


def task_id(body: bytes) -> int | None:
    """Return the id in a row's body, for the move to rows by id; None for a damaged one."""
    try:
        return msgspec.json.decode(body, type=Task).id
    except msgspec.DecodeError:
        return None


class _Written:
    """A list as it is on disk: its tasks and their ranks, which grow in the order shown."""

    def __init__(self) -> None:
        self.ranks: dict[int, int] = {}
        self._tasks: Sequence[Task] = ()

    def follow(self, tasks: Sequence[Task]) -> tuple[set[int], list[Task]]:
        """Take a new list; return the ids that are gone and the tasks to write."""
        old, self._tasks = self._tasks, tasks
        same = same_ends(old, tasks, _ID)
        first, end = same.head, len(tasks) - same.tail
        changed = [tasks[place] for place in same.places]
        gone: set[int] = set()
        if same.moved:  # only one has to get another rank
            first = end - 1 if same.moved > 0 else first
            end = first + 1
            loose = {tasks[first].id}
        else:
            known = {task.id: task for task in old[first : len(old) - same.tail]}
            gone = known.keys() - {task.id for task in tasks[first:end]}
            for number in gone:
                del self.ranks[number]
            changed += [task for task in tasks[first:end] if known.get(task.id) is not task]
            loose = self._loose([task.id for task in tasks[first:end]])
        low = self.ranks[tasks[first - 1].id] if first else 0
        high = self.ranks[tasks[end].id] if end < len(tasks) else 0
        if not self._rank([task.id for task in tasks[first:end]], loose, low, high):
            self.ranks = {task.id: place * _GAP for place, task in enumerate(tasks, 1)}
            return gone, list(tasks)
        changed += [task for task in tasks[first:end] if task.id in loose]
        return gone, list({task.id: task for task in changed}.values())

    def _loose(self, numbers: Sequence[int]) -> set[int]:
        """Return those that have no rank, or one that is out of order."""
        unmoved = longest_increasing([self.ranks[n] for n in numbers if n in self.ranks])
        return {number for number in numbers if self.ranks.get(number) not in unmoved}

    def _rank(self, numbers: Sequence[int], loose: set[int], low: int, high: int) -> bool:
        """Give ranks between those of the neighbours; tell whether there was room."""
        waiting: list[int] = []
        for number in (*numbers, None):
            if number in loose:
                waiting.append(number)
                continue
            rank = self.ranks[number] if number is not None else high
            step = (rank - low) // (len(waiting) + 1) if rank else _GAP
            if waiting and step <= 0:
                return False
            self.ranks.update((one, low + step * n) for n, one in enumerate(waiting, 1))
            waiting, low = [], rank
        return True


class SavedLists:
    """Writes what differs from the list that was written last; the caller has a transaction."""

    def __init__(self) -> None:
        self._written: dict[tuple[int, AgentId], _Written] = {}

    def save(self, connection: sqlite3.Connection, key: int, event: ListChanged) -> None:
        """Make the rows of one list what the event says."""
        connection.execute(_SAVE_LIST, (key, event.agent_id, event.next_id, event.revision))
        written = self._written.pop((key, event.agent_id), None)
        if written is None:
            connection.execute(_DELETE_ALL, (key, event.agent_id))
            written = _Written()
        gone, tasks = written.follow(event.tasks)
        connection.executemany(_DELETE_TASK, [(key, event.agent_id, number) for number in gone])
        rows = [
            (key, event.agent_id, task.id, written.ranks[task.id], msgspec.json.encode(task))
            for task in tasks
        ]
        connection.executemany(_SAVE_TASK, rows)
        self._written[key, event.agent_id] = written

    def forget(self, key: int) -> None:
        """Write a session's lists whole the next time: the last writing may not have held."""
        self._written = {known: tasks for known, tasks in self._written.items() if known[0] != key}


def load(
    connection: sqlite3.Connection, key: int, agent_id: AgentId | None = None
) -> dict[AgentId, TaskState]:
    """Return the lists of a session's agents, or of one of them."""
    lists = connection.execute(
        "SELECT agent, next_id, revision FROM task_list WHERE session = ?1"
        " AND (?2 IS NULL OR agent = ?2)",
        (key, agent_id),
    ).fetchall()
    states: dict[AgentId, TaskState] = {}
    for agent, next_id, revision in lists:
        rows = connection.execute(
            "SELECT body FROM task WHERE session = ? AND agent = ? ORDER BY rank", (key, agent)
        )
        tasks = [task for row in rows if (task := read_value(row[0], Task)) is not None]
        states[AgentId(agent)] = TaskState(_without_lost(tasks), next_id, revision)
    return states


def _without_lost(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Let no task wait for one whose row was damaged."""
    known = {task.id for task in tasks}
    return tuple(
        task
        if known.issuperset(task.blocked_by)
        else msgspec.structs.replace(
            task, blocked_by=tuple(one for one in task.blocked_by if one in known)
        )
        for task in tasks
    )

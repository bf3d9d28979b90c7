"""Task lists on disk: a row a task, so that one change writes one row, not the list."""

from __future__ import annotations

import sqlite3

import msgspec

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

_SAVE_LIST = """
INSERT INTO task_list (session, agent, next_id, revision) VALUES (?, ?, ?, ?)
ON CONFLICT (session, agent) DO UPDATE SET next_id = excluded.next_id, revision = excluded.revision
"""
_SAVE_TASK = """
INSERT INTO task (session, agent, position, body) VALUES (?, ?, ?, ?)
ON CONFLICT (session, agent, position) DO UPDATE SET body = excluded.body
"""


class SavedLists:
    """Writes what differs from the list that was written last; the caller has a transaction."""

    def __init__(self) -> None:
        self._written: dict[tuple[int, AgentId], tuple[Task, ...]] = {}

    def save(self, connection: sqlite3.Connection, key: int, event: ListChanged) -> None:
        """Make the rows of one list what the event says."""
        connection.execute(_SAVE_LIST, (key, event.agent_id, event.next_id, event.revision))
        old = self._written.pop((key, event.agent_id), None)
        if old is None:
            connection.execute(
                "DELETE FROM task WHERE session = ? AND agent = ?", (key, event.agent_id)
            )
            old = ()
        rows = [
            (key, event.agent_id, position, msgspec.json.encode(task))
            for position, task in enumerate(event.tasks)
            if position >= len(old) or old[position] is not task
        ]
        connection.executemany(_SAVE_TASK, rows)
        if len(old) > len(event.tasks):
            connection.execute(
                "DELETE FROM task WHERE session = ? AND agent = ? AND position >= ?",
                (key, event.agent_id, len(event.tasks)),
            )
        self._written[key, event.agent_id] = event.tasks

    def forget(self, key: int) -> None:
        """Write a session's lists whole the next time: the last writing may not have held."""
        self._written = {known: tasks for known, tasks in self._written.items() if known[0] != key}


def load(connection: sqlite3.Connection, key: int) -> dict[AgentId, TaskState]:
    """Return the lists of a session's agents."""
    lists = connection.execute(
        "SELECT agent, next_id, revision FROM task_list WHERE session = ?", (key,)
    ).fetchall()
    states: dict[AgentId, TaskState] = {}
    for agent, next_id, revision in lists:
        rows = connection.execute(
            "SELECT body FROM task WHERE session = ? AND agent = ? ORDER BY position", (key, agent)
        )
        tasks = tuple(msgspec.json.decode(row[0], type=Task) for row in rows)
        states[AgentId(agent)] = TaskState(tasks, next_id, revision)
    return states

"""Task lists on disk: what was shown is there after a restart, and one change writes one row."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.sqlite_store import SqliteStore
from desktop_agent.core.events import ListChanged
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task, TaskState
from desktop_agent.core.workspace import Workspace

SESSION = SessionId("se")
AGENT = AgentId("ag")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.sqlite"
    with closing(SqliteStore(path)) as store:
        store.save_session(SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m"))
    return path


def _reopened(path: Path) -> dict[AgentId, TaskState]:
    with closing(SqliteStore(path)) as store:
        return store.task_states(SESSION)


def test_the_newest_list_is_there_after_a_restart(path: Path) -> None:
    a, b, c = (Task(n, f"task {n}") for n in (1, 2, 3))
    with closing(SqliteStore(path)) as store:
        for revision, tasks in enumerate([(a,), (a, b, c), (c, a), (c,), (c, b)], 1):
            store.record(SESSION, ListChanged(AGENT, revision, tasks, next_id=4))
            assert store.task_states(SESSION)[AGENT].tasks == tasks
    assert _reopened(path) == {AGENT: TaskState((c, b), 4, 5)}
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 6, (b,), next_id=4))
    assert _reopened(path)[AGENT].tasks == (b,)


def test_the_next_id_outlives_an_empty_list(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, (), next_id=9))
    assert _reopened(path)[AGENT].next_id == 9


def test_lists_of_two_agents_do_not_mix(path: Path) -> None:
    other = AgentId("ag2")
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, (Task(1, "a"),), 2))
        store.record(SESSION, ListChanged(other, 1, (Task(1, "b"), Task(2, "c")), 3))
        store.record(SESSION, ListChanged(AGENT, 2, (), 2))
    states = _reopened(path)
    assert states[AGENT].tasks == ()
    assert [task.subject for task in states[other].tasks] == ["b", "c"]


def test_one_change_of_a_long_list_writes_one_row(path: Path) -> None:
    tasks = tuple(Task(n, f"task {n}") for n in range(1, 2001))
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, tasks, 2001))
        before = store._connection.total_changes
        changed = (*tasks[:1000], Task(1001, "other"), *tasks[1001:])
        store.record(SESSION, ListChanged(AGENT, 2, changed, 2001))
        assert store._connection.total_changes - before == 2, "the list's row and the task's"
        assert store.task_states(SESSION)[AGENT].tasks == changed


def test_a_deleted_session_takes_its_lists_along(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, (Task(1, "a"),), 2))
        store.delete_session(SESSION)
        left = store._connection.execute("SELECT COUNT(*) FROM task").fetchone()
        assert left == (0,)
        store.record(SESSION, ListChanged(AGENT, 2, (), 2))

"""Task lists on disk: what was shown is there after a restart, and one change writes one row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.adapters.store import schema
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import ListChanged
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task, TaskState
from desktop_agent.core.workspace import Workspace
from tests.helpers.stores import connection_of

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
        store.record(SESSION, ListChanged(AGENT, 1, (Task(7, "a"),), next_id=8))
        store.record(SESSION, ListChanged(AGENT, 2, (Task(8, "b"),), next_id=9))
        store.record(SESSION, ListChanged(AGENT, 3, (), next_id=9))
    assert _reopened(path)[AGENT] == TaskState((), 9, 3)


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
        before = connection_of(store).total_changes
        changed = (*tasks[:1000], Task(1001, "other"), *tasks[1001:])
        store.record(SESSION, ListChanged(AGENT, 2, changed, 2001))
        assert connection_of(store).total_changes - before == 2, "the list's row and the task's"
        assert store.task_states(SESSION)[AGENT].tasks == changed


def test_a_task_that_leaves_or_moves_writes_no_other_row(path: Path) -> None:
    tasks = [Task(n, f"task {n}") for n in range(1, 2001)]
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, tuple(tasks), 2001))
        for change in (
            lambda: tasks.pop(3),
            lambda: tasks.insert(5, tasks.pop(1500)),
            lambda: tasks.insert(1500, tasks.pop(5)),
            lambda: tasks.append(tasks.pop(0)),
            lambda: tasks.insert(0, tasks.pop()),
        ):
            change()
            before = connection_of(store).total_changes
            store.record(SESSION, ListChanged(AGENT, 2, tuple(tasks), 2001))
            assert connection_of(store).total_changes - before == 2, "the list's row and the task's"
            assert store.task_states(SESSION)[AGENT].tasks == tuple(tasks)
    assert _reopened(path)[AGENT].tasks == tuple(tasks)


def test_a_task_can_be_moved_to_the_same_place_for_ever(path: Path) -> None:
    """There is no end to the room between two tasks."""
    tasks = [Task(n, f"task {n}") for n in range(1, 8)]
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, tuple(tasks), 8))
        for revision in range(2, 120):
            tasks.insert(1, tasks.pop())
            store.record(SESSION, ListChanged(AGENT, revision, tuple(tasks), 8))
            assert store.task_states(SESSION)[AGENT].tasks == tuple(tasks)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Task, ...]]:
    lists = st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from("ab")), unique_by=lambda pair: pair[0]
    )
    return [tuple(Task(n, s + str(n)) for n, s in draw(lists)) for _ in range(6)]


@given(histories())
@settings(max_examples=60)
def test_any_history_of_a_list_is_on_disk_as_it_was_last(history) -> None:
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder, "s.sqlite"))) as store:
        store.save_session(SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m"))
        for revision, tasks in enumerate(history, 1):
            store.record(SESSION, ListChanged(AGENT, revision, tasks, 13))
            assert store.task_states(SESSION)[AGENT].tasks == tasks


def test_lists_of_an_older_version_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    tasks = [Task(n, f"task {n}") for n in (4, 2, 9)]
    with monkeypatched_version(3), closing(SqliteStore(path)) as store:
        store.save_session(SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m"))
        execute = connection_of(store).execute
        execute("INSERT INTO task_list VALUES (1, ?, 10, 7)", (AGENT,))
        for position, task in enumerate(tasks):
            row = (AGENT, position, msgspec.json.encode(task))
            execute("INSERT INTO task VALUES (1, ?, ?, ?)", row)
        execute("INSERT INTO task VALUES (1, ?, 3, ?)", (AGENT, b"not JSON"))
    with closing(SqliteStore(path)) as store:
        assert store.task_states(SESSION)[AGENT] == TaskState(tuple(tasks), 10, 7)
        store.record(SESSION, ListChanged(AGENT, 8, tuple(tasks[::-1]), 10))
        assert store.task_states(SESSION)[AGENT].tasks == tuple(tasks[::-1])
        store.delete_session(SESSION)
        assert connection_of(store).execute("SELECT COUNT(*) FROM task").fetchone() == (0,)


@contextmanager
def monkeypatched_version(version: int) -> Iterator[None]:
    """Open databases as the app did when it knew only so many migrations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
        patch.setattr(schema, "SCHEMA_VERSION", version)
        yield


def test_a_deleted_session_takes_its_lists_along(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, (Task(1, "a"),), 2))
        store.delete_session(SESSION)
        left = connection_of(store).execute("SELECT COUNT(*) FROM task").fetchone()
        assert left == (0,)
        store.record(SESSION, ListChanged(AGENT, 2, (), 2))


def test_a_damaged_task_costs_only_itself_and_what_waits_for_it_is_free(path: Path) -> None:
    first, second = Task(1, "first"), Task(2, "second", blocked_by=(1,))
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 1, (first, second), next_id=3))
        connection_of(store).execute("UPDATE task SET body = substr(body, 2) WHERE id = 1")
    assert _reopened(path) == {AGENT: TaskState((Task(2, "second"),), 3, 1)}
    with closing(SqliteStore(path)) as store:
        store.record(SESSION, ListChanged(AGENT, 2, (Task(2, "second"),), next_id=3))
    assert _reopened(path)[AGENT].tasks == (Task(2, "second"),)

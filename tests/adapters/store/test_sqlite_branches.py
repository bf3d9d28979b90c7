"""Branches on disk: a database of before has one, and a refused write begins none."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.store.rows import encode
from desktop_agent.adapters.store.schema import open_database
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import BranchStarted, ListChanged, NoteQueued
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.tasks import Task
from desktop_agent.engine.base.ports import StoreError
from tests.adapters.store.test_sqlite_tasks import monkeypatched_version
from tests.adapters.store.turns import AGENT, SESSION, info, turn, user
from tests.helpers.stores import connection_of

BEFORE_BRANCHES = 4


def test_a_session_of_before_branches_opens_and_branches(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    said = [user("one"), user("two"), user("three")]
    with monkeypatched_version(BEFORE_BRANCHES):
        connection, _ = open_database(path, check=False)
    with closing(connection):
        body = msgspec.json.encode(info())
        connection.execute("INSERT INTO session VALUES (1, ?, 't', 1.0, ?)", (SESSION, body))
        for seq, event in enumerate(said, 1):
            row = (1, seq, AGENT, "MessageAdded", *encode(event), time.time())
            connection.execute(
                "INSERT INTO event (session, seq, agent, kind, body, crc, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
    with closing(SqliteStore(path)) as store:
        assert store.page(SESSION, None, 10).events == tuple(said)
        assert store.branch_points(SESSION) == ((), 0)
        store.begin_branch(SESSION, said[1].message.id, user("blue"))
        (agent,) = store.load_agents(SESSION)
        assert [message.text for message in agent.history] == ["one", "blue"]
    with closing(SqliteStore(path)) as store:
        store.switch_branch(SESSION, 0)
        (agent,) = store.load_agents(SESSION)
        assert [message.text for message in agent.history] == ["one", "two", "three"]
    assert path.with_name(f"old.version-{BEFORE_BRANCHES}.sqlite").exists()


def test_a_branch_that_the_disk_refuses_is_not_begun(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s.sqlite")) as store:
        store.save_session(info())
        asked = user("one")
        store.record(SESSION, asked, ListChanged(AGENT, 1, (Task(1, "a"),), 2))
        before = (store.page(SESSION, None, 10), store.task_states(SESSION))
        connection_of(store).execute(
            "CREATE TRIGGER full BEFORE INSERT ON event WHEN NEW.kind = 'NoteQueued'"
            " BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
        note = NoteQueued(AGENT, Note(new_note_id(), "blue"))
        with pytest.raises(StoreError):
            store.begin_branch(SESSION, asked.message.id, BranchStarted(AGENT, "m"), note)
        assert (store.page(SESSION, None, 10), store.task_states(SESSION)) == before
        assert store.branch_points(SESSION) == ((), 0)
        connection_of(store).execute("DROP TRIGGER full")
        store.record(SESSION, user("two"))
        (agent,) = store.load_agents(SESSION)
        assert [message.text for message in agent.history] == ["one", "two"]


def test_pages_of_a_branch_join_without_a_gap_or_what_is_elsewhere(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s.sqlite")) as store:
        store.save_session(info())
        said = [user(f"message {number}") for number in range(20)]
        store.record(SESSION, *said)
        store.begin_branch(SESSION, said[12].message.id)
        other = [user(f"other {number}") for number in range(9)]
        store.record(SESSION, *other)
        newest = store.page(SESSION, None, 10, AGENT)
        middle = store.page(SESSION, newest.first_seq, 10, AGENT)
        oldest = store.page(SESSION, middle.first_seq, 10, AGENT)
        pages = (*oldest.events, *middle.events, *newest.events)
        assert pages == (*said[:12], *other)
        assert oldest.first_seq == 1


def test_a_deleted_session_takes_its_branches_along(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s.sqlite")) as store:
        store.save_session(info())
        events = list(turn(1))
        store.record(SESSION, ListChanged(AGENT, 1, (Task(1, "a"),), 2), *events)
        first = next(e for e in events if type(e).__name__ == "MessageAdded")
        store.begin_branch(SESSION, first.message.id)
        store.delete_session(SESSION)
        for table in ("branch", "task_version", "task_mark", "event"):
            left = connection_of(store).execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            assert left == (0,), table

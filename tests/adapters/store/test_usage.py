"""What was used, by day, model and session: it agrees with what was recorded, whatever happens."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.store import usage
from desktop_agent.adapters.store.rows import encode
from desktop_agent.adapters.store.schema import open_database
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import AgentEvent, SideCallEnded, StepEnded
from desktop_agent.core.ids import SessionId
from desktop_agent.core.usage import Usage, UsageLine
from desktop_agent.engine.base.ports import StoreError
from tests.adapters.store.test_sqlite_tasks import monkeypatched_version
from tests.adapters.store.turns import AGENT, SESSION, info
from tests.helpers.stores import abandon, connection_of

BEFORE_USAGE = 6
OTHER = SessionId("se_0000000000000002")


def step(*, model: str = "cheap", cost: float | None = 0.5, tokens: int | None = 100) -> StepEnded:
    return StepEnded(AGENT, 1, Usage(tokens, tokens, cost=cost), model=model)


def noon(days_ago: int = 0) -> float:
    day = date.today() - timedelta(days_ago)
    return datetime(day.year, day.month, day.day, 12).timestamp()


def key_of(store: SqliteStore, session_id: SessionId = SESSION) -> int:
    found = connection_of(store).execute("SELECT key FROM session WHERE id = ?", (session_id,))
    return found.fetchone()[0]


@pytest.fixture
def store(tmp_path: Path):
    with closing(SqliteStore(tmp_path / "s.sqlite")) as opened:
        opened.save_session(info())
        yield opened


def test_steps_and_side_calls_are_counted_once_each_by_day_model_and_session(
    store: SqliteStore,
) -> None:
    store.save_session(info(OTHER, "Other"))
    store.record(SESSION, step(), step(), SideCallEnded(AGENT, Usage(7, 3, 5, 0.25), "dear"))
    store.record(OTHER, step(model="dear", cost=2.0))
    found = store.usage("")
    by_model = {one.key: one for one in found.models}
    assert by_model["cheap"] == UsageLine("cheap", "", 2, 0, 0, 200, 200, 0, 1.0)
    assert by_model["dear"] == UsageLine("dear", "", 2, 0, 0, 107, 103, 5, 2.25)
    assert [(one.key, one.title, one.cost) for one in found.sessions] == [
        (OTHER, "Other", 2.0),
        (SESSION, "Prices", 1.25),
    ]
    assert (found.total.requests, found.total.cost, found.total.tokens) == (4, 3.25, 610)


def test_a_period_begins_on_its_day_and_all_of_it_is_told_by_month(store: SqliteStore) -> None:
    connection, key = connection_of(store), key_of(store)
    for days_ago in (0, 6, 7, 400):
        usage.count(connection, key, noon(days_ago), step())
    since = (date.today() - timedelta(6)).isoformat()
    week = store.usage(since)
    assert [one.key for one in week.days] == [since, date.today().isoformat()]
    assert week.total.cost == 1.0
    ever = store.usage("")
    assert {len(one.key) for one in ever.days} == {len("2026-11")}
    assert ever.total.cost == 2.0


def test_what_a_provider_does_not_say_is_counted_as_unknown(store: SqliteStore) -> None:
    store.record(SESSION, step(cost=None), step(tokens=None, cost=0.0), step(cost=float("inf")))
    (line,) = store.usage("").models
    assert (line.requests, line.unpriced, line.uncounted) == (3, 2, 1)
    assert (line.cost, line.input_tokens) == (0.0, 200)


@pytest.mark.parametrize("number", [-5, 10**30])
def test_no_count_of_a_provider_keeps_a_step_from_being_recorded(
    store: SqliteStore, number: int
) -> None:
    for _ in range(3):
        store.record(SESSION, step(tokens=number, cost=float(number), model="m" * 5000))
    (line,) = store.usage("").models
    assert line.requests == 3
    assert 0 <= line.input_tokens <= 3e12
    assert 0 <= line.cost <= 3e9
    assert len(line.key) < 5000


def test_what_was_paid_for_stays_when_its_session_is_erased(store: SqliteStore) -> None:
    store.record(SESSION, step())
    store.delete_session(SESSION)
    assert store.usage("").sessions == (UsageLine("", "", 1, 0, 0, 100, 100, 0, 0.5),)


def test_a_step_that_the_disk_refuses_is_not_counted(store: SqliteStore) -> None:
    connection_of(store).execute(
        "CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )
    with pytest.raises(StoreError):
        store.record(SESSION, step())
    connection_of(store).execute("DROP TRIGGER full")
    assert store.usage("").total.requests == 0
    assert store.page(SESSION, None, 10).events == ()


def test_beyond_the_largest_lines_the_rest_is_one_with_all_of_its_sum(store: SqliteStore) -> None:
    store.record(SESSION, *(step(model=f"model {n}", cost=float(n)) for n in range(1, 501)))
    models = store.usage("").models
    assert len(models) <= 200
    assert models[0].key == "model 500"
    assert sum(one.cost for one in models) == sum(range(1, 501))
    assert models[-1].stands_for == 500 - len(models) + 1


def older(path: Path, *events: AgentEvent) -> None:
    """Make a file as the version before wrote it, with a damaged row at its end."""
    with monkeypatched_version(BEFORE_USAGE):
        connection, _ = open_database(path, check=False)
    with closing(connection):
        body = msgspec.json.encode(info())
        connection.execute("INSERT INTO session VALUES (1, ?, 't', 1.0, ?)", (SESSION, body))
        rows = [(seq, type(one).__name__, *encode(one)) for seq, one in enumerate(events, 1)]
        rows.append((len(events) + 1, "StepEnded", b"\xff no JSON", 1))
        for seq, kind, stored, crc in rows:
            connection.execute(
                "INSERT INTO event (session, seq, agent, kind, body, crc, at, branch)"
                " VALUES (1, ?, ?, ?, ?, ?, ?, 0)",
                (seq, AGENT, kind, stored, crc, time.time()),
            )


def count_all(store: SqliteStore) -> None:
    while store.count_more():
        pass


def test_a_file_of_the_version_before_opens_and_its_requests_count(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    older(path, step(model=""), SideCallEnded(AGENT, Usage(1, 1)), step(model="cheap"))
    for _ in range(2):  # once, however often it is opened
        with closing(SqliteStore(path)) as store:
            count_all(store)
            found = {one.key: one for one in store.usage("").models}
            assert (found[""].requests, found[""].unpriced, found[""].cost) == (2, 1, 0.5)
            assert found["cheap"].cost == 0.5
            assert store.usage("").sessions[0].key == SESSION


def test_requests_of_before_are_counted_once_though_the_app_is_killed_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "_ROWS", 3)
    path = tmp_path / "old.sqlite"
    older(path, *(step() for _ in range(10)), *(SideCallEnded(AGENT, Usage(1, 1)),) * 4)
    seen: list[float] = []
    for _ in range(8):
        store = SqliteStore(path)
        store.count_more()
        store.record(SESSION, step())  # goes on meanwhile
        seen.append(store.usage("").total.requests)
        abandon(store)
    assert seen[0] == 4
    assert seen[-1] == 14 + 8


def test_a_session_that_is_erased_before_it_was_counted_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "_ROWS", 3)
    path = tmp_path / "old.sqlite"
    older(path, *(step() for _ in range(10)), SideCallEnded(AGENT, Usage(1, 1)))
    with closing(SqliteStore(path)) as store:
        store.count_more()
        store.delete_session(SESSION)
        count_all(store)
        assert store.usage("").total.requests == 11


def test_what_is_saved_of_a_damaged_older_file_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    older(path, *(step() for _ in range(20)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 100)
    with path.open("r+b") as file:  # the header says of more pages than there are
        file.seek(28)
        file.write((len(whole) // 4096 + 50).to_bytes(4, "big"))
    with closing(SqliteStore(path)) as store:
        assert store.set_aside is not None
        count_all(store)
        assert store.usage("").total.requests == 20


def test_an_event_of_before_has_no_model_and_is_read_all_the_same() -> None:
    body = msgspec.json.encode({"type": "StepEnded", "agent_id": AGENT, "step": 3})
    assert msgspec.json.decode(body, type=StepEnded).model == ""

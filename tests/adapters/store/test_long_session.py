"""A session of ten thousand messages is opened as fast as a short one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import open_calls
from tests.helpers.make_session import make_session


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SessionId]:
    path = tmp_path_factory.mktemp("long") / "sessions.sqlite"
    return path, make_session(path, 10_000)


def best_of(count: int, work: Callable[[], object]) -> float:
    """The fastest of several runs, in milliseconds: what else runs here only slows some down."""
    took: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        work()
        took.append((time.perf_counter() - started) * 1000)
    return min(took)


def test_the_newest_page_of_a_long_session_takes_under_20_ms(
    long_session: tuple[Path, SessionId],
) -> None:
    path, session_id = long_session
    with closing(SqliteStore(path)) as store:
        assert len(store.page(session_id, None, 400).events) == 400
        assert best_of(5, lambda: store.page(session_id, None, 400)) < 20


def test_a_page_in_the_middle_is_as_fast(long_session: tuple[Path, SessionId]) -> None:
    path, session_id = long_session
    with closing(SqliteStore(path)) as store:
        assert best_of(5, lambda: store.page(session_id, 12_000, 400)) < 20


def test_a_long_session_comes_back_whole(long_session: tuple[Path, SessionId]) -> None:
    path, session_id = long_session
    with closing(SqliteStore(path)) as store:
        (agent,) = store.load_agents(session_id)
        assert len(agent.history) >= 10_000
        assert open_calls(agent.history) == ()
        seen: list[MessageAdded] = []
        before: int | None = None
        while before != 1:
            page = store.page(session_id, before, 400)
            seen[:0] = [event for event in page.events if isinstance(event, MessageAdded)]
            before = page.first_seq
        assert [event.message for event in seen] == list(agent.history)


def test_the_subagents_of_a_long_session_are_found_without_going_through_it(
    long_session: tuple[Path, SessionId],
) -> None:
    path, session_id = long_session
    with closing(SqliteStore(path)) as store:
        whole = best_of(3, lambda: store.page(session_id, None, 40))
        assert best_of(5, lambda: store.load_tree(session_id)) < max(3, whole)

"""A session of ten thousand messages is opened as fast as a short one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import open_calls
from tests.helpers.make_session import make_session
from tests.helpers.stores import connection_of


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SessionId]:
    path = tmp_path_factory.mktemp("long") / "sessions.sqlite"
    return path, make_session(path, 10_000)


def cost(path: Path, work: Callable[[SqliteStore], object]) -> int:
    """What something costs, in steps of SQLite's machine."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(SqliteStore(path)) as store:
        connection_of(store).set_progress_handler(count, 1)
        work(store)
        connection_of(store).set_progress_handler(None, 0)
    return steps


def test_a_page_of_a_long_session_costs_what_one_of_a_short_session_costs(
    long_session: tuple[Path, SessionId], tmp_path: Path
) -> None:
    (long, session_id), short = long_session, tmp_path / "short.sqlite"
    short_id = make_session(short, 400)
    usual = cost(short, lambda store: store.page(short_id, None, 400))
    for before in (None, 12_000):
        assert cost(long, lambda store, at=before: store.page(session_id, at, 400)) < 2 * usual


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
    page = cost(path, lambda store: store.page(session_id, None, 40))
    assert cost(path, lambda store: store.load_tree(session_id)) < page

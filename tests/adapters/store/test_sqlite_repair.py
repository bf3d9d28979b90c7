"""A damaged file on a disk that has no room for what can be saved of it."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.engine.base.ports import StoreError
from tests.adapters.store.turns import SESSION, info, user

resource = pytest.importorskip("resource", reason="limits no file's size")


@contextmanager
def _room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("room", [0, 4096, 200_000, 400_000])
def test_sessions_of_a_damaged_file_wait_for_a_start_with_room_for_them(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "sessions.db"
    with closing(SqliteStore(path)) as store:
        store.save_session(info())
        for _ in range(100):
            store.record(SESSION, user("many words " * 500))
    body = path.read_bytes()
    path.write_bytes(body[:-8192] + b"\xff" * 8192)
    path.with_name(f"{path.name}.lock").write_text("999999")  # as after a crash
    with _room_for(room), pytest.raises((StoreError, OSError)):
        SqliteStore(path)
    with closing(SqliteStore(path)) as store:
        assert store.set_aside is not None
        assert len(store.page(SESSION, None, 1000).events) > 90
    assert not list(tmp_path.glob("*.half*"))


def test_a_disk_that_takes_nothing_at_the_end_lets_go_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "sessions.db")

    def refused(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refused)
        store.close()
    SqliteStore(tmp_path / "sessions.db").close()

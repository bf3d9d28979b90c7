"""What is promised to outlast a loss of power reaches the disk, not only the drive (macOS)."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.engine.workspace.to_disk import commit_to_disk, to_disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has one call for it")


def test_the_call_that_reaches_the_disk_is_used_where_the_file_system_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl  # which Windows has not

    with (tmp_path / "file").open("wb") as file:
        os.set_inheritable(file.fileno(), False)
        # A call that no file system knows, then one whose effect can be told.
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", 1 << 20, raising=False)
        to_disk(file.fileno())
        assert not os.get_inheritable(file.fileno())
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", fcntl.F_SETFD)
        to_disk(file.fileno())
        assert os.get_inheritable(file.fileno())
        descriptor = file.fileno()
    with pytest.raises(OSError, match="Bad file descriptor"):
        to_disk(descriptor)


def test_a_database_is_told_the_same(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        commit_to_disk(connection)
        for name in ("fullfsync", "checkpoint_fullfsync"):
            assert connection.execute(f"PRAGMA {name}").fetchone() == (1,)

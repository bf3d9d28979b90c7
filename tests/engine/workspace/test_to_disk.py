"""What outlasts a loss of power reaches the disk; what was not finished is not left there."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.safe_open import write_atomic
from desktop_agent.engine.workspace.to_disk import commit_to_disk, to_disk
from tests.helpers.patience import HANG_S

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


_KILLED_AS_IT_FLUSHES = """
import os, signal, sys
from pathlib import Path
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace import safe_open

safe_open.to_disk = lambda _: os.kill(os.getpid(), signal.SIGKILL)
safe_open.write_atomic(Workspace(sys.argv[1]), Path(sys.argv[1], "note.txt"), b"new")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="has no files without a name")
@pytest.mark.parametrize("before", [{}, {"note.txt": "old"}])
def test_who_is_killed_as_it_writes_leaves_the_folder_as_it_was(
    tmp_path: Path, before: dict[str, str]
) -> None:
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED_AS_IT_FLUSHES, tmp_path], timeout=HANG_S, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("refused", ["open", "link"])
def test_where_every_new_file_needs_a_name_it_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    plain = getattr(os, refused)

    def refuse(path: str, *arguments: int, **more: int) -> int | None:
        if path == "." or refused == "link":
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return plain(path, *arguments, **more)

    monkeypatch.setattr(os, refused, refuse)
    path = tmp_path / "note.txt"
    for text in (b"old", b"new"):
        write_atomic(Workspace(str(tmp_path)), path, text)
        assert path.read_bytes() == text
    assert list(tmp_path.iterdir()) == [path]

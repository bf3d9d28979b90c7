"""What is written beside and apart from the data goes again, also after the process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from desktop_agent.adapters.files.private_file import write_private
from desktop_agent.adapters.files.temporary_folder import temporary_folder


def long_ago(path: Path) -> Path:
    """Make a file or folder two hours old."""
    then = time.time() - 7200
    os.utime(path, (then, then))
    return path


def test_what_a_killed_process_left_of_a_key_file_is_deleted(tmp_path: Path) -> None:
    names = (".keys.json.abcd1234", ".keys.json.efgh5678", ".other.json.abcd1234", "keys.json.old")
    left, being_written, others, kept = (tmp_path / name for name in names)
    for path in (left, being_written, others, kept):
        path.write_text("a key")
    for path in (left, others, kept):
        long_ago(path)
    write_private(tmp_path / "keys.json", b"{}")
    assert sorted(tmp_path.iterdir()) == sorted(
        [tmp_path / "keys.json", being_written, others, kept]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs rights, or links without them")
def test_what_can_not_be_read_is_kept_and_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    if os.geteuid():
        path.write_text("a key")
        path.chmod(0)
    else:  # who may read everything finds this unreadable all the same
        path.symlink_to(path)
    before = path.lstat().st_ino
    write_private(path, b"{}")
    (kept,) = tmp_path.glob("keys.damaged-*.json")
    assert (kept.lstat().st_ino, path.read_bytes()) == (before, b"{}")


@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_the_folder_of_a_killed_process_is_deleted_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import sys, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from desktop_agent.adapters.files.temporary_folder import temporary_folder\n"
        "with temporary_folder('trial-') as folder:\n"
        "    (folder / 'sessions.db').write_text('x')\n"
        "    print(folder, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        theirs = long_ago(Path(other.stdout.readline().strip()))
        not_ours = tmp_path / "trial-of-somebody"
        not_ours.mkdir()
        long_ago(not_ours)
        with temporary_folder("trial-") as mine:
            assert (mine.is_dir(), (theirs / "sessions.db").is_file()) == (True, True)
        assert not mine.exists()
        other.send_signal(signal.SIGKILL)
    with temporary_folder("trial-") as mine:
        assert sorted(tmp_path.iterdir()) == sorted([mine, not_ours])
    assert list(tmp_path.iterdir()) == [not_ours]

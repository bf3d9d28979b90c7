"""What comes out of a command on Windows is found and ended, also when its parent is gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from desktop_agent.core.pipes import windows_jobs

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="jobs are of Windows")
_WAITS = "import time; time.sleep(60)"
_LEAVES_ONE = (
    "import subprocess, sys;"
    f"print(subprocess.Popen([sys.executable, '-c', '{_WAITS}'], stdout=-3).pid, flush=True)"
)


def started(mark: str, script: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", script]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, creationflags=windows_jobs.SUSPENDED)
    windows_jobs.adopt(mark, process.pid)
    return process


def test_a_process_without_parents_is_ended_with_its_command() -> None:
    with started("a.1.", _LEAVES_ONE) as first, started("a.2.", _WAITS) as second:
        assert first.stdout is not None
        orphan = int(first.stdout.read())
        first.wait()
        assert windows_jobs.living("a.1.") == (orphan,)
        assert windows_jobs.name_of(orphan).startswith("python")
        assert windows_jobs.end("a.1.") == ()
        assert windows_jobs.living("a.") == (second.pid,)
        assert windows_jobs.end("a.") == ()


def test_the_end_of_the_app_is_the_end_of_its_commands() -> None:
    app = (
        "import subprocess, sys;"
        "from desktop_agent.core.pipes import windows_jobs as jobs;"
        f"words = [sys.executable, '-c', '{_WAITS}; print(1)'];"
        "one = subprocess.Popen(words, stdout=sys.stdout, creationflags=jobs.SUSPENDED);"
        "jobs.adopt('b.1.', one.pid); print(one.pid, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", app]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        command = int(process.stdout.readline())
        assert windows_jobs.name_of(command)
        process.kill()
        assert process.stdout.read() == b""

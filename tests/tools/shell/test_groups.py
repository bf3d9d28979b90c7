"""What came out of a command is found where there is no /proc, as on macOS."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from desktop_agent.tools.shell import process_list, process_tree
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.shell.shell_jobs import shell_job
from tests.tools.conftest import Bench
from tests.tools.shell.test_shell import is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


async def test_what_an_ended_background_command_left_in_its_group_is_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    started = "sleep 600 >/dev/null 2>&1 & echo left=$!."
    await bench.run(shell, command=started, run_in_background=True)
    text = (await bench.run(shell_job, job_id="job_1", wait_s=120)).text
    pid = int(text.rpartition("left=")[2].partition(".")[0])
    assert is_alive(pid)
    await bench.jobs.close()
    monkeypatch.undo()
    assert not is_alive(pid)


@pytest.fixture
def command() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command and what left its group and session, and is still its child."""
    leaves = "setsid sh -c 'echo $$; exec sleep 600' & wait"
    words = ["sh", "-c", leaves]
    environment = {**os.environ, process_list.MARK: "mark.7."}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


async def test_what_left_the_group_of_a_command_is_ended_with_it(
    monkeypatch: pytest.MonkeyPatch, command: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, away = command
    monkeypatch.setattr(sys, "platform", "darwin")
    assert process_tree.in_session((process.pid, away), process.pid) == (process.pid,)
    assert process_tree.names_of((away,)).startswith(f"pid {away} (s")
    assert await process_tree.end("unknown.", process.pid) == ()
    monkeypatch.undo()
    assert not is_alive(away)


def test_what_ps_prints_tells_whose_a_process_is(
    command: tuple[subprocess.Popen[bytes], int],
) -> None:
    process, away = command
    columns = [f"-o{name}=" for name in ("pid", "ppid", "pgid", "stat", "lstart", "command")]
    pids = f"{process.pid},{away}"
    printed = subprocess.run(["ps", "eww", *columns, "-p", pids], check=True, capture_output=True)
    shell_entry, sleep_entry = process_list.parsed(b"PID PPID\n" + printed.stdout)
    assert (shell_entry.pid, shell_entry.parent) == (process.pid, os.getpid())
    assert (shell_entry.group, shell_entry.session) == (process.pid, process.pid)
    assert (sleep_entry.pid, sleep_entry.parent) == (away, process.pid)
    assert (sleep_entry.group, sleep_entry.session) == (away, away)
    assert (shell_entry.mark, sleep_entry.mark) == (b"mark.7.", b"mark.7.")
    assert b":" in shell_entry.started
    dead = f"{os.getpid()} 1 1 Z+ Sat Nov 28 22:19:19 2026 (sh)\n"
    assert process_list.parsed(dead.encode()) == []

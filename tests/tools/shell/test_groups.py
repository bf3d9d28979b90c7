"""Where only the group of a command tells what came out of it, as on macOS."""

from __future__ import annotations

import sys

import pytest

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

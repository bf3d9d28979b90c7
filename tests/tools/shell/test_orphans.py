"""What becomes of commands whose app was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from desktop_agent.tools.shell.orphans import Watcher
from desktop_agent.tools.shell.process_list import MARK
from desktop_agent.tools.shell.running import WATCHER
from desktop_agent.tools.shell.shell import shell
from tests.tools.conftest import Bench

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    made.close()


def command(words: str, mark: str = "") -> subprocess.Popen[bytes]:
    pipe, own = subprocess.PIPE, {**os.environ, MARK: mark}
    return subprocess.Popen(["sh", "-c", words], stdout=pipe, env=own, start_new_session=True)


def test_all_commands_that_run_when_the_app_is_gone_are_ended(watcher: Watcher) -> None:
    with command("sleep 600 & sleep 600") as first, command("exec sleep 600") as second:
        with command("true") as over:
            watcher.begun(over.pid, "one.1.")
        for one in (first, second):
            watcher.begun(one.pid, "one.2.")
        watcher.ended(over.pid)
        watcher.close()
        assert first.communicate() == (b"", None)  # the end of all that hold its output
        assert (first.returncode, second.wait()) == (-signal.SIGTERM, -signal.SIGTERM)


def test_what_has_left_the_group_of_its_command_is_ended_as_well(watcher: Watcher) -> None:
    with (
        command("exec setsid sleep 600", "one.1.") as left,
        command("exec sleep 600", "two.1.") as of_others,
    ):
        with command("true", "one.2.") as last:
            watcher.begun(last.pid, "three.1.")
            watcher.begun(last.pid, "one.2.")
        watcher.ended(last.pid)
        watcher.ended(last.pid)
        watcher.close()
        assert left.communicate() == (b"", None)
        code = of_others.poll()
        of_others.kill()
    assert code is None


def test_a_command_that_has_ended_is_not_ended_again(watcher: Watcher) -> None:
    """Its number may be somebody else's by then."""
    with command("read line; exec sleep 600") as other, command("exec sleep 600") as last:
        for one in (other, last):
            watcher.begun(one.pid, "one.1.")
        watcher.ended(other.pid)
        watcher.close()
        assert last.wait() == -signal.SIGTERM
        code = other.poll()
        other.kill()
    assert code is None


@pytest.mark.parametrize("system", ["linux", "darwin"])
async def test_commands_outside_the_sandbox_are_watched(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    await bench.run(shell, command="sleep 600", run_in_background=True)
    WATCHER.close()
    assert await bench.jobs.find("job_1").running.wait() == -signal.SIGTERM

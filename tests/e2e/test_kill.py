"""The app is killed while it works: nothing that was shown is lost, nothing runs twice."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from tests.e2e.kill_trial import Trial, WindowTrial, kill_many
from tests.e2e.long.kill_trial import LongTrial
from tests.helpers.forked import app_by_fork
from tests.helpers.patience import HANG_S
from tests.helpers.providers import LoopbackProvider, Say, Wait


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to follow processes")
@pytest.mark.parametrize(("kind", "kills"), [(Trial, 3), (WindowTrial, 2), (LongTrial, 2)])
def test_after_a_kill_all_that_was_shown_is_there_and_no_command_runs_again(
    kind: type[Trial], kills: int, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    tally = kill_many(tmp_path, kills, seed, kind=kind)
    assert not tally.faults, (seed, tally.faults)
    assert tally.kills == kills
    assert tally.shown > kills, tally


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to follow processes")
@pytest.mark.parametrize("kind", [Trial, WindowTrial])
def test_a_kill_before_the_session_is_on_disk_leaves_a_start_with_nothing_to_lose(
    kind: type[Trial], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "_moment", lambda _: (1, 0.0))
    trial = kind(tmp_path, 0)
    file = tmp_path / "home" / "data" / SESSIONS_FILE
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # nobody else writes while this is held
        tally = trial.run(1)
    assert (tally.kills, tally.shown, tally.faults) == (1, 0, [])


def test_words_that_stream_are_written_though_nothing_else_comes_and_outlive_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    gate, file = threading.Event(), tmp_path / "home" / "data" / SESSIONS_FILE
    half = [Say("Half of it.", chunks=1), Wait(gate)]
    with LoopbackProvider("openai", [half]) as provider:
        command = [*app_by_fork(), "run", "Go", "--output", "jsonl"]
        command += ["--workspace", str(tmp_path), "--session", "killed"]
        command += ["--model", provider.model, "--api-base", provider.api_base]
        environment = {**os.environ, "DESKTOP_AGENT_HOME": str(tmp_path / "home")}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert any(b"Half of it." in line for line in process.stdout)
            wait_until_written(file)
            process.kill()
            gate.set()
    with closing(SqliteStore(file)) as store:
        (agent,) = store.load_agents(store.sessions()[0].id)
    assert agent.history[-1].text == "Half of it."


def wait_until_written(file: Path) -> None:
    pause, give_up = threading.Event(), time.monotonic() + HANG_S
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        while not connection.execute("SELECT count(*) FROM streaming").fetchone()[0]:
            assert time.monotonic() < give_up, "nothing was written"
            pause.wait(0.02)

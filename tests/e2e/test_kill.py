"""The app is killed while it works: nothing that was shown is lost, nothing runs twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.e2e.kill_trial import Trial, WindowTrial, kill_many


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to follow processes")
@pytest.mark.parametrize(("kind", "kills"), [(Trial, 8), (WindowTrial, 3)])
def test_after_a_kill_all_that_was_shown_is_there_and_no_command_runs_again(
    kind: type[Trial], kills: int, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    tally = kill_many(tmp_path, kills, seed, kind=kind)
    assert not tally.faults, (seed, tally.faults)
    assert tally.kills == kills
    assert tally.shown > kills, tally

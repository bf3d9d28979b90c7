"""The app is killed while it works: nothing that was shown is lost, nothing runs twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.e2e.kill_trial import kill_many

KILLS = 12


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to follow processes")
def test_after_a_kill_all_that_was_shown_is_there_and_no_command_runs_again(
    tmp_path: Path,
) -> None:
    seed = random.randrange(10**6)
    tally = kill_many(tmp_path, KILLS, seed)
    assert not tally.faults, (seed, tally.faults)
    assert tally.kills == KILLS
    assert tally.shown > KILLS, tally

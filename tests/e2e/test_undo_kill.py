"""The app is killed while it undoes, redoes, or runs commands that change files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.e2e.undo_kill_trial import Trial, WindowTrial, kill_many


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux to follow processes")
@pytest.mark.parametrize(("kind", "kills"), [(Trial, 3), (WindowTrial, 1)])
def test_after_a_kill_every_file_is_whole_and_every_record_is_there(
    kind: type[Trial], kills: int, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    tally = kill_many(tmp_path, kills, seed, kind)
    assert not tally.faults, (seed, tally.faults)
    assert tally.kills == kills
    assert tally.told or kind is WindowTrial, tally
    assert tally.found["all taken back"] == 1, tally

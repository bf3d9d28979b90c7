from __future__ import annotations

import subprocess
import sys

import pytest

from tests.file_history.histories import run_many


def test_no_history_of_agents_and_a_person_ends_with_a_wrong_byte_or_a_lost_edit() -> None:
    tally = run_many(range(300))
    assert tally.faults == []
    assert tally.undos > 500
    assert tally.kept > 50
    assert tally.merged > 5


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_an_undo_that_is_killed_anywhere_leaves_whole_files_and_is_finished_at_the_next_start() -> (
    None
):
    # A process of its own forks: this one has threads.
    done = subprocess.run(
        [sys.executable, "-m", "tests.file_history.kills", "40"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

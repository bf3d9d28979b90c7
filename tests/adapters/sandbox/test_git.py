"""A command can't have git run its program once it has ended."""

from __future__ import annotations

from tests.adapters.sandbox.conftest import Trial
from tests.adapters.sandbox.git_attacks import ATTACKS


def test_no_attack_on_a_repository_runs_a_program_when_its_state_is_asked_for(trial: Trial) -> None:
    found = trial("git_attacks")
    assert found["default"] == []
    assert found["git"] == []
    # Outside each of them does.
    assert found["free"] == [attack.name for attack in ATTACKS]

"""Nothing that a command does leaves the folder it may change."""

from __future__ import annotations

from tests.adapters.sandbox.conftest import Trial

# What can't be tried outside on some machines, or not as an ordinary user: there it proves
# nothing that it fails inside.
_PROVEN = 58


def test_no_attempt_to_get_out_succeeds_and_most_succeed_outside(trial: Trial) -> None:
    found = trial("escapes")
    assert not [name for name, words in found["inside"].items() if not words]
    assert not [name for name, words in found["with git"].items() if not words]
    proven = [name for name, words in found["free"].items() if not words]
    assert len(proven) >= _PROVEN, found["free"]

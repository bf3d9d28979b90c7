"""Any write of a whole demo run is refused: nothing shown is lost, nothing hangs, all can be sent.

The whole sweep is `python -m tests.e2e.write_trial`; here every so many writes are refused.
"""

from __future__ import annotations

from tests.e2e.write_trial import Case, cases_of, play_all

EVERY = 100


def test_whatever_write_is_refused_nothing_that_was_shown_is_lost_and_work_goes_on() -> None:
    plain = play_all([Case(0, "full", "once")])
    assert not plain.faults
    cases = cases_of(plain.writes, EVERY)
    tally = play_all(cases)
    assert not tally.faults
    assert tally.runs == len(cases)
    # Two subagents work at the same time, so the last of the writes may not be reached.
    assert tally.refused > len(cases) * 0.9

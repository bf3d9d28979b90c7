"""Killing the app, many times, at moments nobody chose."""

from pathlib import Path

from tests.adapters.store.crash_trial import kill_many


def test_nothing_that_was_shown_is_lost_when_the_app_is_killed(tmp_path: Path) -> None:
    tally = kill_many(tmp_path / "sessions.sqlite", kills=30, seed=7)
    assert tally.kills == 30
    assert tally.acknowledged > 30
    assert tally.is_clean, tally

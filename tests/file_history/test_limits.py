"""What the limits let go of, and when."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.changes import UndoScope
from desktop_agent.file_history.history import Limits
from tests.file_history.places import M, Place, S, state_of

MEGABYTE = 1 << 20
# Of this folder so much is kept; all that was read before this look is older than the grace.
LIMITS = Limits(free=lambda _: 1 << 40, total=1 << 38, folder=8 * MEGABYTE, reserve=0, grace=0)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path, LIMITS)
    (made.root / "photos").mkdir()
    yield made
    made.close()


def write_photos(place: Place, count: int, chance: random.Random) -> None:
    for number in range(count):
        (place.root / "photos" / f"{number}.jpg").write_bytes(chance.randbytes(MEGABYTE // 2))


def test_all_that_one_command_writes_over_comes_back(small: Place) -> None:
    chance = random.Random(1)
    write_photos(small, 5, chance)
    small.look_at_all()
    before = state_of(small.root)
    set_id, _ = small.begin("convert")
    write_photos(small, 5, chance)
    (recorded,) = small.capture.end(set_id).recorded
    assert all(file.is_held for file in recorded.changes.files)
    small.undo()
    assert state_of(small.root) == before


def test_a_folder_of_which_too_much_was_kept_is_not_said_to_come_back(small: Place) -> None:
    write_photos(small, 40, random.Random(1))
    small.look_at_all()
    names = ["photos", *(f"photos/{number}.jpg" for number in range(40))]
    paths = [os.fsencode(small.root / name) for name in names]
    held = dict(zip(names, small.capture.held(S, str(small.root), paths), strict=True))
    assert not held["photos"]
    assert any(held.values()), "nothing is kept at all"
    set_id, _ = small.begin("rm")
    shutil.rmtree(small.root / "photos")
    (recorded,) = small.capture.end(set_id).recorded
    assert {file.path: file.is_held for file in recorded.changes.files} == {
        name: is_held for name, is_held in held.items() if name != "photos"
    }


def test_work_in_a_folder_of_which_too_much_would_be_kept_can_still_be_undone(small: Place) -> None:
    chance = random.Random(1)
    write_photos(small, 40, chance)
    notes = small.root / "notes.txt"
    notes.write_text("before")
    small.look_at_all()
    before = state_of(small.root)
    for number in range(10):
        set_id, _ = small.begin(f"c{number}")
        notes.write_bytes(chance.randbytes(100_000))
        small.capture.end(set_id)
    small.history.collect(time.time())
    assert len(small.history.changes(S, str(small.root)).sets) == 10
    assert small.history.usage()[0].size <= LIMITS.folder
    small.undo()
    assert state_of(small.root) == before


@pytest.mark.skipif(sys.platform == "win32", reason="a file without bytes takes room there")
def test_a_file_that_takes_hours_to_read_is_listed_and_planned_without_reading_it(
    small: Place,
) -> None:
    set_id, _ = small.begin("download")
    with (small.root / "model.bin").open("wb") as file:
        file.truncate(1 << 40)
    small.capture.end(set_id)
    (found,) = small.history.changes(S, str(small.root)).files
    assert (found.file.path, found.is_changed_since) == ("model.bin", False)
    (planned,) = small.history.plan(UndoScope(S, message_id=M)).files
    assert (planned.prospect, planned.why) == (
        "lost",
        "It was too large to be looked into, so it stays.",
    )
    with (small.root / "model.bin").open("r+b") as file:
        file.truncate(1 << 39)
    (found,) = small.history.changes(S, str(small.root)).files
    assert found.is_changed_since

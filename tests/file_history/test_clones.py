"""Files too large to be copied come back where the file system shares their bytes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.file_history.capture import Capture
from desktop_agent.file_history.history import History, Limits
from tests.file_history.places import Place, state_of

LARGE = 24 << 20


@pytest.fixture(params=["mkfs.xfs", "mkfs.btrfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, with a file system that shares bytes."""
    make = shutil.which(request.param)
    if sys.platform != "linux" or make is None or os.geteuid() != 0:
        pytest.skip(f"needs {request.param} and the right to mount")
    image, mounted = tmp_path / "image", tmp_path / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(320 << 20)
    subprocess.run([make, "-q", image], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", image, mounted], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def place_with_room(base: Path, **limits: int) -> Place:
    place = Place(base)
    place.history.close()
    place.history = History(base / "data" / "undo", Limits(free=lambda _: 1 << 40, **limits))
    place.capture = Capture(place.history)
    return place


def free(disk: Path) -> int:
    os.sync()
    return shutil.disk_usage(disk).free


def test_a_large_file_comes_back_and_takes_no_room_while_it_is_the_same(disk: Path) -> None:
    place = place_with_room(disk)
    large, other = place.root / "large.bin", place.root / "other.bin"
    large.write_bytes(random.Random(7).randbytes(LARGE))
    other.write_bytes(random.Random(8).randbytes(LARGE))
    before, room = state_of(place.root), free(disk)
    set_id, _ = place.begin()
    assert room - free(disk) < LARGE // 4
    large.unlink()
    with other.open("r+b") as file:
        file.seek(LARGE // 2)
        file.write(b"changed in the middle")
    (made,) = place.capture.end(set_id).recorded
    assert all(file.is_held for file in made.changes.files)
    place.undo()
    assert state_of(place.root) == before
    place.close()


def test_large_files_take_no_more_than_they_may(disk: Path) -> None:
    place = place_with_room(disk, cloned=LARGE)
    for name in ("one.bin", "two.bin"):
        (place.root / name).write_bytes(random.Random(name).randbytes(LARGE))
    set_id, begun = place.begin()
    assert begun.stopped == ""
    for path in place.root.iterdir():
        path.unlink()
    (made,) = place.capture.end(set_id).recorded
    assert sorted(file.is_held for file in made.changes.files) == [False, True]
    place.close()


def test_where_nothing_is_shared_a_large_file_is_known_by_its_name_and_the_rest_is_kept(
    place: Place,
) -> None:
    files = {name: place.root / name for name in ("a.bin", "b.bin", "small.txt")}
    for name, path in files.items():
        path.write_bytes(b"l" * LARGE if name.endswith(".bin") else b"small")
    is_shared = _shares(place.root)
    set_id, begun = place.begin()
    assert begun.stopped == ""
    for path in files.values():
        path.unlink()
    (made,) = place.capture.end(set_id).recorded
    held = {file.path: file.is_held for file in made.changes.files}
    assert held == {"a.bin": is_shared, "b.bin": is_shared, "small.txt": True}


def _shares(folder: Path) -> bool:
    made = subprocess.run(
        ["cp", "--reflink=always", folder / "small.txt", folder.parent / "copy"],
        capture_output=True,
        check=False,
    )
    return made.returncode == 0

"""Windows: what is read-only can be taken back, and is read-only again."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.file_history.places import Place, S, state_of

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="has no such files")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def written(path: Path, text: str) -> None:
    """Write a file that is read-only then, as it may have been before."""
    if path.exists():
        path.chmod(stat.S_IWRITE)
    path.write_text(text)
    path.chmod(stat.S_IREAD)


def removed(path: Path) -> None:
    path.chmod(stat.S_IWRITE)
    path.unlink()


def replaced_by_folder(path: Path) -> None:
    removed(path)
    path.mkdir()
    written(path / "inside.txt", "new")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: written(path, "new"),
        lambda path: written(path.with_name("new.txt"), "new"),
        removed,
        replaced_by_folder,
    ],
)
def test_what_is_read_only_is_taken_back_and_read_only_again(
    place: Place, change: Callable[[Path], None]
) -> None:
    path = place.root / "file.txt"
    written(path, "old")
    place.capture.watch(S, str(place.root))
    while place.capture.has_work:
        place.capture.read_on()
    before = state_of(place.root)
    set_id, _ = place.begin()
    change(path)
    place.capture.end(set_id)
    place.undo()
    assert state_of(place.root) == before

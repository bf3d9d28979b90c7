"""Windows: what is read-only can be taken back; what another program has open stays, and why."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.changes import ChangeSet, UndoScope
from desktop_agent.core.ids import AgentId
from tests.file_history.places import M, Place, S, state_of

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="has no such files")


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
    place.look_at_all()
    before = state_of(place.root)
    set_id, _ = place.begin()
    change(path)
    place.capture.end(set_id)
    place.undo()
    assert state_of(place.root) == before


def test_what_another_program_has_open_is_said_to_be(place: Place) -> None:
    path = place.root / "file.txt"
    path.write_text("old")
    set_id, _ = place.begin()
    path.write_text("new")
    place.capture.end(set_id)
    meta = ChangeSet("", "undo", AgentId("a"))
    with path.open("rb"):
        report = place.history.undo(UndoScope(S, message_id=M), {}, meta)
    assert (report.kept, "another program" in report.problem) == (("file.txt",), True)
    report = place.history.undo(UndoScope(S, message_id=M), {}, meta)
    assert (path.read_text(), report.problem) == ("old", "")

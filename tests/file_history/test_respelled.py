"""Names that differ by case alone, where the file system takes them for one: macOS and Windows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.changes import ChangeSet, UndoScope
from desktop_agent.core.ids import AgentId
from tests.file_history.places import Place, S, state_of


@pytest.fixture(autouse=True)
def _caseless(tmp_path: Path) -> None:
    (tmp_path / "case").touch()
    if not (tmp_path / "CASE").exists():
        pytest.skip("needs a file system that takes upper and lower case for one")


def rename_file(root: Path) -> None:
    (root / "readme.md").rename(root / "README.md")


def rename_folder(root: Path) -> None:
    (root / "docs").rename(root / "Docs")


def rename_and_write(root: Path) -> None:
    rename_file(root)
    (root / "README.md").write_text("another")


@pytest.mark.parametrize("rename", [rename_file, rename_folder, rename_and_write])
def test_what_was_renamed_by_case_alone_is_back_under_its_old_name_and_renamed_again(
    any_place: Place, rename: Callable[[Path], None]
) -> None:
    root = any_place.root
    (root / "docs" / "inner").mkdir(parents=True)
    (root / "docs" / "inner" / "a.txt").write_text("a")
    (root / "readme.md").write_text("the only one")
    any_place.capture.watch(S, str(root))
    while any_place.capture.has_work:
        any_place.capture.read_on()
    before = state_of(root)
    set_id, _ = any_place.begin()
    rename(root)
    any_place.capture.end(set_id)
    after = state_of(root)
    overviews = any_place.history.changes(S, str(root)).files
    assert not any(one.is_changed_since for one in overviews if one.file.was)
    any_place.undo()
    assert state_of(root) == before
    made = any_place.history.changes(S, str(root)).sets[-1].id
    meta = ChangeSet("", "undo", AgentId("a"))
    any_place.history.undo(UndoScope(S, set_id=made), {}, meta)
    any_place.capture.after_undo()
    assert state_of(root) == after
    set_id, begun = any_place.begin("next")
    assert not begun.recorded
    assert not any_place.capture.end(set_id).recorded

"""A file tool writes while a command runs, or in what only a file tool has made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.pipes.file_capture import FileWrite
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace import safe_open
from tests.file_history.places import Place, state_of


def write(place: Place, name: str, text: str) -> None:
    """Write a file as a file tool does."""
    path = place.root / name
    before = path.read_bytes() if path.exists() else None
    content = FileWrite(os.fsencode(path), before, text.encode())
    set_id, _ = place.begin(f"write {text}", kind="tool", write=content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    place.capture.end(set_id)


def file_to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def folder_to_file(path: Path) -> None:
    (path / "inner" / "x").unlink()
    (path / "inner").rmdir()
    path.rmdir()
    path.write_text("the command's")


def give_mode(path: Path) -> None:
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("change", "name", "written"),
    [
        (file_to_folder, "file", "file/new/deep"),
        (Path.unlink, "file", "file/new/deep"),
        (folder_to_file, "folder", "folder"),
        (Path.mkdir, "nothing", "nothing/new"),
        (give_mode, "file", "file"),
    ],
)
def test_what_a_command_did_where_a_file_tool_then_wrote_is_undone_with_it(
    any_place: Place, change: Callable[[Path], None], name: str, written: str
) -> None:
    (any_place.root / "file").write_text("the person's")
    (any_place.root / "folder" / "inner").mkdir(parents=True)
    (any_place.root / "folder" / "inner" / "x").write_text("the person's too")
    any_place.look_at_all()
    before = state_of(any_place.root)
    set_id, _ = any_place.begin("server")
    change(any_place.root / name)
    write(any_place, written, "the tool's")
    any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(any_place.root) == before


def test_what_commands_do_in_folders_that_a_file_tool_made_is_found(any_place: Place) -> None:
    (any_place.root / "src").mkdir()
    any_place.look_at_all()
    before = state_of(any_place.root)
    write(any_place, "src/new/inner/deep/a.py", "the tool's")
    set_id, _ = any_place.begin("generate")
    (any_place.root / "src/new/b.py").write_text("the command's")
    found = any_place.changed(any_place.capture.end(set_id))
    assert found == [("src/new/b.py", "created")]
    set_id, _ = any_place.begin("format")
    (any_place.root / "src/new/b.py").write_text("formatted")
    (any_place.root / "src/new/inner/c.py").write_text("the command's")
    found = any_place.changed(any_place.capture.end(set_id))
    assert found == [("src/new/b.py", "changed"), ("src/new/inner/c.py", "created")]
    any_place.undo()
    assert state_of(any_place.root) == before


def test_what_a_tool_is_still_writing_is_no_file_that_an_undo_brings_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place.root / "a.txt"
    path.write_text("one")
    place.look_at_all()
    before = state_of(place.root)
    looks: list[str] = []

    def look_at_it(_: int) -> None:
        """Another agent's command begins while the disk takes its time."""
        looks.extend(place.begin("make")[:1] if not looks else ())

    monkeypatch.setattr(safe_open, "to_disk", look_at_it)
    write, _ = place.begin("write", kind="tool", write=FileWrite(bytes(path), b"one", b"two"))
    safe_open.write_atomic(Workspace(str(place.root)), path, b"two")
    place.capture.end(write)
    assert place.changed(place.capture.end(looks[0])) == []
    place.undo()
    assert state_of(place.root) == before


def test_a_folder_that_was_looked_at_while_a_tool_made_it_is_the_tools_alone(
    any_place: Place,
) -> None:
    any_place.look_at_all()
    before = state_of(any_place.root)
    path = any_place.root / "new" / "deep" / "a.txt"
    server, _ = any_place.begin("server")
    write, _ = any_place.begin("write", kind="tool", write=FileWrite(bytes(path), None, b"a"))
    path.parent.mkdir(parents=True)
    path.write_text("a")
    other, _ = any_place.begin("make")
    any_place.capture.end(write)
    for command in (server, other):
        assert any_place.changed(any_place.capture.end(command)) == []
    any_place.undo()
    assert state_of(any_place.root) == before

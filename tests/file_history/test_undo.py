from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.changes import UndoError
from tests.file_history.folders import Folder, look


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


def test_an_undo_puts_back_what_a_call_changed_made_and_deleted(folder: Folder) -> None:
    folder.write("a.txt", "one\ntwo\n", 0o640)
    folder.write("gone.txt", "was here\n")
    before = look(folder.root)
    with folder.call("call_1"):
        folder.write("a.txt", "one\n2\nthree\n", 0o755)
        folder.write("new/deep/b.txt", "b")
        (folder.root / "gone.txt").unlink()
    assert (folder.sets[0].count, folder.sets[0].added, folder.sets[0].removed) == (3, 3, 2)
    report = folder.undo(call_id="call_1")
    assert look(folder.root) == before
    assert {file.path: file.kind for file in report.restored} == {
        "a.txt": "changed",
        "gone.txt": "created",
        "new/deep/b.txt": "deleted",
    }
    assert report.kept == report.merged == report.lost == ()


def test_a_redo_is_the_undo_of_an_undo_and_can_be_undone(folder: Folder) -> None:
    before = look(folder.root)
    with folder.call("call_1"):
        folder.write("new/b.txt", "b")
    after = look(folder.root)
    undone = folder.undo(call_id="call_1")
    redone = folder.undo(set_id=undone.set_id)
    assert look(folder.root) == after
    folder.undo(set_id=redone.set_id)
    assert look(folder.root) == before


def test_what_the_person_changed_since_is_kept_unless_they_say_otherwise(folder: Folder) -> None:
    folder.write("a.txt", "one\n")
    folder.write("b.txt", "one\n")
    with folder.call("call_1"):
        folder.write("a.txt", "two\n")
        folder.write("b.txt", "two\n")
    folder.write("a.txt", "mine\n")
    assert folder.prospects(call_id="call_1") == {"a.txt": "conflict", "b.txt": "restore"}
    report = folder.undo(call_id="call_1")
    assert report.kept == ("a.txt",)
    assert (folder.text("a.txt"), folder.text("b.txt")) == ("mine\n", "one\n")
    report = folder.undo({"a.txt": "restore"}, call_id="call_1")
    assert folder.text("a.txt") == "one\n"
    folder.undo(set_id=report.set_id)
    assert folder.text("a.txt") == "mine\n"


def test_a_merge_takes_out_the_agents_lines_and_leaves_the_persons(folder: Folder) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    folder.write("a.txt", "".join(lines))
    with folder.call("call_1"):
        folder.write("a.txt", "".join(["agent\n", *lines]))
    folder.write("a.txt", "".join(["agent\n", *lines, "person\n"]))
    (file,) = folder.plan().files
    assert (file.prospect, file.can_merge) == ("conflict", True)
    report = folder.undo({"a.txt": "merge"})
    assert report.merged == ("a.txt",)
    assert folder.text("a.txt") == "".join([*lines, "person\n"])


def test_an_edit_between_two_calls_of_a_message_is_not_lost(folder: Folder) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    folder.write("a.txt", "".join(lines))
    with folder.call("call_1"):
        folder.write("a.txt", "".join(["agent\n", *lines]))
    folder.write("a.txt", "".join(["agent\n", *lines[:10], "person\n", *lines[10:]]))
    with folder.call("call_2"):
        folder.write("a.txt", "".join(["agent\n", *lines[:10], "person\n", *lines[10:], "agent\n"]))
    assert folder.prospects(message_id="me_1") == {"a.txt": "conflict"}
    assert folder.undo(message_id="me_1").kept == ("a.txt",)
    assert folder.undo({"a.txt": "merge"}, message_id="me_1").merged == ("a.txt",)
    assert folder.text("a.txt") == "".join([*lines[:10], "person\n", *lines[10:]])


def test_a_file_that_another_agent_changed_in_between_is_asked_about(folder: Folder) -> None:
    folder.write("a.txt", "one\n")
    with folder.call("call_1"):
        folder.write("a.txt", "two\n")
    with folder.call("call_2", agent="sa_1"):
        folder.write("a.txt", "three\n")
    with folder.call("call_3", agent="sa_1"):
        folder.write("a.txt", "two\n")
    (file,) = folder.plan(call_id="call_1").files
    assert (file.prospect, file.by) == ("conflict", "sa_1")
    folder.undo(agent_id="sa_1")
    assert folder.prospects(call_id="call_1") == {"a.txt": "conflict"}


def test_going_back_to_a_message_takes_back_all_since_then(folder: Folder) -> None:
    folder.write("a.txt", "0")
    with folder.call("call_1", message="me_1"):
        folder.write("a.txt", "1")
    then = look(folder.root)
    with folder.call("call_2", message="me_2"):
        folder.write("a.txt", "2")
        folder.write("b.txt", "2")
    with folder.call("call_3", message="me_3"):
        folder.write("a.txt", "3")
    folder.undo(message_id="me_3")
    folder.undo({"a.txt": "restore"}, message_id="me_1")
    assert folder.text("a.txt") == "0"
    folder.undo(to_message="me_2")
    assert look(folder.root) == then


def test_one_file_of_a_scope_is_taken_back_alone(folder: Folder) -> None:
    with folder.call("call_1"):
        folder.write("a.txt", "a")
        folder.write("b.txt", "b")
    folder.undo(path="a.txt")
    assert (folder.text("a.txt"), folder.text("b.txt")) == (None, "b")
    assert folder.history.changes("se_1", str(folder.root)).undone == ()  # type: ignore[arg-type]
    folder.undo(path="b.txt")
    assert folder.history.changes("se_1", str(folder.root)).undone == (folder.sets[0].id,)  # type: ignore[arg-type]


def test_a_link_that_stands_in_for_the_folder_leads_nothing_out_of_it(
    folder: Folder, tmp_path: Path
) -> None:
    with folder.call("call_1"):
        folder.write("sub/a.txt", "a")
    plan = folder.plan()
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "a.txt").write_text("a")
    folder.root.rename(tmp_path / "moved")
    folder.root.symlink_to(outside)
    with pytest.raises(UndoError):
        folder.undo()
    assert (outside / "sub" / "a.txt").read_text() == "a"
    assert plan.blocked == ""


def test_a_name_that_is_no_text_comes_back_under_the_same_bytes(folder: Folder) -> None:
    names = [b"\xff\xfe", b"two\nlines", b"back\\xff", b" ", b"caf\xc3\xa9"]
    root = os.fsencode(folder.root)
    for name in names:
        Path(os.fsdecode(root + b"/" + name)).write_bytes(name)
    before = look(folder.root)
    with folder.call("call_1"):
        for name in names:
            Path(os.fsdecode(root + b"/" + name)).unlink()
    paths = [file.path for file in folder.plan().files]
    assert len(set(paths)) == len(names)
    for path in paths:
        folder.undo(path=path)
    assert look(folder.root) == before

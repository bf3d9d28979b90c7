from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.changes import UndoError, UndoScope
from desktop_agent.core.ids import SessionId
from desktop_agent.file_history import disk
from tests.file_history.folders import SESSION, Folder, look


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


@pytest.mark.skipif(sys.platform != "linux", reason="attributes are looked at on Linux")
def test_an_undo_keeps_what_programs_wrote_about_a_file(folder: Folder) -> None:
    folder.write("a.txt", "one\n")
    try:
        os.setxattr(folder.root / "a.txt", "user.note", b"mine")
    except OSError:
        pytest.skip("the file system keeps no attributes")
    with folder.call("call_1"), (folder.root / "a.txt").open("a") as file:
        file.write("two\n")
    folder.undo(call_id="call_1")
    assert (folder.root / "a.txt").read_text() == "one\n"
    assert os.getxattr(folder.root / "a.txt", "user.note") == b"mine"


@pytest.mark.skipif(sys.platform != "linux", reason="attributes are looked at on Linux")
def test_a_file_that_was_moved_comes_back_with_what_programs_wrote_about_it(folder: Folder) -> None:
    for name, content in (("a.jpg", "a"), ("b.jpg", "b"), ("twin.jpg", "b")):
        folder.write(name, content, 0o2755)
        try:
            os.setxattr(folder.root / name, "user.xdg.tags", name.encode())
        except OSError:
            pytest.skip("the file system keeps no attributes")
    with folder.call("call_1"):
        (folder.root / "2024").mkdir()
        for name in ("a.jpg", "b.jpg", "twin.jpg"):
            (folder.root / name).rename(folder.root / "2024" / name)
    undone = folder.undo(call_id="call_1")
    tags = {path.name: os.getxattr(path, "user.xdg.tags") for path in folder.root.glob("*.jpg")}
    assert tags == {name: name.encode() for name in ("a.jpg", "b.jpg", "twin.jpg")}
    assert stat.S_IMODE((folder.root / "a.jpg").stat().st_mode) == 0o2755
    folder.undo(set_id=undone.set_id)
    assert os.getxattr(folder.root / "2024" / "a.jpg", "user.xdg.tags") == b"a.jpg"


def test_an_undo_of_many_files_waits_for_the_disk_a_few_times_and_before_files_get_their_names(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(300):
        folder.write(f"d{number % 30}/{number}.txt", f"{number}\n")
    before = look(folder.root)
    with folder.call("call_1"):
        for number in range(300):
            folder.write(f"d{number % 30}/{number}.txt", f"{number}\nmore\n")
    calls: list[str] = []
    for owner, name in ((os, "fsync"), (disk, "sync_file_system"), (disk, "exchange")):
        monkeypatch.setattr(owner, name, _noted(calls, name, getattr(owner, name)))
    folder.undo(call_id="call_1")
    assert look(folder.root) == before
    assert calls.count("exchange") == 300
    assert len(calls) - 300 < 20
    assert calls[calls.index("exchange") - 1] == "sync_file_system"
    assert calls[-1] != "exchange"


def _noted(calls: list[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        calls.append(name)
        return result

    return noted


def test_a_file_that_cannot_be_flushed_stays_as_it_was_and_the_others_come_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder.call("call_1"):
        for number in range(5):
            folder.write(f"{number}.txt", "old\n")
    with folder.call("call_2"):
        for number in range(5):
            folder.write(f"{number}.txt", "new\n")
    flush = disk.flush
    monkeypatch.setattr(disk, "flush", lambda found: [*flush(found), found[2]])
    report = folder.undo(call_id="call_2")
    assert [folder.text(f"{number}.txt") for number in range(5)] == [
        "old\n",
        "old\n",
        "new\n",
        "old\n",
        "old\n",
    ]
    assert report.kept == ("2.txt",)
    assert sorted(one.name for one in folder.root.iterdir()) == [
        f"{number}.txt" for number in range(5)
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs renameat2")
def test_what_the_person_saves_in_the_very_moment_of_an_undo_is_not_overwritten(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder.call("call_1"):
        folder.write("a.txt", "1")
        folder.write("b.txt", "1")
    with folder.call("call_2"):
        folder.write("a.txt", "2")
        folder.write("b.txt", "2")
    exchange = disk.exchange
    saved: list[bytes] = []

    def save_first(place: disk.Place, temporary: bytes) -> bool:
        if place.name == b"a.txt" and not saved:
            saved.append(place.name)
            folder.write("a.txt", "mine")
        return exchange(place, temporary)

    monkeypatch.setattr(disk, "exchange", save_first)
    report = folder.undo(call_id="call_2")
    assert saved
    assert (folder.text("a.txt"), folder.text("b.txt")) == ("mine", "1")
    assert report.kept == ("a.txt",)
    assert sorted(one.name for one in folder.root.iterdir()) == ["a.txt", "b.txt"]


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


def test_going_back_to_a_message_asks_about_what_the_person_did_since(folder: Folder) -> None:
    folder.write("mine.txt", "0")
    with folder.call("call_1", message="me_1"):
        folder.write("a.txt", "1\n2\n3\n4\n")
    with folder.call("call_2", message="me_2"):
        folder.write("a.txt", "0\n1\n2\n3\n4\n")
    with folder.call(agent="", message="", kind="outside"):
        folder.write("a.txt", "0\n1\n2\n3\n4\n5\n")
        folder.write("mine.txt", "1")
    assert folder.prospects(to_message="me_2") == {"a.txt": "conflict", "mine.txt": "conflict"}
    assert folder.undo(to_message="me_2").kept == ("a.txt", "mine.txt")
    report = folder.undo({"a.txt": "merge", "mine.txt": "restore"}, to_message="me_2")
    assert (folder.text("a.txt"), folder.text("mine.txt")) == ("1\n2\n3\n4\n5\n", "0")
    assert report.merged == ("a.txt",)
    assert folder.prospects() == {"a.txt": "conflict"}


def test_one_file_of_a_scope_is_taken_back_alone(folder: Folder) -> None:
    with folder.call("call_1"):
        folder.write("a.txt", "a")
        folder.write("b.txt", "b")
    folder.undo(path="a.txt")
    assert (folder.text("a.txt"), folder.text("b.txt")) == (None, "b")
    assert folder.changes().undone == ()
    folder.undo(path="b.txt")
    assert folder.changes().undone == (folder.sets[0].id,)


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


def test_a_folder_that_was_made_anew_stays_for_what_comes_back_in_it(folder: Folder) -> None:
    path = folder.write("d/x", "one")
    with folder.call("call_1"):
        path.unlink()
    path.parent.rmdir()
    with folder.call("call_2"):
        folder.write("d/new", "two")
    assert folder.prospects() == {"d/new": "restore", "d/x": "restore"}
    report = folder.undo()
    assert (folder.text("d/x"), folder.text("d/new"), report.kept) == ("one", None, ())
    folder.undo(set_id=report.set_id)
    assert (folder.text("d/x"), folder.text("d/new")) == (None, "two")


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


def test_the_list_of_changes_shows_what_differs_now_and_who_touched_it_since(
    folder: Folder,
) -> None:
    folder.write("a.txt", "1\n2\n")
    with folder.call("call_1", message="me_1"):
        folder.write("a.txt", "1\n2\n3\n")
        folder.write("sub/b.txt", "b\n")
    with folder.call("call_2", message="me_2", agent="sa_1"):
        folder.write("a.txt", "1\n3\n")
        folder.write("c.txt", "c\n")
        (folder.root / "empty").mkdir()
    folder.write("sub/b.txt", "mine\n")
    first, second = (made.id for made in folder.sets)
    changes = folder.changes()
    found = {f.file.path: (f.file.added, f.file.removed, f.sets) for f in changes.files}
    assert found == {
        "a.txt": (1, 1, (first, second)),
        "c.txt": (1, 0, (second,)),
        "empty": (0, 0, (second,)),
        "sub/b.txt": (1, 0, (first,)),
    }
    assert [f.file.path for f in changes.files if f.is_changed_since] == ["sub/b.txt"]
    assert (changes.undone, changes.stopped) == ((), "")
    undone = folder.undo(message_id="me_2")
    changes = folder.changes()
    assert [f.file.path for f in changes.files] == ["a.txt", "sub/b.txt"]
    assert changes.undone == (second,)
    assert [made.id for made in changes.sets] == [first, second, undone.set_id]
    redone = folder.undo(set_id=undone.set_id)
    assert folder.changes().undone == (undone.set_id,)
    assert [f.file.path for f in folder.changes().files] == ["a.txt", "c.txt", "empty", "sub/b.txt"]
    assert folder.changes().sets[-1].id == redone.set_id


def test_a_set_of_which_one_file_was_kept_counts_as_undone(folder: Folder) -> None:
    with folder.call("call_1"):
        folder.write("a.txt", "a")
        folder.write("b.txt", "b")
    folder.write("a.txt", "mine")
    report = folder.undo()
    assert report.kept == ("a.txt",)
    assert folder.changes().undone == (folder.sets[0].id,)
    folder.undo(set_id=report.set_id)
    assert folder.changes().undone == (report.set_id,)


def test_a_diff_shows_what_was_before_the_first_and_after_the_last_change(folder: Folder) -> None:
    folder.write("a.txt", "0")
    for number in "12":
        with folder.call(f"call_{number}"):
            folder.write("a.txt", number)
            folder.write("new.txt", number)
    scope = UndoScope(SESSION)
    contents = folder.history.contents
    assert contents(replace(scope, path="a.txt")) == (b"0", b"2")
    assert contents(replace(scope, path="new.txt")) == (None, b"2")
    assert contents(replace(scope, path="a.txt", call_id="call_1")) == (b"0", b"1")
    folder.undo()
    assert contents(replace(scope, path="a.txt", call_id="call_2")) == (b"1", b"2")
    with pytest.raises(UndoError):
        contents(replace(scope, path="other.txt"))


def test_what_another_session_did_is_neither_shown_nor_undone(folder: Folder) -> None:
    with folder.call("call_1"):
        folder.write("a.txt", "a")
    with folder.call("call_2", session=SessionId("se_2")):
        folder.write("b.txt", "b")
        folder.write("a.txt", "aa")
    assert [f.file.path for f in folder.changes().files] == ["a.txt"]
    (file,) = folder.plan().files
    assert (file.path, file.prospect, file.why) == (
        "a.txt",
        "conflict",
        "Another session changed it since.",
    )
    folder.undo()
    assert (folder.text("a.txt"), folder.text("b.txt")) == ("aa", "b")


def test_a_renamed_file_is_listed_once_with_both_names_and_comes_back_under_the_old(
    folder: Folder,
) -> None:
    folder.write("src/a.txt", "1\n2\n3\n")
    folder.write("src/same.txt", "same\n")
    folder.write("empty.txt", "")
    before = look(folder.root)
    with folder.call("call_1"):
        folder.write("src/a.txt", "1\n2\n")
    with folder.call("call_2"):
        (folder.root / "src").rename(folder.root / "lib")
        (folder.root / "empty.txt").rename(folder.root / "void.txt")
    with folder.call("call_3"):
        folder.write("lib/a.txt", "1\n2\n4\n")
    moved = {file.path: file for file in folder.sets[1].files}
    assert {path: file.was for path, file in moved.items()} == {
        "lib/a.txt": "src/a.txt",
        "lib/same.txt": "src/same.txt",
        "empty.txt": "",
        "void.txt": "",
    }
    assert (folder.sets[1].count, folder.sets[1].added, folder.sets[1].removed) == (4, 0, 0)
    listed = {one.file.path: one for one in folder.changes().files}
    assert set(listed) == {"lib/a.txt", "lib/same.txt", "empty.txt", "void.txt"}
    file = listed["lib/a.txt"].file
    assert (file.was, file.added, file.removed) == ("src/a.txt", 1, 1)
    assert listed["lib/a.txt"].sets == tuple(one.id for one in folder.sets)
    scope = UndoScope(SESSION, path="lib/a.txt", was="src/a.txt")
    assert folder.history.contents(scope) == (b"1\n2\n3\n", b"1\n2\n4\n")
    folder.undo(path="lib/a.txt", was="src/a.txt")
    assert folder.text("src/a.txt") == "1\n2\n3\n"
    assert folder.text("lib/a.txt") is None
    folder.undo()
    assert look(folder.root) == before


def test_a_renamed_file_is_one_row_of_the_preview_and_one_file_of_what_is_told(
    folder: Folder,
) -> None:
    folder.write("a.txt", "1\n2\n3\n")
    folder.write("c.txt", "mine\n")
    before = look(folder.root)
    with folder.call("call_1"):
        (folder.root / "a.txt").rename(folder.root / "b.txt")
        (folder.root / "c.txt").rename(folder.root / "d.txt")
    with folder.call("call_2"):
        folder.write("b.txt", "1\n2\n4\n")
    folder.write("d.txt", "mine, and more\n")
    rows = {one.path: (one.was, one.prospect, one.kind) for one in folder.plan().files}
    # The person wrote in what was renamed: both of its paths are asked about, or told.
    assert rows == {
        "a.txt": ("b.txt", "restore", "created"),
        "c.txt": ("", "restore", "created"),
        "d.txt": ("", "conflict", "deleted"),
    }
    undone = folder.undo()
    assert [(one.path, one.was) for one in undone.restored] == [("a.txt", "b.txt"), ("c.txt", "")]
    (folder.root / "d.txt").unlink()
    assert look(folder.root) == before
    folder.write("d.txt", "mine, and more\n")
    assert undone.made is not None
    told = [(one.path, one.was, one.added, one.removed) for one in undone.made.files]
    assert told == [("a.txt", "b.txt", 1, 1), ("c.txt", "", 1, 0)]
    (redo,) = [one for one in folder.plan(set_id=undone.set_id).files if one.was]
    assert (redo.path, redo.was, redo.prospect) == ("b.txt", "a.txt", "restore")
    redone = folder.undo(set_id=undone.set_id)
    assert [(one.path, one.was) for one in redone.restored if one.was] == [("b.txt", "a.txt")]
    assert folder.text("b.txt") == "1\n2\n4\n"


def test_a_file_renamed_and_back_and_again_is_one_row_of_the_preview(folder: Folder) -> None:
    folder.write("a.txt", "1\n")
    with folder.call("call_1"):
        (folder.root / "a.txt").rename(folder.root / "b.txt")
    folder.undo(set_id=folder.undo().set_id)
    (row,) = folder.plan(to_message="me_1").files
    assert (row.path, row.was, row.prospect) == ("a.txt", "b.txt", "restore")
    report = folder.undo(to_message="me_1")
    assert [(one.path, one.was) for one in report.restored] == [("a.txt", "b.txt")]
    assert report.made is not None
    assert report.made.count == 1
    assert folder.text("a.txt") == "1\n"


def test_what_the_person_changed_since_is_compared_with_what_the_agent_left(
    folder: Folder,
) -> None:
    folder.write("a.txt", "0")
    with folder.call("call_1"):
        folder.write("a.txt", "1")
        folder.write("b.txt", "1")
    folder.write("a.txt", "mine")
    (folder.root / "b.txt").unlink()
    contents = folder.history.contents
    assert contents(UndoScope(SESSION, path="a.txt"), is_since=True) == (b"1", b"mine")
    assert contents(UndoScope(SESSION, path="b.txt"), is_since=True) == (b"1", None)


def test_what_a_message_comes_to_leaves_out_what_was_changed_back(folder: Folder) -> None:
    folder.write("a.txt", "1\n2\n3\n")
    folder.write("b.txt", "b\n")
    for number, text in enumerate(("1\n3\n", "1\n2\n3\n4\n")):
        with folder.call(f"call_{number}"):
            folder.write("a.txt", text)
            folder.write("b.txt", f"{text}b\n" if number == 0 else "b\n")
    (total,) = [one for one in folder.changes().totals if one.message_id]
    assert total.sets == tuple(one.id for one in folder.sets)
    assert (total.count, total.added, total.removed) == (1, 1, 0)
    assert {one.agent_id for one in folder.changes().totals} == {None, "ag_1"}
    folder.undo(call_id="call_1")
    assert folder.changes().totals == ()

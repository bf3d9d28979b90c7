"""What subagents changed in copies elsewhere: what fits, what overlaps, applied and undone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from desktop_agent.core.changes import (
    ChangeSet,
    FarFile,
    FarState,
    JudgedResult,
    UndoError,
    UndoReport,
    UndoScope,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.engine.workspace.diffs import file_diff
from tests.file_history.folders import SESSION, Folder, look
from tests.file_history.kills import killed_at

LINES = "".join(f"line {n}\n" for n in range(20))


def state(text: str | bytes | None, *, is_program: bool = False) -> FarState:
    if text is None:
        return FarState()
    content = text if isinstance(text, bytes) else text.encode()
    return FarState("file", is_program, len(content), content)


def far(name: str, before: str | None, after: str | None) -> FarFile:
    return FarFile(name.encode(), state(before), state(after))


def keep(folder: Folder, agent: str, *files: FarFile, began: float = 1.0) -> ChangeSet:
    meta = ChangeSet(f"re_{agent}", "result", AgentId(agent), began=began, ended=1e9)
    return folder.history.keep_result(meta, SESSION, str(folder.root), files)


def judged(folder: Folder) -> dict[str, JudgedResult]:
    found = folder.history.judged_results(SESSION, str(folder.root))
    return {one.id: one for one in found}


def apply(folder: Folder, result: str, **choices: str) -> UndoReport:
    meta = ChangeSet("", "tool", AgentId(result.removeprefix("re_")), ended=1e9)
    scope = UndoScope(SESSION, set_id=result)
    return folder.history.apply_result(scope, choices, meta)  # type: ignore[arg-type]


def edited(line: int, text: str) -> str:
    return LINES.replace(f"line {line}\n", f"{text}\n")


def test_nothing_is_changed_until_it_is_applied_and_undo_takes_all_of_it_back(
    folder: Folder,
) -> None:
    folder.write("a.txt", LINES, 0o640)
    folder.write("gone.txt", "gone\n")
    before = look(folder.root)
    program = FarFile(b"bin/run", state(None), state("#!/bin/sh\n", is_program=True))
    result = keep(
        folder,
        "sa_1",
        far("a.txt", LINES, edited(3, "three")),
        far("gone.txt", "gone\n", None),
        program,
    )
    assert [(one.path, one.kind) for one in result.files] == [
        ("a.txt", "changed"), ("bin/run", "created"), ("gone.txt", "deleted"),
    ]  # fmt: skip
    assert look(folder.root) == before
    assert judged(folder)[result.id].fits
    assert not folder.changes().files, "nothing has happened here yet"
    report = apply(folder, result.id)
    assert not report.kept
    assert folder.text("a.txt") == edited(3, "three")
    assert (folder.root / "a.txt").stat().st_mode & 0o777 == 0o640
    assert (folder.root / "bin/run").stat().st_mode & 0o777 == 0o755
    assert folder.text("gone.txt") is None
    changes = folder.changes()
    assert [one.file.path for one in changes.files] == ["a.txt", "bin/run", "gone.txt"]
    assert [one.applied for one in changes.results] == [report.set_id]
    assert not judged(folder)
    folder.undo(agent_id="sa_1")
    assert look(folder.root) == before
    assert judged(folder)[result.id].fits, "it can be applied once more"
    apply(folder, result.id)
    assert folder.text("gone.txt") is None


def test_what_was_changed_here_in_other_lines_is_merged_and_in_the_same_ones_it_overlaps(
    folder: Folder,
) -> None:
    folder.write("a.txt", LINES)
    folder.write("b.txt", LINES)
    one = keep(folder, "sa_1", far("a.txt", LINES, edited(15, "theirs")))
    two = keep(folder, "sa_2", far("b.txt", LINES, edited(3, "theirs")))
    folder.write("a.txt", edited(3, "mine"))
    folder.write("b.txt", edited(3, "mine"))
    found = judged(folder)
    assert found[one.id].fits
    assert not found[two.id].fits
    assert [file.path for file in found[two.id].overlaps] == ["b.txt"]
    assert found[two.id].overlaps[0].by == "", "the person"
    apply(folder, one.id, **{"a.txt": "merge"})
    assert folder.text("a.txt") == edited(3, "mine").replace("line 15\n", "theirs\n")
    assert apply(folder, two.id).kept == ("b.txt",)
    assert folder.text("b.txt") == edited(3, "mine")
    report = apply(folder, two.id, **{"b.txt": "restore"})
    assert folder.text("b.txt") == edited(3, "theirs")
    folder.undo(set_id=report.set_id)
    assert folder.text("b.txt") == edited(3, "mine")


def test_a_text_that_git_keeps_with_other_line_ends_fits_and_keeps_those_of_here(
    folder: Folder,
) -> None:
    crlf = LINES.replace("\n", "\r\n")
    for name in ("a.txt", "b.txt", "gone.txt"):
        (folder.root / name).write_bytes(crlf.encode())
    files = [far(name, LINES, edited(3, "three")) for name in ("a.txt", "b.txt")]
    result = keep(folder, "sa_1", *files, far("gone.txt", LINES, None))
    assert judged(folder)[result.id].fits
    changed = crlf.replace("line 9\r\n", "mine\r\n")
    (folder.root / "b.txt").write_bytes(changed.encode())
    assert not apply(folder, result.id, **{"b.txt": "merge"}).kept
    three = crlf.replace("line 3\r\n", "three\r\n")
    assert (folder.root / "a.txt").read_bytes() == three.encode()
    both = three.replace("line 9\r\n", "mine\r\n")
    assert (folder.root / "b.txt").read_bytes() == both.encode()
    assert folder.text("gone.txt") is None
    folder.undo(agent_id="sa_1")
    assert (folder.root / "a.txt").read_bytes() == crlf.encode()


def test_an_overlap_names_the_agent_that_changed_the_file_here(folder: Folder) -> None:
    folder.write("a.txt", LINES)
    with folder.call(agent="sa_here", ended=50.0):
        folder.write("a.txt", edited(3, "here"))
    result = keep(folder, "sa_1", far("a.txt", LINES, edited(3, "there")), began=40.0)
    (overlap,) = judged(folder)[result.id].overlaps
    assert overlap.by == "sa_here"


def test_results_that_overlap_each_other_are_told_in_the_order_in_which_they_came(
    folder: Folder,
) -> None:
    folder.write("a.txt", LINES)
    first = keep(folder, "sa_1", far("a.txt", LINES, edited(3, "first")))
    second = keep(folder, "sa_2", far("a.txt", LINES, edited(3, "second")))
    third = keep(folder, "sa_3", far("a.txt", LINES, edited(15, "third")))
    same = keep(folder, "sa_4", far("a.txt", LINES, edited(3, "first")))
    found = judged(folder)
    assert [found[one.id].fits for one in (first, second, third)] == [True, False, True]
    assert found[second.id].overlaps[0].by == "sa_1"
    assert not found[same.id].overlaps
    for one in (first, third):
        apply(folder, one.id, **{"a.txt": "merge"})
    assert folder.text("a.txt") == edited(3, "first").replace("line 15\n", "third\n")
    assert judged(folder)[same.id].is_there


def test_what_the_disk_has_no_room_to_merge_keeps_no_other_result_from_being_judged(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.txt", LINES)
    folder.write("b.txt", LINES)
    keep(folder, "sa_1", far("a.txt", LINES, edited(3, "first")))
    second = keep(folder, "sa_2", far("a.txt", LINES, edited(15, "second")))
    third = keep(folder, "sa_3", far("b.txt", LINES, edited(3, "third")))

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    found = judged(folder)
    assert not found[second.id].fits
    assert found[third.id].fits


def test_a_file_renamed_there_is_renamed_here(folder: Folder) -> None:
    folder.write("old.txt", LINES)
    result = keep(folder, "sa_1", far("old.txt", LINES, None), far("new.txt", None, LINES))
    (file,) = judged(folder)[result.id].files
    assert (file.was, file.path) == ("old.txt", "new.txt")
    apply(folder, result.id)
    assert (folder.text("old.txt"), folder.text("new.txt")) == (None, LINES)


def test_the_diff_is_of_what_was_done_there_and_the_other_of_what_was_done_here(
    folder: Folder,
) -> None:
    folder.write("a.txt", "one\n")
    result = keep(folder, "sa_1", far("a.txt", "one\n", "two\n"))
    folder.write("a.txt", "mine\n")
    scope = UndoScope(SESSION, set_id=result.id, path="a.txt")
    assert folder.history.contents(scope) == (b"one\n", b"two\n")
    assert folder.history.contents(scope, is_since=True) == (b"one\n", b"mine\n")


def test_the_lines_of_a_text_in_utf_16_are_counted_as_they_are_compared(folder: Folder) -> None:
    before, after = ("one\ntwo\n".encode("utf-16"), "one\n2\nthree\n".encode("utf-16"))
    folder.root.joinpath("wide.txt").write_bytes(before)
    made = keep(folder, "sa_1", FarFile(b"wide.txt", state(before), state(after)))
    assert (made.added, made.removed) == (2, 1)
    scope = UndoScope(SESSION, set_id=made.id, path="wide.txt")
    display = file_diff("wide.txt", *folder.history.contents(scope))
    assert (display.added, display.removed) == (2, 1)


def test_a_later_result_of_the_same_agent_takes_the_place_of_one_that_was_not_applied(
    folder: Folder,
) -> None:
    keep(folder, "sa_1", far("a.txt", None, "one\n"))
    meta = ChangeSet("re_later", "result", AgentId("sa_1"), began=1.0, ended=1e9)
    files = [far("a.txt", None, "two\n")]
    folder.history.keep_result(meta, SESSION, str(folder.root), files)
    assert [one.made.id for one in folder.changes().results] == ["re_later"]


@pytest.mark.parametrize(
    "name", ["../a", "/a", "a/../../b", "a//b", "./a", ".git/hooks/x", "a/.GIT/config", "", "a\0"]
)
def test_a_place_can_name_no_file_outside_the_folder(folder: Folder, name: str) -> None:
    with pytest.raises(UndoError, match="no file of the folder"):
        keep(folder, "sa_1", far(name, None, "evil\n"))
    assert not folder.changes().results


def test_through_a_link_nothing_is_written(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    result = keep(folder, "sa_1", far("sub/a.txt", None, "evil\n"))
    (folder.root / "sub").symlink_to(outside)
    assert not judged(folder)[result.id].fits
    apply(folder, result.id, **{"sub/a.txt": "restore"})
    assert not list(outside.iterdir())


def test_what_was_too_large_to_be_sent_is_not_applied(folder: Folder) -> None:
    large = FarFile(b"big.bin", FarState(), FarState("file", size=17 << 20, content=None))
    result = keep(folder, "sa_1", large, far("a.txt", None, "a\n"))
    found = judged(folder)[result.id]
    assert not found.fits
    assert {one.path: one.prospect for one in found.files} == {
        "big.bin": "lost", "a.txt": "restore",
    }  # fmt: skip
    assert apply(folder, result.id).lost == ("big.bin",)
    assert folder.text("a.txt") == "a\n"


def test_a_result_is_kept_by_a_cleaning_up_and_goes_with_its_session(folder: Folder) -> None:
    result = keep(folder, "sa_1", far("a.txt", None, "a\n"))
    folder.history.collect(1e9 + 7200.0)
    assert judged(folder)[result.id].fits
    apply(folder, result.id)
    assert folder.text("a.txt") == "a\n"
    folder.history.forget_session(SESSION)
    assert not folder.changes().results


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("at", range(0, 60, 4))
def test_one_that_is_killed_while_it_is_applied_is_finished_at_the_next_start(
    tmp_path: Path, at: int
) -> None:
    folder = Folder(tmp_path)
    names = [f"{n}.txt" for n in range(4)]
    for name in names:
        folder.write(name, "before\n")
    result = keep(folder, "sa_1", *(far(name, "before\n", "after\n") for name in names))
    folder.close()
    meta = ChangeSet("ch_applied", "tool", AgentId("sa_1"), ended=1e9)
    scope = UndoScope(SESSION, set_id=result.id)
    killed_at(tmp_path / "undo", at, lambda history: history.apply_result(scope, {}, meta))
    folder = Folder(tmp_path)
    recovered = folder.history.recover()
    told = {one.set_id for one in recovered} | {
        one.set_id for one in folder.history.reports("ch_applied")
    }
    texts = {folder.text(name) for name in names}
    assert texts == ({"after\n"} if told else {"before\n"})
    assert [one.applied for one in folder.changes().results] == ["ch_applied" if told else ""]
    folder.close()

"""What a command moved before it was read comes back, or stays where it is now."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from desktop_agent.core.changes import UndoScope
from desktop_agent.file_history import listing
from tests.file_history.places import Clock, M, Place, S, begun_while_listing, state_of


def begun_unread(place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    """Begin a command in a folder of which no file has been read."""
    (place.root / "docs" / "inner").mkdir(parents=True)
    for name in ("a.txt", "docs/b.txt", "docs/inner/c.txt", "d.txt"):
        (place.root / name).write_text(f"what {name} says")
    (place.root / "link").symlink_to("a.txt")
    written = (place.root / "a.txt").stat().st_mtime_ns
    for path in place.root.rglob("*.txt"):  # within one tick of the clock
        os.utime(path, ns=(written, written))
    Clock(monkeypatch)
    root = str(place.root)
    place.capture.watch(S, root)
    place.capture.read_on()
    assert place.capture.first_look(root, is_stopped=True).held == 2, "only the two folders"
    return place.begin()[0]


def prospects(place: Place) -> dict[str, tuple[str, str]]:
    plan = place.history.plan(UndoScope(S, message_id=M))
    return {file.path: (file.prospect, file.why) for file in plan.files}


def test_files_that_were_not_read_come_back_from_where_they_were_moved(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id = begun_unread(any_place, monkeypatch)
    root = any_place.root
    before = state_of(root)
    (root / "a.txt").rename(root / "docs" / "moved.txt")
    (root / "docs").rename(root / "papers")
    (root / "link").rename(root / "other")
    (root / "new.txt").write_text("new")
    (made,) = any_place.capture.end(set_id).recorded
    renamed = {file.path: file.was for file in made.changes.files}
    assert renamed["papers/moved.txt"] == "a.txt"
    assert renamed["papers/inner/c.txt"] == "docs/inner/c.txt"
    any_place.undo()
    assert state_of(root) == before


@pytest.mark.parametrize("seed", range(10))
def test_however_unread_files_are_moved_about_each_is_back_in_its_place(
    any_place: Place, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    set_id = begun_unread(any_place, monkeypatch)
    root, chance = any_place.root, random.Random(seed)
    before = state_of(root)
    for number in range(12):
        paths = sorted(path for path in root.rglob("*") if not path.is_symlink())
        one, two = chance.sample(paths, 2)
        if chance.random() < 0.3 and one.is_file():
            one.chmod(chance.choice([0o600, 0o644, 0o755]))
        elif chance.random() < 0.5 and one.is_file() and two.is_file():
            one.rename(root / "held")
            two.rename(one)
            (root / "held").rename(two)
        elif one not in two.parents:
            one.rename((two if two.is_dir() and one != two else root) / f"moved{number}")
    (root / f"new{seed}.txt").write_text("new")
    any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(root) == before


def test_a_file_that_was_written_to_and_moved_before_it_was_read_is_said_to_be_lost(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id = begun_unread(any_place, monkeypatch)
    root = any_place.root
    (root / "a.txt").write_text("of another length")
    (root / "a.txt").rename(root / "e.txt")
    any_place.capture.end(set_id)
    assert prospects(any_place)["a.txt"] == ("lost", "What was there was not kept.")


def test_what_was_moved_out_of_a_folder_that_was_not_listed_is_not_deleted_by_an_undo(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = any_place.root
    set_id = begun_while_listing(any_place, Clock(monkeypatch))
    for number in range(30):
        (root / f"part{number}").rename(root / f"moved{number}")
    (root / "new.txt").write_text("new")
    any_place.capture.end(set_id)
    planned = prospects(any_place)
    stay = {path for path, (prospect, why) in planned.items() if "moved here" in why}
    assert stay, "no folder was left to be listed"
    any_place.undo()
    assert not (root / "new.txt").exists()
    texts = [path.read_text() for path in root.glob("*/a.txt")]
    assert texts == ["before"] * 30
    assert 0 < len(list(root.glob("part*/a.txt"))) < 30, "what was listed is back where it was"


def made_long_ago(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is in a folder now be old; what comes is as old as it is."""
    known, real = {path.lstat().st_ino for path in root.rglob("*")}, listing.born_ns

    def born_ns(path: bytes, status: os.stat_result) -> int | None:
        return 10**18 if status.st_ino in known else real(path, status)

    monkeypatch.setattr(listing, "born_ns", born_ns)


def ignored_folder(place: Place, monkeypatch: pytest.MonkeyPatch, *, is_link: bool = False) -> str:
    """Begin a command in a folder with an ignored one, which is known by its name alone."""
    build = place.root / "build"
    (build / "inner").mkdir(parents=True)
    (place.root / ".gitignore").write_text("build/\n")
    for path in (build / "a.js", build / "inner" / "b.js"):
        path.write_text(f"all there is of {path.name}")
    if not is_link:
        path = place.root / "c.txt"
        path.write_text(f"all there is of {path.name}")
    (place.root / "docs").mkdir()
    made_long_ago(place.root, monkeypatch)
    return place.begin()[0]


@pytest.mark.parametrize("doing", ["file", "folder", "inner folder", "file, folder deleted"])
def test_what_was_moved_out_of_an_ignored_folder_is_not_deleted_by_an_undo(
    any_place: Place, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    set_id, root = ignored_folder(any_place, monkeypatch), any_place.root
    moved = root / "moved.js"
    if doing == "folder":
        moved = (root / "build").rename(root / "dist") / "a.js"
    elif doing == "inner folder":
        moved = (root / "build" / "inner").rename(root / "docs" / "inner") / "b.js"
    else:
        (root / "build" / "a.js").rename(moved)
    (moved.parent / "new.js").write_text("new")
    if "deleted" in doing:
        shutil.rmtree(root / "build")
    (made,) = any_place.capture.end(set_id).recorded
    name = str(moved.relative_to(root))
    assert {file.path: file.is_held for file in made.changes.files}[name] is False
    assert prospects(any_place)[name][0] == "lost"
    assert "so it stays" in prospects(any_place)[name][1]
    content = moved.read_text()
    any_place.undo()
    assert moved.read_text() == content
    assert not (moved.parent / "new.js").exists()


def said_at(path: Path) -> str:
    """Return a link's target, or a file's text."""
    return str(path.readlink()) if path.is_symlink() else path.read_text()


WHERE_NOTHING_IS_KEPT = "It may have been moved here from where nothing is kept."


@pytest.mark.parametrize("doing", ["at once", "in two commands", "and edited", "a link"])
def test_what_was_moved_out_of_an_ignored_folder_over_a_file_is_replaced_only_when_asked(
    any_place: Place, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    root = any_place.root
    if doing == "a link":
        (root / "c.txt").symlink_to("docs")
    set_id = ignored_folder(any_place, monkeypatch, is_link=doing == "a link")
    before = said_at(root / "c.txt")
    if doing == "in two commands":
        (root / "c.txt").unlink()
        any_place.capture.end(set_id)
        set_id = any_place.begin()[0]
    (root / "build" / "a.js").replace(root / "c.txt")
    any_place.capture.end(set_id)
    if doing == "and edited":
        set_id = any_place.begin()[0]
        with (root / "c.txt").open("a") as file:
            file.write(", and more")
        any_place.capture.end(set_id)
    content = (root / "c.txt").read_text()
    assert prospects(any_place)["c.txt"] == ("conflict", WHERE_NOTHING_IS_KEPT)
    any_place.undo()
    assert (root / "c.txt").read_text() == content, "its only copy"
    any_place.undo({"c.txt": "restore"})
    assert said_at(root / "c.txt") == before


def test_an_ignored_folder_in_the_place_of_a_known_one_loses_nothing_of_either(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = any_place.root
    (root / "src").mkdir()
    for name in ("a.js", "only.js"):
        (root / "src" / name).write_text(f"the source of {name}")
    set_id = ignored_folder(any_place, monkeypatch)
    shutil.rmtree(root / "src")
    (root / "build").rename(root / "src")
    any_place.capture.end(set_id)
    planned = prospects(any_place)
    assert planned["src/a.js"] == ("conflict", WHERE_NOTHING_IS_KEPT)
    assert planned["src/inner/b.js"][0] == "lost"
    any_place.undo()
    assert (root / "src" / "only.js").read_text() == "the source of only.js"
    assert (root / "src" / "a.js").read_text() == "all there is of a.js"
    assert (root / "src" / "inner" / "b.js").read_text() == "all there is of b.js"


def test_a_large_ignored_file_that_was_moved_over_another_comes_back_with_it(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = any_place.root
    (root / ".gitignore").write_text("*.log\n")
    (root / "large.log").write_bytes(b"x" * ((1 << 20) + 1))
    (root / "c.txt").write_text("what c.txt says")
    made_long_ago(root, monkeypatch)
    set_id = any_place.begin()[0]
    before = state_of(root)
    (root / "large.log").replace(root / "c.txt")
    any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(root) == before


def test_a_file_that_a_command_wrote_anew_is_put_back_unasked(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = any_place.root
    (root / "d.txt").write_text("d")
    set_id = ignored_folder(any_place, monkeypatch)
    before = state_of(root)
    (root / "c.txt").write_text("in place, and long after it was made")
    shutil.copy(root / "build" / "a.js", root / "new")
    (root / "new").replace(root / "d.txt")
    any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(root) == before


def test_what_has_another_name_or_was_known_is_as_it_was_before(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id, root = ignored_folder(any_place, monkeypatch), any_place.root
    before = state_of(root)
    (root / "linked.js").hardlink_to(root / "build" / "a.js")
    (root / "c.txt").rename(root / "d.txt")
    with (root / "d.txt").open("a") as file:
        file.write(", and more")
    shutil.copy(root / "d.txt", root / "c.txt")
    (root / "docs").rename(root / "papers")
    any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(root) == before


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_when_a_file_was_made_is_told_whatever_became_of_it_since(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    made_ns = path.stat().st_mtime_ns
    path.write_text("written later")
    os.utime(path, (1e9, 1e9))
    moved = path.rename(tmp_path / "b")
    assert listing.born_ns(os.fsencode(moved), moved.stat()) == made_ns

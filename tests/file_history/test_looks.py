"""Looks at a folder before and after commands find every change, watched or not."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from desktop_agent.core.changes import UndoScope
from desktop_agent.core.pipes.file_capture import FileWrite
from desktop_agent.file_history import folder as folder_module
from desktop_agent.file_history.capture import Capture
from desktop_agent.file_history.history import History, Limits
from tests.file_history.places import Clock, M, Place, S, begun_while_listing, state_of


def change_something(root: Path, chance: random.Random) -> None:
    folders = [root, *(p for p in root.rglob("*") if p.is_dir() and not p.is_symlink())]
    files = [p for p in root.rglob("*") if p.is_symlink() or p.is_file()]
    name = chance.choice(folders) / f"n{chance.randrange(12)}"
    is_free = not name.exists() and not name.is_symlink()
    match chance.randrange(9):
        case 0 | 1 if is_free:
            name.write_text(f"new {chance.random()}\n")
        case 2 if is_free:
            name.mkdir()
        case 3 if files:
            one = chance.choice(files)
            if not one.is_symlink():
                one.write_text(f"changed {chance.random()}\n")
        case 4 if files:
            chance.choice(files).unlink()
        case 5 if len(folders) > 1:
            shutil.rmtree(chance.choice(folders[1:]))
        case 6 if len(folders) > 1:
            one = chance.choice(folders[1:])
            if is_free and not name.is_relative_to(one):
                one.rename(name)
        case 7 if is_free:
            name.symlink_to(f"target{chance.randrange(9)}")
        case _:
            give_mode(files, chance)


def give_mode(files: list[Path], chance: random.Random) -> None:
    if files and not (one := chance.choice(files)).is_symlink():
        one.chmod(chance.choice([0o600, 0o644, 0o755]))


@pytest.mark.parametrize("seed", range(15))
def test_whatever_commands_do_the_message_is_undone_to_the_byte(
    any_place: Place, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        change_something(any_place.root, chance)
    before = state_of(any_place.root)
    for number in range(8):
        set_id, _ = any_place.begin(f"c{number}")
        for _ in range(chance.randrange(6)):
            change_something(any_place.root, chance)
        any_place.capture.end(set_id)
    any_place.undo()
    assert state_of(any_place.root) == before


@pytest.mark.parametrize("kind", ["file", "link", "link to a folder"])
def test_a_folder_that_a_command_replaced_comes_back_with_all_that_was_in_it(
    any_place: Place, kind: str
) -> None:
    elsewhere = any_place.root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.txt").write_text("not of this folder")
    replaced = any_place.root / "a"
    (replaced / "inner").mkdir(parents=True)
    (replaced / "x.txt").write_text("x")
    (replaced / "inner" / "y.txt").write_text("y")
    any_place.capture.watch(S, str(any_place.root))
    before = state_of(any_place.root)
    set_id, _ = any_place.begin()
    shutil.rmtree(replaced)
    if kind == "file":
        replaced.write_text("now a file")
    else:
        replaced.symlink_to("nowhere" if kind == "link" else elsewhere)
    found = any_place.changed(any_place.capture.end(set_id))
    assert found == [("a", "changed"), ("a/inner/y.txt", "deleted"), ("a/x.txt", "deleted")]
    any_place.undo()
    assert state_of(any_place.root) == before
    assert (elsewhere / "secret.txt").read_text() == "not of this folder"


def test_more_changes_than_the_system_tells_of_are_all_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = Path("/proc/sys/fs/inotify/max_queued_events")
    if not most.exists():
        pytest.skip("needs inotify")
    monkeypatch.setattr(folder_module, "_WATCHED_FROM", -1)
    place = Place(tmp_path)
    for name in ("a", "b", "c"):
        (place.root / name).mkdir()
        (place.root / name / "x").write_text("x")
    place.capture.watch(S, str(place.root))
    set_id, _ = place.begin()
    with (place.root / "a/x").open("a") as one, (place.root / "b/x").open("a") as two:
        for _ in range(int(most.read_text()) // 2 + 100):
            for file in (one, two):
                file.write("y")
                file.flush()
    (place.root / "c/x").write_text("z")
    found = place.changed(place.capture.end(set_id))
    assert found == [("a/x", "changed"), ("b/x", "changed"), ("c/x", "changed")]
    place.close()


def test_a_file_that_is_written_under_one_of_its_names_comes_back_under_all(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch)
    for name in ("a", "b"):
        (any_place.root / name).mkdir()
    (any_place.root / "a" / "x").write_text("before")
    (any_place.root / "b" / "y").hardlink_to(any_place.root / "a" / "x")
    any_place.capture.watch(S, str(any_place.root))
    while any_place.capture.has_work:
        any_place.capture.read_on()
    before = state_of(any_place.root)
    set_id, _ = any_place.begin()
    (any_place.root / "a" / "x").write_text("after")
    found = any_place.changed(any_place.capture.end(set_id))
    assert found == [("a/x", "changed"), ("b/y", "changed")]
    any_place.undo()
    assert state_of(any_place.root) == before


def test_a_change_without_a_sign_of_it_in_size_or_time_is_found(place: Place) -> None:
    path = place.root / "a.txt"
    path.write_text("one")
    set_id, _ = place.begin()
    times = path.stat().st_mtime_ns
    path.write_text("two")
    os.utime(path, ns=(times, times))
    assert place.changed(place.capture.end(set_id)) == [("a.txt", "changed")]


def test_what_git_ignores_is_known_by_its_name_and_told_when_it_is_deleted(place: Place) -> None:
    (place.root / ".gitignore").write_text("build/\n*.big\n")
    (place.root / "build").mkdir()
    (place.root / "build" / "o.js").write_text("o")
    (place.root / "cache").mkdir()
    (place.root / "cache" / "CACHEDIR.TAG").write_text(
        "Signature: 8a477f597d28d172789f06886806bc55\n"
    )
    (place.root / "small.big").write_text("small, so it is kept")
    (place.root / "large.big").write_bytes(b"l" * (2 << 20))
    set_id, _ = place.begin()
    (place.root / "build" / "o.js").write_text("p")
    for name in ("build", "cache"):
        shutil.rmtree(place.root / name)
    for name in ("small.big", "large.big"):
        (place.root / name).unlink()
    recorded = place.capture.end(set_id).recorded[0].changes
    held = {file.path: file.is_held for file in recorded.files}
    assert held == {"build": False, "cache": False, "large.big": False, "small.big": True}


@pytest.mark.parametrize("is_watched", [False, True])
def test_what_a_message_deletes_first_is_known_to_come_back(
    place: Place, *, is_watched: bool
) -> None:
    (place.root / "docs").mkdir()
    (place.root / "docs" / "a.md").write_text("a")
    (place.root / "large.bin").write_bytes(b"l" * (17 << 20))
    if is_watched:  # nothing is read yet, as that is done when nobody asks for anything
        place.capture.watch(S, str(place.root))
    names = ("docs", "large.bin", "nothing", "../elsewhere")
    paths = [os.path.normpath(os.fsencode(place.root / name)) for name in names]
    assert place.capture.held(S, str(place.root), paths) == (True, False, False, False)


def test_only_the_first_command_waits_for_what_is_still_to_be_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (place.root / f"{number}.txt").write_text(str(number))
    clock = Clock(monkeypatch)
    place.capture.watch(S, str(place.root))
    clock.step_s = 0.05  # as if each file took so long
    begun_at = clock.now
    place.begin("first", asked_at=begun_at - 2.0)
    assert 4.0 <= clock.now - begun_at + 2.0 <= 5.0, "it waits from when it was asked"
    assert place.capture.has_work
    begun_at = clock.now
    place.begin("second")
    assert clock.now - begun_at <= 0.5
    clock.step_s = 0.0
    while place.capture.has_work:
        place.capture.read_on()
    assert place.history.index(os.fsencode(place.root))[b"199.txt"].is_held


def test_a_command_that_comes_while_a_folder_is_listed_is_not_said_to_have_made_the_rest(
    any_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id = begun_while_listing(any_place, Clock(monkeypatch))
    (any_place.root / "new.txt").write_text("new")
    (made,) = any_place.capture.end(set_id).recorded
    assert [file.path for file in made.changes.files] == ["new.txt"]
    assert "looked at" in made.changes.unheld[-1]
    while any_place.capture.has_work:
        any_place.capture.read_on()
    before = state_of(any_place.root)
    set_id, _ = any_place.begin("second")
    for path in sorted(any_place.root.glob("part*/a.txt")):
        path.write_text("after")
    assert len(any_place.changed(any_place.capture.end(set_id))) == 30
    set_id, _ = any_place.begin("third")
    (any_place.root / "new.txt").write_text("new")
    assert any_place.changed(any_place.capture.end(set_id)) == []
    any_place.undo()
    (before_new := dict(before)).pop(str(any_place.root / "new.txt"))
    assert state_of(any_place.root) == before_new


def test_a_folder_that_is_deleted_before_it_was_listed_is_said_not_to_come_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id = begun_while_listing(place, Clock(monkeypatch))
    for path in place.root.iterdir():
        shutil.rmtree(path)
    files = place.capture.end(set_id).recorded[0].changes.files
    lost = {file.path for file in files if not file.is_held and "/" not in file.path}
    listed = {file.path.split("/")[0] for file in files if "/" in file.path}
    assert lost, "no folder was left to be listed"
    assert len(lost) + len(listed) == 30


def test_after_a_kill_in_the_first_look_the_rest_is_not_taken_for_new(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "_SAVED_AT_ONCE", 3)
    set_id = begun_while_listing(place, Clock(monkeypatch))
    (place.root / "new.txt").write_text("new")
    place.capture.end(set_id)
    again = Capture(place.history)
    again.watch(S, str(place.root))
    while again.has_work:
        again.read_on()
    changes = place.history.changes(S, str(place.root))
    assert [one.kind for one in changes.sets] == ["command"]
    assert len(place.history.index(os.fsencode(place.root))) == 61


def test_an_undo_in_a_folder_nobody_looked_at_does_not_make_the_rest_seem_new(
    place: Place,
) -> None:
    path = place.root / "a.txt"
    (place.root / "other.txt").write_text("there all the time")
    path.write_text("before")
    write = FileWrite(os.fsencode(path), b"before", b"by the tool")
    set_id, _ = place.begin("tool", kind="tool", write=write)
    path.write_text("by the tool")
    place.capture.end(set_id)
    place.undo()
    assert path.read_text() == "before"
    again = Capture(place.history)
    again.watch(S, str(place.root))
    again.read_on()
    sets = place.history.changes(S, str(place.root)).sets
    assert [one.kind for one in sets if one.kind == "outside"] == []


def test_a_first_look_that_is_stopped_says_what_has_no_way_back_and_goes_on_at_the_next_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (place.root / f"{number}.txt").write_text("before")
    Clock(monkeypatch)
    root = str(place.root)
    place.capture.watch(S, root)
    place.capture.read_on()
    look = place.capture.first_look(root)
    assert (look.held, look.found, look.is_going) == (0, 50, True)
    look = place.capture.first_look(root, is_stopped=True)
    assert (look.held, look.found, look.is_going) == (0, 50, False)
    assert not place.capture.has_work
    set_id, _ = place.begin("first")
    (place.root / "7.txt").write_text("after")
    (made,) = place.capture.end(set_id).recorded
    assert [(file.path, file.is_held) for file in made.changes.files] == [("7.txt", False)]
    assert made.changes.unheld == ("Undo holds 0 of 50 files.",)
    set_id, _ = place.begin("second")
    (place.root / "7.txt").write_text("once more")
    (made,) = place.capture.end(set_id).recorded
    assert [file.is_held for file in made.changes.files] == [True], "what was seen is kept"
    again = Capture(place.history)
    again.watch(S, root)
    while again.has_work:
        again.read_on()
    assert again.first_look(root).held == 50


def test_a_first_look_that_is_stopped_while_it_lists_begins_anew_at_the_next_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_id = begun_while_listing(place, Clock(monkeypatch))
    look = place.capture.first_look(str(place.root), is_stopped=True)
    assert look.is_listing
    assert not look.is_going
    assert not place.capture.has_work
    (place.root / "new.txt").write_text("new")
    assert place.changed(place.capture.end(set_id)) == [("new.txt", "created")]
    again = Capture(place.history)
    again.watch(S, str(place.root))
    while again.has_work:
        again.read_on()
    look = again.first_look(str(place.root))
    assert (look.held, look.found, look.is_listing) == (61, 61, False)
    assert [one.kind for one in place.history.changes(S, str(place.root)).sets] == ["command"]


def test_a_line_in_gitignore_hides_nothing_that_was_known(place: Place) -> None:
    (place.root / "src").mkdir()
    (place.root / "src" / "a.py").write_text("a")
    set_id, _ = place.begin("c1")
    (place.root / ".gitignore").write_text("src/\n")
    place.capture.end(set_id)
    set_id, _ = place.begin("c2")
    shutil.rmtree(place.root / "src")
    assert ("src/a.py", "deleted") in place.changed(place.capture.end(set_id))
    place.undo()
    assert (place.root / "src" / "a.py").read_text() == "a"


def test_a_repository_is_never_looked_into(place: Place) -> None:
    subprocess.run(["git", "init", "-q", place.root], check=True)
    (place.root / "inner").mkdir()
    subprocess.run(["git", "init", "-q", place.root / "inner"], check=True)
    set_id, _ = place.begin()
    (place.root / ".git" / "config").write_text("changed")
    (place.root / "inner" / "a.txt").write_text("a")
    assert place.changed(place.capture.end(set_id)) == [("inner/a.txt", "created")]


@pytest.mark.parametrize("kind", ["top", "below", "worktree"])
def test_it_is_said_that_commits_stay_when_a_command_made_some(place: Place, kind: str) -> None:
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    top = {"top": place.root, "below": place.root.parent, "worktree": place.root.parent / "main"}
    subprocess.run([*git, "init", "-q", top[kind]], check=True)
    if kind == "worktree":
        commit = ["commit", "-q", "--allow-empty", "-m", "a"]
        subprocess.run([*git, *commit], cwd=top[kind], check=True)
        subprocess.run([*git, "worktree", "add", "-q", place.root], cwd=top[kind], check=True)
    set_id, _ = place.begin("c1")
    (place.root / "a.txt").write_text("a")
    assert place.capture.end(set_id).recorded[0].changes.unheld == ()
    set_id, _ = place.begin("c2")
    (place.root / "b.txt").write_text("b")
    subprocess.run([*git, "add", "."], cwd=place.root, check=True)
    subprocess.run([*git, "commit", "-qm", "b"], cwd=place.root, check=True)
    (said,) = place.capture.end(set_id).recorded[0].changes.unheld
    assert "Commits" in said


def test_what_a_file_tool_writes_while_a_command_runs_is_the_tools(place: Place) -> None:
    path = place.root / "a.txt"
    path.write_text("before")
    command, _ = place.begin("command")
    write = FileWrite(os.fsencode(path), b"before", b"by the tool")
    tool, _ = place.begin("tool", kind="tool", write=write)
    path.write_text("by the tool")
    written = place.capture.end(tool)
    (place.root / "b.txt").write_text("b")
    assert place.changed(written) == [("a.txt", "changed")]
    assert place.changed(place.capture.end(command)) == [("b.txt", "created")]


def test_commands_that_overlap_name_each_other_and_lose_nothing(place: Place) -> None:
    (place.root / "a.txt").write_text("0")
    first, _ = place.begin("first")
    (place.root / "a.txt").write_text("1")
    second, told = place.begin("second")
    assert [one.changes.call_id for one in told.recorded] == ["first"]
    (place.root / "a.txt").write_text("2")
    ended = place.capture.end(second).recorded[0].changes
    assert (ended.call_id, ended.overlaps) == ("second", ("first",))
    (place.root / "a.txt").write_text("3")
    ended = place.capture.end(first).recorded[0].changes
    assert (ended.call_id, ended.overlaps) == ("first", ("second",))
    place.undo()
    assert (place.root / "a.txt").read_text() == "0"


def test_a_full_disk_stops_what_is_kept_aloud_and_no_call(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.history.close()
    room = 0
    place.history = History(tmp_path / "data" / "undo", Limits(free=lambda _: room))
    place.capture = Capture(place.history)
    path = place.root / "a.txt"
    path.write_text("one")
    set_id, told = place.begin("c1")
    assert "disk" in told.stopped
    # Another size: its time may be the same, and there are no bytes to compare with.
    path.write_text("longer")
    captured = place.capture.end(set_id)
    assert [file.is_held for file in captured.recorded[0].changes.files] == [False]
    room = 1 << 40
    set_id, told = place.begin("c2")
    assert told.stopped == ""
    path.write_text("three")
    captured = place.capture.end(set_id)
    assert captured.stopped == ""
    place.close()


def test_what_runs_when_the_app_is_killed_is_recorded(place: Place) -> None:
    (place.root / "a.txt").write_text("0")
    (place.root / "w.txt").write_text("0")
    place.begin("command")
    (place.root / "a.txt").write_text("1")
    write = FileWrite(os.fsencode(place.root / "w.txt"), b"0", b"1")
    place.begin("tool", kind="tool", write=write)
    (place.root / "w.txt").write_text("1")
    place.capture.end_all()
    place.undo()
    assert (place.root / "a.txt").read_text() == "0"
    assert (place.root / "w.txt").read_text() == "0"


def make_deep(root: Path, count: int) -> None:
    """Make folders in each other, with a file in each: paths are longer than the system takes."""
    current = os.open(root, os.O_RDONLY)
    for number in range(count):
        os.mkdir("d" * 200, dir_fd=current)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
        flags = os.O_CREAT | os.O_WRONLY
        with os.fdopen(os.open(f"{number} {'f' * 90}", flags, dir_fd=current), "w") as file:
            file.write(str(number))
    os.close(current)


def deep_files(root: Path) -> set[str]:
    return {name for _, _, files, _ in os.fwalk(root) for name in files}


@pytest.mark.skipif(os.name == "nt", reason="has other limits")
def test_what_has_too_long_a_path_is_told_and_asked_about_before_it_is_deleted(
    any_place: Place,
) -> None:
    root = any_place.root
    top = root / ("d" * 200)
    make_deep(root, 25)
    there = deep_files(root)
    set_id = any_place.begin()[0]
    assert any_place.capture.held(S, str(root), [os.fsencode(top)]) == (False,)
    subprocess.run(["rm", "-rf", str(top)], check=True)
    (made,) = any_place.capture.end(set_id).recorded
    told = [file for file in made.changes.files if not file.is_held]
    assert told, "nobody knows that something is lost"
    lost = [f for f in any_place.history.plan(UndoScope(S, message_id=M)).files if f.why]
    assert {file.path for file in lost} == {file.path for file in told}
    assert {file.why for file in lost} == {"Its path is too long for it to be kept."}
    any_place.undo()
    back = deep_files(root)
    assert back < there
    assert len(back) == min(int(name.split()[0]) for name in there - back)
    subprocess.run(["rm", "-rf", str(top)], check=True)  # what cleans up can't


@pytest.mark.skipif(os.name == "nt", reason="has other limits")
def test_what_was_made_under_too_long_a_path_stays_and_is_told(any_place: Place) -> None:
    root = any_place.root
    set_id = any_place.begin()[0]
    make_deep(root, 25)
    any_place.capture.end(set_id)
    there = deep_files(root)
    any_place.undo()
    left = deep_files(root)
    assert left, "what nobody looked at is gone"
    assert left < there
    lost = [f for f in any_place.history.plan(UndoScope(S, message_id=M)).files if f.why]
    assert {file.why for file in lost} == {"Its path is too long for it to be kept."}
    subprocess.run(["rm", "-rf", str(root / ("d" * 200))], check=True)

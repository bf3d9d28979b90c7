from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.changes import ChangeSet, FileState, UndoError
from desktop_agent.file_history import merge
from desktop_agent.file_history.history import History, HistoryFull, PathChange
from tests.engine.workspace.test_programs import first_on_the_path, put
from tests.file_history.folders import ABSENT, MAIN, PLENTY, SESSION, Folder, look
from tests.file_history.histories import memory


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, time and content of all files below a folder, `.git` as well."""
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def quick_folder() -> Iterator[Folder]:
    """Yield one that lies in memory, where there is that."""
    with tempfile.TemporaryDirectory(dir=memory()) as place:
        made = Folder(Path(place))
        yield made
        made.close()


def test_a_thousand_undos_leave_git_and_every_other_file_as_they_were(
    quick_folder: Folder,
) -> None:
    folder = quick_folder
    for name in ("kept.txt", "sub/kept.txt"):
        folder.write(name, name)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "gc.auto=0"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=folder.root, check=True)
    others = everything(folder.root)
    with folder.call("call_1"):
        folder.write("a.txt", "a")
        folder.write("sub/b.txt", "b")
    scope: dict[str, Any] = {"call_id": "call_1"}
    for number in range(1000):
        scope = {"set_id": folder.undo(**scope).set_id}
        assert (folder.text("sub/b.txt") is None) == (number % 2 == 0)
    now = everything(folder.root)
    assert {path: now[path] for path in others} == others


def test_what_belongs_to_git_is_never_written(folder: Folder) -> None:
    path = folder.write(".git/hooks/post-commit", "evil")
    states = [FileState("file", 0o755, 4, folder.history.hold(text)) for text in (b"good", b"evil")]
    change = PathChange(os.fsencode(path), *states)
    meta = ChangeSet("", "command", MAIN, ended=1e9)
    folder.history.record(meta, SESSION, str(folder.root), [change])
    assert folder.prospects() == {".git/hooks/post-commit": "lost"}
    folder.undo()
    assert path.read_text() == "evil"


@pytest.mark.parametrize("name", [".bare", ".hg", ".jj"])
def test_what_a_repository_of_another_name_keeps_stays_while_it_stands(
    folder: Folder, name: str
) -> None:
    subprocess.run(["git", "init", "-q", "--bare", folder.root / name], check=True)
    folder.write(f"{name}/tree/.git", "gitdir: ../worktrees/tree\n")
    with folder.call("commit"):
        folder.write(f"{name}/objects/ab/cd", "a commit")
        folder.write(f"{name}/refs/heads/main", "abcd")
        folder.write(f"{name}/tree/a.txt", "a")
        folder.write("b.txt", "b")
    # What the person committed since needs what was committed before.
    folder.write(f"{name}/refs/heads/main", "1234")
    assert folder.prospects()[f"{name}/objects/ab/cd"] == "lost"
    folder.undo()
    assert folder.text(f"{name}/objects/ab/cd") == "a commit"
    assert (folder.text("b.txt"), folder.text(f"{name}/tree/a.txt")) == (None, None)
    before = everything(folder.root)
    with folder.call("delete"):
        shutil.rmtree(folder.root / name)
    folder.undo(call_id="delete")
    assert {path for path in before if "/tree/" not in path} <= everything(folder.root).keys()


@pytest.mark.parametrize("doing", ["deleted", "changed"])
def test_a_folder_that_becomes_a_link_during_an_undo_leads_nothing_out(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder.write("sub/a.txt", "one")
    with folder.call("call_1"):
        if doing == "deleted":
            (folder.root / "sub" / "a.txt").unlink()
        else:
            folder.write("sub/a.txt", "two")
    for name in () if doing == "deleted" else ("a.txt",):
        (outside / name).write_text("two")
    before = everything(outside)
    listed = sorted(path.name for path in outside.iterdir())
    real = os.fsync
    swapped: list[int] = []

    def swap(descriptor: int) -> None:
        """Swap the folder when the first content is flushed, before it has its name."""
        real(descriptor)
        if not swapped:
            swapped.append(1)
            (folder.root / "sub").rename(tmp_path / "moved")
            (folder.root / "sub").symlink_to(outside)

    monkeypatch.setattr(os, "fsync", swap)
    folder.undo()
    assert swapped
    assert everything(outside) == before
    assert sorted(path.name for path in outside.iterdir()) == listed
    # What was open when the folder was swapped is still the folder itself.
    assert (tmp_path / "moved" / "a.txt").read_text() == "one"


def test_a_folder_that_is_swapped_all_the_time_leads_nothing_out(quick_folder: Folder) -> None:
    folder, place = quick_folder, quick_folder.root.parent
    outside, moved, sub = place / "outside", place / "moved", folder.root / "sub"
    outside.mkdir()
    for name in ("a.txt", "gone.txt"):
        folder.write(f"sub/{name}", "one")
    with folder.call("call_1"):
        folder.write("sub/a.txt", "two")
        folder.write("sub/new.txt", "two")
        (sub / "gone.txt").unlink()
    for name in ("a.txt", "new.txt"):
        (outside / name).write_text("two")
    before = everything(outside)
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            try:
                sub.rename(moved)
            except FileNotFoundError:  # an undo took back all that was in it
                sub.mkdir(exist_ok=True)
                continue
            with contextlib.suppress(FileExistsError):  # an undo made the folder again
                sub.symlink_to(outside)
            while moved.exists():
                if sub.is_symlink():
                    sub.unlink()
                else:
                    shutil.rmtree(sub, ignore_errors=True)
                with contextlib.suppress(OSError):
                    moved.rename(sub)

    swapping = threading.Thread(target=swap)
    swapping.start()
    scope: dict[str, Any] = {"call_id": "call_1"}
    try:
        for _ in range(200):
            with contextlib.suppress(UndoError):
                made = folder.undo({"sub/a.txt": "restore", "sub/new.txt": "restore"}, **scope)
                scope = {"set_id": made.set_id} if made.set_id else scope
            assert everything(outside) == before
    finally:
        is_over.set()
        swapping.join()


def test_links_and_modes_and_empty_folders_come_back_as_they_were(folder: Folder) -> None:
    (folder.root / "link").symlink_to("/nowhere\n")
    (folder.root / "empty" / "inner").mkdir(parents=True)
    (folder.root / "empty").chmod(0o750)
    folder.write("script", "#!/bin/sh\n", 0o4755)
    before = look(folder.root)
    with folder.call("call_1", kind="command"):
        (folder.root / "link").unlink()
        (folder.root / "link").mkdir()
        folder.write("link/inside", "x")
        (folder.root / "empty" / "inner").rmdir()
        (folder.root / "empty").rmdir()
        (folder.root / "empty").write_text("a file now")
        (folder.root / "script").chmod(0o600)
    after = look(folder.root)
    undone = folder.undo()
    assert look(folder.root) == before
    folder.undo(set_id=undone.set_id)
    assert look(folder.root) == after


def test_renamed_files_keep_the_dates_of_when_they_were_written(folder: Folder) -> None:
    dates = {"a.txt": 10**18, "b.txt": 10**18 + 1, "of-the-same-content.txt": 10**17}
    for name, date in dates.items():
        folder.write(name, name[:1] if len(name) < 9 else "a")
        os.utime(folder.root / name, ns=(date, date))
    with folder.call("call_1"):
        (folder.root / "new").mkdir()
        for name in dates:
            (folder.root / name).rename(folder.root / "new" / name)
        folder.write("new/b.txt", "changed as well")
    undone = folder.undo(call_id="call_1")
    now = {name: (folder.root / name).stat().st_mtime_ns for name in dates}
    assert now.pop("b.txt") > dates.pop("b.txt")
    assert now == dates
    folder.undo(set_id=undone.set_id)
    assert (folder.root / "new/a.txt").stat().st_mtime_ns == 10**18


def test_a_folder_in_which_the_person_put_something_stays(folder: Folder) -> None:
    with folder.call("call_1"):
        folder.write("new/agents.txt", "a")
    folder.write("new/mine.txt", "mine")
    report = folder.undo()
    assert (report.kept, folder.text("new/agents.txt")) == ((), None)
    assert folder.text("new/mine.txt") == "mine"


def test_a_folder_that_cannot_make_room_for_the_file_it_was_keeps_its_mode(folder: Folder) -> None:
    place = folder.write("d", "a file")
    with folder.call("call_1"):
        place.unlink()
        folder.write("d/a", "the agent's")
        place.chmod(0o500)
    place.chmod(0o700)
    folder.write("d/mine", "mine")
    place.chmod(0o500)
    report = folder.undo({"d": "restore"})
    assert report.kept == ("d",)
    assert stat.S_IMODE(place.stat().st_mode) == 0o500
    assert folder.text("d/mine") == "mine"
    place.chmod(0o700)


def test_a_file_whose_folder_the_person_deleted_comes_back_in_it(folder: Folder) -> None:
    path = folder.write("deep/er/a.txt", "a")
    with folder.call("call_1"):
        path.unlink()
    path.parent.rmdir()
    path.parent.parent.rmdir()
    after = look(folder.root)
    report = folder.undo()
    assert folder.text("deep/er/a.txt") == "a"
    folder.undo(set_id=report.set_id)
    assert look(folder.root) == after


def test_sockets_and_pipes_are_left_alone_and_make_nothing_wait(folder: Folder) -> None:
    path = folder.write("pipe", "was a file")
    with folder.call("call_1"):
        path.write_text("changed")
    path.unlink()
    os.mkfifo(path)
    assert folder.prospects() == {"pipe": "lost"}
    assert folder.undo({"pipe": "restore"}).lost == ("pipe",)
    assert path.is_fifo()
    server = socket.socket(socket.AF_UNIX)
    with server:
        server.bind(os.path.relpath(folder.root / "sock"))
        meta = ChangeSet("", "command", MAIN, ended=1e9)
        change = PathChange(os.fsencode(folder.root / "sock"), ABSENT, FileState("other"))
        made = folder.history.record(meta, SESSION, str(folder.root), [change])
        assert folder.undo(set_id=made.id).lost == ("sock",)


def test_a_hard_link_is_replaced_and_its_other_name_stays(folder: Folder, tmp_path: Path) -> None:
    path = folder.write("a.txt", "one")
    with folder.call("call_1"):
        path.write_text("two")
    (tmp_path / "other").hardlink_to(path)
    folder.undo()
    assert (path.read_text(), (tmp_path / "other").read_text()) == ("one", "two")


def test_an_undo_that_would_do_something_else_than_was_shown_is_refused(folder: Folder) -> None:
    folder.write("a.txt", "one")
    with folder.call("call_1"):
        folder.write("a.txt", "two")
    plan = folder.plan()
    folder.write("a.txt", "mine")
    meta = ChangeSet("", "undo", MAIN, ended=1e9)
    with pytest.raises(UndoError, match="changed since"):
        folder.history.undo(plan.scope, {}, meta, plan)
    assert folder.text("a.txt") == "mine"


def test_without_git_nothing_is_offered_to_be_merged(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    merge.find_git.cache_clear()
    folder.write("a.txt", "1\n2\n3\n4\n5\n")
    with folder.call("call_1"):
        folder.write("a.txt", "0\n1\n2\n3\n4\n5\n")
    folder.write("a.txt", "0\n1\n2\n3\n4\n5\n6\n")
    (file,) = folder.plan().files
    assert (file.prospect, file.can_merge) == ("conflict", False)
    assert folder.undo({"a.txt": "merge"}).kept == ("a.txt",)
    merge.find_git.cache_clear()


def test_what_an_agent_put_in_the_place_of_git_does_not_merge(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, mark = tmp_path / "venv/bin/git", tmp_path / "mark"
    first_on_the_path(monkeypatch, put(theirs, mark).parent)
    (tmp_path / "venv/pyvenv.cfg").touch()
    merge.find_git.cache_clear()
    folder.write("a.txt", "1\n2\n3\n4\n5\n")
    with folder.call("call_1"):
        folder.write("a.txt", "0\n1\n2\n3\n4\n5\n")
    folder.write("a.txt", "0\n1\n2\n3\n4\n5\n6\n")
    assert folder.undo({"a.txt": "merge"}).merged == ("a.txt",)
    assert not mark.exists()
    merge.find_git.cache_clear()


def test_binary_files_and_overlapping_edits_are_not_merged(folder: Folder) -> None:
    folder.write("binary", "one\0")
    folder.write("text", "one\n")
    with folder.call("call_1"):
        folder.write("binary", "two\0")
        folder.write("text", "two\n")
    folder.write("binary", "two\0three")
    folder.write("text", "three\n")
    assert {file.can_merge for file in folder.plan().files} == {False}


def test_a_mode_that_the_person_set_outlives_a_merge(folder: Folder) -> None:
    path = folder.write("run.sh", "one\n", 0o644)
    with folder.call("call_1"):
        path.write_text("two\n")
    path.chmod(0o755)
    assert folder.undo({"run.sh": "merge"}).merged == ("run.sh",)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("one\n", 0o755)


def refuse(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def keep(history: History) -> None:
    history.hold(os.urandom(100))
    history.save_index(b"/r", {}, [])


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_a_full_disk_while_something_is_kept_is_told_and_nothing_is_lost(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder.write("a.txt", "one")
    with folder.call("call_1"):
        folder.write("a.txt", "two")
    with monkeypatch.context() as patch:
        patch.setattr(os, name, refuse)
        with pytest.raises(HistoryFull, match="disk is full"):
            keep(folder.history)
    folder.undo()
    assert folder.text("a.txt") == "one"


def test_a_disk_that_is_full_during_an_undo_leaves_every_file_whole(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt"):
        folder.write(name, f"{name} one")
    with folder.call("call_1"):
        for name in ("a.txt", "b.txt"):
            folder.write(name, f"{name} two")
    real = os.fchmod
    calls: list[int] = []

    def refuse_second(descriptor: int, mode: int) -> None:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", refuse_second)
        report = folder.undo()
    assert ([file.path for file in report.restored], report.kept) == (["a.txt"], ("b.txt",))
    assert "disk is full" in report.problem
    assert (folder.text("a.txt"), folder.text("b.txt")) == ("a.txt one", "b.txt two")
    assert len(look(folder.root)) == 2
    # What could not be done is done once there is room again.
    assert [file.path for file in folder.undo().restored] == ["b.txt"]


def test_what_was_cut_off_in_a_pack_is_cut_off_at_the_next_start(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", PLENTY)
    digest = history.hold(b"kept" * 100)
    history.save_index(b"/r", {}, [])
    history.close()
    (pack,) = (tmp_path / "undo").glob("*.pack")
    size = pack.stat().st_size
    with pack.open("ab") as file:
        file.write(b"half of someth")
    history = History(tmp_path / "undo", PLENTY)
    assert pack.stat().st_size == size
    assert history.hold(b"kept" * 100) == digest
    history.close()

"""Paths that lead out of the folder, by every trick a file system knows, are refused."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace import safe_open
from desktop_agent.engine.workspace.containment import (
    OutsideWorkspace,
    is_within,
    relative_name,
    resolve_for_read,
    resolve_for_write,
)
from desktop_agent.engine.workspace.safe_open import digest, open_folder, open_read, write_atomic
from desktop_agent.engine.workspace.windows_names import refusal

TRIES = 10_000
WRITES = 3_000  # each makes, writes and renames a file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with links of every kind, and a secret beside it."""
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "inside.txt").write_text("inside")
    (root / "sub" / "deep.txt").write_text("deep")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (tmp_path / "work-sibling").mkdir()
    (tmp_path / "work-sibling" / "secret.txt").write_text("secret")
    links = {
        "out_file": outside / "secret.txt",
        "out_dir": outside,
        "to_root": Path("/"),
        "to_parent": Path(".."),
        "dangling_out": outside / "not-yet.txt",
        "chain": Path("out_dir"),
        "sub/up": Path("../../outside"),
        "proc_root": Path("/proc/self/root"),
        "proc_cwd": Path("/proc/self/cwd"),
        "in_file": Path("inside.txt"),
        "in_dir": Path("sub"),
        "dangling_in": Path("sub/new.txt"),
        "loop": Path("loop"),
        "loop_a": Path("loop_b"),
        "loop_b": Path("loop_a"),
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


ESCAPES = [
    "..",
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "./../outside",
    "sub/../..",
    "../work-sibling/secret.txt",
    "{parent}/work-sibling/secret.txt",
    "{parent}/outside/secret.txt",
    "{parent}",
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd",
    "/dev/null",
    "~",
    "~/x.txt",
    "~root/x.txt",
    "out_file",
    "out_dir",
    "out_dir/secret.txt",
    "out_dir/new.txt",
    "chain/secret.txt",
    "dangling_out",
    "to_root/etc/passwd",
    "to_parent/outside/secret.txt",
    "sub/up/secret.txt",
    "in_dir/up/secret.txt",
    "in_dir/../../outside/secret.txt",
    "out_dir/../work-sibling/secret.txt",
    "missing/../../outside/secret.txt",
    "proc_root/etc/passwd",
    "inside.txt/../../outside/secret.txt",
    "sub//..//../outside",
]

ALLOWED = {
    "inside.txt": "inside.txt",
    "./inside.txt": "inside.txt",
    "~backup.txt": "~backup.txt",
    "~root": "~root",
    "~nobody-of-this-name/x": "~nobody-of-this-name/x",
    "./~root/x": "~root/x",
    ".": ".",
    "sub/../inside.txt": "inside.txt",
    "sub/deep.txt": "sub/deep.txt",
    "in_file": "inside.txt",
    "in_dir/deep.txt": "sub/deep.txt",
    "dangling_in": "sub/new.txt",
    "in_dir/../inside.txt": "inside.txt",
    "new/folder/file.txt": "new/folder/file.txt",
    "missing/../inside.txt": "inside.txt",
    "..hidden": "..hidden",
    "a..b/c": "a..b/c",
    "{root}/sub/deep.txt": "sub/deep.txt",
    "to_parent/work/inside.txt": "inside.txt",
    "ünïcode/файл": "ünïcode/файл",
    "with space/and\nline": "with space/and\nline",
    "-rf": "-rf",
}


def fill(path: str, root: Path) -> str:
    return path.replace("{root}", str(root)).replace("{parent}", str(root.parent))


@pytest.mark.parametrize("resolve", [resolve_for_read, resolve_for_write])
@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_out_is_refused(place: Path, path: str, resolve) -> None:
    workspace = Workspace(str(place))
    with pytest.raises(OutsideWorkspace) as refused:
        resolve(workspace, fill(path, place))
    kind = "readable" if resolve is resolve_for_read else "writable"
    expected = f"Error: path '{fill(path, place)}' is outside the workspace ({kind} roots: {place})"
    assert str(refused.value) == expected


@pytest.mark.parametrize("resolve", [resolve_for_read, resolve_for_write])
@pytest.mark.parametrize("path", ALLOWED)
def test_a_path_that_stays_inside_is_found(place: Path, path: str, resolve) -> None:
    before = sorted(place.rglob("*"))
    resolved = resolve(Workspace(str(place)), fill(path, place))
    assert resolved == (place / ALLOWED[path] if ALLOWED[path] != "." else place)
    assert sorted(place.rglob("*")) == before, "resolving must create nothing"


@pytest.mark.parametrize(
    "path", ["", "   ", "a\0b", "\0", "loop", "loop/x", "loop_a", "in_dir/../loop"]
)
def test_a_path_that_means_nothing_is_an_error_in_words(place: Path, path: str) -> None:
    with pytest.raises(ToolError) as refused:
        resolve_for_read(Workspace(str(place)), path)
    assert str(refused.value)
    assert not isinstance(refused.value, OutsideWorkspace)


def test_a_path_that_is_too_long_is_an_error_in_words(place: Path) -> None:
    with pytest.raises(ToolError):
        resolve_for_read(Workspace(str(place)), "x" * 5000)


def test_a_base_is_where_relative_paths_start(place: Path) -> None:
    workspace = Workspace(str(place))
    assert resolve_for_read(workspace, "deep.txt", base=str(place / "sub")).name == "deep.txt"
    with pytest.raises(OutsideWorkspace):
        resolve_for_read(workspace, "../../outside", base=str(place / "sub"))


def test_extra_folders_give_the_rights_they_say(place: Path) -> None:
    outside = place.parent / "outside"
    readable = Workspace(str(place), readable=(str(outside),))
    assert resolve_for_read(readable, str(outside / "secret.txt"))
    with pytest.raises(OutsideWorkspace):
        resolve_for_write(readable, str(outside / "secret.txt"))
    writable = Workspace(str(place), writable=(str(outside),))
    assert resolve_for_read(writable, "out_dir/x") == outside / "x"
    assert resolve_for_write(writable, "out_dir/x") == outside / "x"
    write_atomic(writable, outside / "x", b"new")
    with open_read(writable, outside / "x") as file:
        assert file.read() == b"new"


def test_names_are_relative_to_the_folder(place: Path) -> None:
    workspace = Workspace(str(place))
    assert relative_name(workspace, place / "sub" / "deep.txt") == "sub/deep.txt"
    assert relative_name(workspace, "/etc/passwd") == "/etc/passwd"
    assert not is_within("/a/bc", "/a/b")


# ---- opening and writing ----


def test_only_regular_files_are_opened_and_nothing_hangs(place: Path) -> None:
    workspace = Workspace(str(place))
    os.mkfifo(place / "pipe")
    os.mknod(place / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for name in ("pipe", "null", "sub", "missing"):
        with pytest.raises(ToolError):
            open_read(workspace, place / name)
    for name in ("pipe", "null", "sub", "."):
        with pytest.raises(ToolError):
            write_atomic(workspace, place / name, b"x")
    assert stat.S_ISFIFO((place / "pipe").lstat().st_mode)


def test_a_link_put_in_after_the_check_is_not_followed(place: Path) -> None:
    workspace = Workspace(str(place))
    resolved = resolve_for_read(workspace, "sub/deep.txt")
    (place / "sub").rename(place / "old")
    (place / "sub").symlink_to(place.parent / "outside")
    (place.parent / "outside" / "deep.txt").write_text("secret")
    with pytest.raises(ToolError):
        open_read(workspace, resolved)
    with pytest.raises(ToolError):
        write_atomic(workspace, resolved, b"x")
    assert (place.parent / "outside" / "deep.txt").read_text() == "secret"


def test_a_hard_link_is_replaced_and_not_written_through(place: Path) -> None:
    secret = place.parent / "outside" / "secret.txt"
    os.link(secret, place / "hard.txt")
    write_atomic(Workspace(str(place)), place / "hard.txt", b"mine")
    assert secret.read_text() == "secret"
    assert (place / "hard.txt").read_text() == "mine"


def test_writing_keeps_the_mode_and_leaves_no_rest(place: Path) -> None:
    script = place / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    write_atomic(Workspace(str(place)), script, b"new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert script.read_text() == "new"
    write_atomic(Workspace(str(place)), place / "a" / "b" / "c.txt", b"x")
    assert not list(place.rglob("*.tmp"))


def test_a_file_is_written_where_names_of_a_folder_can_not_be_flushed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = safe_open.to_disk

    def refused(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        flush(descriptor)

    monkeypatch.setattr(safe_open, "to_disk", refused)
    write_atomic(Workspace(str(place)), place / "inside.txt", b"new")
    assert (place / "inside.txt").read_bytes() == b"new"


def test_folders_that_were_made_for_a_file_that_is_not_written_go_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(safe_open, "to_disk", full)
    before = sorted(place.rglob("*"))
    with pytest.raises(ToolError, match="disk is full"):
        write_atomic(Workspace(str(place)), place / "sub" / "a" / "b" / "c.txt", b"x")
    assert sorted(place.rglob("*")) == before


def test_a_file_that_changed_meanwhile_is_not_overwritten(place: Path) -> None:
    workspace = Workspace(str(place))
    path = place / "inside.txt"
    with pytest.raises(ToolError):
        write_atomic(workspace, path, b"new", expected=digest(b"other"))
    with pytest.raises(ToolError):
        write_atomic(workspace, path, b"new", expected="")
    write_atomic(workspace, path, b"new", expected=digest(b"inside"))
    assert path.read_bytes() == b"new"
    assert not list(place.rglob("*.tmp"))


def test_without_openat2_the_walk_is_as_strict(place: Path, monkeypatch) -> None:
    # Kernels and containers without the call take the other way in.
    monkeypatch.setattr(safe_open, "_openat2", lambda *_: None)
    test_a_link_put_in_after_the_check_is_not_followed(place)
    with open_read(Workspace(str(place)), place / "inside.txt") as file:
        assert file.read() == b"inside"
    with open_folder(Workspace(str(place)), place) as descriptor:
        assert "inside.txt" in os.listdir(descriptor)  # noqa: PTH208 - of a descriptor


# ---- races ----


FILE_FLIPPER = """
import os, sys
place, secret = sys.argv[1:]
os.chdir(place)
while True:
    os.symlink(secret, "spare")
    os.replace("spare", "flip.txt")
    with open("spare", "w") as file:
        file.write("inside")
    os.replace("spare", "flip.txt")
"""

FOLDER_FLIPPER = """
import os, shutil, sys
place, secret = sys.argv[1:]
os.chdir(place)
while True:
    try:
        os.rename("dir", "away")
        os.symlink(os.path.dirname(secret), "dir")
        os.unlink("dir")
        os.rename("away", "dir")
    except OSError:
        # The writer made the folder anew: take that one away and go on.
        if os.path.isdir("away"):
            shutil.rmtree("dir", ignore_errors=True)
            try:
                os.rename("away", "dir")
            except OSError:
                pass
"""

RACES = [(FILE_FLIPPER, "flip.txt"), (FOLDER_FLIPPER, "dir/secret.txt")]
RACE_IDS = ["file", "folder"]


@contextmanager
def flipping(script: str, place: Path) -> Iterator[None]:
    """Keep swapping what stands in the workspace, in another process, while the block runs."""
    (place / "flip.txt").write_text("inside")
    (place / "dir").mkdir()
    (place / "dir" / "secret.txt").write_text("inside")
    secret = place.parent / "outside" / "secret.txt"
    process = subprocess.Popen([sys.executable, "-c", script, str(place), str(secret)])
    try:
        yield
        assert process.poll() is None, "the swapping must go on to the end"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("script", "path"), RACES, ids=RACE_IDS)
@pytest.mark.parametrize("stepwise", [False, True], ids=["openat2", "stepwise"])
def test_no_read_escapes_a_race(place: Path, script, path, stepwise, monkeypatch) -> None:
    if stepwise:
        monkeypatch.setattr(safe_open, "_openat2", lambda *_: None)
    workspace = Workspace(str(place))
    outcomes: Counter[bytes] = Counter()
    with flipping(script, place):
        for _ in range(TRIES):
            # The path counts as checked at a good moment: only the use can still be wrong.
            try:
                with open_read(workspace, place / path) as file:
                    outcomes[file.read()] += 1
            except ToolError:
                outcomes[b"refused"] += 1
    assert outcomes[b"secret"] == 0
    assert outcomes[b"inside"], "the file must be there sometimes, or nothing was tried"
    assert outcomes[b"refused"], "it must be swapped sometimes, or nothing was tried"


@pytest.mark.parametrize(("script", "path"), RACES, ids=RACE_IDS)
def test_no_write_escapes_a_race(place: Path, script, path, monkeypatch) -> None:
    # The disk's own pace is not what is tried here.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    workspace = Workspace(str(place))
    outside = place.parent / "outside"
    written = 0
    with flipping(script, place):
        for _ in range(WRITES):
            try:
                write_atomic(workspace, place / path, b"inside")
                written += 1
            except ToolError:
                continue
    assert written
    assert (outside / "secret.txt").read_text() == "secret"
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]


# ---- anything at all ----

_names = st.sampled_from(
    ["..", ".", "sub", "in_dir", "out_dir", "to_root", "to_parent", "new", "loop", "inside.txt",
     "up", "chain", "proc_root", "~", "", "etc", "work", "outside", "secret.txt"]
)  # fmt: skip


@given(parts=st.lists(_names, min_size=1, max_size=8), is_absolute=st.booleans())
@settings(max_examples=300)
def test_whatever_is_resolved_is_really_inside(tmp_path_factory, parts, is_absolute) -> None:
    root = _hypothesis_place(tmp_path_factory)
    text = ("/" if is_absolute else "") + "/".join(parts)
    try:
        resolved = resolve_for_write(Workspace(str(root)), text)
    except ToolError:
        return
    assert is_within(resolved, root)
    assert Path(os.path.realpath(resolved)) == resolved


_made: list[Path] = []


def _hypothesis_place(factory: pytest.TempPathFactory) -> Path:
    if not _made:
        base = factory.mktemp("any")
        root = base / "work"
        (root / "sub").mkdir(parents=True)
        (base / "outside").mkdir()
        for name, target in {
            "out_dir": base / "outside",
            "to_root": "/",
            "to_parent": "..",
            "in_dir": "sub",
            "loop": "loop",
            "chain": "out_dir",
            "proc_root": "/proc/self/root",
            "sub/up": "..",
        }.items():
            (root / name).symlink_to(target)
        _made.append(root)
    return _made[0]


# ---- Windows spellings ----


@pytest.mark.parametrize(
    "path",
    [
        r"\\?\C:\x", r"\\.\PhysicalDrive0", r"\\server\share", "//server/share", "//?/C:/x",
        "C:foo", "C:", "c:..\\x", "CON", "con.txt", "sub/NUL", "AUX .txt", "lpt1", "COM¹",
        "file.txt:stream", "file.txt::$DATA", "C:\\x:y", "trailing.", "trailing ", "a./b",
        "sub /x", "PROGRA~1", "LONGNA~12.TXT", "a<b", "a|b", 'a"b', "a?b", "a*b", "a\x01b",
    ],
)  # fmt: skip
def test_windows_spellings_that_hide_a_file_are_refused(path: str) -> None:
    assert refusal(path)


@pytest.mark.parametrize(
    "path",
    ["a.txt", "sub/a.txt", r"C:\Users\me\a.txt", "C:/x", "..\\x", ".", "./x", "console.txt",
     ".gitignore", "a~b", "file~", "com", "nul1x", "ünï", "~/x", "a b.txt"],
)  # fmt: skip
def test_plain_windows_paths_are_let_through(path: str) -> None:
    assert refusal(path) == ""


@pytest.mark.skipif(os.name == "nt", reason="links and folders of POSIX")
@pytest.mark.parametrize("stepwise", [False, True], ids=["openat2", "stepwise"])
def test_a_folder_whose_way_became_a_link_since_it_was_checked_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stepwise: bool
) -> None:
    """An agent that may write above a subagent's folder could put the link there."""
    if stepwise:
        monkeypatch.setattr(safe_open, "_openat2", lambda *_: None)
    given, other = (tmp_path / name / "b" for name in ("a", "other"))
    for folder in (given, other):
        folder.mkdir(parents=True)
        (folder / "known.txt").write_text(folder.parent.name)
    workspace = Workspace(str(given))
    checked = resolve_for_write(workspace, "known.txt")
    with open_read(workspace, checked) as file:
        assert file.read() == b"a"
    given.parent.rename(tmp_path / "away")
    given.parent.symlink_to("other")
    with pytest.raises(ToolError, match="link"):
        open_read(workspace, checked)
    with pytest.raises(ToolError, match="link"):
        write_atomic(workspace, checked, b"new")
    with pytest.raises(ToolError, match="link"), open_folder(workspace, given):
        pass
    assert [(path.name, path.read_text()) for path in other.iterdir()] == [("known.txt", "other")]

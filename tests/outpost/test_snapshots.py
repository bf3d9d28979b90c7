"""Snapshots of folders: what git knows of them is used, and what stays here stays here."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from desktop_agent.adapters.places.git_copy import GitStore, unsent
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.outpost.work import LocalWork
from tests.engine.workspace.test_programs import first_on_the_path, put
from tests.outpost.rig import garden, git, state
from tests.outpost.test_batch_files import store_of


def copied(folder: Path, place: Path, without: tuple[str, ...] = ()) -> set[str]:
    """Return what is in a copy of a folder."""
    place.mkdir()
    store, copy = store_of(folder, place / "store"), place / "copy"
    store.copy(store.snapshot(folder, without), copy)
    return {path for path in state(copy) if not path.startswith(".git/")}


@pytest.mark.parametrize("at", ["info", "global", "above"])
def test_what_is_ignored_elsewhere_than_in_the_folder_is_not_copied_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    top = garden(tmp_path / "garden")
    folder = top / "shed" if at == "above" else top
    rules = {
        "info": top / ".git/info/exclude",
        "global": tmp_path / "my-ignores",
        "above": top / ".gitignore",
    }
    if at == "global":
        (tmp_path / ".gitconfig").write_text("[core]\nexcludesFile = ~/my-ignores\n")
    rules[at].write_text("*.log\nprivate/\nnotes.md\n")
    for path in ("private/salary.txt", "deep/notes.md", "deep/tools.txt"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("mine\n")
    found = copied(folder, tmp_path / "place")
    assert "deep/tools.txt" in found
    assert not found & {"private/salary.txt", "deep/notes.md"}


def test_a_folder_that_the_repository_around_it_ignores_is_copied(tmp_path: Path) -> None:
    around = garden(tmp_path / "home")
    (around / ".gitignore").write_text("*\n")
    folder = around / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.c").write_text("int main;\n")
    assert copied(folder, tmp_path / "place") == {"src/main.c"}


def test_a_file_for_keys_that_git_keeps_and_that_was_changed_stays_here(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    (folder / ".env").write_text("KEY=\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "an example of keys")
    (folder / ".env").write_text("KEY=secret\n")
    left = tuple(path.relative_to(folder).as_posix() for path in unsent(folder))
    assert left == (".env",)
    assert copied(folder, tmp_path / "place", left) == {
        ".gitignore", "beds.txt", "new.txt", "staged.txt"
    }  # fmt: skip
    assert (folder / ".env").read_text() == "KEY=secret\n"


def test_files_that_a_rule_keeps_from_being_read_stay_here(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    for name in ("clients/a/b.txt", "Notes.TXT", "src/a.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    (folder / "other.txt").symlink_to("Notes.TXT")
    left = tuple(
        path.relative_to(folder).as_posix() for path in unsent(folder, ("clients", "notes.txt"))
    )
    assert sorted(left) == ["Notes.TXT", "clients/a/b.txt", "other.txt"]
    assert not copied(folder, tmp_path / "place", left) & set(left)


@pytest.mark.parametrize("rule", [".env\n", "keys/\n", "!.env\n"])
def test_files_for_keys_that_are_ignored_too_stay_here(tmp_path: Path, rule: str) -> None:
    folder = garden(tmp_path / "garden")
    (folder / ".gitignore").write_text(rule)
    (folder / "keys").mkdir()
    odd = ("keys/[a]*?\\ b.key", "keys/ü\n.key", "[!]^.key", "\\.pem", " .pem", ".env")
    for name in odd:
        (folder / name).write_text("secret\n")
    (folder / "keys/a.txt").write_text("no secret\n")
    left = tuple(path.relative_to(folder).as_posix() for path in unsent(folder))
    assert set(left) == set(odd)
    found = copied(folder, tmp_path / "place", left)
    assert found - {"keys/a.txt"} == {
        ".gitignore", "beds.txt", "new.txt", "noise.log", "staged.txt"
    }  # fmt: skip


def test_an_index_that_is_split_in_two_files_is_read(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    git(folder, "update-index", "--split-index")
    git(folder, "add", "new.txt")
    assert copied(folder, tmp_path / "place") == {
        ".gitignore", "beds.txt", "new.txt", "staged.txt"
    }  # fmt: skip


def test_a_repository_with_other_hashes_is_copied(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden", "--object-format=sha256")
    git(folder, "add", "--force", "noise.log")
    git(folder, "commit", "--quiet", "-m", "ignored, and tracked in spite of it")
    before = state(folder)
    assert copied(folder, tmp_path / "place") == {
        ".gitignore", "beds.txt", "new.txt", "noise.log", "staged.txt"
    }  # fmt: skip
    assert state(folder) == before


def test_of_a_partial_clone_what_is_checked_out_is_copied(tmp_path: Path) -> None:
    whole, folder = garden(tmp_path / "whole"), tmp_path / "clone"
    for name in ("shown", "hidden"):
        (whole / name).mkdir()
        (whole / name / "a.txt").write_text(f"{name}\n")
    git(whole, "add", "--all")
    git(whole, "commit", "--quiet", "-m", "second")
    git(whole, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--sparse", whole.as_uri(), "clone")
    git(folder, "sparse-checkout", "set", "shown")
    (folder / "mine.txt").write_text("mine\n")
    place = tmp_path / "place"
    place.mkdir()
    store = store_of(folder, place / "store")
    commit = store.snapshot(folder)
    store.bundle(commit, place / "bundle")
    there = GitStore(place / "there")
    there.make()
    there.unbundle(commit, place / "bundle")
    there.copy(commit, place / "copy")
    found = {path for path in state(place / "copy") if not path.startswith(".git/")}
    assert found == {
        ".gitignore", "beds.txt", "mine.txt", "new.txt", "shown/a.txt", "staged.txt"
    }  # fmt: skip


def test_a_change_in_the_second_in_which_git_looked_is_copied(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    file, index = folder / "beds.txt", folder / ".git/index"
    then = file.stat().st_mtime - 100
    os.utime(file, (then, then))
    git(folder, "add", "beds.txt")
    file.write_text("fourteen\n")
    for path in (file, index):
        os.utime(path, (then, then))
    store, copy = store_of(folder, tmp_path / "store"), tmp_path / "copy"
    store.copy(store.snapshot(folder), copy)
    assert (copy / "beds.txt").read_text() == file.read_text()


def test_what_an_agent_put_in_the_place_of_git_makes_no_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, mark = garden(tmp_path / "garden"), tmp_path / "mark"
    first_on_the_path(monkeypatch, put(folder / "venv/bin/git", mark).parent)
    (folder / "venv/pyvenv.cfg").touch()
    assert "beds.txt" in copied(folder, tmp_path / "place")
    assert not mark.exists()


def test_nothing_that_a_repository_in_the_folder_says_of_itself_is_started(tmp_path: Path) -> None:
    folder, ran, program = tmp_path / "folder", tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    folder.mkdir()
    git(folder, "init", "--quiet")
    inner = folder / "inner"
    git(folder, "init", "--quiet", "inner")
    (inner / ".gitattributes").write_text("* filter=x\n")
    git(inner, "add", ".")
    git(inner, "commit", "--quiet", "-m", "first")
    here = git(inner, "rev-parse", "HEAD").strip()
    away = f"160000,{here},away"
    git(folder, "update-index", "--add", "--cacheinfo", away, "--cacheinfo", f"160000,{here},gone")
    git(folder, "add", "inner")
    git(inner, "config", "filter.x.clean", str(program))
    (inner / ".gitattributes").write_text("*\tfilter=x\n")
    (folder / "away").mkdir()
    store = store_of(folder, tmp_path / "store")
    commit = store.snapshot(folder)
    assert store.checkpoint(commit, commit, folder) == commit
    assert not ran.exists()
    listed = git(store.path, "ls-tree", commit)
    # What is not checked out stays known.
    assert listed == f"160000 commit {here}\taway\n160000 commit {here}\tinner\n"


async def test_an_agent_that_nobody_wants_any_more_is_ended_once_its_copy_is_made(
    tmp_path: Path,
) -> None:
    """Before that its folder would be deleted and then filled, and stay there."""
    done: list[type] = []
    work = LocalWork(tmp_path, lambda _: None, lambda _: None)

    async def carry_out(order: pipe.StartAgent | pipe.KeepAgents) -> None:
        await work.carry_out(order)
        done.append(type(order))

    start = pipe.StartAgent("a-1", "Weeder", "garden", "0" * 40, "demo", "", "ask")
    await asyncio.gather(carry_out(start), carry_out(pipe.KeepAgents(())))
    await work.close()
    assert done == [pipe.StartAgent, pipe.KeepAgents]
    assert not work.has_any


async def test_a_folder_for_which_the_disk_there_has_no_room_fails_its_job_with_the_reason(
    tmp_path: Path,
) -> None:
    """Else the stream ended each time that it came, and nobody heard why."""
    resource = pytest.importorskip("resource")
    told: asyncio.Queue[pipe.Numbered] = asyncio.Queue()
    work = LocalWork(tmp_path, lambda _: None, told.put_nowait)
    most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        await work.keep("0" * 40, bytes(200))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    await work.carry_out(pipe.Start("a-1", "garden", "0" * 40, {"prompt": "go"}))
    ended = await told.get()
    await work.close()
    assert isinstance(ended, pipe.JobEnded)
    assert (ended.reason, "File too large" in ended.error) == ("error", True)

"""A batch's files: jobs are checked, results only grow, copies come from git and go back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.places.git_copy import GitError, GitStore, repository_of
from desktop_agent.core.agents import EndReason
from desktop_agent.core.usage import Usage
from desktop_agent.headless.arguments import UsageError
from desktop_agent.outpost import table
from desktop_agent.outpost.arguments import parse
from desktop_agent.outpost.jobs import read_jobs
from desktop_agent.outpost.results import Result, ResultsFile
from tests.outpost.rig import garden, git, state

ONE = Result(
    "k1", "finished", "text\nmore", Usage(1, 2, cost=0.5), 1.5, "diff", "local", "do", "/w"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "not an object"),
        ("{", "not JSON"),
        ('{"workspace": "."}', "“prompt” is missing"),
        ('{"prompt": "a"}', "“workspace” is missing"),
        ('{"prompt": " ", "workspace": "."}', "PROMPT is empty"),
        ('{"prompt": "a", "workspace": "/no/such"}', "there is no folder"),
        ('{"prompt": "a", "workspace": ".", "mode": "wild"}', "--mode"),
        ('{"prompt": "a", "workspace": ".", "max_steps": 0}', "--max-steps"),
        ('{"prompt": "a", "workspace": ".", "max_steps": "3"}', "“max_steps” can't be"),
        ('{"prompt": "a", "workspace": ".", "trust": 1}', "“trust” can't be"),
        ('{"prompt": "a", "workspace": ".", "session": "s"}', "a job has no “session”"),
        ('{"prompt": "a", "workspace": ".", "output": "jsonl"}', "a job has no “output”"),
        ('{"prompt": "a", "workspace": ".", "allow_all": true}', "--sandbox off"),
        ('{"prompt": "a", "workspace": ".", "allow_host": ["*"]}', "no host"),
        ("[" * 100_000, "not JSON"),
        ('{"prompt": "a\\ud83d", "workspace": "."}', "no character"),
        ('{"prompt": "a", "workspace": ".", "model": "\\udcff"}', "no character"),
    ],
)
def test_a_line_that_run_would_refuse_is_no_job(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "jobs"
    file.write_text(f'{{"prompt": "fine", "workspace": "."}}\n{line}\n')
    with pytest.raises(UsageError, match="line 2 of jobs: ") as refused:
        read_jobs(file, {})
    assert words in str(refused.value)


def test_what_a_line_does_not_say_is_taken_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "jobs"
    file.write_text('{"prompt": "-a", "max_steps": 3}\n\n{"prompt": "b", "model": "x/y"}\n')
    first, second = read_jobs(file, {"workspace": str(tmp_path), "model": "demo"})
    assert (first.options(tmp_path).prompt, first.options(tmp_path).max_steps) == ("-a", 3)
    assert (first.options(tmp_path).model, second.options(tmp_path).model) == ("demo", "x/y")
    assert first.key("c1") != first.key("c2")
    assert first.key("c1") != second.key("c1")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are texts")
def test_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    folder, file = tmp_path / os.fsdecode(b"caf\xe9"), tmp_path / "jobs"
    folder.mkdir()
    file.write_text('{"prompt": "a"}\n')
    with pytest.raises(UsageError, match=r"line 1 of jobs: .*no character"):
        read_jobs(file, {"workspace": str(folder)})


def test_results_are_there_again_and_half_a_line_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with ResultsFile(file) as results:
        results.add(ONE)
    whole = file.read_bytes()
    assert set(json.loads(whole)) >= {"key", "reason", "text", "usage", "seconds", "patch", "place"}
    for torn in (b"{", b'{"key":"k2","reason":"fin'):
        file.write_bytes(whole + torn)
        with ResultsFile(file) as results:
            assert results.known == {"k1": ONE}
            results.add(msgspec.structs.replace(ONE, key="k2"))
        with ResultsFile(file) as results:
            assert list(results.known) == ["k1", "k2"]


def test_what_a_full_disk_took_of_a_line_is_not_in_the_way_of_the_next(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    file = tmp_path / "out"
    with ResultsFile(file) as results:
        results.add(ONE)
        most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 20, hard))
        try:
            with pytest.raises(OSError, match="too large"):
                results.add(msgspec.structs.replace(ONE, key="k2"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        results.add(msgspec.structs.replace(ONE, key="k3"))
    with ResultsFile(file) as results:
        assert list(results.known) == ["k1", "k3"]


@pytest.mark.parametrize("text", [b"my notes", b"my notes\n", b'{"a": 1}\n', b'\n{"key":"'])
def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "out"
    file.write_bytes(text)
    with pytest.raises(UsageError, match="no file of results"):
        ResultsFile(file)
    assert file.read_bytes() == text


@pytest.mark.parametrize("name", ["jobs.jsonl", "out.jsonl"])
def test_a_page_takes_the_place_of_neither_jobs_nor_results(tmp_path: Path, name: str) -> None:
    jobs, out = tmp_path / "jobs.jsonl", tmp_path / "out.jsonl"
    (tmp_path / "link.html").symlink_to(name)
    for html in (tmp_path / name, tmp_path / "link.html"):
        with pytest.raises(UsageError, match="--html"):
            parse([str(jobs), "--out", str(out), "--html", str(html)])


@pytest.mark.parametrize("page", ["jobs", "out", "folder", "pipe"])
def test_a_page_takes_the_place_of_nothing_but_a_page(tmp_path: Path, page: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    jobs, out = tmp_path / "jobs", tmp_path / "out"
    jobs.write_text('{"prompt": "a", "workspace": "."}\n')
    with pytest.raises(UsageError, match="--html"):
        parse([str(jobs), "--out", str(out), "--html", str(tmp_path / page)])
    assert parse([str(jobs), "--out", str(out), "--html", str(tmp_path / "page.html")]).html


def test_a_page_of_results_obeys_nothing_that_was_said(tmp_path: Path) -> None:
    said = "<script>alert(1)</script>\x1b[31m\u202e"
    hostile = Result("k", "error", said, Usage(), 1.0, said, said, said, said, said)
    page = table.page([hostile])
    assert "<script" not in page
    assert "\x1b" not in page + table.text([hostile])
    assert "\u202e" not in page + table.text([hostile])


@pytest.mark.parametrize(
    ("reason", "usage", "words"),
    [
        ("finished", Usage(1, 2), "$0.50 + unknown"),
        ("finished", Usage(), "$0.50 + unknown"),
        ("finished", Usage(cost=0.0), "$0.50"),
        ("error", Usage(), "$0.50"),
    ],
)
def test_a_cost_that_is_not_known_is_no_part_of_the_sum_and_is_said(
    reason: EndReason, usage: Usage, words: str
) -> None:
    other = msgspec.structs.replace(ONE, reason=reason, usage=usage)
    assert table.summary([ONE, other]).endswith(f"s of work · {words}")


def test_changes_are_counted_by_lines_and_not_by_what_they_look_like() -> None:
    patch = (
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-diff --git a\n+++ b\n x\n y\n"
        "diff --git a/b b/b\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+@@ -1 +1 @@\n"
    )
    assert "2 files +2 −1" in table.text([msgspec.structs.replace(ONE, patch=patch)])


# -- copies -----------------------------------------------------------------------------------


def store_of(folder: Path, path: Path) -> GitStore:
    store, repository = GitStore(path), repository_of(folder)
    store.make(repository.objects if repository is not None else None)
    return store


def test_the_same_folder_is_the_same_snapshot_and_a_change_another(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    before = state(folder)
    commit = store_of(folder, tmp_path / "one").snapshot(folder)
    assert store_of(folder, tmp_path / "two").snapshot(folder) == commit
    assert state(folder) == before
    (folder / "beds.txt").write_text("fourteen\n")
    assert store_of(folder, tmp_path / "three").snapshot(folder) != commit


def test_whatever_was_changed_in_a_copy_comes_back_as_a_patch(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    (folder / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "all")
    store, copy = store_of(folder, tmp_path / "store"), tmp_path / "copies" / "garden"
    commit = store.snapshot(folder)
    store.copy(commit, copy)
    assert git(copy, "status", "--porcelain") == ""
    (copy / "latin.txt").write_bytes("th\xe9\n".encode("latin-1"))
    (copy / "picture.bin").write_bytes(bytes(range(256)))
    (copy / "beds.txt").unlink()
    (copy / "deep" / "er").mkdir(parents=True)
    (copy / "deep" / "er" / "größe é.txt").write_text("x\n")
    (copy / "link").symlink_to("/etc/passwd")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "-m", "what an agent commits counts too")
    patch = tmp_path / "patch"
    patch.write_text(store.patch(commit, copy), encoding="utf-8")
    git(folder, "apply", str(patch))
    for path in ("latin.txt", "picture.bin", "deep/er/größe é.txt"):
        assert (folder / path).read_bytes() == (copy / path).read_bytes()
    assert not (folder / "beds.txt").exists()
    assert (folder / "link").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are texts")
def test_a_file_whose_name_is_no_text_comes_back_under_its_name(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    store, copy = store_of(folder, tmp_path / "store"), tmp_path / "copies" / "garden"
    commit = store.snapshot(folder)
    store.copy(commit, copy)
    name = os.fsdecode(b"caf\xe9.txt")
    (copy / name).write_text("new\n")
    patch = tmp_path / "patch"
    patch.write_text(store.patch(commit, copy), encoding="utf-8")
    git(folder, "apply", str(patch))
    assert (folder / name).read_text() == "new\n"


def test_nothing_that_a_copy_says_of_itself_is_started(tmp_path: Path) -> None:
    folder, ran = garden(tmp_path / "garden"), tmp_path / "ran"
    store, copy = store_of(folder, tmp_path / "store"), tmp_path / "copies" / "garden"
    commit = store.snapshot(folder)
    store.copy(commit, copy)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "filter.x.clean", "diff.x.command", "diff.x.textconv"):
        git(copy, "config", name, str(program))
    (copy / ".gitattributes").write_text("* filter=x diff=x\n")
    (copy / "beds.txt").write_text("changed\n")
    assert "+changed" in store.patch(commit, copy)
    assert not ran.exists()


def test_a_copy_that_became_a_link_is_not_looked_into(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    store, copy = store_of(folder, tmp_path / "store"), tmp_path / "copies" / "garden"
    commit = store.snapshot(folder)
    copy.parent.mkdir()
    copy.symlink_to(tmp_path)
    with pytest.raises(GitError, match="replaced by a link"):
        store.patch(commit, copy)

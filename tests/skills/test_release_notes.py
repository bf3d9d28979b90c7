"""The `release-notes` skill's script on a real repository, with messages of all sorts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.skills.scripts import Done, run

_WHO = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Repository:
    """A repository of commits that each touch one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, author: str = "Ada") -> str:
        mail = f"{author.lower()}@example.org"
        who = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": mail}
        done = subprocess.run(
            ["git", *words],
            cwd=self.path,
            env={**os.environ, **_WHO, **who},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, message: str, author: str = "Ada", name: str = "file.txt") -> str:
        target = self.path / name
        target.parent.mkdir(exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{message}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, author=author)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo")
    made.commit("Initial commit")
    made.git("tag", "v1.0.0")
    return made


def notes(repo: Repository, *words: str) -> Done:
    return run("release-notes", "commits.py", "--repo", repo.path, *words)


def sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("## "):
            name = line[3:]
            found[name] = []
        elif line.strip() and name:
            found[name].append(line.rsplit(" (", 1)[0])
    return found


def test_commits_are_sorted_by_type_or_by_their_first_word(repo: Repository) -> None:
    for message in (
        "feat(export): write PDF files (#12)",
        "fix: no crash on an empty list\n\nFixes #7, see GH-8 and ABC-99. UTF-8 is no issue.",
        "perf: half the memory",
        "chore(deps): bump requests to 3",
        "ci: run on ARM",
        "Add a dark theme",
        "list: Fix the order of names",
        "[ui] Remove the old toolbar",
        "Bump version",
        "WIP",
        "fixup! Add a dark theme",
        "A sentence about nothing",
        "café: größer",
    ):
        repo.commit(message)
    done = notes(repo)
    assert done.out.startswith("# v1.0.0 to HEAD: 13 changes\n")
    assert sections(done.out) == {
        "New": ["- Add a dark theme", "- **export:** write PDF files"],
        "Fixed": ["- list: Fix the order of names", "- no crash on an empty list"],
        "Faster": ["- half the memory"],
        "Removed": ["- [ui] Remove the old toolbar"],
        "Dependencies": ["- Bump version", "- **deps:** bump requests to 3"],
        "Internal": ["- fixup! Add a dark theme", "- WIP", "- run on ARM"],
        "Other": ["- café: größer", "- A sentence about nothing"],
        "People": ["Ada"],
    }
    assert "#7, GH-8, ABC-99)" in done.out
    assert "UTF-8)" not in done.out


def test_breaking_changes_stand_first_with_what_they_say(repo: Repository) -> None:
    repo.commit("feat!: drop Python 3.9")
    repo.commit("fix: paths\n\nBREAKING CHANGE: relative paths are\nrefused now\n\nRefs: #5")
    lines = notes(repo).out.splitlines()
    assert lines[2] == "## Breaking"
    assert lines[4].startswith("- paths (")
    assert lines[5] == "  - BREAKING: relative paths are refused now"
    assert lines[6].startswith("- drop Python 3.9 (")


def test_what_was_taken_back_is_left_out_with_what_took_it_back(repo: Repository) -> None:
    first = repo.commit("feat: a thing")
    repo.commit(f'Revert "feat: a thing"\n\nThis reverts commit {first}.')
    old = repo.git("rev-parse", "v1.0.0")
    repo.commit(f'Revert "Initial commit"\n\nThis reverts commit {old}.')
    again = repo.commit("feat: another")
    taken = repo.commit(f'Revert "feat: another"\n\nThis reverts commit {again}.')
    repo.commit(f"Reapply\n\nThis reverts commit {taken}.")
    done = notes(repo)
    assert sections(done.out) == {
        "New": ["- another"],
        "Reverted": ['- Revert "Initial commit"'],
        "People": ["Ada"],
    }
    assert "4 commits were left out" in done.err


def test_a_merge_is_one_line_with_the_title_of_what_was_merged(repo: Repository) -> None:
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit("wip", author="Bo", name="topic.txt")
    repo.commit("more wip", author="Bo", name="topic.txt")
    repo.git("switch", "--quiet", "main")
    repo.commit("fix: something else")
    message = "Merge pull request #42 from bo/topic\n\nAdd a search box"
    repo.git("merge", "--quiet", "--no-ff", "-m", message, "topic")
    assert "Add a search box" not in notes(repo).out
    merged = notes(repo, "--merges").out
    assert sections(merged)["New"] == ["- Add a search box"]
    assert "#42)" in merged
    assert "wip" not in merged


def test_the_last_release_is_found_also_when_the_newest_commit_is_one(repo: Repository) -> None:
    repo.commit("feat: two")
    repo.git("tag", "v2.0.0")
    assert notes(repo).out.startswith("# v1.0.0 to HEAD: 1 changes")
    repo.commit("feat: three")
    repo.git("tag", "other-9")
    repo.commit("feat: four")
    assert notes(repo).out.startswith("# other-9 to HEAD: 1 changes")
    assert notes(repo, "--tags", "v*").out.startswith("# v2.0.0 to HEAD: 2 changes")
    assert "# v1.0.0 to v2.0.0: 1 changes" in notes(repo, "--from", "v1.0.0", "--to", "v2.0.0").out


def test_one_part_of_a_repository_and_the_people_are_told(repo: Repository) -> None:
    repo.commit("feat: inside", author="Bo", name="app/a.txt")
    repo.commit("feat: outside\n\nCo-authored-by: Cy <cy@example.org>")
    assert sections(notes(repo, "--path", "app").out)["New"] == ["- inside"]
    told = json.loads(notes(repo, "--format", "json").out)
    assert told["authors"] == {"Ada": 1, "Bo": 1, "Cy": 1}
    assert told["new authors"] == ["Bo", "Cy"]
    assert [change["section"] for change in told["changes"]] == ["New", "New"]


def test_a_repository_without_tags_is_told_from_the_beginning(tmp_path: Path) -> None:
    made = Repository(tmp_path / "fresh")
    made.commit("feat: one")
    assert notes(made).out.startswith("# the beginning to HEAD: 1 changes")


def test_what_can_not_be_done_is_said_in_a_sentence(repo: Repository, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for words, told in (
        (("--from", "v1.0.0"), "Nothing changed between v1.0.0 and HEAD."),
        (("--from", "v9"), "There is no tag, branch or commit 'v9'"),
        (("--to", "--output=owned"), ""),
        (("--repo", str(plain)), "not a git repository"),
        (("--repo", str(tmp_path / "none")), "There is no folder"),
    ):
        done = notes(repo, *words)
        assert done.code in {1, 2}
        assert told in done.err
    assert not (repo.path / "owned").exists()


def test_a_shallow_clone_is_told_and_git_starts_nothing_of_the_repository(
    repo: Repository, tmp_path: Path
) -> None:
    repo.commit("feat: one")
    repo.commit("feat: two")
    mark = tmp_path / "it-ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    trap.chmod(0o755)
    shallow = tmp_path / "shallow"
    repo.git("clone", "--quiet", "--depth=1", repo.path.as_uri(), str(shallow))
    for name in ("core.fsmonitor", "core.pager", "gpg.program", "pager.log"):
        subprocess.run(["git", "config", name, str(trap)], cwd=shallow, check=True)
    done = run("release-notes", "commits.py", "--repo", shallow)
    assert "shallow clone" in done.err
    assert sections(done.out)["New"] == ["- two"]
    assert not mark.exists()


def test_without_git_the_person_is_told(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo.path))
    done = notes(repo)
    assert (done.code, done.err) == (
        3,
        "This needs the program git: install it from git-scm.com.\n",
    )

"""`desktop-agent undo` and `redo`: a session's changes taken back by a script."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from desktop_agent.core.events import FilesChanged
from tests.helpers.forked import FORKS
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.test_headless import folder, run_lines

__all__ = ["folder"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return FORKS.run(list(arguments))


def work(folder: Path) -> list[FilesChanged]:
    """Let a session `work` change three files in two messages."""
    told: list[FilesChanged] = []
    for script in (
        [Calls(("write", {"path": "a.txt", "content": "one\n"})), Say("One.")],
        [
            Calls(("write", {"path": "a.txt", "content": "two\n"})),
            Calls(("shell", {"command": "echo new > b.txt; echo changed > notes.md"})),
            Say("Two."),
        ],
    ):
        with LoopbackProvider("openai", script) as provider:
            model = ["--model", provider.model, "--api-base", provider.api_base]
            _, lines, _ = run_lines(
                "Go", "--workspace", folder, *model, "--mode", "free", "--session", "work",
                "--sandbox", "off",
            )  # fmt: skip
            told += [line for line in lines if isinstance(line, FilesChanged)]
    return told


def test_a_script_lists_undoes_and_redoes_the_last_message_that_changed_files(
    folder: Path,
) -> None:
    (folder / "notes.md").write_text("mine\n")
    told = work(folder)
    assert len({one.changes.message_id for one in told}) == 2
    listed = run("undo", "work", "--list", "--json")
    assert (folder / "b.txt").exists()
    assert listed.returncode == 0
    expected = {
        "session": "work",
        "restored": [
            {"path": "a.txt", "kind": "changed"},
            {"path": "b.txt", "kind": "deleted"},
            {"path": "notes.md", "kind": "changed"},
        ],
        "kept": [], "merged": [], "lost": [],
    }  # fmt: skip
    assert json.loads(listed.stdout) == expected
    undone = run("undo", "work", "--json")
    assert (undone.returncode, json.loads(undone.stdout)) == (0, expected)
    assert (folder / "a.txt").read_text() == "one\n"
    assert (folder / "notes.md").read_text() == "mine\n"
    assert not (folder / "b.txt").exists()
    redone = run("redo", "work")
    assert redone.returncode == 0, redone.stderr
    assert "created  b.txt" in redone.stdout
    assert (folder / "a.txt").read_text() == "two\n"
    assert (folder / "b.txt").read_text() == "new\n"


def test_a_redo_is_not_taken_back_by_the_next_which_goes_on_with_the_undo_before(
    folder: Path,
) -> None:
    work(folder)
    for _ in range(2):
        assert run("undo", "work").returncode == 0
    assert not (folder / "a.txt").exists()
    for text in ("one\n", "two\n"):
        assert run("redo", "work").returncode == 0
        assert (folder / "a.txt").read_text() == text
    nothing = run("redo", "work")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "redone" in nothing.stderr
    assert (folder / "a.txt").read_text() == "two\n"
    for command in ("undo", "redo"):
        assert run(command, "work").returncode == 0
    assert (folder / "a.txt").read_text() == "two\n"


def test_what_changed_since_is_kept_and_the_exit_code_says_so(folder: Path) -> None:
    work(folder)
    away = folder.rename(folder.with_name("away"))  # a disk that is not mounted
    listed = run("undo", "work", "--list")
    assert (listed.returncode, listed.stdout) == (1, "")
    assert "The folder is not there any more" in listed.stderr
    away.rename(folder)
    (folder / "a.txt").write_text("the person's\n")
    kept = run("undo", "work", "--json")
    assert kept.returncode == 1
    assert json.loads(kept.stdout)["kept"] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "the person's\n"
    assert not (folder / "b.txt").exists()


def test_what_can_not_be_put_back_is_named_and_the_exit_code_says_so(folder: Path) -> None:
    with (folder / "notes.md").open("wb") as notes:
        notes.truncate(200 << 20)  # more than is kept of a file
    work(folder)
    undone = run("undo", "work")
    assert undone.returncode == 1
    assert "lost     notes.md" in undone.stdout
    assert not (folder / "b.txt").exists()


def test_mistakes_are_one_sentence_and_no_traceback(folder: Path) -> None:
    assert run("undo").returncode == 2
    assert run("undo", "no/id").returncode == 2
    assert run("undo", "work", "--message", "a", "--call", "b").returncode == 2
    unknown = run("undo", "nobody")
    assert unknown.returncode == 1
    assert unknown.stderr.count("\n") == 1
    assert "There is no session nobody" in unknown.stderr
    assert run("redo", "nobody").returncode == 1

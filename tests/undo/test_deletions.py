"""What a contained command deletes runs unasked where undo brings it back, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.core.events import ApprovalRequested, FilesChanged
from desktop_agent.engine.undo.deleted_paths import deleted_paths
from tests.helpers.providers import LoopbackProvider, Say
from tests.test_headless import folder, run_lines
from tests.test_headless_sandbox import BWRAP, asked, need_sandbox, options, shell

__all__ = ["folder"]


@pytest.mark.skipif(not BWRAP, reason="needs bubblewrap")
def test_mode_free_deletes_what_undo_holds_and_asks_about_the_rest(folder: Path) -> None:
    (folder / ".gitignore").write_text("node_modules/\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "big.js").write_text("x")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("a")
    script = [shell("rm -r docs"), shell("rm -r node_modules"), shell("rm *.py"), Say("Done.")]
    with LoopbackProvider("openai", script) as provider:
        _, lines, _ = run_lines(*options(provider, folder, "--mode", "free"))
    need_sandbox(lines)
    told = [line.changes for line in lines if isinstance(line, FilesChanged)]
    assert [[(f.path, f.kind) for f in one.files] for one in told] == [[("docs/a.md", "deleted")]]
    questions = asked(lines)
    assert len(questions) == 2
    assert "node_modules" in questions[0]
    requests = [line.request for line in lines if isinstance(line, ApprovalRequested)]
    # What the card lists in red.
    assert requests[0].lost == ("node_modules",)
    assert (folder / "node_modules" / "big.js").exists()
    assert (folder / "water.py").exists()


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("rm *.txt", "*.txt"),
        ("rm $HOME/x", "$HOME/x"),
        ("cd sub && rm x", "x"),
        ("rm `ls`", "x"),
        ("rm ~/x", "~/x"),
        ("rm {a,b}", "{a,b}"),
    ],
)
def test_a_word_that_a_shell_may_read_otherwise_names_no_file(command: str, word: str) -> None:
    assert deleted_paths(command, (word,), "/w") == {}


def test_a_plain_word_is_a_path_from_where_the_command_starts() -> None:
    named = deleted_paths("rm -r a ../b /c", ("a", "../b", "/c"), "/w/d")
    assert named == {"a": b"/w/d/a", "../b": b"/w/b", "/c": b"/c"}

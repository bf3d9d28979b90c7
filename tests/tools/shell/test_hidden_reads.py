"""What is read without being named: by response files, by patterns, and by their order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools.shell.test_proof import CANARY, is_proven, printed, put


@pytest.mark.skipif(shutil.which("strings") is None, reason="needs binutils")
def test_what_a_response_file_names_is_not_read_unasked(tmp_path: Path) -> None:
    root = tmp_path / "project"
    put(root, ".env", f"PASSWORD={CANARY}\n")
    put(root, "names", f"-n 1 {root}/.env\n")
    for command in ("strings @names", "strings -a @names", "strings -- @names"):
        assert CANARY in printed(root, command)
        assert not is_proven(root, command)
    assert is_proven(root, "strings names")


@pytest.mark.parametrize(
    "pattern", ["..*/key", "./..*/key", ".?/key", "src/..*/..*/key", ".*./key"]
)
def test_a_pattern_that_may_stand_for_the_folder_above_is_asked_about(
    tmp_path: Path, pattern: str
) -> None:
    """Bash before 5.2 finds `..` by it, as the `sh` of this machine may do."""
    put(tmp_path, "key", CANARY)
    root = tmp_path / "project"
    put(root, "src/a")
    assert CANARY in printed(root, f"shopt -u globskipdots 2>/dev/null; cat {pattern}")
    for command in (f"cat {pattern}", f"grep -rh . {pattern.removesuffix('/key')}"):
        assert not is_proven(root, command)
    assert is_proven(root, "cat src/.a*")

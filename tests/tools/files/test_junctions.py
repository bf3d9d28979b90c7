"""A junction of Windows leads elsewhere: what is behind it is not in the folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.path_completion import complete_path
from desktop_agent.tools.files.walk import Walk

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="junctions are of Windows")


def test_no_walk_goes_through_a_junction(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (root / "src", outside):
        folder.mkdir(parents=True)
        (folder / "here.txt").write_text("x")
    for target, name in ((outside, "out"), (root, "round")):
        words = ["cmd", "/c", "mklink", "/J", str(root / name), str(target)]
        subprocess.run(words, check=True, capture_output=True)
    assert list(Walk(Workspace(str(root)), root).files()) == ["src/here.txt"]
    assert complete_path(str(root), "here", 9) == ("src/here.txt",)

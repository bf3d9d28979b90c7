"""What the app runs itself is never a program that an agent has put in its way."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from desktop_agent.engine.workspace.programs import find_program, is_stand_in


def put(path: Path, marker: Path, then: str = "true") -> Path:
    """Put a program there that leaves a mark when it runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> "{marker}"\n{then}\n')
    path.chmod(0o755)
    return path


def first_on_the_path(monkeypatch: pytest.MonkeyPatch, *folders: Path | str) -> None:
    entries = (*map(str, folders), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(entries))


@pytest.mark.skipif(os.name == "nt", reason="programs are made as shell scripts")
@pytest.mark.parametrize("place", ["work/bin", "venv/bin", "other/node_modules/.bin", "way"])
def test_a_program_in_a_project_is_passed_over(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "work" / "bin").mkdir(parents=True)
    (tmp_path / "way").symlink_to("work/bin")
    theirs = put(tmp_path / place / "tool", tmp_path / "mark")
    own = put(tmp_path / "own" / "bin" / "tool", tmp_path / "mark")
    first_on_the_path(monkeypatch, tmp_path / place)
    work = str(tmp_path / "work")
    assert find_program("tool", (work,)) == ""
    first_on_the_path(monkeypatch, tmp_path / place, own.parent)
    assert find_program("tool", (work,)) == str(own)
    assert find_program("tool", (str(tmp_path),)) == ""
    theirs.unlink()
    theirs.symlink_to(own)
    assert find_program("tool", (work,)) == str(own)


@pytest.mark.skipif(os.name == "nt", reason="programs are made as shell scripts")
@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_what_the_path_names_relative_to_the_current_folder_is_passed_over(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / entry / "tool", tmp_path / "mark")
    monkeypatch.chdir(tmp_path)
    first_on_the_path(monkeypatch, entry)
    assert find_program("tool") == ""


@pytest.mark.skipif(os.name == "nt", reason="the programs stand elsewhere there")
@pytest.mark.parametrize(
    ("program", "selector", "is_one"),
    [
        ("/usr/bin/python3", "false", True),
        ("/usr/bin/git", "false", True),
        ("/usr/bin/git", "true", False),
        ("/usr/bin/git", "no-such-program", False),
        ("/opt/homebrew/bin/git", "false", False),
        ("/usr/bin/perl", "false", False),
    ],
)
def test_what_macos_only_offers_to_install_is_no_program(
    monkeypatch: pytest.MonkeyPatch, program: str, selector: str, is_one: bool
) -> None:
    """Running it would open a window on the screen of somebody who did nothing."""
    selector = shutil.which(selector) or selector
    monkeypatch.setattr(sys, "platform", "darwin")
    assert is_stand_in(program, selector) is is_one
    monkeypatch.setattr(sys, "platform", "linux")
    assert not is_stand_in(program, selector)

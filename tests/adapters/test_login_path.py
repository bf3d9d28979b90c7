"""What the person's shell sets is there for an app that macOS started by a click."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from desktop_agent.adapters.login_path import take_login_path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of POSIX")

SHORT = "/usr/bin:/bin:/usr/sbin:/sbin"


def path_with(tmp_path: Path, files: str, path: str = SHORT, limit_s: float = 5.0) -> str:
    """Return PATH after a shell was asked whose start-up files hold these lines."""
    return environment_with(tmp_path, files, {"PATH": path}, limit_s)["PATH"]


def environment_with(
    tmp_path: Path, files: str, given: dict[str, str], limit_s: float = 5.0
) -> dict[str, str]:
    shell = tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\n{files}\n[ "$1 $2 $3" = "-i -l -c" ] && eval "$4"\n')
    shell.chmod(0o700)
    environment = {**given, "SHELL": str(shell)}
    take_login_path(environment, limit_s)
    return environment


def test_what_the_shell_puts_on_path_comes_first_whatever_its_files_say(tmp_path: Path) -> None:
    files = "echo desktop-agent: welcome; PATH=/opt/homebrew/bin:.:$PATH; export PATH"
    assert path_with(tmp_path, files) == f"/opt/homebrew/bin:{SHORT}"


@pytest.mark.parametrize("files", ["exit 1", "echo desktop-agent:; exit", "sleep 60 & wait"])
def test_a_shell_that_does_not_answer_changes_nothing(tmp_path: Path, files: str) -> None:
    assert path_with(tmp_path, files, limit_s=0.02) == SHORT


def test_what_the_files_start_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    files = "tail -f /dev/null & echo $! >background; PATH=/opt/x:$PATH; export PATH"
    files = files.replace("background", str(tmp_path / "background"))
    try:
        assert path_with(tmp_path, files) == f"/opt/x:{SHORT}"
    finally:
        os.kill(int((tmp_path / "background").read_text()), signal.SIGKILL)


def test_a_path_that_a_terminal_gave_stays_as_it_is(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    assert path_with(tmp_path, f"touch {asked}", f"/mine:{SHORT}") == f"/mine:{SHORT}"
    assert not asked.exists()


@pytest.mark.parametrize(
    ("files", "given", "language"),
    [
        ("export LANG=de_DE.UTF-8", {"PATH": SHORT}, "de_DE.UTF-8"),
        ("unset LANG", {"PATH": SHORT}, "en_US.UTF-8"),
        ("unset LANG; trap 'echo bye' EXIT", {"PATH": SHORT}, "en_US.UTF-8"),
        ("exit 1", {"PATH": SHORT}, "en_US.UTF-8"),
        ("export LANG=de_DE.UTF-8", {"PATH": SHORT, "LANG": "C"}, "C"),
        ("exit 1", {"PATH": "/mine", "LANG": ""}, "en_US.UTF-8"),
        ("exit 1", {"PATH": "/mine", "LC_CTYPE": "UTF-8"}, None),
    ],
)
def test_commands_have_a_language_whose_letters_are_not_ascii_alone(
    tmp_path: Path, files: str, given: dict[str, str], language: str | None
) -> None:
    assert environment_with(tmp_path, files, given).get("LANG") == language

"""`scripts/setup` where the system's packages can't be installed; nothing of the system is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
# An environment that is ready: all that is left to do is to look for the system's packages.
_PYTHON = 'case "$1" in -) cat >/dev/null; echo ready ;; esac'
_REFUSES = "echo 'no network, or no right to' >&2; exit 100"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the packages are Debian's")


def set_up(
    place: Path, missing: str, made_from: str = "ready", python: str = ""
) -> subprocess.CompletedProcess[str]:
    binaries, stubs = place / ".venv" / "bin", place / "stubs"
    for folder in (binaries, stubs, place / "scripts"):
        folder.mkdir(parents=True)
    for name in ("setup", "common.sh"):
        shutil.copy(SCRIPTS / name, place / "scripts")
    (place / ".venv" / ".made-from").write_text(f"{made_from}\n")
    installed = f'case "$*" in *{missing}*) exit 1 ;; *) echo installed ;; esac'
    programs = {"apt-get": _REFUSES, "sudo": _REFUSES, "dpkg-query": installed}
    for path, script in (
        (binaries / "python", _PYTHON),
        (stubs / "other", python),
        *((stubs / name, script) for name, script in programs.items()),
    ):
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    environment = {
        "PATH": f"{stubs}:{os.environ['PATH']}",
        "DESKTOP_AGENT_PYTHON": str(stubs / "other" if python else binaries / "python"),
        "TMPDIR": str(place),
    }
    return subprocess.run(
        [place / "scripts" / "setup"], env=environment, capture_output=True, text=True, check=False
    )


def test_what_is_only_useful_keeps_nobody_from_the_app_when_it_can_not_be_installed(
    tmp_path: Path,
) -> None:
    done = set_up(tmp_path, "bubblewrap")
    assert done.returncode == 0, done.stderr
    assert "Going on without these system packages: bubblewrap." in done.stdout


def test_what_the_app_needs_and_can_not_be_installed_is_named(tmp_path: Path) -> None:
    done = set_up(tmp_path, "libegl1")
    assert done.returncode == 1
    assert "apt-get could not install libegl1" in done.stderr


def test_an_environment_is_made_anew_when_another_python_is_named(tmp_path: Path) -> None:
    other = 'case "$1$2" in *prefix*) echo other ;; -mvenv) echo "it makes one"; exit 1 ;; esac'
    done = set_up(tmp_path, "nothing", "another time", other)
    assert "it makes one" in done.stdout, done.stderr

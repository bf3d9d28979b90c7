"""The frozen app, where one was built: it works without any Python around it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.package import frozen
from tests.helpers.patience import HANG_S as SECONDS


@pytest.fixture(scope="module")
def program() -> Path:
    place = frozen()
    if place is None:
        pytest.skip("nothing was frozen here: scripts/package does that")
    return place / "desktop-agent"


def run(program: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it as on a computer that has nothing: no PATH, no settings."""
    return subprocess.run(
        [str(program), *arguments],
        env={"HOME": str(home), "PATH": "/nonexistent", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_it_says_its_version(program: Path, tmp_path: Path) -> None:
    said = run(program, tmp_path, "--version")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("desktop-agent ")


def test_everything_that_it_is_made_of_works(program: Path, tmp_path: Path) -> None:
    checked = run(program, tmp_path, "--self-check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    *parts, end = checked.stdout.splitlines()
    assert end == "Everything works."
    assert all(part.startswith("ok ") for part in parts)
    for process in ("engine and host", "file history", "window"):
        assert any(process in part for part in parts)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere an open app can't be replaced")
def test_an_open_app_goes_on_when_an_update_takes_its_place(program: Path, tmp_path: Path) -> None:
    opened = tmp_path / "desktop-agent"
    shutil.copy2(program, opened)
    (tmp_path / "_internal").symlink_to(program.parent / "_internal")
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, sys\n"
        "update = pathlib.Path(sys.executable + '.dpkg-new')\n"
        "update.write_bytes(b'another version')\n"
        "update.replace(sys.executable)\n"
        "import openpyxl, desktop_agent.gui.settings.dialog as d\n"
        "print(openpyxl.__name__, d.SettingsDialog.__name__)\n"
    )
    said = run(opened, tmp_path, "--python", str(script))
    assert (said.stdout, said.stderr) == ("openpyxl SettingsDialog\n", "")


def test_it_holds_no_tests_and_no_developers_tools(program: Path) -> None:
    inside = program.parent / "_internal"
    names = {path.name for path in inside.rglob("*")}
    assert not names & {"tests", "pytest", "pip", "setuptools"}
    assert (inside / "desktop_agent" / "_resources" / "theme.json").is_file()
    assert (inside / "desktop_agent" / "_skills").is_dir()

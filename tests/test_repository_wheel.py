"""An installed wheel has all that the app needs: its icons, fonts and prompts travel with it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the locked build backend: nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_resources_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for needed in (
        "desktop_agent/app.py",
        "desktop_agent/_resources/theme.json",
        "desktop_agent/_resources/prompts/system.md",
        "desktop_agent/_resources/icons/folder.svg",
        "desktop_agent/_resources/icons/LICENSE",
        "desktop_agent/_resources/fonts/Inter-LICENSE.txt",
        "desktop_agent/_skills/pdf/SKILL.md",
        "desktop_agent/_skills/pdf/scripts/pdf.py",
        "desktop_agent/_skills/code-review/references/what-goes-wrong.md",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "scripts/", ".venv/"))]
    assert not [name for name in names if name.endswith((".pyc", ".gitkeep"))]


def test_an_installed_wheel_finds_its_resources(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import desktop_agent\n"
        "from desktop_agent.paths import builtin_skills, resource\n"
        f"assert desktop_agent.__file__.startswith({str(tmp_path)!r}), desktop_agent.__file__\n"
        "assert resource('theme.json').is_file()\n"
        f"assert str(resource('theme.json')).startswith({str(tmp_path)!r})\n"
        "assert builtin_skills().is_dir()\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


def test_the_wheel_starts_the_app_by_its_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entry = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "desktop-agent = desktop_agent.app:main" in archive.read(entry).decode()

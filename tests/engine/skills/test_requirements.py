"""Skills whose scripts the computer's Python can't run: the app's own does."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.helpers.skills import Shelf, put_skill

OWN = "/opt/app --python"
LINE = f"Run its Python scripts with this in place of python3: {OWN}"
NEEDS = "name: {}\ndescription: x\nmetadata:\n  python-packages: {}"


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    made = Shelf(tmp_path, own_python=OWN)
    yield made
    await made.skills.close()


def only_python(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the computer's Python be one that has no packages."""
    python = folder / "python3"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", str(folder))


async def test_without_python_scripts_run_with_the_apps_own(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer's computer has none: no skill that the app can serve asks for one."""
    monkeypatch.setenv("PATH", str(shelf.root))
    put_skill(shelf.mine, "pdf", head=NEEDS.format("pdf", "pypdf"), scripts__a_py="")
    put_skill(shelf.mine, "rare", head=NEEDS.format("rare", "no-such-pkg"), scripts__a_py="")
    put_skill(shelf.mine, "plain", scripts__a_py="")
    put_skill(shelf.mine, "words")
    await shelf.look()
    assert all([LINE in await shelf.skills.text(shelf.place, n) for n in ("pdf", "rare", "plain")])
    assert OWN not in await shelf.skills.text(shelf.place, "words")
    await shelf.until(lambda event: any(skill.needs for skill in event.skills))
    assert shelf.one("pdf").needs == shelf.one("plain").needs == ()
    (said,) = shelf.one("rare").needs
    assert said == (
        "Its scripts need the Python package no-such-pkg, which this computer does not have."
    )


@pytest.mark.skipif(os.name == "nt", reason="a link to the interpreter")
async def test_the_computers_python_is_used_as_far_as_it_has_the_packages(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_python(monkeypatch, tmp_path / "bin")
    put_skill(shelf.mine, "pdf", head=NEEDS.format("pdf", "pypdf"), scripts__a_py="")
    put_skill(shelf.mine, "json", head=NEEDS.format("json", "json"), scripts__a_py="")
    put_skill(shelf.mine, "rare", head=NEEDS.format("rare", "no-such-pkg"), scripts__a_py="")
    put_skill(shelf.mine, "plain", scripts__a_py="")
    await shelf.look()
    assert LINE in await shelf.skills.text(shelf.place, "pdf")
    for name in ("json", "rare", "plain"):
        assert OWN not in await shelf.skills.text(shelf.place, name)
    await shelf.until(lambda event: any(skill.needs for skill in event.skills))
    assert [one.name for one in shelf.now.skills if one.needs] == ["rare"]

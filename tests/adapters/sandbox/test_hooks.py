"""Hooks that a person has in every repository are out of a command's reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.sandbox.bench import Bench, make_repository


@pytest.mark.parametrize("git", [False, True])
async def test_hooks_in_the_folder_that_the_persons_settings_name_are_not_made_nor_changed(
    bench: Bench, own_home: Path, *, git: bool
) -> None:
    (own_home / ".gitconfig").write_text("[core]\n\thooksPath = .mine\n")
    for place in (bench.work, bench.work / "inner"):
        make_repository(place)
    lines = (await bench.run("for d in . inner; do mkdir $d/.mine; done", git=git)).lines
    assert {line.split(" could ")[0] for line in lines} == {
        f"{bench.work}/.mine",
        f"{bench.work}/inner/.mine",
    }
    (bench.work / ".mine").mkdir()
    refused = await bench.run("echo x > .mine/pre-push", git=git)
    assert "Read-only file system" in refused.output
    assert (await bench.run("git config --get core.hooksPath")).output == ""

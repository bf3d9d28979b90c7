"""Everyday development in mode free: nothing that stays inside is asked, and all of it works."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.approvals import Mode
from desktop_agent.engine.permissions import policy
from desktop_agent.tools.shell.shell import shell
from tests.tools.conftest import Bench
from tests.tools.shell.everyday_commands import COMMANDS, make_project, surroundings
from tests.tools.shell.test_sandbox_verdicts import MODES, verdict, with_sandbox
from tests.tools.shell.test_sandboxed import inside

__all__ = ["inside"]

_KINDS = Counter(row.kind for row in COMMANDS)
_LINES = {"network": "[Sandbox: there is no network but ", "git": "[Sandbox: git's own files are "}


@pytest.fixture
def project(bench: Bench, tmp_path: Path) -> Bench:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        make_project(bench.root, home)
    bench.context = replace(bench.context, environment=surroundings())
    return bench


async def _not_run(bench: Bench, mode: Mode) -> list[str]:
    """Return the commands that are asked about or refused."""
    found: list[str] = []
    for row in COMMANDS:
        preview = await bench.preview(shell, command=row.command)
        if type(verdict(bench, preview, mode)) is not policy.Allowed:
            found.append(row.command)
    return found


def test_there_are_ninety_one_different_commands() -> None:
    assert len({row.command for row in COMMANDS}) == len(COMMANDS) == 91


async def test_in_mode_free_what_stays_in_the_sandbox_is_never_asked(project: Bench) -> None:
    with_sandbox(project)
    asked = await _not_run(project, "free")
    losing = [row.command for row in COMMANDS if row.kind in ("deletes", "loses")]
    assert [command for command in asked if command not in losing] == []
    assert "git push origin main" in asked


async def test_without_a_sandbox_most_are_asked_in_every_mode(project: Bench) -> None:
    with_sandbox(project, holds=False)
    counts = {mode: len(await _not_run(project, mode)) for mode in MODES}
    assert counts == {"look": 72, "ask": 72, "free": 72}


async def test_in_the_other_modes_the_sandbox_changes_nothing_unless_nothing_is_written(
    project: Bench,
) -> None:
    plain = {mode: await _not_run(project, mode) for mode in MODES[:2]}
    with_sandbox(project)
    assert {mode: await _not_run(project, mode) for mode in MODES[:2]} == plain


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
async def test_each_works_in_the_sandbox_or_says_what_to_do(inside: Bench, project: Bench) -> None:
    assert inside is project
    wrong: dict[str, str] = {}
    path = surroundings()["PATH"]
    for row in COMMANDS:
        is_missing = not all(shutil.which(one, path=path) for one in row.programs.split())
        if row.kind in ("deletes", "loses") or is_missing:
            continue
        result = await inside.run(shell, command=row.command)
        works = "[Exit code 0, " in result.text
        if works if row.kind in _LINES else not works:
            wrong[row.command] = result.text
        if row.kind in _LINES and _LINES[row.kind] not in result.text:
            wrong[row.command] = result.text
    assert not wrong, "\n".join(map(str, wrong.items()))

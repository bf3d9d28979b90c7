"""What a command leaves in folders that are protected by name runs no more than elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.sandbox.bench import Bench, make_repository
from tests.adapters.sandbox.conftest import need_sandbox

PLACES = ("credentials", "lib.git", ".vscode/sub", ".github/workflows", "a/b/c/d/x.key/sub")


@pytest.fixture
async def bench(tmp_path: Path, own_home: Path) -> AsyncIterator[Bench]:
    need_sandbox({})
    made = Bench(tmp_path)
    yield made
    await made.close()


async def test_a_repository_in_a_folder_with_a_protected_name_runs_nothing(bench: Bench) -> None:
    named = " ".join(PLACES)
    made = "git init -q $d; printf '[core]\\n\\tfsmonitor = touch ran\\n' >> $d/.git/config"
    lines = (await bench.run(f"for d in {named}; do {made}; done")).lines
    assert {line.split(" could ")[0] for line in lines} == {
        f"{bench.work}/{place}/.git/config" for place in PLACES
    }


async def test_the_settings_of_the_persons_repository_in_such_a_folder_stay(bench: Bench) -> None:
    deepest = bench.work / PLACES[-1]
    make_repository(deepest)
    before = (deepest / ".git/config").read_text()
    for git in (False, True):
        done = await bench.run(f"git -C {deepest} config core.fsmonitor x", git=git)
        assert done.code != 0
    assert (deepest / ".git/config").read_text() == before


async def test_a_link_by_the_name_of_a_folder_that_runs_is_set_aside(bench: Bench) -> None:
    script = "mkdir tasks; echo {} > tasks/tasks.json; ln -s tasks .vscode; ln -s later .zed"
    lines = (await bench.run(script)).lines
    assert {line.split(" would ")[0] for line in lines} == {
        f"{bench.work}/{name}" for name in (".vscode", ".zed")
    }
    assert not (bench.work / ".vscode").exists()
    assert (bench.work / "tasks/tasks.json").exists()


async def test_a_flood_of_files_hides_no_task_made_later_in_an_empty_folder(bench: Bench) -> None:
    await bench.run("for i in $(seq 210); do : > $i.key; done; mkdir .vscode")
    (line,) = (await bench.run("echo {} > .vscode/tasks.json")).lines
    assert line.startswith(f"{bench.work}/.vscode/tasks.json would run by itself")

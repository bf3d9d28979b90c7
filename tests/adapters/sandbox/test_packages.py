"""What the sandbox needs is installed by the system's own means, after the person agreed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from desktop_agent.adapters.sandbox import sandbox as module
from desktop_agent.adapters.sandbox.packages import PackageInstaller
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from tests.helpers.stand_in_programs import REFUSED, StandInPrograms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInPrograms:
    made = StandInPrograms(tmp_path / "programs", "/bin/true", "/bin/true")
    monkeypatch.setattr(module, "PROGRAMS", str(made.folder))
    return made


async def test_without_pkexec_the_words_are_all_there_is(
    programs: StandInPrograms, tmp_path: Path
) -> None:
    state = await BubblewrapSandbox(tmp_path / "data").check()
    assert state.remedy == "Run: sudo apt install bubblewrap"
    assert state.command == ()


async def test_a_check_only_names_the_command_and_installing_runs_it_as_it_was_named(
    programs: StandInPrograms, tmp_path: Path
) -> None:
    programs.add_pkexec()
    state = await BubblewrapSandbox(tmp_path / "data").check()
    assert (state.fix, state.command) == ("install", programs.command)
    assert programs.ran == []
    assert await PackageInstaller().install(state.command) == ""
    assert programs.ran == [" ".join(programs.command[1:])]
    assert (programs.folder / "bwrap").exists()


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(126, "the password was not given"), (127, REFUSED), (100, "exit code 100. Error exec")],
)
async def test_what_was_not_installed_is_said_with_the_systems_words(
    programs: StandInPrograms, exit_code: int, words: str
) -> None:
    programs.add_pkexec()
    programs.refuse(exit_code)
    assert words in await PackageInstaller().install(programs.command)
    assert not (programs.folder / "bwrap").exists()
    (programs.folder / "pkexec").unlink()
    assert "could not be started" in await PackageInstaller().install(programs.command)


async def test_where_nothing_can_ask_for_the_password_a_terminal_is_named(
    programs: StandInPrograms,
) -> None:
    """The words are pkexec's own (version 122), of an ordinary user without an agent."""
    said = "Error executing command as another user: No authentication agent found."
    programs.add("pkexec", f"#!/bin/sh\necho '{said}' >&2\nexit 127\n")
    told = await PackageInstaller().install(programs.command)
    assert told == "Nothing was installed: no program here asks for the password. Use a terminal."


async def test_a_long_answer_of_the_system_is_cut(programs: StandInPrograms) -> None:
    programs.add("pkexec", "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x\nexit 1\n")
    assert 100 < len(await PackageInstaller().install(programs.command)) < 400

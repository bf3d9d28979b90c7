"""How a command is given to PowerShell."""

from __future__ import annotations

import pytest

from desktop_agent.tools.shell.powershell import powershell_words


@pytest.mark.parametrize("command", ["npm test", "git status # all", "git status `", "a\nb"])
def test_the_code_of_the_last_program_is_the_commands_whatever_it_ends_with(command: str) -> None:
    before, after = powershell_words(command)[-1].split(command)
    assert before.endswith("; ")
    # On a line of its own: neither a comment nor a continued line takes it in.
    assert after.startswith("\n\nif (-not $?) ")
    assert "exit $LASTEXITCODE" in after


def test_scripts_of_this_computer_run_as_those_of_npm_do() -> None:
    words = powershell_words("npm test")
    assert words[words.index("-ExecutionPolicy") + 1] == "RemoteSigned"
    assert words[-2] == "-Command"

"""What is never run where PowerShell is the shell, and what a command there is said to delete."""

from __future__ import annotations

import os

import pytest

from desktop_agent.engine.permissions.shell.classify import is_forbidden
from desktop_agent.engine.permissions.shell.parse import parse
from desktop_agent.engine.permissions.shell.windows_deny_list import block_in, why_never_on_windows
from desktop_agent.tools.shell.command_effects import windows_operands


def refused(command: str) -> list[str]:
    script = parse(command, is_powershell=True)
    return [reason for simple in script.commands if (reason := why_never_on_windows(simple))]


NEVER = r"""
Remove-Item -Recurse -Force C:\
Remove-Item -LiteralPath "C:\Windows" -Recurse
Remove-Item -Path:C:\Users -rec
REMOVE-ITEM 'C:\Program Files' -Recurse
ri C:/* -r -fo
rm -r ~
rm -Recurse $HOME\*
rm -Recurse build, D:\
del /f/s/q C:\*.*
rd /s /q \
rmdir /S /Q %USERPROFILE%
C:\tools\RD.EXE /s \\?\C:\
erase /s %SystemDrive%\*
Remove-Item $env:SystemRoot -Recurse
Remove-Item ${env:ProgramFiles(x86)} -Recurse
Remove-Item $env:LOCALAPPDATA\. -Recurse
Remove-Item HKLM:\ -Recurse
reg delete HKCU /f
format C: /q
FORMAT.COM d:
Format-Volume -DriveLetter D
diskpart /s script.txt
Clear-Disk -Number 0 -RemoveData
vssadmin delete shadows /all /quiet
wmic shadowcopy delete
wbadmin delete catalog
icacls C:\ /grant Everyone:F /T
takeown /f C:\ /r /d y
dd if=x of=\\.\PhysicalDrive0
echo x > \\.\PhysicalDrive1
Copy-Item x \\.\C:
""".strip().splitlines()


@pytest.mark.parametrize("command", NEVER)
def test_what_nobody_means_is_never_run_on_windows(command: str) -> None:
    assert refused(command)


MEANT = r"""
Remove-Item -Recurse -Force build
Remove-Item -Recurse *
Remove-Item -Recurse .\*
Remove-Item -Recurse C:\Users\me\project\build
Remove-Item C:\*
Remove-Item $env:LOCALAPPDATA\npm-cache -Recurse
Remove-Item $env:TEMP\x -Recurse
rd /s /q windows
rd /s /q src\users
rd /s /q "C:\work\Program Files"
del /s *.obj
del x
dir /s C:\
Get-ChildItem C:\ -Recurse
Get-Process | Format-Table
black --format C
clang-format C:\x.c
vssadmin list shadows
icacls build /T
icacls C:\
reg delete HKCU\Software\x /f
Copy-Item C:\x .
echo 'format C:'
git commit -m "rd /s /q C:\"
""".strip().splitlines()


@pytest.mark.parametrize("command", MEANT)
def test_what_people_do_mean_on_windows_is_left_to_the_rules(command: str) -> None:
    assert refused(command) == []


@pytest.mark.parametrize(
    ("words", "block"),
    [
        ("ForEach-Object { Remove-Item $_ -Recurse }", "Remove-Item $_ -Recurse"),
        ("% {del $_}", "del $_"),
        ("Invoke-Command -ScriptBlock {", ""),
        ("Get-Item a", ""),
        ("{ x }", ""),
        ("curl -d '{\"del\": 1}' x", ""),
    ],
)
def test_what_a_cmdlet_runs_for_each_of_its_input_is_read(words: str, block: str) -> None:
    assert block_in(parse(words, is_powershell=True).commands[0]) == block.split()


def test_switches_and_their_values_are_not_said_to_be_deleted() -> None:
    command = "Remove-Item -Path a, b -Recurse -ErrorAction SilentlyContinue }"
    assert windows_operands(command.split()) == ["a,", "b"]
    assert windows_operands(["rd", "/s", "/Q", "build"]) == ["build"]


@pytest.mark.skipif(os.name != "nt", reason="what PowerShell runs is read on Windows")
@pytest.mark.parametrize(
    "command",
    [
        'CMD.EXE /C "rd /s /q C:\\"',
        "gci C:\\ | % {rd -r C:\\Users}",
        "iex 'Remove-Item -Recurse ~'",
        "if ($true) { Format-Volume -DriveLetter C }",
    ],
)
def test_what_is_run_by_another_command_is_never_run_either(command: str) -> None:
    assert is_forbidden(command)

"""How a command is given to PowerShell, the shell of commands on Windows."""

from __future__ import annotations

import os

# It prints in the code page of a console otherwise; where it is locked down, it may not be told
# so, and goes on. The code is there for a command that wants all its variables to be set.
_BEFORE = (
    "try { [Console]::OutputEncoding = [Text.Encoding]::UTF8 } catch { }; "
    "$global:LASTEXITCODE = 0; "
)
# By itself it ends with 1 whatever a program ended with. After a failed cmdlet `$?` is false too,
# and the code is that of the last program before it, which may be 0. On a line of its own, behind
# an empty one: a comment or a backtick at the end of the command must not swallow it.
_AFTER = "\n\nif (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE }; exit 1 }"


def powershell_words(command: str) -> list[str]:
    """Return what runs the command, and ends with the exit code of its last program.

    As Windows comes, no script runs, so not `npm`, which is one there. `RemoteSigned` is what
    servers have, and what npm tells to set: unsigned scripts run unless they were downloaded. It
    holds for this process and those below it, and gives way to what a company has set.
    """
    # Where Windows keeps it: a folder that the app was started in, or a project's, may hold one.
    system = os.environ.get("SYSTEMROOT", r"C:\Windows")
    program = rf"{system}\System32\WindowsPowerShell\v1.0\powershell.exe"
    options = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "RemoteSigned")
    return [program, *options, "-Command", f"{_BEFORE}{command}{_AFTER}"]

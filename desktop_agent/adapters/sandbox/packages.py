"""How a missing package is installed: in words for a terminal, and as a command of the app's.

The command needs an administrator, so polkit's `pkexec` starts it: that asks for the password
itself, and ends with 126 when the person dismisses the question, with 127 when it may not or
can't ask (pkexec(1)).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from desktop_agent.adapters.sandbox.keeper import PROGRAMS

# What a person types, and the arguments that ask nothing more of whoever was asked already.
_MANAGERS = (
    ("apt-get", "sudo apt install", ("install", "-y")),
    ("dnf", "sudo dnf install", ("install", "-y")),
    ("zypper", "sudo zypper install", ("--non-interactive", "install")),
    ("pacman", "sudo pacman -S", ("-S", "--noconfirm")),
    ("apk", "sudo apk add", ("add",)),
)
_DISMISSED, _NOT_AUTHORIZED = 126, 127
# pkexec's words where the desktop has nothing that asks: a bare window manager, a remote login.
_NO_AGENT = "No authentication agent"
_LARGEST_END = 4096
_LONGEST_LINE = 300


def install_words(package: str, places: str) -> str:
    """Say how the package is installed here; `places` are where the system's programs are."""
    for _, words, _ in _managers(places):
        return f"Run: {words} {package}"
    return f"Install the package {package}."


def install_command(package: str, places: str) -> tuple[str, ...]:
    """Return what installs the package once the system has asked for the password, or nothing."""
    pkexec = shutil.which("pkexec", path=places)
    for manager, _, arguments in _managers(places):
        if pkexec is not None:
            # A terminal that the app was started from is not where the password is asked.
            return (pkexec, "--disable-internal-agent", manager, *arguments, package)
    return ()


def _managers(places: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for program, words, arguments in _MANAGERS:
        if path := shutil.which(program, path=f"{places}:/sbin"):
            yield path, words, arguments


class PackageInstaller:
    """Installs by a command that the person has seen, one at a time."""

    def __init__(self) -> None:
        self._is_running = False

    async def install(self, command: Sequence[str]) -> str:
        """Run the command to its end; return why it failed, or nothing."""
        if self._is_running:
            return "It is being installed already."
        self._is_running = True
        try:
            return await _run(command)
        finally:
            self._is_running = False


async def _run(command: Sequence[str]) -> str:
    # No pipe: what installs must not fail because the app was closed meanwhile.
    with tempfile.TemporaryFile() as printed:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=asyncio.subprocess.STDOUT,
                cwd=os.sep,
                env={"PATH": PROGRAMS, "LANG": os.environ.get("LANG", "C.UTF-8")},
                start_new_session=True,
            )
        except OSError as error:
            return f"It could not be started: {error}."
        code = await process.wait()
        return "" if code == 0 else _failure(code, _last_line(printed))


def _failure(code: int, line: str) -> str:
    if code == _DISMISSED:
        return "Nothing was installed: the password was not given."
    if code == _NOT_AUTHORIZED and _NO_AGENT in line:
        return "Nothing was installed: no program here asks for the password. Use a terminal."
    if code == _NOT_AUTHORIZED:
        return f"Nothing was installed: the system did not permit it. {line}".strip()
    return f"It ended with exit code {code}. {line}".strip()


def _last_line(printed: IO[bytes]) -> str:
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - _LARGEST_END))
    lines = printed.read(_LARGEST_END).decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:_LONGEST_LINE] if said else ""

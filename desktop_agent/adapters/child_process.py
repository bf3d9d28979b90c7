"""A program of ours as a child process that inherits one end of a pipe."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from desktop_agent.core.keys.redaction import is_secret_name
from desktop_agent.core.pipes.no_window import NO_WINDOW

_POLL_S = 0.02


async def exited(process: asyncio.subprocess.Process) -> int:
    """Wait for a program's end, whatever it has left behind; return its exit code."""
    # Process.wait() waits for all that hold its pipes too, such as a shared login of ssh.
    while process.returncode is None:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)
    return process.returncode


class ChildProcess:
    """Starts the program at once; raises OSError when that is impossible.

    `pipe` is our end; the program is given the number of the other one as an argument, before
    `words`, and ends when ours is closed.
    """

    _exit_limit_s = 2.0

    def __init__(
        self,
        ends: tuple[socket.socket, socket.socket],
        program: Sequence[str],
        environment: Mapping[str, str],
        *words: str,
    ) -> None:
        self.pipe, theirs = ends
        try:
            with theirs:
                theirs.set_inheritable(True)
                fd = theirs.fileno()
                self._process = _spawn([*program, str(fd), *words], fd, environment)
        except BaseException:
            self.pipe.close()
            raise

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def ended(self) -> None:
        """Wait for the end of the process, which is killed if it takes long."""
        try:
            await asyncio.to_thread(self._process.wait, self._exit_limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def own_program(option: str, module: str) -> tuple[str, ...]:
    """Return what starts a program of ours: the frozen app with an option, or a module."""
    if getattr(sys, "frozen", False):
        return (sys.executable, option)
    # -P: a folder that the app was started in must not provide modules.
    return (sys.executable, "-P", "-m", module)


def script_python() -> tuple[str, ...]:
    """Return what runs a Python script with the libraries of the app."""
    if not getattr(sys, "frozen", False):
        return (sys.executable,)
    program = Path(sys.executable)
    # On Windows the one for a terminal: the other has no output.
    name = "desktop-agent.exe" if sys.platform == "win32" else program.name
    return (str(program.with_name(name)), "--python")


def keyless_environment() -> dict[str, str]:
    """Return the person's environment without any key, for a program of ours."""
    return own_environment(lambda name: not is_secret_name(name))


def own_environment(is_kept: Callable[[str], bool]) -> dict[str, str]:
    """Return the person's variables of these names, with what a program of ours needs."""
    kept = {name: value for name, value in os.environ.items() if is_kept(name)}
    # It runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept


def _spawn(
    command: Sequence[str], fd: int, environment: Mapping[str, str]
) -> subprocess.Popen[Any]:
    if sys.platform == "win32":
        # A socket's handle is inherited like a file's when it is in the list; the program
        # opens it by number, as on the other systems.
        startup = subprocess.STARTUPINFO()
        startup.lpAttributeList = {"handle_list": [fd]}
        flags = NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        more: dict[str, Any] = {"startupinfo": startup, "creationflags": flags}
    else:
        more = {"pass_fds": (fd,), "close_fds": True, "start_new_session": True}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=Path(sys.executable).anchor or os.sep,
        **more,
    )

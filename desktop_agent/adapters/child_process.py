"""A program of ours as a child process that inherits one end of a pipe."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Callable

_EXIT_LIMIT_S = 2.0


class ChildProcess:
    """`pipe` is our end; the program ends when it is closed.

    `start` is given the number of the other end, which is inheritable; what it raises is raised.
    """

    def __init__(
        self,
        ends: tuple[socket.socket, socket.socket],
        start: Callable[[int], subprocess.Popen[bytes]],
    ) -> None:
        self.pipe, theirs = ends
        try:
            with theirs:
                theirs.set_inheritable(True)
                self._process = start(theirs.fileno())
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
            await asyncio.to_thread(self._process.wait, _EXIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

"""A port of a session's network that the user's own programs reach, such as the browser."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence

from desktop_agent.adapters.network.guard_process import guard_environment, program

ADDRESS = "127.0.0.1"
_BACKLOG = 64
_EXIT_S = 2.0


class SharedPort:
    """Starts at once, in the network that `words` start a program in. Raises OSError.

    `port` is where this computer's programs reach it: the same number, if that is free here.
    """

    def __init__(self, words: Sequence[str], wanted: int) -> None:
        with _listener(wanted) as listener:
            self.port: int = listener.getsockname()[1]
            theirs, self._pipe = os.pipe()
            fds = (listener.fileno(), theirs)
            try:
                self._process = subprocess.Popen(
                    [*words, *program("share"), *map(str, fds), str(wanted)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=guard_environment(),
                    cwd=os.sep,
                    pass_fds=fds,
                    start_new_session=True,
                )
            except OSError:
                os.close(self._pipe)
                raise
            finally:
                os.close(theirs)

    @property
    def is_alive(self) -> bool:
        """Whether somebody still listens."""
        return self._process.poll() is None

    def close(self) -> None:
        """End its connections, and take no more."""
        os.close(self._pipe)
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _listener(wanted: int) -> socket.socket:
    for port in (wanted, 0):
        listener = socket.socket(socket.AF_INET)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ADDRESS, port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            if not port:
                raise
        else:
            return listener
    raise AssertionError

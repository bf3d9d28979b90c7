"""The listener in a session's network, for which a program is started there."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence

from desktop_agent.adapters.network.guard_process import guard_environment, program
from desktop_agent.core.network.command_proxy import PORT
from desktop_agent.core.network.guard_pipe import new_pipe

_LARGEST = 4096


def open_listener(words: Sequence[str], port: int = PORT) -> socket.socket:
    """Return a listener on a port of the network that `words` start a program in.

    It takes about as long as Python takes to start. Raises OSError.
    """
    ours, theirs = new_pipe()
    with ours:
        with theirs:
            process = _spawn(words, theirs, port)
        try:
            told, descriptors, _, _ = socket.recv_fds(ours, _LARGEST, 1)
        finally:
            process.wait()
    if descriptors:
        os.set_inheritable(descriptors[0], False)
        return socket.socket(fileno=descriptors[0])
    raise OSError(told.decode(errors="replace") or "the session's network can't be entered")


def _spawn(words: Sequence[str], theirs: socket.socket, port: int) -> subprocess.Popen[bytes]:
    fd = theirs.fileno()
    return subprocess.Popen(
        [*words, *program("listener"), str(fd), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=guard_environment(),
        cwd=os.sep,
        pass_fds=(fd,),
        start_new_session=True,
    )

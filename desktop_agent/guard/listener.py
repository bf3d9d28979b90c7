"""Opens the guard's listener from within a session's network, and hands it out.

`python -m desktop_agent.guard.listener FD [PORT]`, started in that network: only the listener
leaves it.
"""

from __future__ import annotations

import socket
import sys

from desktop_agent.core.network.command_proxy import ADDRESS, PORT

_BACKLOG = 256


def hand_out(fd: int, port: int = PORT) -> int:
    """Send a port's listener through the socket `fd`; the exit code is 1 if there can be none."""
    with socket.socket(fileno=fd) as out, socket.socket(socket.AF_INET) as listener:
        try:
            # One that was closed, and connections that just ended, are in nobody's way.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ADDRESS, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            out.send(str(error).encode())
            return 1
        socket.send_fds(out, [b"."], [listener.fileno()])
    return 0


if __name__ == "__main__":
    raise SystemExit(hand_out(*map(int, sys.argv[1:])))

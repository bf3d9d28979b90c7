"""Opens the guard's listener from within a session's network, and hands it out.

`python -m desktop_agent.guard.listener FD`, started in that network: only the listener leaves it.
"""

from __future__ import annotations

import socket
import sys

from desktop_agent.core.network.command_proxy import ADDRESS, PORT

_BACKLOG = 256


def hand_out(fd: int) -> int:
    """Send the listener through the socket `fd`; the exit code is 1 if there can be none."""
    with socket.socket(fileno=fd) as out, socket.socket(socket.AF_INET) as listener:
        try:
            listener.bind((ADDRESS, PORT))
            listener.listen(_BACKLOG)
        except OSError as error:
            out.send(str(error).encode())
            return 1
        socket.send_fds(out, [b"."], [listener.fileno()])
    return 0


if __name__ == "__main__":
    raise SystemExit(hand_out(int(sys.argv[1])))

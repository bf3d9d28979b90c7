"""Joins a listener of this computer to a port of a session's network.

`python -m desktop_agent.guard.share LISTENER PIPE PORT`, started in that network with a listener
that was opened outside of it; it ends when the pipe's other end is closed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

from desktop_agent.guard.accepting import Accepting
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.local_port import LocalConnection


def share(listener: int, pipe: int, port: int) -> int:
    """Serve until the pipe is closed; all that it takes are numbers."""
    # Ctrl-C in a terminal is meant for the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(socket.socket(fileno=listener), pipe, port))
    return 0


async def _serve(listener: socket.socket, pipe: int, port: int) -> None:
    limits, over = Limits(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe, over.set)
    room = asyncio.Semaphore(limits.connections)
    accepting = Accepting(
        listener, lambda client: LocalConnection(client, port, limits), limits, room
    )
    await over.wait()
    loop.remove_reader(pipe)
    os.close(pipe)
    await accepting.close()


if __name__ == "__main__":
    raise SystemExit(share(*map(int, sys.argv[1:])))

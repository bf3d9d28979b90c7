"""The model host's entry: `serve(fd)` with one end of a socket pair."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

from desktop_agent.model_host.host import Host
from desktop_agent.model_host.litellm_client.setup import prepare


def serve(fd: int) -> int:
    """Answer model requests over the socket until its other end is closed."""
    prepare()
    # The app ends its host by closing the pipe; Ctrl-C in a terminal is meant for the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The loop shares the interpreter with litellm's import for some seconds.
    sys.setswitchinterval(0.001)
    pipe = socket.socket(fileno=fd)
    pipe.setblocking(False)
    asyncio.run(_run(pipe))
    return 0


async def _run(pipe: socket.socket) -> None:
    await Host(pipe).run()
    # Threads may be in the middle of litellm's import: nothing here is worth waiting for.
    os._exit(0)


if __name__ == "__main__":
    raise SystemExit(serve(int(sys.argv[1])))

"""The entry of the process that speaks MCP: `serve(fd)` with one end of a socket pair."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys

from desktop_agent.mcp_host.host import Host


def serve(fd: int) -> int:
    """Speak with servers as the socket's other end says, until it is closed."""
    # The app ends this process by closing the pipe; Ctrl-C in a terminal is meant for the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A server that writes junk would have each line of it logged, with a traceback.
    logging.disable(logging.CRITICAL)
    pipe = socket.socket(fileno=fd)
    pipe.setblocking(False)
    asyncio.run(_run(pipe))
    return 0


async def _run(pipe: socket.socket) -> None:
    await Host(pipe).run()
    # The servers end as their pipes close: nothing here is worth waiting for.
    os._exit(0)


if __name__ == "__main__":
    raise SystemExit(serve(int(sys.argv[1])))

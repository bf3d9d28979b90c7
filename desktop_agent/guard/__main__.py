"""The guard's entry: `serve(fd)` with one end of a pipe of packets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys

from desktop_agent.guard.guard import Guard
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.reach import Network, Reach
from desktop_agent.guard.upstream import Upstreams


def serve(fd: int, network: Network | None = None, limits: Limits | None = None) -> int:
    """Serve listeners until the pipe's other end is closed; `network` is the internet."""
    # The app ends its guard by closing the pipe; Ctrl-C in a terminal is meant for the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, OSError, ValueError):
        _allow_many_files()
    bounds = limits or Limits()
    reach = Reach(network or Network(), Upstreams.of(os.environ), bounds)
    asyncio.run(_run(socket.socket(fileno=fd), reach, bounds))
    return 0


async def _run(pipe: socket.socket, reach: Reach, limits: Limits) -> None:
    await Guard(pipe, reach, limits).run()
    # Threads may be in the middle of a look-up: nothing here is worth waiting for.
    os._exit(0)


def _allow_many_files() -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if most == resource.RLIM_INFINITY else min(4096, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


if __name__ == "__main__":
    raise SystemExit(serve(int(sys.argv[1])))

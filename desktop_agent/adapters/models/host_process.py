"""The model host as a child process, with one end of a socket pair as its pipe."""

from __future__ import annotations

import socket

from desktop_agent.adapters.child_process import ChildProcess, own_program
from desktop_agent.adapters.models.host_environment import host_environment
from desktop_agent.core.faults import Fault


class HostProcess(ChildProcess):
    """Starts the host at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        program = own_program("--model-host", "desktop_agent.model_host")
        super().__init__(socket.socketpair(), program, host_environment())
        self.pipe.setblocking(False)

    def death(self) -> Fault:
        """Return how it ended, for the streams that ran."""
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        message = "The part of the app that talks to models stopped. It starts again by itself."
        return Fault("host_died", message, "retry", f"model host, pid {self.pid}: {how}")


def begin_host() -> HostProcess | None:
    """Start a host for whoever needs one soon; where that fails, the first request tells why."""
    try:
        return HostProcess()
    except OSError:
        return None

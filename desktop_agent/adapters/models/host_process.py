"""The model host as a child process, with one end of a socket pair as its pipe."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from desktop_agent.adapters.child_process import ChildProcess
from desktop_agent.adapters.models.host_environment import host_environment
from desktop_agent.core.faults import Fault


class HostProcess(ChildProcess):
    """Starts the host at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        super().__init__(socket.socketpair(), _spawn)
        self.pipe.setblocking(False)

    def death(self) -> Fault:
        """Return how it ended, for the streams that ran."""
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        message = "The part of the app that talks to models stopped. It starts again by itself."
        return Fault("host_died", message, "retry", f"model host, pid {self.pid}: {how}")


def _spawn(fd: int) -> subprocess.Popen[bytes]:
    frozen = bool(getattr(sys, "frozen", False))
    # -P: a folder that the app was started in must not provide modules.
    program = ["--model-host"] if frozen else ["-P", "-m", "desktop_agent.model_host"]
    command = [sys.executable, *program, str(fd)]
    top = Path(sys.executable).anchor or os.sep
    if sys.platform == "win32":
        # A socket's handle is inherited like a file's when it is in the list; the host
        # opens it by number, as on the other systems.
        startup = subprocess.STARTUPINFO()
        startup.lpAttributeList = {"handle_list": [fd]}
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=host_environment(),
            cwd=top,
            startupinfo=startup,
            creationflags=subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
        )
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=host_environment(),
        cwd=top,
        pass_fds=(fd,),
        close_fds=True,
        start_new_session=True,
    )

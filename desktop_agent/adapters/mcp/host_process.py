"""The process that speaks MCP, with one end of a socket pair as its pipe."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from desktop_agent.adapters.child_process import ChildProcess
from desktop_agent.core.keys.redaction import is_secret_name


class McpHostProcess(ChildProcess):
    """Starts it at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        super().__init__(socket.socketpair(), _spawn)
        self.pipe.setblocking(False)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not is_secret_name(name)}
    # It runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept


def _spawn(fd: int) -> subprocess.Popen[Any]:
    frozen = bool(getattr(sys, "frozen", False))
    # -P: a folder that the app was started in must not provide modules.
    program = ["--mcp-host"] if frozen else ["-P", "-m", "desktop_agent.mcp_host"]
    if sys.platform == "win32":
        startup = subprocess.STARTUPINFO()
        startup.lpAttributeList = {"handle_list": [fd]}
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        more: dict[str, Any] = {"startupinfo": startup, "creationflags": flags}
    else:
        more = {"pass_fds": (fd,), "close_fds": True, "start_new_session": True}
    return subprocess.Popen(
        [sys.executable, *program, str(fd)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        cwd=Path(sys.executable).anchor or os.sep,
        **more,
    )

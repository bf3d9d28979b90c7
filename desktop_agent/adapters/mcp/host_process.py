"""The process that speaks MCP, with one end of a socket pair as its pipe."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from desktop_agent.adapters.child_process import ChildProcess, own_program
from desktop_agent.core.keys.redaction import is_secret_name


class McpHostProcess(ChildProcess):
    """Starts it at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        program = own_program("--mcp-host", "desktop_agent.mcp_host")
        super().__init__(socket.socketpair(), program, _environment())
        self.pipe.setblocking(False)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not is_secret_name(name)}
    # It runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept

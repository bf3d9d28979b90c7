"""The process that speaks MCP, with one end of a socket pair as its pipe."""

from __future__ import annotations

import socket

from desktop_agent.adapters.child_process import ChildProcess, keyless_environment, own_program


class McpHostProcess(ChildProcess):
    """Starts it at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        program = own_program("--mcp-host", "desktop_agent.mcp_host")
        super().__init__(socket.socketpair(), program, keyless_environment())
        self.pipe.setblocking(False)

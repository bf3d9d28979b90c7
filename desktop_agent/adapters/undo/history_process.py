"""The process that keeps the history of files, with one end of a socket pair as its pipe."""

from __future__ import annotations

import socket
from pathlib import Path

from desktop_agent.adapters.child_process import ChildProcess, keyless_environment, own_program


class HistoryProcess(ChildProcess):
    """Starts the process at once; raises OSError when that is impossible."""

    # It finishes what it does, and records what its calls have changed.
    _exit_limit_s = 30.0

    def __init__(self, folder: Path) -> None:
        program = own_program("--file-history", "desktop_agent.file_history")
        super().__init__(socket.socketpair(), program, keyless_environment(), str(folder))
        self.pipe.setblocking(False)

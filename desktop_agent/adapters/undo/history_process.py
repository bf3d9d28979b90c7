"""The process that keeps the history of files, with one end of a socket pair as its pipe."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.adapters.child_process import ChildProcess, own_program
from desktop_agent.core.keys.redaction import is_secret_name


def history_environment(source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what it is started with: the person's environment without any key."""
    own = os.environ if source is None else source
    kept = {name: value for name, value in own.items() if not is_secret_name(name)}
    # It runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept


class HistoryProcess(ChildProcess):
    """Starts the process at once; raises OSError when that is impossible."""

    # It finishes what it does, and records what its calls have changed.
    _exit_limit_s = 30.0

    def __init__(self, folder: Path) -> None:
        program = own_program("--file-history", "desktop_agent.file_history")
        super().__init__(socket.socketpair(), program, history_environment(), str(folder))
        self.pipe.setblocking(False)

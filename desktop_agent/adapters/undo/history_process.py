"""The process that keeps the history of files, with one end of a socket pair as its pipe."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from desktop_agent.core.keys.redaction import is_secret_name

# It finishes what it does, and records what its calls have changed.
_EXIT_LIMIT_S = 30.0


def history_environment(source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what it is started with: the person's environment without any key."""
    own = os.environ if source is None else source
    kept = {name: value for name, value in own.items() if not is_secret_name(name)}
    # It runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept


class HistoryProcess:
    """Starts the process at once; raises OSError when that is impossible.

    `pipe` is our end. The process ends when it is closed.
    """

    def __init__(self, folder: Path) -> None:
        self.pipe, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = _spawn(theirs, folder)
        except BaseException:
            self.pipe.close()
            raise
        self.pipe.setblocking(False)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def ended(self) -> None:
        """Wait for the end of the process, which is killed if it takes long."""
        try:
            await asyncio.to_thread(self._process.wait, _EXIT_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def _spawn(theirs: socket.socket, folder: Path) -> subprocess.Popen[Any]:
    theirs.set_inheritable(True)
    fd = theirs.fileno()
    frozen = bool(getattr(sys, "frozen", False))
    # -P: a folder that the app was started in must not provide modules.
    program = ["--file-history"] if frozen else ["-P", "-m", "desktop_agent.file_history"]
    if sys.platform == "win32":
        startup = subprocess.STARTUPINFO()
        startup.lpAttributeList = {"handle_list": [fd]}
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        more: dict[str, Any] = {"startupinfo": startup, "creationflags": flags}
    else:
        more = {"pass_fds": (fd,), "close_fds": True, "start_new_session": True}
    return subprocess.Popen(
        [sys.executable, *program, str(fd), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=history_environment(),
        cwd=Path(sys.executable).anchor or os.sep,
        **more,
    )

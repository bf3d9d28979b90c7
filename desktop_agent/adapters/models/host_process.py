"""The model host as a child process, with one end of a socket pair as its pipe."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

from desktop_agent.core.faults import Fault

_EXIT_LIMIT_S = 2.0

# Keys go over the pipe, with the requests they are for; litellm must not find others. Only
# Amazon's are left: its requests are signed with several values, which litellm looks up here.
_SECRET_NAME = re.compile(
    r"(API_?KEY|ACCESS_KEY|AUTH_TOKEN|_TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE
)
# litellm, openai and anthropic would send requests elsewhere, or print.
_STRAY = re.compile(r"^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|OLLAMA|LITELLM|AZURE|LANGFUSE|OTEL)_", re.I)


class HostProcess:
    """Starts the host at once; raises OSError when that is impossible.

    `pipe` is our end. The host ends when it is closed.
    """

    def __init__(self) -> None:
        self.pipe, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = _spawn(theirs)
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

    def death(self) -> Fault:
        """Return how it ended, for the streams that ran."""
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        message = "The part of the app that talks to models stopped. It starts again by itself."
        return Fault("host_died", message, "retry", f"model host, pid {self.pid}: {how}")


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    theirs.set_inheritable(True)
    fd = theirs.fileno()
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


def host_environment() -> dict[str, str]:
    """Return our environment without keys and without what would redirect litellm."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("AWS_") or not (_SECRET_NAME.search(name) or _STRAY.search(name))
    }
    # A proxy can't reach the model servers of this computer.
    for name in ("no_proxy", "NO_PROXY"):
        kept[name] = ",".join(filter(None, (kept.get(name, ""), "127.0.0.1,localhost,::1")))
    # The host runs elsewhere and must find the same package.
    kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    return kept

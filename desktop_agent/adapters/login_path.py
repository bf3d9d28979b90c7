"""The PATH of the person's terminal: what macOS starts by a click gets the system's alone."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import MutableMapping

from desktop_agent.core.pipes.no_window import NO_WINDOW

_log = logging.getLogger(__name__)

_OF_THE_SYSTEM = frozenset({"/usr/bin", "/bin", "/usr/sbin", "/sbin"})
_MARK = "desktop-agent:"
# Some shells load much before they answer.
_LIMIT_S = 5.0


def take_login_path(environment: MutableMapping[str, str], limit_s: float = _LIMIT_S) -> None:
    """Put on PATH what the person's shell puts there, unless more than the system's is on it.

    Else neither commands nor MCP servers would find what Homebrew, nvm and their like installed.
    """
    own = environment.get("PATH", "").split(os.pathsep)
    if not _OF_THE_SYSTEM.issuperset(own):
        return
    said = _said_by(environment.get("SHELL") or "/bin/zsh", environment, limit_s)
    mark, line = said.rpartition(_MARK + "\n")[1:]
    found = line.partition("\n")[0].split(os.pathsep) if mark else []
    if not found:
        _log.warning("the person's shell does not tell its PATH")
    entries = [entry for entry in found if os.path.isabs(entry)]  # noqa: PTH117
    environment["PATH"] = os.pathsep.join(dict.fromkeys([*entries, *own]))


def _said_by(shell: str, environment: MutableMapping[str, str], limit_s: float) -> str:
    # Both kinds of start-up files: Homebrew's line is in one, nvm's in the other.
    words = (shell, "-i", "-l", "-c", f"/bin/echo {_MARK}; /usr/bin/printenv PATH")
    # No pipe: what the files start in the background would hold it open.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                creationflags=NO_WINDOW,
            )
        except OSError as error:
            _log.warning("the person's shell could not be asked for its PATH: %s", error)
            return ""
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return output.read().decode(errors="replace")

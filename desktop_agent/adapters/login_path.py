"""PATH and language of the person's terminal: what macOS starts by a click has the system's PATH
alone, and no language.
"""

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
_MARK, _END = "desktop-agent:", "desktop-agent."
_LANGUAGES = ("LC_ALL", "LC_CTYPE", "LANG")
# Every macOS has it. Programs take text for ASCII without one.
_LANGUAGE = "en_US.UTF-8"
# Some shells load much before they answer.
_LIMIT_S = 5.0


def take_login_path(environment: MutableMapping[str, str], limit_s: float = _LIMIT_S) -> None:
    """Put on PATH what the person's shell puts there, unless more than the system's is on it.

    Else neither commands nor MCP servers would find what Homebrew, nvm and their like installed.
    What names no language gets the shell's, or one whose text is UTF-8.
    """
    language = ""
    own = environment.get("PATH", "").split(os.pathsep)
    if _OF_THE_SYSTEM.issuperset(own):
        said = _said_by(environment.get("SHELL") or "/bin/zsh", environment, limit_s)
        path, language = _told(said)
        if not path:
            _log.warning("the person's shell does not tell its PATH")
        entries = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117
        environment["PATH"] = os.pathsep.join(dict.fromkeys([*entries, *own]))
    if not any(environment.get(name) for name in _LANGUAGES):
        environment["LANG"] = language or _LANGUAGE


def _told(said: str) -> tuple[str, str]:
    """Return PATH and LANG in what the shell printed; its files for start and end may print too."""
    mark, rest = said.rpartition(_MARK + "\n")[1:]
    lines = rest.partition(_END)[0].split("\n")
    path, language, *_ = [*lines, "", ""] if mark else ["", ""]
    return path, language


def _said_by(shell: str, environment: MutableMapping[str, str], limit_s: float) -> str:
    # Both kinds of start-up files: Homebrew's line is in one, nvm's in the other.
    asked = ("/usr/bin/printenv PATH", "/usr/bin/printenv LANG", f"/bin/echo {_END}")
    words = (shell, "-i", "-l", "-c", "; ".join((f"/bin/echo {_MARK}", *asked)))
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

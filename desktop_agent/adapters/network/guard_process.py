"""The guard as a child process, with one end of a pipe of packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from desktop_agent.adapters.child_process import ChildProcess, own_environment, own_program
from desktop_agent.core.network.guard_pipe import new_pipe

_ALLOWED = frozenset({
    "PATH", "HOME", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    # The person's own way to the network; a login in it is for that proxy.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    # The interpreter's, and the way to its libraries.
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUTF8", "PYTHONWARNINGS",
})  # fmt: skip
_ALLOWED_BEGINNINGS = ("LC_", "_PYI_")


def program(kind: Literal["guard", "listener", "share"]) -> tuple[str, ...]:
    """Return what starts the guard, or a program of its; their numbers follow."""
    module = "desktop_agent.guard" + ("" if kind == "guard" else f".{kind}")
    return own_program(f"--{kind}", module)


def guard_environment() -> dict[str, str]:
    """Return what the guard is started with: no secret but that of the person's proxy."""
    return own_environment(
        lambda name: name.upper() in _ALLOWED or name.upper().startswith(_ALLOWED_BEGINNINGS)
    )


class GuardProcess(ChildProcess):
    """Starts the guard at once; raises OSError when that is impossible."""

    def __init__(self, program: Sequence[str]) -> None:
        super().__init__(new_pipe(), program, guard_environment())

"""One line for the model when a command seems to have failed because of the sandbox.

It goes by what the command printed, which anybody may have written: so it is nothing but a line.
"""

from __future__ import annotations

import os
import re

from desktop_agent.core.parts.containment import Containment

# Of what was printed, the end alone is looked at.
_LOOKED_AT = 8000
_READ_ONLY = re.compile(r"Read-only file system|EROFS", re.IGNORECASE)
# What is protected is mounted over itself, so that it can't be moved away.
_HELD = re.compile(r"Device or resource busy|\bEBUSY\b", re.IGNORECASE)
_NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|Could not resolve host|Network is unreachable|"
    r"EAI_AGAIN|ENETUNREACH|Name or service not known|nodename nor servname",
    re.IGNORECASE,
)
# What curl, git, Python and Node say when the proxy answers that a host was not allowed.
_REFUSED = re.compile(
    r"tunnel (?:connection )?failed[:,]? (?:response )?403|HTTP code 403 from proxy|"
    r"Proxy response \(403\)|ERR_PROXY_TUNNEL",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"No such file or directory|ENOENT|not found|Permission denied", re.IGNORECASE)
# Every path begins behind one of these signs; what may stand in it is told.
_PATH = re.compile(r"(?<![\w./~+@-])(?:~|/)[\w./+@-]{1,200}")
_AGAIN = 'If needed, call again with outside="why".]'
_HIDDEN = ("/run/", "/var/run/")


def sandbox_hint(
    printed: str,
    exit_code: int | None,
    containment: Containment | None,
    seen: tuple[str, ...] = (),
    home: str = "",
) -> str:
    """Return the line, empty when nothing speaks for the sandbox as the cause.

    `seen` are the folders that the command sees, of a `home` that it doesn't (by default ours).
    """
    if not exit_code or containment is None or not containment.is_contained:
        return ""
    for line in reversed(printed[-_LOOKED_AT:].splitlines()):
        if hint := _of_line(line, containment, seen, home or _home()):
            return hint
    return ""


def _of_line(line: str, containment: Containment, seen: tuple[str, ...], home: str) -> str:
    if _READ_ONLY.search(line):
        return _of_read_only(line, containment)
    if _HELD.search(line):
        return (
            "[Sandbox: what is protected, as a .git is, can't be removed or renamed. Some of what "
            f"lies beside it may be gone already. {_AGAIN}"
        )
    if _NO_NETWORK.search(line):
        return f"[Sandbox: there is no network but by the proxy in HTTPS_PROXY. {_AGAIN}"
    if _REFUSED.search(line):
        return "[Sandbox: a host was not allowed. Name the hosts that are needed to the user.]"
    if _ABSENT.search(line) and (path := _hidden_path(line, seen, home)):
        return f"[Sandbox: {path} may be hidden. {_AGAIN}"
    return ""


def _of_read_only(line: str, containment: Containment) -> str:
    paths = _PATH.findall(line)
    if "/.git/" in line or ".git/" in line:
        return (
            "[Sandbox: git's own files are read-only for this command. Call git add, commit and "
            "the like in a call of their own, without pipes to other programs; else with "
            'outside="why".]'
        )
    if not containment.is_changing:
        return (
            "[Sandbox: nothing can be written with changes=false. If the command has to write, "
            "call again without it.]"
        )
    return f"[Sandbox: {paths[-1] if paths else 'that place'} is read-only. {_AGAIN}"


def _hidden_path(line: str, seen: tuple[str, ...], home: str) -> str:
    places, shown = (*_HIDDEN, "~/", f"{home}/"), tuple(f"{folder}/" for folder in seen)
    for path in _PATH.findall(line):
        if path.startswith(places) and not f"{path}/".startswith(shown):
            return path
    return ""


def _home() -> str:
    return os.path.expanduser("~")  # noqa: PTH111 - never raises

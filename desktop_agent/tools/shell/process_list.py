"""The processes of this computer: what /proc tells of them, on macOS what `ps` prints."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.tools.shell.new_processes import Moment, may_be_newer, moment

MARK = "DESKTOP_AGENT_COMMAND"
_MARKED = f"{MARK}=".encode()
_DEAD = frozenset({b"Z", b"X"})
# One option for each column: BSD takes what follows the first `=` of an option for a title.
_COLUMNS = [f"-o{name}=" for name in ("pid", "ppid", "pgid", "stat", "lstart", "command")]
# pid, ppid, pgid, stat, and the five words of a date
_WORDS_BEFORE_COMMAND = 9
_PS_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC"}
_PS_LIMIT_S = 5.0


class Entry(msgspec.Struct, frozen=True):
    """One living process. Its id may be given to another; id and `started` together are not."""

    pid: int
    parent: int
    group: int
    session: int
    started: bytes
    mark: bytes


def entries(since: Moment | None) -> list[Entry] | None:
    """Return the processes that live now, as far as they may have come after `since`.

    None where they can't be listed.
    """
    return _from_proc(since) if sys.platform == "linux" else _from_ps()


def entry(pid: int) -> Entry | None:
    """Linux: return what is known of one process; None when it is gone."""
    fields = state_of(pid)
    if not fields or fields[0] in _DEAD:
        return None
    try:
        environment = _read(f"/proc/{pid}/environ")
    except OSError:
        environment = b""
    mark = (b"\0" + environment).partition(b"\0" + _MARKED)[2].partition(b"\0")[0]
    return Entry(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[19], mark)


def state_of(pid: int) -> list[bytes]:
    """Return what /proc tells of a process, from its state on; nothing when there is none."""
    try:
        status = _read(f"/proc/{pid}/stat")
    except OSError:
        return []
    # The name, in brackets, may hold anything; the fields stand behind the last bracket.
    return status[status.rindex(b")") + 2 :].split()


def is_alive(pid: int) -> bool:
    """Whether the process lives; of a group, by its negative number, whether any of it does."""
    if sys.platform == "linux":
        fields = state_of(pid)
        return bool(fields) and fields[0] not in _DEAD
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # what is dead and not yet taken away, or another user's
        return pid > 0
    return True


def name_of(pid: int) -> str:
    """Return the name of a process's program; nothing when it is gone."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/comm").read_bytes().decode(errors="replace").strip()
        except OSError:
            return ""
    printed = _printed_by_ps("-p", str(abs(pid)), "-ocomm=") or b""
    return os.path.basename(printed.decode(errors="replace").strip())  # noqa: PTH119


def parsed(printed: bytes) -> list[Entry]:
    """Return the living processes in what `ps` printed; lines that are none are left out."""
    found: list[Entry] = []
    for line in printed.split(b"\n"):
        words = line.split(maxsplit=_WORDS_BEFORE_COMMAND)
        if len(words) < _WORDS_BEFORE_COMMAND or words[3][:1] in _DEAD:
            continue
        command = words[_WORDS_BEFORE_COMMAND] if len(words) > _WORDS_BEFORE_COMMAND else b""
        # The environment stands behind the arguments, which may speak of a mark too.
        mark = command.rpartition(b" " + _MARKED)[2] if b" " + _MARKED in command else b""
        with contextlib.suppress(ValueError, ProcessLookupError, PermissionError):
            pid, parent, group = map(int, words[:3])
            started = b" ".join(words[4:_WORDS_BEFORE_COMMAND])
            # `ps` of macOS prints no session that could be compared.
            found.append(
                Entry(pid, parent, group, os.getsid(pid), started, mark.partition(b" ")[0])
            )
    return found


def _from_ps() -> list[Entry] | None:
    # -E prints environments too, but for programs of the system itself.
    for environment in (["-E"], []):
        if printed := _printed_by_ps("-A", *environment, "-ww", *_COLUMNS):
            return parsed(printed)
    return None


def _printed_by_ps(*words: str) -> bytes | None:
    try:
        ended = subprocess.run(
            ["/bin/ps", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_PS_ENVIRONMENT,
            timeout=_PS_LIMIT_S,
            check=True,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stdout


def _from_proc(since: Moment | None) -> list[Entry]:
    # In this order: who comes while the names are read is newer than `now`, and is listed or
    # is found at the next look.
    names = os.listdir("/proc")  # noqa: PTH208 - names only, hundreds of times a minute
    now = moment() if since is not None else None
    found: list[Entry] = []
    for name in names:
        if not name.isdigit() or not may_be_newer(int(name), since, now):
            continue
        if one := entry(int(name)):
            found.append(one)
    return found


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - hundreds for each command
        return file.read()

"""Every process that came out of a command, and how to end them all.

A process can leave its group and lose its parent, but on Linux its environment still holds the
mark of the command it came from.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK = "DESKTOP_AGENT_COMMAND"
_GRACE_S = 2.0
_KILL_S = 1.5
_POLL_S = 0.03


@dataclass(frozen=True, slots=True)
class _Entry:
    pid: int
    parent: int
    group: int
    session: int
    is_marked: bool


def members(mark: str, leader: int | None) -> tuple[int, ...]:
    """Return the living processes of a command: by mark, by session, by descent.

    `mark` is a prefix, so that one sweep can speak of many commands. Linux only; elsewhere the
    process group is all there is to go by.
    """
    if sys.platform != "linux":
        return _group_alive(leader)
    entries = _entries(f"{MARK}={mark}".encode())
    found = {
        entry.pid
        for entry in entries
        if entry.is_marked or (leader is not None and leader in (entry.group, entry.session))
    }
    grew = True
    while grew:
        children = {e.pid for e in entries if e.parent in found} - found
        found |= children
        grew = bool(children)
    return tuple(sorted(found - {os.getpid()}))


def in_session(pids: tuple[int, ...], leader: int) -> tuple[int, ...]:
    """Return those that are still in the leader's session: they did not leave on purpose."""
    if sys.platform != "linux":
        return pids
    entries = (_entry(pid, b"\0") for pid in pids)
    return tuple(entry.pid for entry in entries if entry and entry.session == leader)


async def end(mark: str, leader: int | None) -> tuple[int, ...]:
    """Ask every process to end, after 2 s make it; return those that are still there."""
    if sys.platform == "win32":
        return await asyncio.to_thread(_end_on_windows, leader)
    return await _end(lambda: members(mark, leader))


async def end_these(pids: tuple[int, ...]) -> tuple[int, ...]:
    """End these processes alone; return those that are still there."""
    if not pids or sys.platform == "win32":
        return ()
    return await _end(lambda: tuple(pid for pid in pids if _is_alive(pid)))


async def _end(alive: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
    if await _signalled(alive, signal.SIGTERM, _GRACE_S):
        return ()
    if await _signalled(alive, signal.SIGKILL, _KILL_S):
        return ()
    return alive()


def names_of(pids: tuple[int, ...]) -> str:
    """Return `pid 17 (sleep), pid 19 (node)` for people."""
    return ", ".join(f"pid {pid}{_name_of(pid)}" for pid in pids)


async def _signalled(alive: Callable[[], tuple[int, ...]], number: int, seconds: float) -> bool:
    """Signal all of them, new ones too, until none is left; whether that happened in time."""
    deadline = time.monotonic() + seconds
    told: set[int] = set()
    while living := alive():
        for pid in living:
            # SIGKILL is repeated: a tree that forks quickly is always one step ahead.
            if pid not in told or number != signal.SIGTERM:
                _send(pid, number)
        told |= set(living)
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_S)
    return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "linux":
            os.kill(pid, number)
            if number == signal.SIGTERM:
                os.kill(pid, signal.SIGCONT)  # a stopped process can't hear
        else:
            os.killpg(pid, number)


def _group_alive(leader: int | None) -> tuple[int, ...]:
    if leader is None:
        return ()
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return ()
    return (leader,)


def _is_alive(pid: int) -> bool:
    if sys.platform == "linux":
        return _entry(pid, b"\0") is not None
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _entries(mark: bytes) -> list[_Entry]:
    found: list[_Entry] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names only, hundreds of times a minute
        if name.isdigit() and (entry := _entry(int(name), mark)):
            found.append(entry)
    return found


def _entry(pid: int, mark: bytes) -> _Entry | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name, in brackets, may hold anything; the fields stand behind the last bracket.
    fields = status[status.rindex(b")") + 2 :].split()
    if fields[0] in {b"Z", b"X"}:
        return None
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        environment = b""
    is_marked = environment.startswith(mark) or b"\0" + mark in environment
    return _Entry(pid, int(fields[1]), int(fields[2]), int(fields[3]), is_marked)


def _name_of(pid: int) -> str:
    try:
        return f" ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return ""


def _end_on_windows(leader: int | None) -> tuple[int, ...]:
    if leader is not None:
        words = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(words, capture_output=True, check=False, timeout=10)
    return ()

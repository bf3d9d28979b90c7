"""Every process that came out of a command, and how to end them all.

A process can leave its group and lose its parent, but its environment still holds the mark of the
command it came from (macOS keeps that of its own programs to itself), and on Windows it is in that
command's job.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from desktop_agent.core.pipes import windows_jobs
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.tools.shell import process_list
from desktop_agent.tools.shell.new_processes import Moment
from desktop_agent.tools.shell.process_list import Entry, is_alive

_GRACE_S = 2.0
_KILL_S = 1.5
_POLL_S = 0.03
# How long only those that were signalled are watched; then all processes are looked through again.
_WATCH_S = 0.4
_QUIET_S = 0.005
_QUIET_LOOKS = 2
_FREEZE_ROUNDS = 20
# It ends all below it at once when it ends, and by itself once they have ended: they are asked.
_SUPERVISOR = "bwrap"
_Alive = Callable[[], Awaitable[tuple[int, ...]]]


class _Looks:
    """Looks through all processes, one look at a time: who asks meanwhile shares the next one.

    Many commands are ended at the same time when a tree of agents is stopped.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "processes")
        self._began = 0.0
        self._found: list[Entry] | None = []

    async def look(self) -> list[Entry] | None:
        """Return the processes as they are at some moment after this call."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._look, time.monotonic())

    def _look(self, asked: float) -> list[Entry] | None:
        if self._began <= asked:
            self._began = time.monotonic()
            self._found = process_list.entries(None)
        return self._found


_looks = _Looks()


class _Tree:
    """The living processes of a command: by mark, by session, by descent.

    Whoever was seen once is followed by its process id and start time, also when its parents
    are gone and its environment says nothing.
    """

    def __init__(self, mark: str, leader: int | None, since: Moment | None = None) -> None:
        self._mark = mark.encode()
        self._leader = leader
        self._since = since
        self._seen: dict[int, bytes] = {}

    async def look(self) -> tuple[int, ...]:
        """Return those that live at some moment after this call."""
        return self._own(await _looks.look())

    def living(self) -> tuple[int, ...]:
        """Return those that live now; waits for the look."""
        return self._own(process_list.entries(self._since))

    def _own(self, all_entries: list[Entry] | None) -> tuple[int, ...]:
        if all_entries is None:
            return _group_alive(self._leader)
        entries = {entry.pid: entry for entry in all_entries}
        found = {pid for pid, entry in entries.items() if self._is_own(entry)}
        grew = True
        while grew:
            children = {e.pid for e in entries.values() if e.parent in found} - found
            found |= children
            grew = bool(children)
        found.discard(os.getpid())
        self._seen |= {pid: entries[pid].started for pid in found}
        return tuple(sorted(found))

    async def freeze(self) -> None:
        """Stop them all where they are, so that none starts another while they are ended."""
        stopped: set[int] = set()
        quiet = 0
        for _ in range(_FREEZE_ROUNDS):
            fresh = set(await self.look()) - stopped
            for pid in fresh:
                _send(pid, signal.SIGSTOP)
            stopped |= fresh
            quiet = 0 if fresh else quiet + 1
            if quiet == _QUIET_LOOKS:
                return

    def _is_own(self, entry: Entry) -> bool:
        in_session = self._leader is not None and self._leader in (entry.group, entry.session)
        is_marked = bool(entry.mark) and entry.mark.startswith(self._mark)
        return is_marked or in_session or self._seen.get(entry.pid) == entry.started


def members(mark: str, leader: int | None, since: Moment | None = None) -> tuple[int, ...]:
    """Return the living processes of a command.

    `mark` is a prefix, so that one sweep can speak of many commands. Those that were there
    before `since` are not looked at. Where no process can be listed, the command's group is
    returned, by its negative number.
    """
    if sys.platform == "win32":
        return windows_jobs.living(mark)
    return _Tree(mark, leader, since).living()


def in_session(pids: tuple[int, ...], leader: int) -> tuple[int, ...]:
    """Return those that are still in the leader's session: they did not leave on purpose."""
    if sys.platform == "win32":
        return pids
    return tuple(pid for pid in pids if _session_of(pid) == leader)


async def end(mark: str, leader: int | None) -> tuple[int, ...]:
    """Ask every process to end, after 2 s make it; return those that are still there."""
    if sys.platform == "win32":
        return await asyncio.to_thread(_end_on_windows, mark, leader)
    tree = _Tree(mark, leader)
    await tree.freeze()
    return await _end(tree.look)


async def end_left(pids: tuple[int, ...], mark: str) -> tuple[int, ...]:
    """End these of a command's processes alone, on Windows all; return those still there."""
    if not pids:
        return ()
    if sys.platform == "win32":
        return await asyncio.to_thread(windows_jobs.end, mark)

    async def alive() -> tuple[int, ...]:
        # Elsewhere a signal reaches what is dead and not yet taken away, too.
        listed = None if sys.platform == "linux" else await _looks.look()
        living = {one.pid for one in listed or ()}
        return tuple(pid for pid in pids if (is_alive(pid) if listed is None else pid in living))

    return await _end(alive)


async def _end(alive: _Alive) -> tuple[int, ...]:
    if await _signalled(alive, signal.SIGTERM, _GRACE_S):
        return ()
    if await _signalled(alive, signal.SIGKILL, _KILL_S):
        return ()
    return await alive()


def names_of(pids: tuple[int, ...]) -> str:
    """Return `pid 17 (sleep), pid 19 (node)` for people."""
    return ", ".join(f"pid {abs(pid)}{_name_of(pid)}" for pid in pids)


async def _signalled(alive: _Alive, number: int, seconds: float) -> bool:
    """Signal all of them, new ones too, until none is left; whether that happened in time."""
    deadline = time.monotonic() + seconds
    signalled: set[int] = set()
    quiet = 0
    # One empty look is not enough: a process can hand over to its child in between.
    while quiet < _QUIET_LOOKS:
        living = await alive()
        quiet = 0 if living else quiet + 1
        for pid in living:
            # SIGKILL is repeated: a tree that forks quickly is always one step ahead.
            if pid not in signalled or number != signal.SIGTERM:
                _send(pid, number)
        signalled |= set(living)
        if time.monotonic() > deadline:
            return False
        if living:
            await _watch(living, min(deadline, time.monotonic() + _WATCH_S))
        else:
            await asyncio.sleep(_QUIET_S)
    return True


async def _watch(pids: tuple[int, ...], until: float) -> None:
    """Wait until all of them are gone, or for a time: a look at these alone costs little."""
    while time.monotonic() < until:
        await asyncio.sleep(_POLL_S)
        if not any(is_alive(pid) for pid in pids):
            return


def _send(pid: int, number: int) -> None:
    """Signal a process; a group by its negative number."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if number != signal.SIGTERM or not _is_supervisor(pid):
            os.kill(pid, number)
        if number == signal.SIGTERM and sys.platform != "win32":
            os.kill(pid, signal.SIGCONT)  # a stopped process can't hear


def _is_supervisor(pid: int) -> bool:
    return sys.platform == "linux" and process_list.name_of(pid) == _SUPERVISOR


def _group_alive(leader: int | None) -> tuple[int, ...]:
    return (-leader,) if leader is not None and is_alive(-leader) else ()


def _session_of(pid: int) -> int | None:
    if pid < 0:
        return -pid
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def _name_of(pid: int) -> str:
    name = windows_jobs.name_of(pid) if sys.platform == "win32" else process_list.name_of(pid)
    return f" ({name})" if name else ""


def _end_on_windows(mark: str, leader: int | None) -> tuple[int, ...]:
    if leader is not None and not windows_jobs.living(mark):  # it could not be given a job
        system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"))
        program = str(system / "System32" / "taskkill.exe")
        words = [program, "/T", "/F", "/PID", str(leader)]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                words, capture_output=True, check=False, timeout=10, creationflags=NO_WINDOW
            )
    return windows_jobs.end(mark)

"""One command's way into the sandbox: arguments, descriptors, and what is done at its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import Callable, Mapping

from desktop_agent.adapters.sandbox.layout import Plan
from desktop_agent.adapters.sandbox.visible import WITHOUT
from desktop_agent.core.tool import ToolError

_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL",
)  # fmt: skip
# Options that newer versions have, used where they are there: the filter of system calls refuses
# namespaces by itself, and what can't be mounted by its descriptor is mounted by its path.
_NO_MORE_NAMESPACES, _MOUNTS_OPEN = "--disable-userns", "--ro-bind-fd"
# Version 0.5 brought it. 0.4.1, of Debian 11, can't mount over sockets, so it can't hide them.
OF_NEW_ENOUGH = "--perms"
# Real root may write to these in any namespace.
_OF_ROOT = ("sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
_LARGEST_STATUS = 8192
# A process may have 1,024; the first ones are the folders worked in, and what lies high in them.
_MOST_HELD = 200


class CommandEnclosure:
    """How to start one command within a boundary; close it once the command was started."""

    def __init__(
        self,
        start: tuple[str, ...],
        rules: bytes,
        plan: Plan,
        at_end: Callable[[], tuple[str, ...]],
        *,
        options: frozenset[str],
    ) -> None:
        """`options` are those of this bubblewrap."""
        self._plan = plan
        self._options = options
        self._at_end = at_end
        self._status = -1
        self._theirs: tuple[int, ...] = ()
        self._words = (*start, *self._arguments(rules), "--")

    def __del__(self) -> None:
        self.close()
        self._close_status()

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that come before the shell's own."""
        return self._words

    @property
    def environment(self) -> Mapping[str, str]:
        """What is set in the command's environment, besides its own."""
        return self._plan.environment

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the first of `words` inherits."""
        return self._theirs

    def close(self) -> None:
        """Close the descriptors on this side."""
        for descriptor in self._theirs:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._theirs = ()

    def has_started(self, exit_code: int) -> bool:
        """Whether the command itself ran, as far as can be told once bubblewrap has ended.

        Else what it printed are bubblewrap's words, which say why it did not.
        """
        if exit_code != 1 or self._status < 0:
            return True
        os.set_blocking(self._status, False)
        try:
            told = os.read(self._status, _LARGEST_STATUS).decode(errors="replace")
        except BlockingIOError:
            return True
        finally:
            self._close_status()
        return any("exit-code" in json.loads(line) for line in told.splitlines())

    async def finished(self) -> tuple[str, ...]:
        """Once all of the command has ended: put right what it may not leave behind, and say so.

        Returns a line for each thing that was removed or set aside.
        """
        if not self._plan.before.found:
            return ()
        return await asyncio.to_thread(self._at_end)

    def _close_status(self) -> None:
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def _give(self, descriptor: int) -> str:
        """Let the command's first program inherit a descriptor; return its number."""
        self._theirs = (*self._theirs, descriptor)
        return str(descriptor)

    def _hold(self, path: str) -> str:
        """Open what the plan found at a path: something that runs may put a link there."""
        if _MOUNTS_OPEN not in self._options or len(self._theirs) >= _MOST_HELD:
            return ""
        number = self._give(os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))
        is_link = stat.S_ISLNK(os.fstat(int(number)).st_mode)
        if is_link or os.readlink(f"/proc/self/fd/{number}") != path:  # noqa: PTH115
            raise ToolError(f"'{path}' was replaced while the command was prepared; call again.")
        return number

    def _arguments(self, rules: bytes) -> list[str]:
        plan = self._plan
        words = ["--die-with-parent", "--new-session", *_NAMESPACES, "--ro-bind", "/", "/"]
        words += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
        if _NO_MORE_NAMESPACES in self._options:
            words.append(_NO_MORE_NAMESPACES)
        if plan.boundary.is_offline:
            words.append("--unshare-net")
        if os.geteuid() == 0:
            for path in (f"/proc/{name}" for name in _OF_ROOT):
                words += ["--ro-bind-try", path, path]
        words += plan.mounts.words(self._hold)
        for target, source in plan.copied.items():
            words += ["--file", self._give(os.open(source, os.O_RDONLY | os.O_CLOEXEC)), target]
        for name in WITHOUT:
            words += ["--unsetenv", name]
        words += ["--seccomp", self._give(_memory_file(rules))]
        self._status, theirs = os.pipe()
        words += ["--json-status-fd", self._give(theirs)]
        return [*words, "--chdir", plan.directory]


def _memory_file(content: bytes) -> int:
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

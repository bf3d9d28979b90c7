"""The network that the commands of one session share: its own loopback, and nothing else.

A namespace lasts as long as a process is in it. The keeper is that process: it reads a pipe which
we hold and nobody writes to, so it ends with us, however we end.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.core.tool import ToolError

# Where the system keeps its programs: never in a folder of the person's.
PROGRAMS = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/run/current-system/sw/bin"
_LARGEST_STATUS = 4096
_EXIT_S = 2.0
# TCP_LISTEN in the kernel's include/net/tcp_states.h.
_LISTENS = "0A"


class Keeper:
    """Makes the network; raises ToolError when the system refuses.

    `words` start a program within it, also one that opens a listener there to pass it out.
    """

    def __init__(self, bwrap: str, nsenter: str) -> None:
        ours, theirs = os.pipe()
        try:
            self._process = _spawn(bwrap, theirs)
        except OSError as error:
            os.close(ours)
            raise ToolError(f"the sandbox's network could not be made: {error}.") from None
        finally:
            os.close(theirs)
        try:
            with os.fdopen(ours, "rb") as status:
                self._pid = int(json.loads(status.read(_LARGEST_STATUS))["child-pid"])
            _await_start(self._process)
            self._user = _identity(self._pid, "user")
            self._network = _identity(self._pid, "net")
        except (OSError, ValueError, KeyError):
            words = self._told()
            self.close()
            raise ToolError(f"the sandbox's network could not be made: {words}.") from None
        spaces = f"/proc/{self._pid}/ns"
        self.words = (
            nsenter,
            "--preserve-credentials",
            f"--user={spaces}/user",
            f"--net={spaces}/net",
            "--",
        )

    @property
    def is_alive(self) -> bool:
        """Whether the network is still this one: a process id may be another's by now."""
        if self._process.poll() is not None:
            return False
        try:
            now = (_identity(self._pid, "user"), _identity(self._pid, "net"))
        except OSError:
            return False
        return now == (self._user, self._network)

    def listening(self) -> tuple[int, ...]:
        """Return the ports that something in the network listens on."""
        found: set[int] = set()
        for name in ("tcp", "tcp6"):
            with contextlib.suppress(OSError, ValueError):
                found |= set(_listening(Path(f"/proc/{self._pid}/net/{name}").read_text()))
        return tuple(sorted(found)) if self.is_alive else ()

    def close(self) -> None:
        """End the keeper, and with it the network, once no command is in it any more."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _told(self) -> str:
        assert self._process.stderr is not None
        self._process.kill()
        words = self._process.stderr.read().decode(errors="replace").strip()
        return words.removeprefix("bwrap: ") or "bubblewrap gave no reason"


def _spawn(bwrap: str, status: int) -> subprocess.Popen[bytes]:
    words = [bwrap, "--info-fd", str(status), "--dev-bind", "/", "/", "--unshare-user"]
    words += ["--unshare-net", "--cap-drop", "ALL", "--", "cat"]
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"PATH": PROGRAMS},
        pass_fds=(status,),
        start_new_session=True,
    )


def _await_start(process: subprocess.Popen[bytes]) -> None:
    """Wait until the program runs: the loopback is up by then. Raises OSError if it never does."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b".")
    process.stdin.flush()
    if process.stdout.read(1) != b".":
        raise ChildProcessError("it ended")


def _listening(table: str) -> Iterator[int]:
    """Yield local ports; of a line's fields the second is the local address, the fourth a state."""
    for line in table.splitlines()[1:]:
        fields = line.split(maxsplit=4)
        if len(fields) > 3 and fields[3] == _LISTENS:
            yield int(fields[1].rpartition(":")[2], 16)


def _identity(pid: int, kind: str) -> tuple[int, int]:
    found = Path(f"/proc/{pid}/ns/{kind}").stat()
    return found.st_dev, found.st_ino

"""Commands end with the app also when it is killed, where no sandbox sees to that (POSIX)."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from desktop_agent.tools.shell.process_list import MARK

# Reads which commands run until its input ends, as it does with the app; then it ends them, and on
# Linux all that carries the mark of an agent of the app: what has left the group of its command.
_SCRIPT = f"""\
trap '' HUP INT TERM
all=" " tokens=
while read -r what id mark; do
  case $what in
    begun)
      all="$all$id " token=${{mark%%.*}}
      case "|$tokens|" in *"|$token|"*) ;; *) tokens="${{tokens:+$tokens|}}$token" ;; esac ;;
    ended) case $all in *" $id "*) all="${{all%% $id *}} ${{all#* $id }}" ;; esac ;;
  esac
done
marked() {{
  [ -z "$tokens" ] || grep -lE "{MARK}=($tokens)\\." /proc/[0-9]*/environ
}}
end() {{
  for id in $all; do kill -s "$1" -- "-$id"; done
  for file in $(marked); do id=${{file#/proc/}}; kill -s "$1" "${{id%/environ}}"; done
}}
end TERM
[ "$all" = " " ] && [ -z "$(marked)" ] || sleep 2
end KILL
"""
_NOTHING = os.devnull, os.O_RDWR, 0


class Watcher:
    """Ends the groups of processes that have `begun` and not `ended` when this process is gone.

    Safe to use from several threads. Where it can't be started, nothing is watched.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pipe = -1

    def begun(self, group: int, mark: str) -> None:
        """A command was started; what comes before the first point of its mark is its agent's."""
        # Not every Python for macOS can put what it spawns into a session of its own.
        with self._guard, contextlib.suppress(OSError, NotImplementedError):
            if self._pipe < 0:
                self._pipe = _start()
            self._write(f"begun {group} {mark}\n")

    def ended(self, group: int) -> None:
        """Its group is not to be ended any more: the number may be given to another."""
        with self._guard, contextlib.suppress(OSError):
            if self._pipe >= 0:
                self._write(f"ended {group}\n")

    def close(self) -> None:
        """Be gone, as far as it can tell."""
        with self._guard:
            if self._pipe >= 0:
                os.close(self._pipe)
            self._pipe = -1

    def _write(self, line: str) -> None:
        try:
            os.write(self._pipe, line.encode())
        except BrokenPipeError:  # somebody ended it: the next command starts another
            os.close(self._pipe)
            self._pipe = -1


def _start() -> int:
    """Return the pipe to a new process, which is a shell: it takes little and starts at once."""
    assert sys.platform != "win32"
    reading, writing = os.pipe()
    try:
        os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _SCRIPT],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, *_NOTHING),
                (os.POSIX_SPAWN_OPEN, 2, *_NOTHING),
            ],
            setsid=True,
        )
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return writing

"""What all commands without a window share: how they fail, print and are interrupted."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Callable

from desktop_agent.headless.arguments import UsageError
from desktop_agent.headless.output import one_line

FAILED, USAGE, INTERRUPTED = 1, 2, 130
APP_IS_OPEN = "the app has the sessions open: do it there, or close it."
_LINE = 1000


class Refused(Exception):
    """It was not done; the text says why."""


def carry_out(
    command: str, work: Callable[[], int], failures: tuple[type[Exception], ...] = ()
) -> int:
    """Do the work of a command; return its exit code. What it fails with is one line on stderr.

    `failures` are what it may raise beside UsageError and Refused.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding must not end it.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = work()
        # What is held back for a reader that has gone fails here, not after all is over.
        sys.stdout.flush()
    except UsageError as error:
        said = str(error).removesuffix(".")
        return _say(command, f"{said}. See desktop-agent {command} --help.", USAGE)
    except BrokenPipeError:
        _write_no_more()
        return FAILED
    except (Refused, *failures) as error:
        if isinstance(error, OSError):
            _write_no_more()
        return _say(command, str(error), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    else:
        return code


def _open_closed_streams() -> None:
    """Open what a script has closed (`2>&-`): no file may be taken for one of these."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
    sys.stdout = sys.stdout or io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8")
    sys.stderr = sys.stderr or io.TextIOWrapper(io.FileIO(2, "w"), encoding="utf-8")


def _write_no_more() -> None:
    """Python flushes at exit, and would complain there about what can't be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(command: str, words: str, code: int) -> int:
    print(f"desktop-agent {command}: {one_line(words, _LINE)}", file=sys.stderr)
    return code


def listen_for_signals(interrupt: Callable[[], None]) -> None:
    """Call it on the running loop when somebody wants this process to end.

    A terminal that is closed wants that too, unless it was started to outlive it (`nohup`).
    """
    loop, wanted = asyncio.get_running_loop(), [signal.SIGINT, signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    for number in wanted:
        try:
            loop.add_signal_handler(number, interrupt)
        except NotImplementedError:  # Windows: its loop has no signals of its own
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(interrupt))

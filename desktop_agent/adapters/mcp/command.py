"""A server's command as a child process: what it writes is handed on, as fast as it is taken."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import IO

from desktop_agent.core.mcp import MOST_LOG_LINES, McpError, McpLine
from desktop_agent.core.pipes import windows_jobs
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.sandbox import Enclosure
from desktop_agent.engine.workspace.programs import program_in, stood_in_for

_CHUNK = 64 * 1024
_LOG_LINES = MOST_LOG_LINES
_LOG_LINE = 500
# A server ends when its input does; what does not is asked to, then made to.
_GRACE_S = 2.0
_JOINING = frozenset("&|<>^()=;, ")


class ServerCommand:
    """Starts at once; raises McpError when that is impossible. One event loop's own.

    `wrote` takes what the command writes, b"" at the end of its output; the next piece is read
    once it is done. `ended` hears of the exit code, once.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        directory: str,
        environment: Mapping[str, str],
        enclosure: Enclosure | None,
        wrote: Callable[[bytes], Awaitable[None]],
        ended: Callable[[int], None],
        root: str = "",
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._wrote = wrote
        self._ended = ended
        self._lines: deque[McpLine] = deque(maxlen=_LOG_LINES)
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._exited = asyncio.Event()
        self._enclosure = enclosure
        self._process = _popen(words, directory, environment, enclosure, root)
        self._mark = f"mcp.{self._process.pid}."
        if sys.platform == "win32":
            windows_jobs.adopt(self._mark, self._process.pid)
        works = (self._read_log, self._read_output, self._write, self._await_exit)
        threads = [threading.Thread(target=work, name="mcp", daemon=True) for work in works]
        self._log_thread = threads[0]
        for thread in threads:
            thread.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def log(self, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that it wrote to its error output."""
        return tuple(self._lines)[-most:]

    def write(self, data: bytes) -> None:
        """Give it something to read; in order, whenever it reads."""
        self._to_write.put(data)

    async def close(self) -> None:
        """End it and all that it started."""
        self._to_write.put(None)
        for number in (None, "SIGTERM", "SIGKILL"):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_S):
                    await self._exited.wait()
                break
        self._signal("SIGKILL")  # what it left in its group
        if self._enclosure is not None:
            enclosure, self._enclosure = self._enclosure, None
            await enclosure.finished()

    def _signal(self, name: str) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                if windows_jobs.end(self._mark) or self._process.poll() is None:
                    self._process.kill()
            else:
                os.killpg(self._process.pid, getattr(signal, name))

    # On threads of their own

    def _read_output(self) -> None:
        with (
            _stream(self._process.stdout) as output,
            contextlib.suppress(OSError, ValueError, RuntimeError),
        ):
            while chunk := os.read(output.fileno(), _CHUNK):
                self._hand_over(chunk).result()
        with contextlib.suppress(RuntimeError):
            self._hand_over(b"")

    def _hand_over(self, data: bytes) -> Future[None]:
        """Have the loop take it; raises RuntimeError when that is closed."""
        taken: Future[None] = Future()
        self._loop.call_soon_threadsafe(self._take, data, taken)
        return taken

    def _read_log(self) -> None:
        held = b""
        with _stream(self._process.stderr) as log, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(log.fileno(), _CHUNK):
                *lines, held = (held + chunk).split(b"\n")
                held = held[-_LOG_LINE:]
                self._lines.extend(map(_shown, lines[-_LOG_LINES:]))
        if held:
            self._lines.append(_shown(held))

    def _write(self) -> None:
        into = _stream(self._process.stdin)
        with contextlib.suppress(OSError, ValueError):
            while (data := self._to_write.get()) is not None:
                into.write(data)
        with contextlib.suppress(OSError):
            into.close()

    def _await_exit(self) -> None:
        code = self._process.wait()
        self._to_write.put(None)
        # Its last words say why it ended; what it left running may hold the pipe.
        self._log_thread.join(_GRACE_S)
        # The loop is closed when the app is ending; nobody needs to know then.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_exit, code)

    def _take(self, data: bytes, taken: Future[None]) -> None:
        # Made here: a coroutine that a closing loop never runs would be complained of.
        self._taking = asyncio.ensure_future(self._wrote(data))
        self._taking.add_done_callback(lambda done: _settle(taken, done))

    def _on_exit(self, code: int) -> None:
        self._exited.set()
        self._ended(code)


def _settle(taken: Future[None], done: asyncio.Future[None]) -> None:
    if done.cancelled() or done.exception() is not None:
        taken.set_exception(RuntimeError("what the server wrote was not taken"))
    else:
        taken.set_result(None)


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _shown(line: bytes) -> McpLine:
    return McpLine(time.time(), line[:_LOG_LINE].decode("utf-8", "replace").rstrip())


def _popen(
    words: tuple[str, ...],
    directory: str,
    environment: Mapping[str, str],
    enclosure: Enclosure | None,
    root: str,
) -> subprocess.Popen[bytes]:
    root = root if enclosure is None else ""
    more = enclosure.environment if enclosure is not None else {}
    try:
        return subprocess.Popen(
            _line(
                enclosure.words if enclosure is not None else (),
                _program(words, directory, environment, root),
            ),
            cwd="/" if enclosure is not None else directory,
            env={**environment, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=sys.platform != "win32",
            creationflags=NO_WINDOW | windows_jobs.SUSPENDED,
            pass_fds=enclosure.descriptors if enclosure is not None else (),
        )
    except (OSError, ValueError) as error:
        raise McpError(f"“{words[0]}” could not be started: {error}.") from None
    finally:
        if enclosure is not None:
            enclosure.close()


def _program(
    words: tuple[str, ...], directory: str, environment: Mapping[str, str], root: str
) -> tuple[str, ...]:
    """Return the words with where the program is: Windows would not find a script as npx.

    One that is named by a path is looked for from the server's folder, and no other there. One that
    agents may have put into a `root` doesn't stand in for the system's.
    """
    above, name = os.path.split(words[0])
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    own = stood_in_for(name, folders, (root,)) if root and not above else ""
    if above:
        folders = [os.path.join(directory, above)]  # noqa: PTH118
    found = (program_in(folder, name) for folder in folders if os.path.isabs(folder))  # noqa: PTH117
    program = own or next(filter(None, found), "")
    if not program and not os.path.isabs(words[0]):  # noqa: PTH117
        raise McpError(f"The program “{words[0]}” was not found.")
    return (program or words[0], *words[1:])


def _line(before: tuple[str, ...], words: tuple[str, ...]) -> str | tuple[str, ...]:
    if sys.platform == "win32" and words[0].lower().endswith((".cmd", ".bat")):
        return script_line(words)
    return (*before, *words)


def script_line(words: tuple[str, ...]) -> str:
    """Return what starts a script on Windows; what joins commands there is text within quotes."""
    shell = os.environ.get("SYSTEMROOT", r"C:\Windows") + r"\System32\cmd.exe"
    return f'{shell} /d /s /c "{" ".join(map(_quoted, words))}"'


def _quoted(word: str) -> str:
    plain = subprocess.list2cmdline([word])
    if plain.startswith('"') or not _JOINING & set(word):
        return plain
    ending = plain[len(plain.rstrip("\\")) :]
    return f'"{plain}{ending}"'

"""A command that runs: its output, its end, and the end of everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO

import msgspec

from desktop_agent.core.pipes import windows_jobs
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.sandbox import Enclosure
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.workspace.programs import find_program
from desktop_agent.tools.shell import process_list, process_tree
from desktop_agent.tools.shell.new_processes import moment
from desktop_agent.tools.shell.orphans import Watcher
from desktop_agent.tools.shell.output import Output
from desktop_agent.tools.shell.powershell import powershell_words

_CHUNK = 64 * 1024
# A flood is read at no more than about 100 MB/s: the loop has other work to do.
_BREATHER_AFTER = 1 << 20
_BREATHER_S = 0.01
_PIPE_GRACE_S = 2.0
# One for all commands of the app.
WATCHER = Watcher()
_bash_found: dict[str, str] = {}
NOT_STARTED = "[The sandbox could not start the command; what was printed says why.]"


class Launch(msgspec.Struct, frozen=True):
    """What to start: the text for the shell, where, with what; in an `enclosure` if it has one."""

    command: str
    directory: str
    environment: Mapping[str, str]
    mark: str
    takes_input: bool = False
    enclosure: Enclosure | None = None

    def close(self) -> None:
        """Let go of what was prepared; after the start nothing is left to."""
        if self.enclosure is not None:
            self.enclosure.close()


class RunningCommand:
    """A started command. Its exit and the end of its output are awaited apart.

    `began` is the moment just before, on Linux.

    A process that left the group may keep the pipe open for ever; it gets 2 s after the exit.
    """

    def __init__(self, launch: Launch, output: Output, live: Callable[[bytes], None]) -> None:
        self.output = output
        self.mark = launch.mark
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._unrested = 0
        self._unsent = b""
        self._has_left_none = False
        self._timer: asyncio.TimerHandle | None = None
        self._enclosure = launch.enclosure
        self._settling: asyncio.Task[tuple[str, ...]] | None = None
        self.began = moment()
        self._process = _popen(launch)
        if self._is_watched:
            WATCHER.begun(self.pid, self.mark)
        self._start_reading()
        threading.Thread(target=self._await_exit, daemon=True).start()

    @property
    def pid(self) -> int:
        """The shell's process id, which is its group's and session's too."""
        return self._process.pid

    @property
    def is_enclosed(self) -> bool:
        """Whether it runs in the sandbox, where nothing of it outlives the shell."""
        return self._enclosure is not None

    @property
    def _is_watched(self) -> bool:
        """Whether nothing else ends it when the app is killed."""
        return sys.platform != "win32" and self._enclosure is None

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.returncode if self._exited.is_set() else None

    async def wait(self) -> int:
        """Wait for the exit, then for the rest of the output; return the exit code."""
        await self._exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_GRACE_S):
                await self._drained.wait()
        self._stop_reading()
        return self._process.returncode

    async def end(self) -> tuple[int, ...]:
        """End the whole tree; return the processes that would not go."""
        survivors = await process_tree.end(self.mark, self.pid)
        if not survivors:
            # No asyncio.timeout: of a call that was stopped Python before 3.11.4 would raise
            # CancelledError at its end.
            exit_seen = self._loop.create_task(self._exited.wait())
            await asyncio.wait([exit_seen], timeout=1.0)
            exit_seen.cancel()
        self._stop_reading()
        return survivors

    async def settle(self) -> tuple[str, ...]:
        """Put right what it may not leave behind, once it has ended; a line for each thing."""
        if self._enclosure is None:
            return ()
        if self._settling is None:
            self._settling = self._loop.create_task(self._settle(self._enclosure))
        return await asyncio.shield(self._settling)

    async def _settle(self, enclosure: Enclosure) -> tuple[str, ...]:
        left = await self.left()
        survivors = await process_tree.end_left(left, self.mark)
        code = self.exit_code
        told = [] if code is None or enclosure.has_started(code) else [NOT_STARTED]
        if survivors:
            told.append(f"[Could not be ended and still runs: {process_tree.names_of(survivors)}.]")
        return (*told, *(f"[Sandbox: {line}]" for line in await enclosure.finished()))

    async def left(self) -> tuple[int, ...]:
        """Return the living processes that came out of it, once it has ended.

        Where there was none right after the exit, nobody could start another.
        """
        if self._has_left_none:
            return ()
        return await asyncio.to_thread(process_tree.members, self.mark, self.pid, self.began)

    def write(self, text: str) -> None:
        """Give the command a line of input; raises ToolError when it doesn't listen.

        What its pipe has no room for follows while the command reads.
        """
        if self._process.stdin is None or self._exited.is_set():
            raise ToolError("the command doesn't take input any more.")
        if self._unsent:
            raise ToolError("the command isn't reading its input.")
        if sys.platform == "win32":
            self._unsent = text.encode()
            pipe_and_text = self._process.stdin, self._unsent
            threading.Thread(target=self._send_in_thread, args=pipe_and_text, daemon=True).start()
            return
        pipe, content = self._process.stdin.fileno(), text.encode()
        try:
            self._unsent = content[os.write(pipe, content) :]
        except BlockingIOError:
            raise ToolError("the command isn't reading its input.") from None
        except OSError:
            raise ToolError("the command closed its input.") from None
        if self._unsent:
            self._loop.add_writer(pipe, self._send_more, pipe)

    def _send_more(self, pipe: int) -> None:
        try:
            self._unsent = self._unsent[os.write(pipe, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self._loop.remove_writer(pipe)

    def _send_in_thread(self, pipe: IO[bytes], content: bytes) -> None:
        """Windows: whoever writes waits until the command has read, or is gone."""
        with contextlib.suppress(OSError, ValueError):
            while content:
                content = content[pipe.write(content) :]
        self._unsent = b""
        if self._exited.is_set():
            self._end_input(pipe)

    def _start_reading(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        if sys.platform == "win32":
            threading.Thread(target=self._read_in_thread, args=(pipe,), daemon=True).start()
            return
        os.set_blocking(pipe.fileno(), False)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._read_some)

    def _read_some(self) -> None:
        pipe = self._process.stdout
        if pipe is None or pipe.closed:
            return
        try:
            chunk = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._stop_reading()
            return
        self._take(chunk)
        self._unrested += len(chunk)
        if self._unrested >= _BREATHER_AFTER:
            self._unrested = 0
            self._loop.remove_reader(pipe.fileno())
            self._timer = self._loop.call_later(_BREATHER_S, self._go_on_reading)

    def _go_on_reading(self) -> None:
        pipe = self._process.stdout
        if pipe is not None and not pipe.closed:
            self._loop.add_reader(pipe.fileno(), self._read_some)

    def _take(self, chunk: bytes) -> None:
        self.output.feed(chunk)
        self._live(chunk)

    def _stop_reading(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pipe = self._process.stdout
        if pipe is not None and not pipe.closed and sys.platform != "win32":
            self._loop.remove_reader(pipe.fileno())
            pipe.close()
        if self._process.stdin is not None and self._exited.is_set():
            self._end_input(self._process.stdin)
        self.output.close()
        self._drained.set()

    def _end_input(self, pipe: IO[bytes]) -> None:
        if self._unsent and sys.platform == "win32":
            return  # closing would wait for the thread that writes, which closes then
        if self._unsent and not pipe.closed:
            self._loop.remove_writer(pipe.fileno())
        self._unsent = b""
        with contextlib.suppress(OSError):
            pipe.close()

    def _read_in_thread(self, pipe: IO[bytes]) -> None:
        """Windows: pipes can't be waited for by the loop, so a thread reads, piece by piece."""

        async def take(chunk: bytes) -> None:
            self._take(chunk)

        with contextlib.suppress(RuntimeError, OSError, ValueError), pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                asyncio.run_coroutine_threadsafe(take(chunk), self._loop).result()
            self._loop.call_soon_threadsafe(self._stop_reading)

    def _await_exit(self) -> None:
        self._process.wait()
        if self._is_watched:
            WATCHER.ended(self.pid)
        try:
            # On this thread, which is there already: a look at the processes takes its time.
            self._has_left_none = not process_tree.members(self.mark, self.pid, self.began)
        finally:
            # The loop is closed when the app is ending; the result is not needed then.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._exited.set)


def _popen(launch: Launch) -> subprocess.Popen[bytes]:
    enclosure = launch.enclosure
    more = enclosure.environment if enclosure is not None else {}
    environment = {**launch.environment, **more, process_list.MARK: launch.mark}
    try:
        process = subprocess.Popen(
            [*(enclosure.words if enclosure is not None else ()), *_shell_words(launch.command)],
            cwd=launch.directory,
            env=environment,
            stdin=subprocess.PIPE if launch.takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=sys.platform != "win32",
            creationflags=NO_WINDOW | windows_jobs.SUSPENDED,
            pass_fds=enclosure.descriptors if enclosure is not None else (),
        )
        if sys.platform == "win32":
            windows_jobs.adopt(launch.mark, process.pid)
        return process
    except (OSError, ValueError) as error:
        raise ToolError(f"the command could not be started: {error}.") from None
    finally:
        launch.close()


def _bash() -> str:
    """Return where bash is; it is looked for again when it is gone, or PATH is another one."""
    search = os.environ.get("PATH", "")
    found = _bash_found.get(search, "")
    if not found or not os.access(found, os.X_OK):
        _bash_found.clear()
        found = _bash_found[search] = find_program("bash")
    return found


def _shell_words(command: str) -> list[str]:
    if sys.platform == "win32":
        return powershell_words(command)
    if bash := _bash():
        return [bash, "--noprofile", "--norc", "-c", command]
    return ["/bin/sh", "-c", command]

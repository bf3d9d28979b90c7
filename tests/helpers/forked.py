"""Processes by fork from one that has imported the modules: litellm takes seconds for each anew.

What runs is the program as it is, with the arguments, environment, folder and files of its own.
The starts that people have, with an interpreter of their own, have tests which use those.

`python -m tests.helpers.forked hosts LISTENING` makes hosts of models and of MCP, and MCP servers;
`… runs LISTENING HOSTS` makes runs of `desktop-agent`, where HOSTS is where the first of them
listens, and `… documents LISTENING` runs the scripts of skills. There is one of each for all
workers of a run of tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import selectors
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import msgspec

from desktop_agent.adapters.child_process import _spawn
from desktop_agent.core.network.imports import import_httpx

CAN_FORK = sys.platform == "linux"
_SPAWN = "desktop_agent.adapters.child_process._spawn"
_HOSTS = ("desktop_agent.model_host", "desktop_agent.mcp_host", "desktop_agent.file_history")
SCRIPT = "script"
_LISTENING = "DESKTOP_AGENT_TESTS_FORK_"
_LARGEST = 1 << 18
_MOST_FILES = 3
_MODULES = {
    "hosts": (
        "desktop_agent.model_host.__main__",
        "desktop_agent.model_host.demo.model",
        "desktop_agent.model_host.litellm_client.model",
        "desktop_agent.model_host.litellm_client.queries",
        "desktop_agent.mcp_host.__main__",
        "desktop_agent.file_history.__main__",
        "litellm.main",
        "mcp.server.mcpserver",
    ),
    "runs": (
        "desktop_agent.__main__",
        "desktop_agent.headless.run",
        "desktop_agent.compose",
        "desktop_agent.adapters.mcp.hosted_servers",
        "desktop_agent.adapters.network.networked_sandbox",
        "desktop_agent.adapters.sandbox.packages",
        "desktop_agent.adapters.sandbox.registries",
        "desktop_agent.tools.builtin",
        "anyio._backends._asyncio",
        "asyncio",
        "keyring",
        "regex",
    ),
    "documents": (
        "argparse",
        "docx",
        "json",
        "markdown_it",
        "openpyxl",
        "openpyxl.chart",
        "pypdf",
        "pypdf.generic",
    ),
}


class Start(msgspec.Struct):
    """What a process is started with, beside its files: a module's entry, or a script."""

    what: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str


class Forked:
    """A process made by fork. Of `subprocess.Popen` it has what the app uses."""

    def __init__(self, address: bytes, start: Start, files: Sequence[int]) -> None:
        self.returncode: int | None = None
        self._pid = 0
        self._lock = threading.Lock()
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
        self._channel.connect(address)
        socket.send_fds(self._channel, [msgspec.json.encode(start)], files)

    @property
    def pid(self) -> int:
        """The process's id, as soon as there is one."""
        with self._lock:
            if not self._pid:
                self._pid = int(self._channel.recv(32))
            return self._pid

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises TimeoutExpired."""
        _ = self.pid
        with self._lock:
            if self.returncode is None:
                self._channel.settimeout(timeout)
                try:
                    self.returncode = int(self._channel.recv(32))
                except TimeoutError:
                    raise subprocess.TimeoutExpired("a forked process", timeout or 0.0) from None
                finally:
                    self._channel.settimeout(None)
                self._channel.close()
            return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, 9)


class ForkServer:
    """A process that forks, started when somebody first connects; it ends with this object."""

    def __init__(self, kind: str, *rest: str) -> None:
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind("")  # the system finds a name, which is no file's
        self._listening.listen(64)
        self.address: bytes = self._listening.getsockname()
        self._end, theirs = socket.socketpair()
        self._thread = threading.Thread(target=self._run, args=(theirs, kind, *rest), daemon=True)
        self._thread.start()

    def _run(self, end: socket.socket, kind: str, *rest: str) -> None:
        with end, self._listening:
            if end in select.select([self._listening, end], [], [])[0]:
                return
            fd = self._listening.fileno()
            command = [sys.executable, "-m", "tests.helpers.forked", kind, str(fd), *rest]
            root = Path(__file__).parents[2]
            with subprocess.Popen(
                command, stdin=end, cwd=root, pass_fds=(fd,), start_new_session=True
            ):
                pass  # until it ends

    def close(self) -> None:
        """End it; what it has forked ends as it does when its own app has gone."""
        self._end.close()
        self._thread.join()


class Forks:
    """The processes that fork, with which others start; the workers of a run share them."""

    def __init__(self) -> None:
        self._servers: list[ForkServer] = []

    def open(self) -> None:
        """Let this process, and those it starts, find them."""
        if CAN_FORK:
            hosts = ForkServer("hosts")
            runs = ForkServer("runs", hosts.address.hex())
            servers = {"hosts": hosts, "runs": runs, "documents": ForkServer("documents")}
            self._servers += servers.values()
            for kind, server in servers.items():
                os.environ[_LISTENING + kind] = server.address.hex()

    def close(self) -> None:
        """End them."""
        for server in self._servers:
            server.close()
        self._servers.clear()

    @contextlib.contextmanager
    def hosts(self) -> Generator[None]:
        """Let apps in this process start their hosts by fork, where a system has that."""
        import pytest  # here, because the apps that fork their hosts have no use for it

        with pytest.MonkeyPatch.context() as patch:
            if CAN_FORK:
                patch.setattr(_SPAWN, partial(_start_by, _listening("hosts")))
            yield

    def hosts_address(self) -> str:
        """Return what `fork_hosts_at` takes in another process; empty where nothing forks."""
        if CAN_FORK and not self._servers and _LISTENING + "hosts" not in os.environ:
            self.open()
        return _listening("hosts").hex() if CAN_FORK else ""

    def run(self, arguments: Sequence[str], **own: str) -> subprocess.CompletedProcess[str]:
        """Run `desktop-agent` to its end, in the environment of now and these variables."""
        environment = {**os.environ, **own}
        if not CAN_FORK:
            command = [sys.executable, "-m", "desktop_agent", *arguments]
            return subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
        start = Start("desktop_agent", list(arguments), environment, str(Path.cwd()))
        return _to_its_end("runs", start)

    def script(
        self, script: Path, *words: str, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the script of a skill to its end, with warnings as errors."""
        if not CAN_FORK:
            return subprocess.run(
                [sys.executable, "-W", "error", str(script), *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
        arguments = [str(script), *words]
        start = Start(SCRIPT, arguments, dict(os.environ), str(folder or Path.cwd()))
        return _to_its_end("documents", start)


FORKS = Forks()


def script_by_fork(script: Path, *words: str) -> tuple[str, ...]:
    """Return what starts a script that uses the SDK of MCP, for whoever starts it as a command."""
    if not CAN_FORK:
        return (sys.executable, str(script), *words)
    stand_in = Path(__file__).with_name("run_by_fork.py")
    return (sys.executable, "-S", str(stand_in), FORKS.hosts_address(), str(script), *words)


def app_by_fork() -> list[str]:
    """Return what starts `desktop-agent` as people do, with hosts that fork if they can."""
    if not CAN_FORK:
        return [sys.executable, "-m", "desktop_agent"]
    return [sys.executable, "-m", "tests.e2e.desktop.app_by_fork", FORKS.hosts_address()]


def _to_its_end(kind: str, start: Start) -> subprocess.CompletedProcess[str]:
    out, err = os.pipe(), os.pipe()
    with Path(os.devnull).open("rb") as nothing:
        process = Forked(_listening(kind), start, [nothing.fileno(), out[1], err[1]])
    for end in (out[1], err[1]):
        os.close(end)
    with ThreadPoolExecutor(2) as pool:
        said = [text.decode() for text in pool.map(_read, (out[0], err[0]))]
    return subprocess.CompletedProcess(start.arguments, process.wait(), *said)


def fork_hosts_at(address: str) -> None:
    """Start hosts by fork in this process, from now on."""
    module, _, name = _SPAWN.rpartition(".")
    setattr(import_module(module), name, partial(_start_by, bytes.fromhex(address)))


def _listening(kind: str) -> bytes:
    if _LISTENING + kind not in os.environ:
        FORKS.open()  # no test runs here
    return bytes.fromhex(os.environ[_LISTENING + kind])


def _start_by(
    address: bytes, command: Sequence[str], fd: int, environment: Mapping[str, str]
) -> Forked | subprocess.Popen[Any]:
    """Fork a host; start what is something else as the app does."""
    for module in _HOSTS:
        if module in command:
            words = list(command[command.index(str(fd)) + 1 :])
            return Forked(address, Start(module, words, dict(environment), os.sep), [fd])
    return _spawn(command, fd, environment)


def _read(end: int) -> bytes:
    with open(end, "rb") as file:
        return file.read()


# -- the processes that fork --------------------------------------------------------------------


class _Serving:
    """Forks for each that asks; tells it the id of its process and, later, the exit code."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._ended: dict[int, tuple[int, socket.socket]] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._stop)
        self._selector.register(listening, selectors.EVENT_READ, self._fork)

    def run(self) -> tuple[Start, list[int]]:
        """Return in the new processes, with the files they were given."""
        while True:
            for key, _ in self._selector.select():
                if (made := key.data()) is not None:
                    return made

    def _stop(self) -> None:
        os._exit(0)  # the tests are over

    def _fork(self) -> tuple[Start, list[int]] | None:
        channel, _ = self._listening.accept()
        asked, files, *_ = socket.recv_fds(channel, _LARGEST, _MOST_FILES)
        if not asked:  # who asked was killed
            channel.close()
            return None
        start = msgspec.json.decode(asked, type=Start)
        pid = os.fork()
        if pid == 0:
            self._let_go(channel)
            return start, files
        for file in files:
            os.close(file)
        self._tell(channel, pid)
        descriptor = os.pidfd_open(pid)
        self._ended[descriptor] = (pid, channel)
        self._selector.register(descriptor, selectors.EVENT_READ, partial(self._end, descriptor))
        if start.what == SCRIPT:
            self._selector.register(
                channel, selectors.EVENT_READ, partial(self._kill, pid, channel)
            )
        return None

    def _let_go(self, channel: socket.socket) -> None:
        self._selector.close()
        self._listening.close()
        for one in (channel, *(other for _, other in self._ended.values())):
            one.close()
        for descriptor in self._ended:
            os.close(descriptor)

    def _kill(self, pid: int, channel: socket.socket) -> None:
        """End what runs in the place of a program that was killed."""
        if (pid, channel) in self._ended.values():
            self._selector.unregister(channel)
            os.kill(pid, 9)

    def _end(self, descriptor: int) -> None:
        pid, channel = self._ended.pop(descriptor)
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if channel in self._selector.get_map():
            self._selector.unregister(channel)
        _, status = os.waitpid(pid, 0)
        self._tell(channel, os.waitstatus_to_exitcode(status))
        channel.close()

    def _tell(self, channel: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):  # who asked was killed
            channel.send(str(number).encode())


def _become(start: Start, files: Sequence[int]) -> None:
    """Be as a fresh process is: its environment, folder, input and output."""
    os.environ.clear()
    os.environ.update(start.environment)
    os.chdir(start.folder)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)


def _host(start: Start, files: Sequence[int]) -> int:
    (pipe,) = files
    nothing = os.open(os.devnull, os.O_RDWR)
    _become(start, [os.dup(nothing), os.dup(nothing), nothing])
    os.setsid()
    return import_module(f"{start.what}.__main__").serve(pipe, *map(Path, start.arguments))


def _run(start: Start, files: Sequence[int]) -> int:
    _become(start, files)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    sys.argv = ["desktop-agent", *start.arguments]
    return import_module("desktop_agent.__main__").main()


def _script(start: Start, files: Sequence[int]) -> int:
    _become(start, files)
    os.setsid()
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    sys.argv = start.arguments
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    try:
        run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _load(kind: str) -> None:
    """Import everything that the new processes need."""
    if kind != "documents":
        import_httpx()
    if kind == "hosts":
        setup = import_module("desktop_agent.model_host.litellm_client.setup")
        setup.prepare()
        setup.warm_up()
        asyncio.run(setup.make_ready("openai/responses/"))
        import_module("desktop_agent.model_host.litellm_client.price_list").models()
    for name in _MODULES[kind]:
        import_module(name)


def main() -> int:
    """Import everything, then fork; what is returned is the exit code of a new process."""
    kind, listening, *rest = sys.argv[1:]
    gc.disable()
    _load(kind)
    if rest:
        fork_hosts_at(rest[0])
    gc.freeze()
    start, files = _Serving(socket.socket(fileno=int(listening))).run()
    if kind == "runs":
        return _run(start, files)
    if kind == "documents":
        warnings.simplefilter("error")
    code = (_script if start.what == SCRIPT else _host)(start, files)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)  # all that was imported would be taken apart


if __name__ == "__main__":
    sys.exit(main())

"""Processes by fork from one that has imported the modules: litellm takes seconds for each anew.

What runs is the program as it is, with the arguments, environment, folder and files of its own.
The starts that people have, with an interpreter of their own, have tests which use those.

`python -m tests.helpers.forked hosts LISTENING` makes model hosts, `… runs LISTENING HOSTS` runs of
`desktop-agent`; HOSTS is where the first of them listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.adapters.child_process import _spawn

CAN_FORK = sys.platform == "linux"
_SPAWN = "desktop_agent.adapters.child_process._spawn"
_MODEL_HOST = "desktop_agent.model_host"
_LARGEST = 1 << 18
_MOST_FILES = 3
_MODULES = {
    "hosts": (
        "desktop_agent.model_host.__main__",
        "desktop_agent.model_host.demo.model",
        "desktop_agent.model_host.litellm_client.model",
        "desktop_agent.model_host.litellm_client.queries",
        "litellm.main",
    ),
    "runs": (
        "desktop_agent.__main__",
        "desktop_agent.headless.run",
        "desktop_agent.compose",
        "desktop_agent.tools.builtin",
        "asyncio",
        "keyring",
    ),
}


class Start(msgspec.Struct):
    """What a process is started with, beside its files."""

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


class Forks:
    """The two processes that fork, started when they are first needed; with which others start."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._servers: dict[str, tuple[bytes, subprocess.Popen[bytes]]] = {}

    @contextlib.contextmanager
    def hosts(self) -> Generator[None]:
        """Let apps in this process start their model hosts by fork, where a system has that."""
        with pytest.MonkeyPatch.context() as patch:
            if CAN_FORK:
                patch.setattr(_SPAWN, partial(_start_by, lambda: self._listening("hosts")))
            yield

    def hosts_address(self) -> str:
        """Return what `fork_hosts_at` takes in another process; empty where nothing forks."""
        return self._listening("hosts").hex() if CAN_FORK else ""

    def run(self, arguments: Sequence[str], **own: str) -> subprocess.CompletedProcess[str]:
        """Run `desktop-agent` to its end, in the environment of now and these variables."""
        environment = {**os.environ, **own}
        if not CAN_FORK:
            command = [sys.executable, "-m", "desktop_agent", *arguments]
            return subprocess.run(
                command, capture_output=True, text=True, check=False, env=environment
            )
        address = self._listening("runs", self.hosts_address())
        start = Start(list(arguments), environment, str(Path.cwd()))
        out, err = os.pipe(), os.pipe()
        with Path(os.devnull).open("rb") as nothing:
            process = Forked(address, start, [nothing.fileno(), out[1], err[1]])
        for end in (out[1], err[1]):
            os.close(end)
        with ThreadPoolExecutor(2) as pool:
            said = [text.decode() for text in pool.map(_read, (out[0], err[0]))]
        return subprocess.CompletedProcess(list(arguments), process.wait(), *said)

    def close(self) -> None:
        """End both; what they have forked ends as it does when its own app has gone."""
        for _, server in self._servers.values():
            server.communicate()
        self._servers.clear()

    def _listening(self, kind: str, *rest: str) -> bytes:
        with self._starting:
            return self._servers[kind][0] if kind in self._servers else self._start(kind, *rest)

    def _start(self, kind: str, *rest: str) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind("")  # the system finds a name, which is no file's
            listening.listen(64)
            fd = listening.fileno()
            command = [sys.executable, "-m", "tests.helpers.forked", kind, str(fd), *rest]
            server = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                cwd=Path(__file__).parents[2],
                pass_fds=(fd,),
                start_new_session=True,
            )
            self._servers[kind] = (listening.getsockname(), server)
            return self._servers[kind][0]


FORKS = Forks()


def fork_hosts_at(address: str) -> None:
    """Start model hosts by fork in this process, from now on."""
    module, _, name = _SPAWN.rpartition(".")
    setattr(import_module(module), name, partial(_start_by, lambda: bytes.fromhex(address)))


def _start_by(
    hosts: Callable[[], bytes], command: Sequence[str], fd: int, environment: Mapping[str, str]
) -> Forked | subprocess.Popen[Any]:
    """Fork a model host; start what is something else as the app does."""
    if _MODEL_HOST in command:
        return Forked(hosts(), Start([], dict(environment), os.sep), [fd])
    return _spawn(command, fd, environment)


def _read(end: int) -> bytes:
    with open(end, "rb") as file:
        return file.read()


# -- the processes that fork --------------------------------------------------------------------


def _serve(listening: socket.socket) -> tuple[Start, list[int]]:
    """Fork for each that asks. Returns in the new processes, with the files they were given."""
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    selector.register(listening, selectors.EVENT_READ)
    channels: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listening:
                channel, _ = listening.accept()
                asked, files, *_ = socket.recv_fds(channel, _LARGEST, _MOST_FILES)
                pid = os.fork()
                if pid == 0:
                    for ours in (selector, listening, channel):
                        ours.close()
                    for _, other in channels.values():
                        other.close()
                    for descriptor in channels:
                        os.close(descriptor)
                    return msgspec.json.decode(asked, type=Start), files
                for file in files:
                    os.close(file)
                channel.send(str(pid).encode())
                descriptor = os.pidfd_open(pid)
                channels[descriptor] = (pid, channel)
                selector.register(descriptor, selectors.EVENT_READ)
            elif key.fileobj is sys.stdin:
                os._exit(0)  # the tests are over
            else:
                selector.unregister(key.fd)
                pid, channel = channels.pop(key.fd)
                os.close(key.fd)
                _, status = os.waitpid(pid, 0)
                with contextlib.suppress(OSError):
                    channel.send(str(os.waitstatus_to_exitcode(status)).encode())
                channel.close()


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
    return import_module("desktop_agent.model_host.__main__").serve(pipe)


def _run(start: Start, files: Sequence[int]) -> int:
    _become(start, files)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    sys.argv = ["desktop-agent", *start.arguments]
    return import_module("desktop_agent.__main__").main()


def main() -> int:
    """Import everything, then fork; what is returned is the exit code of a new process."""
    kind, listening, *rest = sys.argv[1:]
    gc.disable()
    if kind == "hosts":
        setup = import_module("desktop_agent.model_host.litellm_client.setup")
        setup.prepare()
        setup.warm_up()
        for model in ("openai/responses/", "anthropic/"):
            asyncio.run(setup.make_ready(model))
    for name in _MODULES[kind]:
        import_module(name)
    if rest:
        fork_hosts_at(rest[0])
    gc.freeze()
    start, files = _serve(socket.socket(fileno=int(listening)))
    return (_host if kind == "hosts" else _run)(start, files)


if __name__ == "__main__":
    sys.exit(main())

"""The targets that attempts to get out aim at: each is really there, and really open outside."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from desktop_agent.core.workspace import OwnPlaces
from tests.adapters.sandbox.bench import Bench, command_environment, interpreter, make_repository

ATTEMPTS = Path(__file__).with_name("attempts.py")
_SLEEPER = """
import ctypes, sys
held = ctypes.create_string_buffer(b"secret!")
print(ctypes.addressof(held), flush=True)
sys.stdin.read()
"""
_IPC_CREATE, _IPC_REMOVE = 0o1000, 0


@contextlib.contextmanager
def staged(bench: Bench) -> Iterator[dict[str, Any]]:
    """Set everything up; yields the targets by name."""
    with contextlib.ExitStack() as stack:
        what: dict[str, Any] = {"work": str(bench.work), "is_control": False}
        _files(bench, what)
        _elsewhere(stack, what)
        _listeners(stack, bench, what)
        _program(stack, what)
        yield what


def free_attempts(bench: Bench, what: dict[str, Any]) -> dict[str, str]:
    """Make all attempts outside."""
    inherited = os.open(what["outside"], os.O_RDONLY)
    try:
        done = subprocess.run(
            attempts_words({**what, "is_control": True, "inherited": inherited}),
            cwd=bench.work,
            env=command_environment(),
            capture_output=True,
            check=True,
            pass_fds=(inherited,),
            start_new_session=True,
        )
    finally:
        os.close(inherited)
    return json.loads(done.stdout)


async def enclosed_attempts(bench: Bench, what: dict[str, Any], *, git: bool) -> dict[str, str]:
    """Make all attempts inside, while a descriptor is open that programs inherit by default."""
    inherited = os.open(what["outside"], os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        done = await bench.run(attempts_words({**what, "inherited": inherited}), git=git)
    finally:
        os.close(inherited)
    try:
        return json.loads(done.output)
    except ValueError:
        raise AssertionError(done.output) from None


def attempts_words(what: dict[str, Any]) -> list[str]:
    return [*interpreter(), str(ATTEMPTS), json.dumps(what)]


def _files(bench: Bench, what: dict[str, Any]) -> None:
    home, outside, own = (bench.folder / name for name in ("home", "outside", "own"))
    toolchain = home / ".pyenv" / "versions" / "tool"
    contents = {
        outside / "canary": "canary",
        outside / "spare": "",
        home / ".ssh" / "id_rsa": "key",
        home / "other-project" / "notes": "notes",
        home / ".bashrc": "",
        own / "sessions.db": "sessions",
        own / "sessions.db-wal": "sessions",
        toolchain: "tool",
        bench.work / ".envrc": "",
        bench.work / ".vscode" / "tasks.json": "{}",
        bench.work / "mount" / "here": "",
    }
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    make_repository(bench.work)
    make_repository(bench.work / "nested")
    # The app's own places are seen by nobody, even where the folder around them is.
    bench.own = OwnPlaces(private=(str(own / "sessions.db"),))
    bench.readable = (*bench.readable, str(outside), str(own), str(ATTEMPTS.parent))
    what |= {
        "home": str(home),
        "outside": str(outside),
        "canary": str(outside / "canary"),
        "spare": str(outside / "spare"),
        "own": str(own),
        "toolchain": str(toolchain),
    }


def _elsewhere(stack: contextlib.ExitStack, what: dict[str, Any]) -> None:
    """Put files where every program may put some."""
    for name, folder in (("in_tmp", "/tmp"), ("in_shm", "/dev/shm")):
        descriptor, path = tempfile.mkstemp(dir=folder, prefix="canary-")
        os.close(descriptor)
        stack.callback(Path(path).unlink)
        what[name] = path
    what["in_run"] = [path.name for path in Path("/run").iterdir()]
    key = int.from_bytes(secrets.token_bytes(3), "big") | 1
    library = ctypes.CDLL(None, use_errno=True)
    segment = library.shmget(key, 4096, _IPC_CREATE | 0o600)
    assert segment >= 0
    stack.callback(library.shmctl, segment, _IPC_REMOVE, None)
    what["shm_key"] = key


def _listeners(stack: contextlib.ExitStack, bench: Bench, what: dict[str, Any]) -> None:
    tcp = stack.enter_context(socket.create_server(("0.0.0.0", 0), backlog=64))
    what["tcp"] = tcp.getsockname()[1]
    with contextlib.suppress(OSError):
        tcp6 = socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=64)
        what["tcp6"] = stack.enter_context(tcp6).getsockname()[1]
    what["address"] = _own_address()
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    what["udp"] = udp.getsockname()[1]
    echo = threading.Thread(target=_echo, args=(udp,), daemon=True)
    echo.start()
    stack.callback(_end_echo, udp.getsockname(), echo)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sockets-"))
    bench.readable = (*bench.readable, os.path.realpath(folder))
    what["abstract"] = f"attempt-{secrets.token_hex(8)}"
    for name, address in (
        ("socket", f"{folder}/stream"),
        ("work_socket", f"{bench.work}/s"),
        ("", f"\0{what['abstract']}"),
    ):
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(address)
        server.listen(64)
        what[name] = address
    datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    what["pipe"] = f"{folder}/pipe"
    os.mkfifo(what["pipe"])
    stack.callback(os.close, os.open(what["pipe"], os.O_RDONLY | os.O_NONBLOCK))
    what["datagrams"] = f"{folder}/datagrams"
    datagrams.bind(what["datagrams"])
    del what[""]


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return asked.getsockname()[0]


def _echo(udp: socket.socket) -> None:
    while True:
        words, sender = udp.recvfrom(8)
        if words == b"end":
            return
        udp.sendto(words, sender)


def _end_echo(address: tuple[str, int], echo: threading.Thread) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"end", address)
    echo.join()


def _program(stack: contextlib.ExitStack, what: dict[str, Any]) -> None:
    """Run somebody's program: what it holds, and that it lives, is nobody else's business."""
    words = [*interpreter(), "-c", _SLEEPER]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=what["outside"],
        start_new_session=True,
    )
    stack.callback(process.communicate)
    assert process.stdout is not None
    what["readable"] = int(process.stdout.readline())
    what["pid"] = process.pid

"""Whether the sandbox holds here: nine attempts to break out, and two things that must work.

Each attempt is first made outside. What fails there as well proves nothing, so it doesn't count
as held.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.adapters.sandbox import probe_program
from desktop_agent.adapters.sandbox.enclosure import CommandEnclosure
from desktop_agent.adapters.sandbox.keeper import Keeper
from desktop_agent.adapters.sandbox.private_caches import PrivateCaches
from desktop_agent.adapters.sandbox.visible import app_places, hidden_entries
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary, Probe
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import OwnPlaces, Workspace

Prepare = Callable[[Keeper, Boundary, str, dict[str, str]], CommandEnclosure]

# What must fail inside, in words for when it does not.
_ATTEMPTS = {
    "write": "commands can write outside the folder",
    "read": "commands can read what is hidden",
    "tcp": "commands can reach this computer's servers by TCP",
    "udp": "commands can reach this computer's servers by UDP",
    "path socket": "commands can reach this computer's servers by their socket files",
    "abstract socket": "commands can reach this computer's servers by abstract sockets",
    "signal": "commands can send signals to other programs",
    "user namespace": "commands can make user namespaces",
    "git": "commands can move a repository's own files",
}
_WORK = {
    "inside": "commands can't write in the folder",
    "localhost": "a command can't reach a server that another one started",
}
_OUTSIDE, _INSIDE = "outside", "inside"
# A busy machine takes long; what takes longer hangs.
_PATIENCE_S = 30.0


async def run(
    prepare: Prepare, new_keeper: Callable[[], Keeper], folder: Path
) -> tuple[Probe, ...]:
    """Make all attempts; raises ToolError or OSError when the sandbox doesn't even start."""
    return await asyncio.to_thread(_run, prepare, new_keeper, folder)


def _run(prepare: Prepare, new_keeper: Callable[[], Keeper], folder: Path) -> tuple[Probe, ...]:
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(_staged(folder))
        keeper = new_keeper()
        stack.callback(keeper.close)
        # It moves a repository of its own: the other one is mounted meanwhile.
        free_to = {**stage.what, "git": stage.free_git, "says": _OUTSIDE}
        outside = stack.enter_context(_started(_program(free_to)))
        serving = {"serves": True, "says": _INSIDE}
        server = stack.enter_context(_enclosed(prepare, keeper, stage, serving))
        results = _answer(server)
        client = {"port": results.get("port", 0)}
        with _enclosed(prepare, keeper, stage, client) as asked:
            inside = {**results, **_answer(asked)}
        free = _answer(outside)
        received = _received(stage.udp)
        for told, name in ((free, _OUTSIDE), (inside, _INSIDE)):
            told["udp"] = [name in received, "no datagram arrived"]
        return _judged(free, inside)


def _judged(outside: dict[str, Any], inside: dict[str, Any]) -> tuple[Probe, ...]:
    found: list[Probe] = []
    for name, words in _ATTEMPTS.items():
        if not outside[name][0]:
            told = f"whether {words} could not be tried: {outside[name][1]}"
            found.append(Probe(name, held=False, words=told))
        else:
            held = not inside[name][0]
            told = words.replace("commands can ", "commands can't ") if held else words
            found.append(Probe(name, held=held, words=told))
    for name, words in _WORK.items():
        works = inside[name][0]
        told = words.replace("can't", "can") if works else f"{words}: {inside[name][1]}"
        found.append(Probe(name, held=works, words=told))
    return tuple(found)


class _Stage(msgspec.Struct, frozen=True):
    """The targets of the attempts, and the boundary they are made within."""

    what: dict[str, Any]
    free_git: str
    boundary: Boundary
    directory: str
    udp: socket.socket


@contextlib.contextmanager
def _staged(folder: Path) -> Iterator[_Stage]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    session = SessionId(f"probe-{secrets.token_hex(4)}")
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="probe-", dir=folder)))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder / "tmp" / session, ignore_errors=True)
        stack.callback(shutil.rmtree, top, ignore_errors=True)
        caches = PrivateCaches(folder / "caches")
        work, shown, hidden = (top / name for name in ("work", "shown", "hidden"))
        free_git = top / "free" / ".git"
        for path in (work / ".git", free_git, shown, hidden):
            path.mkdir(parents=True)
        stack.callback(shutil.rmtree, caches.make(str(work)), ignore_errors=True)
        (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        for path in (shown / "canary", hidden / "canary"):
            path.write_text("canary")
        udp, listening = _listening(stack)
        what = {
            "inside": str(work / "written"),
            "write": str(shown / "canary"),
            "read": [str(hidden / "canary"), *hidden_entries((str(top), *app_places()))],
            "git": str(work / ".git"),
            "pid": os.getpid(),
            **listening,
        }
        program = str(Path(probe_program.__file__).parent)
        read = (str(shown), os.path.dirname(what["path"]), program, *app_places())  # noqa: PTH120
        own = OwnPlaces(kept=(str(hidden),))
        boundary = Boundary(session, Workspace(str(work), read), own)
        yield _Stage(what, str(free_git), boundary, str(work), udp)


def _listening(stack: contextlib.ExitStack) -> tuple[socket.socket, dict[str, Any]]:
    """Listen in every way that a command must not reach."""
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    # The path of a socket has to be short.
    folder = os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="probe-")))
    path, abstract = f"{folder}/socket", f"desktop-agent-{secrets.token_hex(8)}"
    for address in (path, f"\0{abstract}"):
        server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        server.bind(address)
        server.listen()
    ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
    return udp, {**ports, "path": path, "abstract": abstract}


def _received(server: socket.socket) -> set[str]:
    """Return the words that came as datagrams: who sends one isn't told whether it did."""
    server.setblocking(False)
    words: set[str] = set()
    with contextlib.suppress(BlockingIOError):
        while True:
            words.add(server.recv(64).decode(errors="replace"))
    return words


@contextlib.contextmanager
def _enclosed(
    prepare: Prepare, keeper: Keeper, stage: _Stage, more: dict[str, Any]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program as a command of the sandbox's."""
    environment = {"HOME": os.environ.get("HOME", ""), "PATH": os.defpath}
    enclosure = prepare(keeper, stage.boundary, stage.directory, environment)
    try:
        words = [*enclosure.words, *_program({**stage.what, **more})]
        with _started(words, enclosure.descriptors) as process:
            enclosure.close()
            yield process
    finally:
        enclosure.close()


@contextlib.contextmanager
def _started(
    words: Sequence[str], descriptors: tuple[int, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.defpath, "HOME": os.environ.get("HOME", "")},
        pass_fds=descriptors,
        start_new_session=True,
    )
    # Whatever hangs, the app goes on without a sandbox.
    limit = threading.Timer(_PATIENCE_S, process.kill)
    limit.start()
    try:
        yield process
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def _program(what: dict[str, Any]) -> list[str]:
    if getattr(sys, "frozen", False):
        return [sys.executable, "--sandbox-probe", json.dumps(what)]
    return [sys.executable, "-I", "-S", probe_program.__file__, json.dumps(what)]


def _answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the line that the program says. Raises ToolError when it says none."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        return json.loads(process.stdout.readline())
    except ValueError:
        words = process.stderr.read().decode(errors="replace").strip().splitlines()
        raise ToolError(words[-1] if words else "a probe did not answer") from None

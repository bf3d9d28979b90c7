"""`desktop-agent outpost`: joins standard input and output to the outpost of a name.

The outpost itself is a process of its own, started when it is not there: it goes on when the stream
is cut, and the next one finds it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent import paths
from desktop_agent.adapters.child_process import keyless_environment, own_program
from desktop_agent.adapters.files.file_lock import FileLock, StoreLocked
from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.pipes.outpost_pipe import MARK
from desktop_agent.headless.arguments import Parser, UsageError

if TYPE_CHECKING:
    from desktop_agent.outpost.work import Send, Tell, Work

_PIECE = 1 << 16
_START_S, _PAUSE_S = 60.0, 0.05
_CLUSTER, _FAILURE = "cluster.", ".failure"
_NAME = re.compile(r"[a-z0-9-]{1,40}")


def main(argv: Sequence[str]) -> int:
    """Do what the arguments behind `outpost` say; return the exit code."""
    if sys.platform == "win32":
        print("desktop-agent outpost: there is none on Windows.", file=sys.stderr)
        return 1
    try:
        given = make_parser().parse_args(argv)
        if given.check:
            return _tell_about(has_ray=given.ray)
        return _join(f"{_CLUSTER}{given.name}" if given.ray else given.name)
    except UsageError as error:
        print(f"desktop-agent outpost: {error}. See --help.", file=sys.stderr)
        return 2
    except (OSError, TimeoutError) as error:
        print(f"desktop-agent outpost: {error or 'it did not start'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def make_parser() -> argparse.ArgumentParser:
    """Return the options of `outpost`."""
    parser = Parser(
        prog="desktop-agent outpost",
        description="Run jobs here for a desktop elsewhere, over standard input and output. It is "
        "started by `desktop-agent batch --on ssh:HOST`; nobody types this.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", metavar="NAME", type=_name, default="main", help="which one")
    parser.add_argument("--ray", action="store_true", help="the work of the Ray cluster here")
    parser.add_argument("--check", action="store_true", help="tell what is here, and end")
    return parser


def _tell_about(*, has_ray: bool) -> int:
    from desktop_agent.outpost.about import about_this

    told = MARK + frame(about_this(has_ray=has_ray))
    while told:
        told = told[os.write(1, told) :]
    return 0


def serve(name: str) -> int:
    """Be the outpost of a name; does nothing when there is one."""
    from desktop_agent.adapters.places.git_copy import GitError
    from desktop_agent.outpost import server
    from desktop_agent.outpost.ray_cluster import NoCluster

    folder = _folder()
    try:
        lock = FileLock(folder / f"{name}.lock")
    except StoreLocked:
        return 0
    start_logging(paths.log_dir(), name="desktop-agent-outpost")
    os.chdir(folder)
    address, failure = Path(name), Path(f"{name}{_FAILURE}")
    try:
        address.unlink(missing_ok=True)
        failure.unlink(missing_ok=True)
        asyncio.run(server.serve(address, _work_of(name)))
    except (NoCluster, GitError) as error:
        failure.write_text(str(error), encoding="utf-8")
        return 1
    finally:
        address.unlink(missing_ok=True)
        lock.release()
    return 0


def _work_of(name: str) -> Callable[[Path, Send, Tell], Work]:
    """Return what makes the work of an outpost; its name says which. Raises NoCluster."""
    from desktop_agent.outpost.cluster import ClusterWork
    from desktop_agent.outpost.ray_cluster import join
    from desktop_agent.outpost.work import LocalWork

    return partial(ClusterWork, join()) if name.startswith(_CLUSTER) else LocalWork


def _join(name: str) -> int:
    """Hand on what comes from either side, until one of them ends."""
    joined = _connected(name)
    outwards = threading.Thread(target=_hand_on, args=(joined.fileno(), 1), daemon=True)
    inwards = threading.Thread(target=_hand_on, args=(0, joined.fileno()), daemon=True)
    for one in (outwards, inwards):
        one.start()
    # Once home has gone nothing more is heard; the outpost's own end is told as well.
    while outwards.is_alive() and inwards.is_alive():
        outwards.join(_PAUSE_S)
    joined.close()
    # A thread may still wait for input: there is nothing left to do for it.
    os._exit(0)


def _hand_on(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        while piece := os.read(source, _PIECE):
            while piece:
                piece = piece[os.write(target, piece) :]


def _connected(name: str) -> socket.socket:
    """Return a connection to the outpost, started if there is none. Raises OSError."""
    os.chdir(_folder())
    started: subprocess.Popen[bytes] | None = None
    until = time.monotonic() + _START_S
    while True:
        joined = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            joined.connect(name)
        except (FileNotFoundError, ConnectionRefusedError):
            joined.close()
        else:
            return joined
        if started is None or started.poll() == 0:
            started = _start(name)
        elif started.poll() is not None or time.monotonic() > until:
            raise OSError(_why(name))
        time.sleep(_PAUSE_S)


def _why(name: str) -> str:
    try:
        return Path(f"{name}{_FAILURE}").read_text(encoding="utf-8")
    except OSError:
        return f"the outpost did not start; its log is in {paths.log_dir()}"


def _start(name: str) -> subprocess.Popen[bytes]:
    """Start the outpost, which stays when the stream is cut and this process ends."""
    return subprocess.Popen(
        [*own_program("--outpost", "desktop_agent.outpost"), name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=os.sep,
        env=_environment(name),
        start_new_session=True,
        creationflags=NO_WINDOW,
    )


def _environment(name: str) -> dict[str, str]:
    """Return ours without keys, but for what Ray needs of it where it is used: its token."""
    rays = {key: value for key, value in os.environ.items() if key.startswith("RAY_")}
    return {**keyless_environment(), **(rays if name.startswith(_CLUSTER) else {})}


def _folder() -> Path:
    """Return where the sockets are, of this user alone.

    They are named from within it: a system takes about a hundred bytes for the path of one.
    """
    folder = paths.data_dir() / "outposts"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("a name has up to 40 small letters, digits and -")
    return text

"""Tests a place: whether it is reached, and whether the app there works with this one.

Where it does not, this one can be installed there.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL
from collections.abc import Callable

import msgspec

from desktop_agent import __version__
from desktop_agent.adapters.places.commands import command_of, outpost_of
from desktop_agent.adapters.places.install import NotInstalled, install
from desktop_agent.adapters.places.stream import BrokenStream, begin, end, greeting, last_words
from desktop_agent.core.network.places import Place, PlaceCheck, PlaceProblem
from desktop_agent.core.pipes.outpost_pipe import PROTOCOL, About

_ANSWER_S = 45.0
_WORDS_S = 2.0
# What ssh, docker, kubectl and shells say; the first that is found counts.
_SIGNS: tuple[tuple[PlaceProblem, tuple[str, ...]], ...] = (
    ("version", ("unrecognized arguments", "usage: desktop-agent")),
    ("unknown_key", ("host key verification failed", "remote host identification has changed")),
    ("refused", ("permission denied (", "too many authentication failures", "forbidden",
                 "unauthorized")),
    ("unreachable", ("could not resolve", "name or service not known", "no route to host",
                     "connection refused", "connection timed out", "network is unreachable",
                     "operation timed out", "cannot connect to the docker daemon",
                     "connection closed by", "connection reset", "unable to connect")),
    ("absent", ("no such container", "is not running", "pods \"", "no such distribution")),
    ("missing", ("not found", "no such file or directory", "no module named",
                 "not recognized as", "unknown command")),
)  # fmt: skip


class PlaceSetup:
    """Tests and installs, when the person asks for it. `archive` packs what is sent."""

    def __init__(self, archive: Callable[[], bytes]) -> None:
        self._archive = archive

    async def install(self, place: Place) -> PlaceCheck:
        """Install this version there, and test it; return what is there, or is in the way."""
        try:
            await install(place, __version__, await asyncio.to_thread(self._archive))
        except FileNotFoundError as error:
            return PlaceCheck("no_program", said=str(error.filename))
        except (NotInstalled, OSError, ValueError) as error:
            return PlaceCheck("not_installed", said=str(error))
        return await self.check(place)

    async def check(self, place: Place) -> PlaceCheck:
        """Reach a place, and return what is there, or what is in the way."""
        try:
            command = outpost_of(place, "--check")
            process = await begin(*command, stdin=DEVNULL)
        except FileNotFoundError as error:
            return PlaceCheck("no_program", said=str(error.filename or command_of(place)[0]))
        except (OSError, ValueError) as error:
            return PlaceCheck("other", said=str(error))
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await _read(process)
        except TimeoutError:
            return PlaceCheck("silent")
        finally:
            await end(process)


async def _read(process: asyncio.subprocess.Process) -> PlaceCheck:
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(last_words(process.stderr))
    try:
        told, body = await greeting(process.stdout)
        version = str(told.get("version"))[:40]
        if told.get("protocol") != PROTOCOL:
            return PlaceCheck("version", version=version)
        about = msgspec.msgpack.decode(body, type=About)
    except (BrokenStream, msgspec.MsgspecError, UnicodeDecodeError) as error:
        await asyncio.wait([errors], timeout=_WORDS_S)
        words = errors.result() if errors.done() else ""
        return _problem(f"{words} {error if not words else ''}".strip())
    finally:
        errors.cancel()
    if about.no_cluster:
        return PlaceCheck("no_cluster", said=about.no_cluster[:300], version=version)
    system, git = about.system[:80], about.git[:40]
    cpus, contained = about.cpus, about.no_sandbox[:300]
    cluster = about.cluster[:80]
    return PlaceCheck("", "", version, system, cpus, git, contained, cluster)


def _problem(said: str) -> PlaceCheck:
    lower = said.casefold()
    for problem, signs in _SIGNS:
        if any(sign in lower for sign in signs):
            return PlaceCheck(problem, said=said)
    return PlaceCheck("other", said=said)

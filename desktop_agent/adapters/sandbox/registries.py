"""The hosts that installers of packages get packages from, as the installers themselves name them.

No list stands here: each tool is asked for its own settings, in the sandbox, without a network
and without any folder of the user's.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.hosts import HostError, clean_host
from desktop_agent.core.sandbox import Boundary, Enclosure, Sandbox
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace

# Each part prints addresses, or nothing where its tool is missing. Cargo's own are those of the
# indexes that it has fetched before.
_SCRIPT = r"""
exec 2>/dev/null
python3 -I -c 'from pip._internal.models.index import PyPI as i
print(i.simple_url); print("https://" + i.file_storage_domain)' &
python3 -I -m pip config list | sed -n "s/^.*index-url='\(.*\)'$/\1/p" &
npm config get registry &
go env GOPROXY GOSUMDB | tr ',| ' '\n\n\n' | sed 's#^\([^:]*\)$#https://\1#' &
gem sources --list &
for index in "${CARGO_HOME:-$HOME/.cargo}"/registry/index/*/; do
    name=${index%/}; name=${name##*/}; echo "https://${name%-*}"
    sed -n 's#.*"dl": *"\([^"]*\)".*#\1#p' "$index/config.json"
done
wait
"""
_LONGEST_S = 15.0
_LONGEST_OUTPUT = 10_000
_MOST = 24
_PORTS = {"https": 443, "http": 80}


class PackageRegistries:
    """Asks once; what tools are set to changes seldom. One event loop's own.

    `folder` is an empty one of the app's.
    """

    def __init__(
        self, sandbox: Sandbox, folder: Path, environment: Callable[[], Mapping[str, str]]
    ) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._environment = environment
        self._asking: asyncio.Task[tuple[str, ...]] | None = None

    async def places(self) -> tuple[str, ...]:
        """Return `HOST:PORT` of each, sorted; none where no tool names one."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> tuple[str, ...]:
        session = SessionId("registries")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            within = Boundary(
                session, Workspace(str(self._folder)), is_offline=True, is_changing=False
            )
            return places_in(await self._output(within))
        except (OSError, ToolError):
            return ()
        finally:
            await self._sandbox.forget(session)

    async def _output(self, within: Boundary) -> str:
        environment = self._environment()
        enclosure = await self._sandbox.enclose(within, within.root, environment)
        try:
            told = await asyncio.to_thread(_told, enclosure, within.root, environment)
        finally:
            enclosure.close()
            await enclosure.finished()
        return told[:_LONGEST_OUTPUT].decode("utf-8", "replace")


def _told(enclosure: Enclosure, folder: str, environment: Mapping[str, str]) -> bytes:
    """Return what the tools say, of a slow one what it said in time."""
    try:
        return subprocess.run(
            [*enclosure.words, "/bin/sh", "-c", _SCRIPT],
            cwd=folder,
            env={**environment, **enclosure.environment},
            pass_fds=enclosure.descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as late:
        return late.stdout or b""


def places_in(output: str) -> tuple[str, ...]:
    """Return `HOST:PORT` of each public address, sorted; whatever is not one is left out."""
    places: set[str] = set()
    for line in output.splitlines():
        try:
            address = urlsplit(line.strip())
            host, port = clean_host(address.hostname or ""), address.port
        except (HostError, ValueError):
            continue
        if port := port or _PORTS.get(address.scheme, 0):
            places.add(f"{host}:{port}")
    return tuple(sorted(places)[:_MOST])

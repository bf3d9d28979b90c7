"""One server in one folder: started, listed, started again after it ended by itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec.structs import replace

from desktop_agent.core.mcp import (
    MOST_LOG_LINES,
    McpAnswer,
    McpError,
    McpGrant,
    McpLine,
    McpOffer,
    McpPhase,
    McpServer,
    McpState,
)
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.mcp.ports import Launch, Listener, McpConnection, McpConnector

_log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 60.0
# One that ran this long is taken to work: its next end is a first one again.
_SOUND_S = 60.0
# A person waits no longer than this for a prompt or a resource.
_PERSON_S = 60.0
# One that never worked is not tried for ever.
_MOST_TRIES = 5

PrepareLaunch = Callable[[McpServer], Awaitable[Launch]]


class Instance:
    """`prepare` returns how to start it, and raises McpError or ToolError. `changed` hears of it.

    `keep` takes what a sign-in gave.

    What it offers stays known while it is down: what agents are offered does not come and go.
    """

    def __init__(
        self,
        server: McpServer,
        connector: McpConnector,
        prepare: PrepareLaunch,
        changed: Callable[[], None],
        keep: Callable[[McpGrant], None],
    ) -> None:
        self.server = server
        self.offer = McpOffer()
        self._connector = connector
        self._prepare = prepare
        self._changed = changed
        self._keep = keep
        self._phase: McpPhase = "starting"
        self._problem = ""
        self._since = 0.0
        self._tries = 0
        self._is_contained = self._signs_in = self._is_signed_in = False
        self._sign_in_url = ""
        # As it was reached: without variables.
        self.address = ""
        self.boundary: Boundary | None = None
        self._connection: McpConnection | None = None
        # By those that ended: what was wrong with them is looked for there.
        self._written: tuple[McpLine, ...] = ()
        self._settled = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._restarting = asyncio.Lock()
        self._is_closed = False
        # Since it last ran, or was restarted.
        self.was_waited_for = False
        self._endings: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> McpState:
        """How it stands."""
        return McpState(
            self.server,
            self._phase,
            self._problem,
            self.offer.tools,
            self._since,
            is_contained=self._is_contained,
            prompts=self.offer.prompts,
            resources=self.offer.resources,
            sign_in_url=self._sign_in_url,
            is_signed_in=self._is_signed_in,
        )

    def log(self, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that its command wrote; those before it ended are among them."""
        now = self._connection.log(most) if self._connection is not None else ()
        return (*self._written, *now)[-most:]

    def start(self) -> None:
        """Start it now, in the background; one that runs goes on."""
        is_starting = self._phase == "starting" and self._running is not None
        if self._phase == "running" or is_starting or self._restarting.locked():
            return
        self._begin(0.0)

    async def settled(self) -> None:
        """Wait until it runs, or has failed for now."""
        await self._settled.wait()

    async def restart(self, *, signs_in: bool = False) -> None:
        """End it and start it anew; `signs_in`: the user is there to sign in."""
        async with self._restarting:
            await self.stop()
            self._tries, self.was_waited_for = 0, False
            self._signs_in = signs_in
            self._begin(0.0)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> McpAnswer:
        """Return the text of a prompt. Raises McpError."""
        return await _in_time((await self.connected()).prompt(name, arguments))

    async def read(self, uri: str) -> McpAnswer:
        """Return what a resource holds. Raises McpError."""
        return await _in_time((await self.connected()).read(uri))

    async def connected(self) -> McpConnection:
        """Return the connection; a server that is down is started for it. Raises McpError."""
        if self._phase != "running":
            self.start()
            await self.settled()
        if self._phase == "sign_in" or self._sign_in_url:
            where = "The user does so on the page of MCP servers."
            raise McpError(f"The server “{self.server.name}” wants a sign-in. {where}")
        if self._connection is None or self._phase != "running":
            raise McpError(f"The server “{self.server.name}” does not run. {self._problem}".strip())
        return self._connection

    async def close(self) -> None:
        """End it for good: nothing starts it any more, and nobody waits for it."""
        self._is_closed = True
        await self.stop()
        self._settled.set()

    async def stop(self) -> None:
        """End it."""
        while (running := self._running) is not None:
            self._running = None
            running.cancel()
            await asyncio.wait([running])
        connection = self._disconnected()
        self._sign_in_url = ""
        if connection is not None:
            await connection.close()
        if self._endings:
            await asyncio.wait(self._endings)

    def _disconnected(self) -> McpConnection | None:
        """Return the connection, which is none any more."""
        self._written = self.log(MOST_LOG_LINES)
        connection, self._connection = self._connection, None
        return connection

    def configure(self, server: McpServer) -> None:
        """Take over switches; nothing is started anew for them."""
        self.server = server

    # -- inside ------------------------------------------------------------------------------

    def _begin(self, pause_s: float) -> None:
        if self._is_closed:
            return
        if self._running is not None:
            self._running.cancel()
        if not pause_s:
            self._show("starting", "")
        self._settled.clear() if not pause_s else self._settled.set()
        self._running = asyncio.get_running_loop().create_task(self._start(pause_s))

    async def _start(self, pause_s: float) -> None:
        if pause_s:
            await asyncio.sleep(pause_s)
            self._settled.clear()
            self._show("starting", self._problem)
        self._tries += 1
        try:
            launch = await self._prepare(self.server)
            self._is_contained, self.boundary = launch.enclosure is not None, launch.boundary
            self.address = launch.server.url
            self._is_signed_in = bool(launch.grant is not None and launch.grant.access_token)
            listener = Listener(self._on_listed, self._on_ended, self._on_asked, self._on_kept)
            launch = replace(launch, signs_in=self._signs_in)
            self._connection = await self._connector.connect(launch, listener)
        except (McpError, ToolError, OSError) as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - one server's defect must not stop others
            _log.exception("an MCP server could not be started")
            self._failed(f"{type(error).__name__}: {error}")

    def _on_listed(self, offer: McpOffer) -> None:
        """It runs, or offers something else."""
        self.offer = offer
        if self._phase != "running":
            self._since = time.time()
        self._signs_in, self._sign_in_url = False, ""
        self.was_waited_for = False
        words = _left_out(offer)
        if words and words != self._problem:
            _log.warning("the MCP server %s: %s", self.server.name, words)
        self._show("running", words)
        self._settled.set()

    def _on_asked(self, url: str) -> None:
        """The user is to sign in at this address; nobody else waits for that."""
        self._sign_in_url = url
        self._settled.set()
        self._changed()

    def _on_kept(self, grant: McpGrant) -> None:
        self._is_signed_in, self._sign_in_url = bool(grant.access_token), ""
        self._keep(grant)
        self._changed()

    def _on_ended(self, why: str, needs_sign_in: bool) -> None:
        """It is over, without anybody having asked for that."""
        connection = self._disconnected()
        if connection is not None:
            ending = asyncio.get_running_loop().create_task(connection.close())
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
        if self._phase == "running" and time.time() - self._since > _SOUND_S:
            self._tries = 0
        self._failed(why, needs_sign_in=needs_sign_in)

    def _failed(self, why: str, *, needs_sign_in: bool = False) -> None:
        # What was waited for with the user is not tried again without.
        needs_sign_in = needs_sign_in or self._signs_in
        self._signs_in, self._sign_in_url = False, ""
        self._show("sign_in" if needs_sign_in else "failed", why)
        self._settled.set()
        self._running = None
        if needs_sign_in:
            return
        if self.offer.tools or self._tries < _MOST_TRIES:
            self._begin(min(2.0 ** max(self._tries - 1, 0), _LONGEST_PAUSE_S))

    def _show(self, phase: McpPhase, problem: str) -> None:
        self._phase, self._problem = phase, problem
        self._changed()


async def _in_time(asked: Awaitable[McpAnswer]) -> McpAnswer:
    """Await what a person waits for."""
    try:
        async with asyncio.timeout(_PERSON_S):
            return await asked
    except TimeoutError:
        raise McpError("It did not answer in time.") from None


def same_launch(first: McpServer, second: McpServer) -> bool:
    """Whether two configurations start the same thing: switches apart."""
    plain = [msgspec.structs.replace(one, is_on=True, tools_off=()) for one in (first, second)]
    return plain[0] == plain[1]


def _left_out(offer: McpOffer) -> str:
    """Say which tools of a server are not there, and why."""
    words: list[str] = []
    if offer.left_out:
        words.append(f"{offer.left_out} of its tools are too large or too many, and left out.")
    if offer.refused:
        names = ", ".join(offer.refused)
        words.append(f"Left out, as MCP does not allow how they are described: {names}.")
    return " ".join(words)

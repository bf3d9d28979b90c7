"""The engine's McpConnector: commands are started here, a process of our own speaks with all."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from desktop_agent.adapters.child_process import ChildProcess, keyless_environment, own_program
from desktop_agent.adapters.mcp.asked_forms import AskedForms
from desktop_agent.adapters.mcp.command import ServerCommand
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.mcp import McpAnswer, McpError, McpLine
from desktop_agent.core.pipes.frames import deliver, frame
from desktop_agent.core.pipes.mcp_pipe import (
    CallAnswered,
    CallCancelled,
    CallFailed,
    FormAsked,
    FormWithdrawn,
    FromMcpHost,
    GrantKept,
    HostWrote,
    OfServer,
    PromptAsked,
    Request,
    ResourceAsked,
    ServerClosed,
    ServerFailed,
    ServerListed,
    ServerOpened,
    ServerWrote,
    SignInAsked,
    ToMcpHost,
    ToolCalled,
)
from desktop_agent.engine.mcp.ports import AskForm, Launch, Listener

# Among so many of its last lines is one that says why it ended.
_LAST_WORDS = 60
_GONE = "The part of the app that speaks with servers has ended. It starts again by itself."

_decoder = msgspec.msgpack.Decoder(FromMcpHost)


class _HostProcess(ChildProcess):
    """Starts the process that speaks MCP at once; raises OSError when that is impossible."""

    def __init__(self) -> None:
        program = own_program("--mcp-host", "desktop_agent.mcp_host")
        super().__init__(socket.socketpair(), program, keyless_environment())
        self.pipe.setblocking(False)


class HostedServers:
    """`environment` is what every command gets besides its own. To be used on one event loop."""

    def __init__(self, environment: Callable[[], Mapping[str, str]]) -> None:
        self._environment = environment
        self._ids = itertools.count(1)
        self._pipe: _Pipe | None = None
        self._lock = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The id of the process that speaks MCP, when it runs."""
        return self._pipe.process.pid if self._pipe is not None else None

    async def connect(self, launch: Launch, listener: Listener) -> Connection:
        """Begin; the listener hears how it goes. Raises McpError when it can't even begin."""
        try:
            pipe = await self._opened()
        except BaseException:
            if launch.enclosure is not None:
                launch.enclosure.close()
            raise
        connection = Connection(next(self._ids), pipe, launch, listener, self._ids)
        connection.begin(dict(self._environment()))
        return connection

    async def close(self) -> None:
        """End all of them."""
        async with self._lock:
            pipe, self._pipe = self._pipe, None
        if pipe is not None:
            await asyncio.gather(*(each.close() for each in list(pipe.servers.values())))
            await pipe.close()

    async def _opened(self) -> _Pipe:
        async with self._lock:
            if self._pipe is None or self._pipe.is_gone:
                try:
                    process = _HostProcess()
                except OSError as error:
                    raise McpError(f"Servers can't be spoken with: {error}.") from None
                self._pipe = _Pipe(process)
                await self._pipe.open()
            return self._pipe


class _Pipe:
    """The pipe to one process."""

    def __init__(self, process: _HostProcess) -> None:
        self.process = process
        self.is_gone = False
        self.servers: dict[int, Connection] = {}

    async def open(self) -> None:
        reader, self._writer = await asyncio.open_connection(sock=self.process.pipe)
        self._reading = asyncio.create_task(self._read(reader))

    def send(self, value: ToMcpHost) -> None:
        if not self.is_gone:
            self._writer.write(frame(value))

    async def drain(self) -> None:
        """Wait until there is room for more."""
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        await self._reading

    async def _read(self, reader: asyncio.StreamReader) -> None:
        # A process that does not keep to the protocol is as good as dead: it is ended below.
        with contextlib.suppress(msgspec.DecodeError):
            await deliver(reader.read, lambda body: self._take(_decoder.decode(body)))
        self.is_gone = True
        self._writer.close()
        for server in list(self.servers.values()):
            server.fail(_GONE)
        await self.process.ended()

    def _take(self, value: FromMcpHost) -> None:
        match value:
            case CallAnswered() | CallFailed():
                for server in self.servers.values():
                    if server.answer(value):
                        return
            case FormAsked() | FormWithdrawn():
                for server in self.servers.values():
                    server.take_form(value)
            case _:
                if server := self.servers.get(value.id):
                    server.take(value)


# How long the exit of a command is waited for, to be told instead of what followed from it: of one
# that has closed its output, and of one that may go on.
_EXIT_S, _FAILURE_S = 10.0, 0.2


class Connection:
    """One server."""

    def __init__(
        self,
        id_: int,
        pipe: _Pipe,
        launch: Launch,
        listener: Listener,
        call_ids: itertools.count[int],
    ) -> None:
        self._id = id_
        self._pipe = pipe
        self._launch = launch
        self._listener = listener
        self._call_ids = call_ids
        self._command: ServerCommand | None = None
        self._failure = ""
        self._is_over = self._has_closed = self._needs_sign_in = False
        self._calls: dict[int, asyncio.Future[McpAnswer]] = {}
        self._forms = AskedForms(id_, pipe.send)
        pipe.servers[id_] = self

    def begin(self, environment: dict[str, str]) -> None:
        """Start the command, or reach the address. Raises McpError."""
        server, launch = self._launch.server, self._launch
        if server.is_local:
            try:
                self._command = ServerCommand(
                    (server.command, *server.args),
                    launch.directory,
                    {**environment, **server.env},
                    launch.enclosure,
                    self._on_wrote,
                    self._on_exit,
                    launch.root,
                )
            except McpError:
                self._forget()
                raise
        address = (server.url, server.headers, server.is_sse)
        own = (server.client_id, server.client_secret)
        self._pipe.send(ServerOpened(self._id, *address, launch.grant, launch.signs_in, *own))

    @property
    def pid(self) -> int | None:
        """The id of the command's process."""
        return self._command.pid if self._command is not None else None

    def log(self, most: int) -> tuple[McpLine, ...]:
        """Return the last lines that its command wrote beside its messages."""
        lines = self._command.log(most) if self._command is not None else ()
        return tuple(McpLine(line.at, KEYS.hide(line.text)) for line in lines)

    async def call(self, tool: str, arguments: Mapping[str, Any], ask: AskForm) -> McpAnswer:
        """Call a tool; `ask` is what its server may ask the user with. Raises McpError."""
        return await self._ask(lambda id_: ToolCalled(id_, self._id, tool, dict(arguments)), ask)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> McpAnswer:
        """Return the text of a prompt. Raises McpError."""
        return await self._ask(lambda id_: PromptAsked(id_, self._id, name, dict(arguments)))

    async def read(self, uri: str) -> McpAnswer:
        """Return what a resource holds. Raises McpError."""
        return await self._ask(lambda id_: ResourceAsked(id_, self._id, uri))

    async def _ask(
        self, request: Callable[[int], Request], ask: AskForm | None = None
    ) -> McpAnswer:
        if self._is_over or self._pipe.is_gone:
            raise McpError(self._failure or _GONE)
        id_ = next(self._call_ids)
        answer = self._calls[id_] = asyncio.get_running_loop().create_future()
        try:
            with self._forms.during(id_, ask):
                self._pipe.send(request(id_))
                return await answer
        except asyncio.CancelledError:
            self._pipe.send(CallCancelled(id_))
            raise
        finally:
            self._calls.pop(id_, None)

    async def close(self) -> None:
        """End it, and all that its command started."""
        self._is_over = True
        self._refuse_calls("The server was stopped.")
        self._forget()
        if self._command is not None:
            await self._command.close()

    def answer(self, value: CallAnswered | CallFailed) -> bool:
        """Take the end of a call; return whether it is one of these."""
        waiting = self._calls.get(value.id)
        if waiting is None or waiting.done():
            return False
        if isinstance(value, CallFailed) and self._has_closed and not self._is_over:
            self._failure = self._failure or KEYS.hide(value.message)
            self._settle()
        elif isinstance(value, CallFailed):
            waiting.set_exception(McpError(KEYS.hide(value.message)))
        else:
            text = KEYS.hide(value.text)
            waiting.set_result(McpAnswer(text, value.images, value.is_error))
        return True

    def take_form(self, value: FormAsked | FormWithdrawn) -> None:
        """Ask the user, or not any more, if it is about one of these calls."""
        self._forms.take(value)

    def take(self, value: OfServer) -> None:
        """Take what is told of the server."""
        match value:
            case HostWrote(data=data) if self._command is not None:
                self._command.write(data)
            case ServerListed(offer=offer) if not self._is_over:
                self._listener.listed(offer)
            case SignInAsked(url=url) if not self._is_over:
                self._listener.asked(url)
            case GrantKept(grant=grant):
                for secret in grant.secrets:
                    KEYS.remember(secret)
                self._listener.kept(grant)
            case ServerFailed(message=message, needs_sign_in=needs_sign_in):
                self._needs_sign_in = needs_sign_in
                # Of a command that has ended the exit code says more.
                self._failure = self._failure or KEYS.hide(message)
                self._settle()
            case _:
                pass

    def fail(self, why: str) -> None:
        """It can't be used any more."""
        self._failure = self._failure or why
        self._end()

    def _settle(self) -> None:
        """Tell of a failure; of a command whose exit is to come, with that."""
        if self._command is None:
            self._end()
        else:
            patience = _EXIT_S if self._has_closed else _FAILURE_S
            asyncio.get_running_loop().call_later(patience, self._end)

    async def _on_wrote(self, data: bytes) -> None:
        self._has_closed = self._has_closed or not data
        self._pipe.send(ServerWrote(self._id, data))
        await self._pipe.drain()

    def _on_exit(self, code: int) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        enclosure = self._launch.enclosure
        if enclosure is not None and not enclosure.has_started(code):
            how = "the sandbox did not start it"
        last = next(
            (line.text for line in reversed(self.log(_LAST_WORDS)) if line.text.strip()), ""
        )
        self._failure = f"It ended: {how}. {last}".strip()
        self._end()

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._refuse_calls(f"The server failed. {self._failure}")
        self._forget()
        self._listener.ended(self._failure, self._needs_sign_in)

    def _refuse_calls(self, why: str) -> None:
        for waiting in self._calls.values():
            if not waiting.done():
                waiting.set_exception(McpError(why))

    def _forget(self) -> None:
        if self._pipe.servers.pop(self._id, None) is not None:
            self._pipe.send(ServerClosed(self._id))

"""What goes over the pipe between the app and its guard: one packet for each value.

The pipe is a pair of Unix sockets that keep packets apart; a packet can bring a descriptor.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from desktop_agent.core.ids import SessionId
from desktop_agent.core.parts.values import Value

_LARGEST = 64 * 1024


class SessionServed(Value, frozen=True):
    """Serve the listener that comes with it, for the commands of this session.

    It is that of the proxy, or with a `port` joined to that port of this computer.
    """

    session_id: SessionId
    port: int = 0


class PortClosed(Value, frozen=True):
    """A port of this computer is no longer open to a session."""

    session_id: SessionId
    port: int


class SessionForgotten(Value, frozen=True):
    """End the session's connections, and let go of its listener."""

    session_id: SessionId


class HostDecided(Value, frozen=True):
    """The answer to a question; `reason` says in one sentence why not."""

    id: int
    is_allowed: bool
    reason: str = ""


class GuardReady(Value, frozen=True):
    """The guard has started."""


class HostAsked(Value, frozen=True):
    """Whether commands of the session may reach a host; connections wait for the answer.

    `call_id` is what the first of them said it belongs to; it may be nothing, or a lie.
    """

    id: int
    session_id: SessionId
    host: str
    port: int
    call_id: str = ""


class AskWithdrawn(Value, frozen=True):
    """Nobody waits for this answer any more: it took too long, or the session has gone."""

    id: int


ToGuard = SessionServed | PortClosed | SessionForgotten | HostDecided
FromGuard = GuardReady | HostAsked | AskWithdrawn


class Loop(Protocol):
    """What is needed of an event loop."""

    def add_reader(self, fd: Any, callback: Callable[..., Any], /, *args: Any) -> Any:
        """Call back whenever something can be read."""
        ...

    def remove_reader(self, fd: Any, /) -> Any:
        """Stop that."""
        ...

    def add_writer(self, fd: Any, callback: Callable[..., Any], /, *args: Any) -> Any:
        """Call back whenever something can be written."""
        ...

    def remove_writer(self, fd: Any, /) -> Any:
        """Stop that."""
        ...


def new_pipe() -> tuple[socket.socket, socket.socket]:
    """Return both ends. Raises OSError where the system has no such sockets."""
    kind = getattr(socket, "SOCK_SEQPACKET", None)
    family = getattr(socket, "AF_UNIX", None)
    if kind is None or family is None:
        raise OSError("this system has no sockets that keep packets apart")
    return socket.socketpair(family, kind)


class PacketPipe:
    """One end, on an event loop.

    `take` gets each packet and the descriptor that came with it, which it owns; `ended` is
    called once when the other end has gone.
    """

    def __init__(
        self,
        end: socket.socket,
        loop: Loop,
        take: Callable[[bytes, int | None], None],
        ended: Callable[[], None],
    ) -> None:
        self._end = end
        self._loop = loop
        self._take = take
        self._ended = ended
        self._is_open = True
        self._waiting: deque[tuple[bytes, int | None]] = deque()
        end.setblocking(False)
        loop.add_reader(end.fileno(), self._on_readable)

    def send(self, value: ToGuard | FromGuard, descriptor: int | None = None) -> None:
        """Send a value, with a descriptor that stays the caller's; once closed, nothing."""
        if not self._is_open:
            return
        # One that has to wait its turn may be closed by its owner meanwhile.
        own = os.dup(descriptor) if descriptor is not None else None
        self._waiting.append((msgspec.msgpack.encode(value), own))
        if len(self._waiting) == 1:
            self._flush()

    def close(self) -> None:
        """Let go of the pipe; `ended` is not called."""
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._end.fileno())
        self._loop.remove_writer(self._end.fileno())
        self._end.close()
        while self._waiting:
            _drop(self._waiting.popleft()[1])

    def _flush(self) -> None:
        while self._waiting:
            packet, own = self._waiting[0]
            try:
                socket.send_fds(self._end, [packet], [] if own is None else [own])
            except BlockingIOError:
                self._loop.add_writer(self._end.fileno(), self._flush)
                return
            except OSError:
                self._lose()
                return
            self._waiting.popleft()
            _drop(own)
        self._loop.remove_writer(self._end.fileno())

    def _on_readable(self) -> None:
        # Some at a time: whoever writes without end must not keep the loop.
        for _ in range(32):
            if not self._is_open:
                return
            try:
                packet, descriptors, flags, _ = socket.recv_fds(self._end, _LARGEST, 1)
            except BlockingIOError:
                return
            except OSError:
                packet, descriptors, flags = b"", [], 0
            own = descriptors[0] if descriptors else None
            if own is not None:
                os.set_inheritable(own, False)
            if not packet or flags & socket.MSG_TRUNC:
                _drop(own)
                self._lose()
                return
            self._take(packet, own)

    def _lose(self) -> None:
        if self._is_open:
            self.close()
            self._ended()


def _drop(descriptor: int | None) -> None:
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)

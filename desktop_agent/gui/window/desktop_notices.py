"""Notifications of a Linux desktop with buttons, over D-Bus.

QtDBus can't send them: Qt's bindings have no integer of 32 bits without a sign, which the call of
org.freedesktop.Notifications begins with. jeepney, which the keyring brings anyway, can.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication

from desktop_agent.gui.kit.background import Relay

_log = logging.getLogger(__name__)

_NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_TIMEOUT_S: float | None = 5.0
_END_S = 2.0
_ALLOW, _OPEN = "allow", "default"
# Comes before the click. On Wayland a window may come to the front by it alone, and Qt reads it.
_TOKEN, _TOKEN_VARIABLE = "ActivationToken", "XDG_ACTIVATION_TOKEN"
_PLATFORMS = frozenset({"xcb", "wayland"})


class DesktopNotice(msgspec.Struct, frozen=True):
    """What is said of a request for approval.

    `short` says it where there are no buttons. `text` shows all of what would be allowed, else
    `can_allow` is not set.
    """

    request: str
    session: str
    title: str
    text: str
    short: str
    can_allow: bool = False


class DesktopNotices(QObject):
    """Shows them from a thread of its own, which begins with the first.

    Signals:
        allowed(request): its button was pressed
        opened(session): the notification itself was clicked
        unavailable(DesktopNotice): this desktop has no buttons; nothing was shown
    """

    allowed = Signal(str)
    opened = Signal(str)
    unavailable = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs: queue.Queue[Any] = queue.Queue()  # Any: of jeepney, which has no types
        self._thread: threading.Thread | None = None
        self._relay = Relay()
        self._relay.done.connect(self._on_told, Qt.ConnectionType.QueuedConnection)

    @staticmethod
    def is_possible() -> bool:
        """Whether the app runs on a desktop that may have them."""
        name = QGuiApplication.platformName().partition("-")[0]
        return sys.platform == "linux" and name in _PLATFORMS

    def show(self, notice: DesktopNotice) -> None:
        """Show a notification, or say that it is unavailable."""
        if self._thread is None:
            words = {_OPEN: self.tr("Show"), _ALLOW: self.tr("Allow once")}
            server = _Server(self._jobs, words, partial(_tell, self._relay))
            self._thread = threading.Thread(target=server.run, name="notices", daemon=True)
            self._thread.start()
        self._jobs.put(partial(_Server.show, notice=notice))

    def withdraw(self, request: str) -> None:
        """Take back what is shown of a request: it is resolved."""
        if self._thread is not None:
            self._jobs.put(partial(_Server.withdraw, request=request))

    def close(self) -> None:
        """Take back all that is shown."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(_END_S)
            self._thread = None

    def _on_told(self, _: int, told: tuple[str, object, str]) -> None:
        name, value, token = told
        if token:
            os.environ[_TOKEN_VARIABLE] = token
        getattr(self, name).emit(value)
        if token:
            os.environ.pop(_TOKEN_VARIABLE, None)


def _tell(relay: Relay, name: str, value: object, token: str = "") -> None:
    relay.done.emit(0, (name, value, token))


class _Server:
    """The desktop's server of notifications, on a thread of its own.

    `jobs` brings what is to be done with it, and the messages that it sends.
    """

    def __init__(
        self,
        jobs: queue.Queue[Any],
        words: dict[str, str],
        tell: Callable[..., None],
    ) -> None:
        self._jobs = jobs
        self._words = words
        self._tell = tell
        self._line: Any = None
        self._reader: threading.Thread | None = None
        self._replies: queue.Queue[Any] = queue.Queue()
        self._has_markup = self._is_given_up = False
        # By its number there: the notice, and who showed it.
        self._shown: dict[int, tuple[DesktopNotice, str]] = {}
        self._token = ""

    def run(self) -> None:
        while (job := self._jobs.get()) is not None:
            if callable(job):
                job(self)
            else:
                self._on_signal(job)
        for number in list(self._shown):
            self._withdraw(number)
        if self._reader is not None:
            self._line.interrupt()
            self._reader.join()
            self._line.close()

    def _read(self) -> None:
        jeepney = _jeepney()
        # An end of the bus is the end of the notifications, and of nothing else.
        with contextlib.suppress(Exception):
            while True:
                message = self._line.receive()
                is_signal = message.header.message_type is jeepney.MessageType.signal
                (self._jobs if is_signal else self._replies).put(message)
        self._replies.put(None)

    def show(self, notice: DesktopNotice) -> None:
        if not self._is_given_up:
            try:
                self._show(notice)
            except Exception as error:  # noqa: BLE001 - no bus, no server, another's library
                self._is_given_up = True
                _log.info("there are no notifications with buttons: %s", error)
        if self._is_given_up:
            self._tell("unavailable", notice)

    def withdraw(self, request: str) -> None:
        for number, (notice, _) in list(self._shown.items()):
            if notice.request == request:
                self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        self._shown.pop(number, None)
        with contextlib.suppress(Exception):
            self._call("CloseNotification", "u", (number,))

    def _show(self, notice: DesktopNotice) -> None:
        if self._line is None:
            self._connect()
        from html import escape  # not at the start

        text = escape(notice.text, quote=False) if self._has_markup else notice.text
        keys = [_OPEN, _ALLOW] if notice.can_allow else [_OPEN]
        actions = [word for key in keys for word in (key, self._words[key])]
        hints = {"desktop-entry": ("s", "desktop-agent")}
        given = ("Desktop Agent", 0, "desktop-agent", notice.title, text, actions, hints, -1)
        reply = self._call("Notify", "susssasa{sv}i", given)
        self._shown[reply.body[0]] = notice, _sender(reply)

    def _connect(self) -> None:
        jeepney = _jeepney()
        self._line = _open_bus()
        self._reader = threading.Thread(target=self._read, name="notices-read", daemon=True)
        self._reader.start()
        abilities = self._call("GetCapabilities").body[0]
        if "actions" not in abilities:
            raise RuntimeError("the desktop's server has none")
        self._has_markup = "body-markup" in abilities
        for member in (_TOKEN, "ActionInvoked", "NotificationClosed"):
            rule = jeepney.MatchRule(type="signal", interface=_NAME, member=member, path=_PATH)
            self._ask(jeepney.message_bus.AddMatch(rule))

    def _call(self, method: str, signature: str | None = None, given: tuple[Any, ...] = ()) -> Any:
        jeepney = _jeepney()
        address = jeepney.DBusAddress(_PATH, bus_name=_NAME, interface=_NAME)
        return self._ask(jeepney.new_method_call(address, method, signature, given))

    def _ask(self, call: Any) -> Any:
        """Return the answer. Raises what the library does, Empty when none comes, RuntimeError."""
        jeepney = _jeepney()
        serial = next(self._line.outgoing_serial)
        self._line.send(call, serial=serial)
        while (reply := self._replies.get(timeout=_TIMEOUT_S)) is not None:
            if reply.header.fields.get(jeepney.HeaderFields.reply_serial) == serial:
                if reply.header.message_type is jeepney.MessageType.error:
                    raise RuntimeError(str(reply.body))
                return reply
        raise RuntimeError("the bus is gone")

    def _on_signal(self, message: Any) -> None:
        match message.body:
            case (int(number), *rest) if number in self._shown:
                notice, server = self._shown[number]
            case _:
                return
        if _sender(message) != server:  # any program may send such a signal
            return
        if message.header.fields.get(_jeepney().HeaderFields.member) == _TOKEN:
            self._token = "".join(map(str, rest))
            return
        del self._shown[number]
        token, self._token = self._token, ""
        if rest == [_ALLOW] and notice.can_allow:
            self._tell("allowed", notice.request)
        elif rest == [_OPEN]:
            self._tell("opened", notice.session, token)


def _sender(message: Any) -> str:
    return message.header.fields.get(_jeepney().HeaderFields.sender, "")


def _jeepney() -> Any:
    # Loaded with the first notification, and on Linux alone. It has no types.
    import jeepney  # pyright: ignore[reportMissingTypeStubs]

    return jeepney


def _open_bus() -> Any:
    from jeepney.io import threading as bus  # pyright: ignore[reportMissingTypeStubs]

    open_bus: Any = bus.open_dbus_connection
    return open_bus("SESSION")

"""Brings the window up, then the engine behind it, and takes both down again."""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

from PySide6.QtCore import (
    QElapsedTimer,
    QEventLoop,
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    Qt,
    QTimer,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from desktop_agent import paths
from desktop_agent.core.network.imports import import_without
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.bridge.backend import Compose
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.accessible import tell_all
from desktop_agent.gui.kit.theme import HAS_STYLE, Theme
from desktop_agent.gui.startup.application import Application
from desktop_agent.gui.startup.gc_timer import GcTimer
from desktop_agent.gui.startup.keys_of_macs import KeysOfMacs
from desktop_agent.gui.startup.single_instance import SecondStarts, be_first
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow

_log = logging.getLogger(__name__)
_PAINT_MS = 500
_ICON_SIZES = (16, 24, 32, 48, 64, 128)
_LEVELS = {
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def make_application() -> Application:
    """Return the application object, named for desktops and session files."""
    app = Application()
    app.setProperty(HAS_STYLE, True)
    if sys.platform == "darwin":
        app.installTranslator(KeysOfMacs(app))
    tell_all()
    app.setApplicationName("desktop-agent")
    # No display name: Qt would put it behind the title of every dialog, which is then cut.
    app.setDesktopFileName("desktop-agent")
    app.setQuitOnLastWindowClosed(False)
    # What comes before the log begins goes nowhere: a window prints nothing.
    logging.getLogger().addHandler(logging.NullHandler())
    qInstallMessageHandler(_log_qt)
    # What Qt says after Python has ended would be told to a Python that is not there: a crash.
    atexit.register(qInstallMessageHandler, None)
    return app


def run_window(
    compose: Compose,
    load: Callable[[], Settings],
    folder: str,
    start_logging: Callable[[], object],
    said: Sequence[str] = (),
) -> int:
    """Show the windows and run until the last is closed; the log begins behind the first paint.

    When the app runs already, the folder goes there. `load` may fill `said`, for the window to say.
    """
    place = paths.config_dir() / "window.socket"
    door = be_first(place, folder)
    if door is None:
        return 0
    settings = load()
    app = make_application()
    theme = Theme(app, is_hurried=True)
    theme.configure(settings.theme, settings.text_scale, settings.reduce_motion)
    bridge = Bridge(app)
    windows = AppWindows(theme, bridge, settings, app)
    window = windows.open_first(folder or None)
    show_defects(windows)
    for text in said:
        window.frame.notices.put("settings", Notice(text))
    window.show()
    wait_for_paint(window)
    theme.load_fonts()
    gc.collect()  # what loading left behind would be frozen with the rest
    app.setWindowIcon(app_icon())
    start_logging()
    others = SecondStarts(door, app)
    others.asked.connect(windows.come_back)
    _hear_system(app, windows)
    try:
        return run_loop(app, windows, bridge, compose)
    finally:
        others.close()


def _hear_system(app: Application, windows: AppWindows) -> None:
    app.opened.connect(windows.come_back)
    app.quit_by(windows.quit_open)
    if sys.platform == "darwin":
        app.applicationStateChanged.connect(windows.come_from_tray)
    # Not before the loop turns: the engine is started then.
    QTimer.singleShot(0, app.tell_opened)


def app_icon() -> QIcon:
    """Return the icon of the window: the drawings that suit title bars and task lists."""
    icon, place = QIcon(), paths.resource("app-icon")
    for size in _ICON_SIZES:
        icon.addFile(str(place / f"{size}.png"))
    return icon


def wait_for_paint(window: MainWindow) -> None:
    """Let the window appear before anything else is loaded."""
    loop = QEventLoop()
    clock = QElapsedTimer()
    clock.start()
    is_painted: list[bool] = []
    window.painted.connect(lambda: is_painted.append(True))
    while not is_painted and clock.elapsed() < _PAINT_MS:
        loop.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)


def run_loop(app: QApplication, windows: AppWindows, bridge: Bridge, compose: Compose) -> int:
    """Start the engine and run the windows' loop; returns when the app quits."""
    _import_asyncio()
    # Loaded behind the first paint: they are a fifth of what the start would take.
    import asyncio

    import qasync  # pyright: ignore[reportMissingTypeStubs] - it has none

    loop: Any = qasync.QEventLoop(app)  # it has no types
    asyncio.set_event_loop(loop)
    clock = GcTimer(app)
    bridge.received.connect(clock.check)
    bridge.started.connect(gc.freeze)
    ender = SignalEnder(app)
    ender.ended.connect(windows.quit_now)
    # Queued: a window that is closed before the loop turns ends it as soon as it does.
    windows.closed.connect(app.quit, Qt.ConnectionType.QueuedConnection)
    if not windows.windows:
        QTimer.singleShot(0, app.quit)
    UpdateNotice(windows, bridge)
    bridge.start(compose)
    windows.open_others()
    try:
        with loop:
            loop.run_forever()
            loop.run_until_complete(windows.drain())
    finally:
        windows.hide()
        bridge.close()
        ender.close()
    return 0


def _import_asyncio() -> None:
    """Import asyncio without OpenSSL, 5 MB that it takes along wherever it finds it.

    The loops of this process speak plain pipes. HTTPS clients bring their own TLS with ssl,
    which they import as usual.
    """
    import_without("asyncio", "ssl")


def show_defects(windows: AppWindows) -> None:
    """Write what nobody caught into the log, and say so in the windows; never die of it."""

    defects = _Defects(windows)

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            windows.quit_now()
            return
        _log.error("a defect in the window", exc_info=(kind, error, trace))
        defects.found.emit()

    def tell_of_thread(given: threading.ExceptHookArgs) -> None:
        _log.error("a defect in a thread", exc_info=given.exc_value)
        with contextlib.suppress(RuntimeError):  # the app ended meanwhile
            defects.found.emit()

    sys.excepthook = tell
    threading.excepthook = tell_of_thread


class _Defects(QObject):
    """Brings the news of a defect from any thread to the windows: it may be in each of them."""

    found = Signal()

    def __init__(self, windows: AppWindows) -> None:
        super().__init__(windows)
        self._windows = windows
        self.found.connect(self._tell)

    def _tell(self) -> None:
        for window in self._windows.windows:
            text = window.tr("Something went wrong in the window. The log has the details.")
            window.frame.notices.put("defect", Notice(text))


class SignalEnder(QObject):
    """Turns SIGTERM and Ctrl-C into `ended`, also while Qt waits and Python sleeps."""

    ended = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._woken.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_woken)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def close(self) -> None:
        self._notifier.setEnabled(False)
        # What was there before is the loop's on Windows, and closed with it.
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        self._wake.close()
        self._woken.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.ended.emit()

    def _on_woken(self) -> None:
        # Only to let Python run; its own handler does the rest.
        self._woken.recv(64)


def _log_qt(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    _log.log(_LEVELS.get(kind, logging.DEBUG), "Qt: %s", text)


class UpdateNotice(QObject):
    """Asks behind the start. A failed check is not worth a word: it was not the user's."""

    def __init__(self, windows: AppWindows, bridge: Bridge) -> None:
        super().__init__(windows)
        self._windows = windows
        bridge.started.connect(self._ask)

    def _ask(self) -> None:
        # Any of them may ask; what is there is said in the one that the user works in.
        window = next(iter(self._windows.windows), None)
        if window is not None and window.flow.settings.check_updates_weekly:
            queries = window.queries
            queries.ask(self._tell, queries.updates.check_if_due())

    def _tell(self, answer: UpdateAnswer) -> None:
        if answer.newest:
            words = self.tr("Version {version} is there: see Settings, About.")
            text = words.format(version=answer.newest)
            self._windows.front.frame.notices.put("update", Notice(text, "info"))

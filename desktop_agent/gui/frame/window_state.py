"""What the window remembers of itself: its place, its sidebar, the session shown last."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSettings, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent import paths

_SAVE_MS = 600
_ROOM = 94  # of the screen, in percent
_VISIBLE = 80  # pixels of the window that must lie on a screen, both ways


class WindowState(QObject):
    """Saves a moment after each change, not only when the window is closed."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._file = QSettings(
            str(paths.config_dir() / "window.ini"), QSettings.Format.IniFormat, self
        )
        self._delay = QTimer(self, singleShot=True, interval=_SAVE_MS)
        self._delay.timeout.connect(self.save)
        window.installEventFilter(self)

    def restore(self, width: int, height: int) -> None:
        """Put the window where it was, if that still lies on a screen."""
        saved = self._file.value("geometry")
        was_restored = isinstance(saved, QByteArray) and self._window.restoreGeometry(saved)
        if was_restored and is_on_screen(self._window.geometry()):
            return
        screen = QGuiApplication.primaryScreen().availableGeometry()
        # Room is left for the window's own frame.
        wide, high = screen.width() * _ROOM // 100, screen.height() * _ROOM // 100
        self._window.resize(min(width, wide), min(height, high))
        self._window.move(screen.center() - self._window.rect().center())

    def save(self) -> None:
        self._file.setValue("geometry", self._window.saveGeometry())

    @property
    def session(self) -> str:
        return str(self._file.value("session", ""))

    @session.setter
    def session(self, session_id: str) -> None:
        self._file.setValue("session", session_id)

    def is_wanted(self, part: str) -> bool:
        """Whether the user wants the `sidebar`, or the `side` panel."""
        return self._file.value(part, "true") == "true"

    def remember(self, part: str, is_wanted: bool) -> None:
        self._file.setValue(part, "true" if is_wanted else "false")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            self._delay.start()
        return False


def is_on_screen(rect: QRect) -> bool:
    """Whether enough of the rectangle lies on one of the screens to be seen and dragged."""
    for screen in QGuiApplication.screens():
        common = screen.availableGeometry().intersected(rect)
        if common.width() >= _VISIBLE and common.height() >= _VISIBLE:
            return True
    return False

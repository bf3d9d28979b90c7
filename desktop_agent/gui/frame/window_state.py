"""What each window remembers of itself: its place, its sidebar, the session shown last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QRect, QSettings, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from desktop_agent import paths
from desktop_agent.gui.kit.widgets import single_timer

_SAVE_MS = 600
_ROOM = 94  # of the screen, in percent
_VISIBLE = 80  # pixels of the window that must lie on a screen, both ways
_STEP = 32  # pixels, by which a new window stands beside the one it was opened from
_LEAST_SHARE = 0.6  # of the size of that one, that has to find room there
_OPEN = "open_windows"
# A file that was changed by hand opens no more than these.
MOST_WINDOWS, _DIGITS = 12, 4


def open_windows() -> tuple[int, ...]:
    """Return the numbers of the windows that were open last; the first alone if none is known."""
    named = str(_file(None).value(_OPEN, "")).split(";")
    numbers = dict.fromkeys(int(one) for one in named if one.isdecimal() and len(one) < _DIGITS)
    return tuple(numbers)[:MOST_WINDOWS] or (0,)


def remember_windows(numbers: Iterable[int]) -> None:
    """Keep which windows are open, for the next start."""
    _file(None).setValue(_OPEN, ";".join(map(str, numbers)))


def _file(parent: QObject | None) -> QSettings:
    return QSettings(str(paths.config_dir() / "window.ini"), QSettings.Format.IniFormat, parent)


class WindowState(QObject):
    """Saves a moment after each change, not only when the window is closed.

    Each window has a number, and a group of its own in the file; that of window 0 has no name.
    """

    def __init__(self, window: QWidget, number: int = 0) -> None:
        super().__init__(window)
        self._window = window
        self.number = number
        self._file = _file(self)
        if number:
            self._file.beginGroup(f"window_{number}")
        self._delay = single_timer(self, _SAVE_MS, self.save)
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

    def begin_beside(self, other: QWidget, wanted: Mapping[str, bool]) -> None:
        """Be a new window: a step beside another, with the same parts."""
        for part, is_wanted in wanted.items():
            self.remember(part, is_wanted)
        place, frame = other.pos() + QPoint(_STEP, _STEP), other.frameGeometry().size()
        rest = other.screen().availableGeometry().bottomRight() - place
        # What would lie beyond the screen is left out, with room for the window's own frame.
        size = QSize(rest.x(), rest.y()) - (frame - other.size())
        size = size.boundedTo(other.size())
        is_large = size.expandedTo(other.size() * _LEAST_SHARE) == size
        self._window.resize(size if is_large else other.size())
        self._window.move(place if is_large else other.pos())

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

"""The app object, which hears what the system wants of the app.

Folders that it opens with it: macOS has no arguments. They come at the start too, before there is
a window to show them. And that it is to quit, from the Dock or because the user logs out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """`opened` gives a folder, from `tell_opened` on also those that came before it."""

    opened = Signal(str)

    def __init__(self) -> None:
        self._early: list[str] | None = []
        self._quit: Callable[[], bool] = lambda: False
        super().__init__([*sys.argv[:1], "-style", "fusion"])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            if folder := event.file():  # an address that is no file has none
                self._tell(folder)
            return True
        # Qt would close window by window: the next start would know the last of them alone.
        if event.type() == QEvent.Type.Quit and self._quit():
            event.ignore()
            return True
        return super().event(event)

    def tell_opened(self) -> None:
        """Tell of folders at once from now on."""
        early, self._early = self._early or [], None
        for folder in early:
            self.opened.emit(folder)

    def quit_by(self, quit_windows: Callable[[], bool]) -> None:
        """Have what ends the app do so when the system asks; it tells whether there is any."""
        self._quit = quit_windows

    def _tell(self, folder: str) -> None:
        if self._early is None:
            self.opened.emit(folder)
        else:
            self._early.append(folder)

"""The app object, which hears of folders that the system opens with it: macOS has no arguments.

They come at the start too, before there is a window to show them.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """`opened` gives a folder, from `tell_opened` on also those that came before it."""

    opened = Signal(str)

    def __init__(self) -> None:
        self._early: list[str] | None = []
        super().__init__([*sys.argv[:1], "-style", "fusion"])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            if folder := event.file():  # an address that is no file has none
                self._tell(folder)
            return True
        return super().event(event)

    def tell_opened(self) -> None:
        """Tell of folders at once from now on."""
        early, self._early = self._early or [], None
        for folder in early:
            self.opened.emit(folder)

    def _tell(self, folder: str) -> None:
        if self._early is None:
            self.opened.emit(folder)
        else:
            self._early.append(folder)

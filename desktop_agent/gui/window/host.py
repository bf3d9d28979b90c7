"""What a window asks of the app, which knows all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from desktop_agent.core.events import Event
from desktop_agent.core.ids import SessionId
from desktop_agent.core.settings import Settings


class WindowHost(Protocol):
    """All windows of the app, as one of them sees it: `window` is the one that asks."""

    def hear(self, window: QWidget, events: Sequence[Event]) -> None:
        """Take in what a window heard, for what all have in common."""
        ...

    def show(self, window: QWidget, session_id: SessionId | None) -> None:
        """Take in which session a window shows: the first that does has it for writing."""
        ...

    def take_over(self, window: QWidget) -> None:
        """Give a window what it shows for writing."""
        ...

    def raise_writer(self, session_id: SessionId) -> None:
        """Bring the window to the front that has a session for writing."""
        ...

    def open_beside(self, window: QWidget, session_id: str = "") -> None:
        """Open one more window, with this session or a new one."""
        ...

    def share(self, window: QWidget, settings: Settings) -> None:
        """Hand settings on to the other windows."""
        ...

    def come_to_front(self, window: QWidget) -> None:
        """Take in that the user works in this window now."""
        ...

    def may_close(self, window: QWidget) -> bool:
        """Return whether a window is to be closed; with the last one the app ends."""
        ...

    def let_go(self, window: QWidget) -> None:
        """Take in that a window is closed."""
        ...

    def quit(self) -> None:
        """End the app, once the user agreed where agents still work."""
        ...

"""A button that opens and closes what is below it."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.accessible import Unfolds
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton


class FoldButton(Unfolds, GhostButton):
    """Shows by its chevron whether it is open; who is asked by a click calls `set_open`."""

    can_unfold = True
    is_open = False

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, name: str) -> None:
        super().__init__(theme, "", "chevron-right", parent, name=name)

    def set_open(self, *, is_open: bool) -> None:
        """Show it open or closed, and tell assistive technology."""
        if is_open != self.is_open:
            self.is_open = is_open
            self.tell_open()
            self.set_icon("chevron-down" if is_open else "chevron-right")

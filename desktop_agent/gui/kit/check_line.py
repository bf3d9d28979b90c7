"""One line that tells how a test went: under way, good, or the provider's own words."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.faults import Fault
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, Spinner, TextLabel, row


class CheckLine(QWidget):
    """The result of testing a key or a server.

    Signals:
        forced: the user saves what could not be tested
    """

    forced = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("checkLine")
        self.is_busy = False
        self._spinner = Spinner(theme, 14)
        self._icon = IconLabel(theme, "circle-check", "ok", 14)
        self._words = TextLabel("", "", name="checkWords", wraps=True)
        self._force = GhostButton(theme, self.tr("Save anyway"))
        self._force.setObjectName("saveAnyway")
        self._force.clicked.connect(self.forced)
        row(self._spinner, self._icon, (self._words, 1), self._force, within=self)
        self.clear()

    def text(self) -> str:
        return self._words.text()

    def clear(self) -> None:
        self.is_busy = False
        self.hide()

    def show_busy(self, words: str) -> None:
        self._show(words, "muted", "")
        self.is_busy = True
        self._spinner.show()

    def show_ok(self, words: str) -> None:
        self._show(words, "ok", "circle-check")

    def show_words(self, words: str) -> None:
        self._show(words, "warn", "circle-alert")

    def show_fault(self, fault: Fault, *, can_force: bool = False) -> None:
        """Say what went wrong, in the provider's words."""
        self._show(fault.message, "error", "circle-x")
        self._words.setToolTip(plain_tip(fault.details))
        self._force.setVisible(can_force)

    def _show(self, words: str, role: str, icon: str) -> None:
        self.is_busy = False
        self._spinner.hide()
        self._force.hide()
        self._words.setToolTip("")
        self._icon.setVisible(bool(icon))
        if icon:
            self._icon.set_icon(icon, {"error": "err"}.get(role, role))
        self._words.setText(words)
        self._words.setAccessibleName(words)
        self._words.set_role(role)
        self.show()

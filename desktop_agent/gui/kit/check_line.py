"""One line that tells how a test went: under way, good, or the provider's own words."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.faults import Fault
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    Spinner,
    TextButton,
    TextLabel,
    row,
)


class CheckLine(QWidget):
    """The result of testing a key or a server.

    Signals:
        forced: the user saves what could not be tested
        mended: the user presses what may put it right
    """

    forced = Signal()
    mended = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("checkLine")
        self.is_busy = False
        self._spinner = Spinner(theme, 14)
        self._icon = IconLabel(theme, "circle-check", "ok", 14)
        self._label = TextLabel("", "", name="checkWords", wraps=True)
        self._force = GhostButton(theme, self.tr("Save anyway"), name="saveAnyway")
        self._force.clicked.connect(self.forced)
        self._mend = TextButton(theme, "", name="mendWhatFailed")
        self._mend.clicked.connect(self.mended)
        buttons = (self._mend, self._force)
        row(self._spinner, self._icon, (self._label, 1), *buttons, within=self)
        self.clear()

    def text(self) -> str:
        return self._label.text()

    def clear(self) -> None:
        self.is_busy = False
        self.hide()

    def show_busy(self, text: str) -> None:
        self._show(text, "muted", "")
        self.is_busy = True
        self._spinner.show()

    def show_ok(self, text: str) -> None:
        self._show(text, "ok", "circle-check")

    def show_missing(self, text: str) -> None:
        self._show(text, "warn", "circle-alert")

    def show_fault(self, fault: Fault, *, can_force: bool = False, mend: str = "") -> None:
        """Say what went wrong, in the provider's words; `mend` is on a button that helps."""
        self._show(fault.message, "error", "circle-x")
        self._mend.set_text(mend)
        self._mend.setVisible(bool(mend))
        self._label.setToolTip(plain_tip(fault.details))
        self._force.setVisible(can_force)

    def _show(self, text: str, role: str, icon: str) -> None:
        self.is_busy = False
        self._spinner.hide()
        self._force.hide()
        self._mend.hide()
        self._label.setToolTip("")
        self._icon.setVisible(bool(icon))
        if icon:
            self._icon.set_icon(icon, {"error": "err"}.get(role, role))
        self._label.setText(text)
        self._label.setAccessibleName(text)
        self._label.set_role(role)
        self.show()

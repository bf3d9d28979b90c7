"""Says that this machine is the sandbox: for one session, in a container or a virtual machine."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, column


class MachineSwitch(QWidget):
    """Hidden while no session is open.

    Signals:
        toggled(bool): the user switched it
    """

    toggled = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = QCheckBox(self.tr("This machine is the sandbox"), self)
        self._box.setObjectName("machineSandbox")
        self._box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        words = self.tr(
            "Only in a container or a virtual machine: commands of this session run as they are "
            "and may change everything on it, until the app is closed."
        )
        self._words = TextLabel(words, "subtle", wraps=True)
        self._box.setAccessibleName(self._box.text())
        self._box.setAccessibleDescription(words)
        self._box.clicked.connect(self._on_clicked)
        edge = theme.space("s")
        column(self._box, self._words, spacing=2, edges=(edge, edge, edge, 0), within=self)
        self.hide()

    def set_state(self, is_on: bool | None) -> None:
        """Show how it is for the open session; None while there is none."""
        self.setVisible(is_on is not None)
        self._box.setChecked(bool(is_on))
        self._words.set_role("warn" if is_on else "subtle")

    def _on_clicked(self, is_on: bool) -> None:
        self.set_state(is_on)
        self.toggled.emit(is_on)

"""Installs what the sandbox needs, once the person has seen the command and agreed to it."""

from __future__ import annotations

import shlex

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.popover import Popover
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextButton, TextLabel, row

_LETTERS = 30


class SandboxFixPopover(Popover):
    """Asks first; then says how it goes, until `show_result` is called.

    Signals:
        agreed: the person wants exactly the command that is shown to be run
    """

    agreed = Signal()

    def __init__(self, theme: Theme, command: tuple[str, ...], parent: QWidget) -> None:
        title = self.tr("Install what the sandbox needs?")
        super().__init__(theme, title, parent)
        self.setObjectName("sandboxFix")
        self.body.setContentsMargins(*(theme.space("m"),) * 4)
        self.body.setSpacing(theme.space("s"))
        self._wide = self.wide(_LETTERS)
        about = self.tr(
            "Exactly this runs, as administrator; your system asks for the password. Then the "
            "sandbox is checked again."
        )
        shown = with_marks(shlex.join(command))
        self.body.addWidget(TextLabel(title, "title"))
        for words, role, name in ((about, "muted", "fixWords"), (shown, "mono", "fixCommand")):
            label = TextLabel(words, role, name=name, wraps=True)
            label.setAccessibleName(words)
            label.setFixedWidth(self._wide)
            self.body.addWidget(label)
        self._line = CheckLine(theme)
        self._line.setFixedWidth(self._wide)
        self.body.addWidget(self._line)
        self._install = TextButton(theme, self.tr("Install"), "download", name="installSandbox")
        self._install.clicked.connect(self._start)
        self._cancel = GhostButton(theme, self.tr("Cancel"), name="cancelSandboxFix")
        self._cancel.clicked.connect(self.close)
        self.body.addLayout(row(self._install, self._cancel, None))
        self.setAccessibleDescription(f"{shown} {about}")

    def open_at(self, anchor: QWidget) -> None:
        """Show above what it was asked for from; a stray Enter installs nothing."""
        self.open_below(anchor, above=True)
        self._cancel.setFocus(Qt.FocusReason.PopupFocusReason)

    def show_result(self, failed: str) -> None:
        """Say why the sandbox doesn't hold yet; without a reason it does, and this closes."""
        if not failed:
            self.close()
            return
        self._install.setEnabled(True)
        self._cancel.setText(self.tr("Cancel"))
        self._line.show_missing(with_marks(failed))

    def _start(self) -> None:
        # The focus stays in here: who closes this by Escape has not ended what runs.
        self._cancel.setFocus(Qt.FocusReason.OtherFocusReason)
        self._install.setEnabled(False)
        self._cancel.setText(self.tr("Close"))
        self._line.show_busy(self.tr("Installing. Your system may ask for your password…"))
        self.agreed.emit()

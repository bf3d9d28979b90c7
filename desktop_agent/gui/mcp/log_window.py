"""The window of what a server wrote beside its messages; it follows while it is open."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QDialog, QWidget

from desktop_agent.core.mcp import McpLine
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextLabel, column, row, ticker
from desktop_agent.gui.mcp.text import log_text
from desktop_agent.gui.transcript.cards.output_view import OutputView

_EVERY_MS = 500
_WIDE, _HIGH = 820, 520


class LogWindow(QDialog):
    """Signals:
    lines_wanted: call `show_lines`
    """

    lines_wanted = Signal()

    def __init__(self, theme: Theme, server: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("serverLogWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = self.tr("Log of {server}").format(server=with_marks(server))
        self.setWindowTitle(title)
        about = self.tr("What it writes beside its messages, its last lines at the end.")
        self._view = OutputView(theme, title, self)
        self._has_lines = False
        close = GhostButton(theme, self.tr("Close"), name="closeServerLog", clicked=self.close)
        column(
            TextLabel(about, "muted", wraps=True),
            (self._view, 1),
            row(None, close),
            spacing=10,
            edges=(16, 14, 16, 14),
            within=self,
        )
        self._clock: QTimer = ticker(self, _EVERY_MS, self.lines_wanted.emit)
        self.resize(_WIDE, _HIGH)
        self._view.setFocus()

    def show_lines(self, lines: Sequence[McpLine]) -> None:
        """Show what was written; the end stays in view if it was."""
        self._view.set_text(log_text(lines))
        if lines and not self._has_lines:
            self._has_lines = True
            self._view.moveCursor(QTextCursor.MoveOperation.End)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()
        self.lines_wanted.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

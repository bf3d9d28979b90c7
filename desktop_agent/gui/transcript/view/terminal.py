"""The window of a command that goes on in the background: what it prints, a line to it, its end."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QDialog, QWidget

from desktop_agent.core.commands import JobOutput
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import clean, elapsed_text, with_marks
from desktop_agent.gui.kit.text import LONGEST_LINE, plain
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    TextButton,
    TextLabel,
    column,
    named,
    row,
    ticker,
)
from desktop_agent.gui.transcript.cards.output_view import OutputView

_EVERY_MS = 200
_MOST_PORTS = 4


class Terminal(QDialog):
    """Asks for the newest output while it is shown and the command runs.

    Signals:
        output_wanted: call `show_output`
        typed(str): a line for the command, with its end
        stop_requested: the command is to be ended
        port_requested(int): what is served there is to be opened in the browser
    """

    output_wanted = Signal()
    typed = Signal(str)
    stop_requested = Signal()
    port_requested = Signal(int)

    def __init__(self, theme: Theme, job_id: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("terminal")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Command in the background ({job})").format(job=job_id))
        self._theme = theme
        self._command = ElidedLabel("", role="strong", name="terminalCommand")
        self._state = TextLabel(self.tr("Waiting…"), "muted", name="terminalState")
        self._view = OutputView(theme, self.tr("Output"), self)
        self._input = named(Line(self), "terminalInput", self.tr("Type a line to the command"))
        self._input.setMaxLength(LONGEST_LINE)
        self._input.setPlaceholderText(self.tr("Type a line to the command, then Enter"))
        self._input.returnPressed.connect(self._send)
        self._stop = TextButton(theme, self.tr("Stop"), "square", name="terminalStop")
        self._stop.clicked.connect(self._on_stop)
        close = GhostButton(theme, self.tr("Close"), name="terminalClose", clicked=self.close)
        head = row(self._command, self._state, stretch=0)
        foot = row(self._input, self._stop, close, stretch=0)
        self._ports: tuple[int, ...] = ()
        self._served = QWidget(self)
        self._served_line = FlowLayout(self._served, 8)
        self._served.hide()
        column(
            head,
            (self._view, 1),
            self._served,
            foot,
            spacing=10,
            edges=(16, 14, 16, 14),
            within=self,
        )
        self._has_output = False
        self._clock: QTimer = ticker(self, _EVERY_MS, self.output_wanted.emit)
        self.resize(820, 520)
        self._input.setFocus()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return not self._input.isEnabled()

    def show_output(self, output: JobOutput | None) -> None:
        """Show what it printed last; with None the command is not known any more."""
        if output is None:
            self._end(self.tr("It does not run any more."))
            return
        self._command.set_text(code_text(with_marks(plain(output.command))))
        cut = self.tr("[Only the end of the output is shown.]")
        text = clean(output.text)
        self._view.set_text(f"{cut}\n{text}" if output.is_cut else text)
        if text and not self._has_output:
            # From here on the end stays in view for as long as it is.
            self._has_output = True
            self._view.moveCursor(QTextCursor.MoveOperation.End)
        self._show_ports(output.ports[:_MOST_PORTS])
        if output.exit_code is None:
            time = elapsed_text(output.seconds)
            self._say(self.tr("Running · {time}").format(time=time))
        else:
            words = self.tr("Ended with exit code {code}")
            self._end(words.format(code=output.exit_code))

    def _show_ports(self, ports: tuple[int, ...]) -> None:
        if ports == self._ports:
            return
        self._ports = ports
        for old in self._served.findChildren(TextButton):
            self._served_line.removeWidget(old)
            old.hide()
            old.deleteLater()
        for port in ports:
            words = self.tr("Open localhost:{port}").format(port=port)
            button = TextButton(self._theme, words, "external-link", name="openPort")
            button.setToolTip(self.tr("The page runs in your browser, with your network."))
            button.clicked.connect(partial(self.port_requested.emit, port))
            self._served_line.addWidget(button)
        self._served.setVisible(bool(ports))

    def _say(self, words: str) -> None:
        if self._state.text() != words:
            self._state.setText(words)
            self.setAccessibleDescription(words)

    def _end(self, words: str) -> None:
        self._say(words)
        self._clock.stop()
        self._input.clear()
        self._input.setPlaceholderText(self.tr("Nothing reads here any more"))
        for control in (self._input, self._stop):
            control.setEnabled(False)

    def _send(self) -> None:
        self.typed.emit(self._input.text() + "\n")
        self._input.clear()

    def _on_stop(self) -> None:
        self._stop.setEnabled(False)
        self._say(self.tr("Stopping…"))
        self.stop_requested.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.is_over:
            self._clock.start()
            self.output_wanted.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

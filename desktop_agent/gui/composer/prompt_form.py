"""Over the text while a server's prompt is filled in: a line for each argument."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLineEdit, QWidget

from desktop_agent.core.mcp import McpArgument
from desktop_agent.gui.composer.server_offers import ServerPrompt
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.safe_text import label_text, path_text, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextLabel,
    column,
    named,
    row,
)

_LONGEST_VALUE = 10_000
_LABEL = 30


class PromptForm(QFrame):
    """Hidden until `ask`. Enter goes on to the next line and at last asks for the text.

    Signals:
        wanted(ServerPrompt, dict): the text for these arguments
        left: not any more; the focus goes back to the text
    """

    wanted = Signal(object, object)
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._asked: ServerPrompt | None = None
        self._lines: dict[str, tuple[McpArgument, QLineEdit]] = {}
        self.setObjectName("promptForm")
        self._title = ElidedLabel("", Qt.TextElideMode.ElideRight, "strong", self)
        self._about = TextLabel("", "muted", self, wraps=True)
        self._fields = QWidget(self)
        self._grid = QGridLayout(self._fields)
        self._grid.setContentsMargins(0, 2, 0, 2)
        self._grid.setColumnStretch(1, 1)
        self._problem = TextLabel("", "error", self, name="promptProblem", wraps=True)
        self._insert = PrimaryButton(theme, self.tr("Insert"), parent=self, name="insertPrompt")
        cancel = GhostButton(theme, self.tr("Cancel"), parent=self, name="cancelPrompt")
        self._insert.clicked.connect(self._go)
        cancel.clicked.connect(self.leave)
        head = row(IconLabel(theme, "server", "accent", 14, self), (self._title, 1), spacing=6)
        buttons = row(self._insert, cancel, None, spacing=6)
        parts = (head, self._about, self._fields, self._problem, buttons)
        column(*parts, spacing=4, edges=(2, 0, 2, 6), within=self)
        self.hide()

    @property
    def asked(self) -> ServerPrompt | None:
        """The prompt that is filled in; None while hidden."""
        return self._asked

    def ask(self, asked: ServerPrompt) -> None:
        """Ask for the arguments; a prompt without any is asked for at once."""
        self._asked = asked
        self._title.set_text(f"/{asked.title}")
        about = label_text(with_marks(asked.prompt.description))
        self._about.setText(about)
        self._about.setVisible(bool(about))
        spoken = self.tr("Prompt {name} of a server. {about}")
        self.setAccessibleName(spoken.format(name=asked.title, about=about))
        self._make_lines(asked.prompt.arguments)
        self._fields.setVisible(bool(self._lines))
        self._show(is_busy=False)
        self.show()
        if self._lines:
            self._line_at(0).setFocus(Qt.FocusReason.OtherFocusReason)
            self._follow()
        else:
            self._go()

    def show_problem(self, words: str) -> None:
        """Say why there is no text; it can be asked for again."""
        self._show(is_busy=False, problem=label_text(with_marks(words)))
        (self._line_at(0) if self._lines else self._insert).setFocus(
            Qt.FocusReason.OtherFocusReason
        )

    def close_form(self) -> None:
        """Put it away."""
        self._asked = None
        self.hide()

    def leave(self) -> None:
        """Put it away, and go back to the text."""
        self.close_form()
        self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.leave()
        else:
            super().keyPressEvent(event)

    # -- inside ------------------------------------------------------------------------------

    def _make_lines(self, arguments: tuple[McpArgument, ...]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._lines = {}
        for number, argument in enumerate(arguments):
            name = path_text(argument.name)
            shown = name if len(name) <= _LABEL else f"{name[:_LABEL]}…"
            label = TextLabel(shown, "muted", self._fields)
            line = named(Line(self._fields), "promptArgument", name)
            line.setMaxLength(_LONGEST_VALUE)
            about = with_marks(" ".join(argument.description.split()))
            optional = "" if argument.is_required else self.tr("optional")
            hint = " · ".join(filter(None, (about, optional)))
            line.setPlaceholderText(hint)
            line.setAccessibleDescription(hint)
            line.textChanged.connect(self._follow)
            line.returnPressed.connect(lambda at=number: self._on_enter(at))
            self._grid.addWidget(label, number, 0)
            self._grid.addWidget(line, number, 1)
            self._lines[argument.name] = (argument, line)

    def _line_at(self, number: int) -> QLineEdit:
        return tuple(self._lines.values())[number][1]

    def _on_enter(self, number: int) -> None:
        if number + 1 < len(self._lines):
            self._line_at(number + 1).setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self._go()

    def _is_ready(self) -> bool:
        lines = self._lines.values()
        return all(line.text().strip() for argument, line in lines if argument.is_required)

    def _follow(self) -> None:
        self._insert.setEnabled(self._is_ready())

    def _go(self) -> None:
        if self._asked is not None and self._is_ready():
            self._show(is_busy=True)
            given = {name: line.text() for name, (_, line) in self._lines.items() if line.text()}
            self.wanted.emit(self._asked, given)

    def _show(self, *, is_busy: bool, problem: str = "") -> None:
        self._insert.setEnabled(not is_busy and self._is_ready())
        self._insert.setText(self.tr("Fetching…") if is_busy else self.tr("Insert"))
        self._fields.setEnabled(not is_busy)
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))

"""What a subagent's card shows above its field: a question, a held budget, a doubt, a probe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.fitted_area import FittedArea
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.links import open_link
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    IconButton,
    IconLabel,
    Spinner,
    TextButton,
    TextLabel,
    column,
    row,
)

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.markdown_text import MarkdownText

_QUOTE_HIGH = 150
_LONGEST = 34


def option_button(theme: Theme, text: str, longest: int, parent: QWidget) -> TextButton:
    """Return a button for a text of any length; what is cut off is in its name and tooltip."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    button = TextButton(theme, short.replace("&", "&&"), parent=parent)
    button.setAccessibleName(text)
    button.setToolTip(plain_tip(text) if short != text else "")
    return button


class ChoiceBlock(QFrame):
    """Text on amber ground and buttons below.

    Signals:
        chosen(number): the place of the button
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, name: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: tuple[object, ...] = ()
        self._choices: list[TextButton] = []
        self.setObjectName(name)
        self.setProperty("frame", "warn")
        self.words = TextLabel("", "", self, wraps=True)
        top = row(spacing=theme.space("s"))
        top.addWidget(IconLabel(theme, icon, "warn", 14, self), 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self.words, 1)
        self._buttons = QWidget(self)
        self._flow = FlowLayout(self._buttons, theme.space("xs"))
        self._flow.setContentsMargins(0, 0, 0, 0)
        gap = theme.space("s")
        self.setLayout(column(top, self._buttons, spacing=gap, edges=(gap, gap, gap, gap)))
        self.hide()

    def show_choices(self, text: str, *choices: tuple[str, str]) -> None:
        """Show a sentence and one button for each (object name, text)."""
        shown = (text, *choices)
        if shown != self._shown:
            self._shown = shown
            self.words.setText(text)
            self._fill(choices)

    def focus_first(self) -> None:
        if self._choices:
            self._choices[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill(self, choices: tuple[tuple[str, str], ...]) -> None:
        while self._choices:
            self._flow.takeAt(0)
            old = self._choices.pop(0)
            old.hide()
            old.deleteLater()
        for number, (name, text) in enumerate(choices):
            button = option_button(self._theme, text, _LONGEST, self._buttons)
            button.setObjectName(name)
            button.clicked.connect(lambda _=False, n=number: self.chosen.emit(n))
            self._flow.addWidget(button)
            self._choices.append(button)
            button.show()
        self._buttons.setVisible(bool(choices))


class ProbeQuote(QFrame):
    """The answer to a probe, set off as a quotation; it changed nothing."""

    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("probeQuote")
        self.setProperty("frame", "sunken")
        self._spinner = Spinner(theme, 14, self)
        self._icon = IconLabel(theme, "radar", "accent", 14, self)
        self._head = TextLabel("", "caption", self, name="probeHead", wraps=True)
        close = IconButton(theme, "x", self.tr("Close this answer"), self, size=12)
        close.setObjectName("probeClose")
        close.clicked.connect(self.closed)
        self._text = TextLabel("", "", self, name="probeText", wraps=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeading)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        # What was asked beside the work is answered in Markdown; made when there is an answer.
        self._answer: MarkdownText | None = None
        content = QWidget(self)
        self._texts = column(self._text, within=content)
        self._area = FittedArea(content, _QUOTE_HIGH, self)
        self._area.setAccessibleName(self.tr("Answer to the probe"))
        top = row(self._spinner, self._icon, self._head, close, spacing=6, stretch=2)
        self.setLayout(column(top, self._area, spacing=2, edges=(10, 4, 4, 8)))
        self._theme = theme
        theme.changed.connect(self._set_font)
        self._set_font()
        self.hide()

    def show_text(self, question: str, text: str) -> None:
        """Show an answer; without one it is still waited for, and without both there is nothing."""
        is_waiting = not text
        head = self.tr("Aside: {question}").format(question=question) if question else ""
        self._head.setText(head or self.tr("Probe · its work goes on unchanged"))
        self._spinner.setVisible(is_waiting)
        self._icon.setVisible(not is_waiting)
        self._area.setVisible(not is_waiting)
        self._text.setVisible(not question)
        self._text.setText("" if question else text)
        if question and text:
            self._show_answer(text)
        if self._answer is not None:
            self._answer.setVisible(bool(question))
        self.setAccessibleName(f"{self._head.text()}: {text}")
        self.setVisible(bool(question or text))
        self._area.fit()

    def _show_answer(self, text: str) -> None:
        if self._answer is None:
            from desktop_agent.gui.transcript.view.markdown_text import MarkdownText

            self._answer = MarkdownText(self._theme, self.tr("Answer"), self)
            self._answer.ground = "sunken"
            self._answer.link_agreed.connect(open_link)
            self._texts.addWidget(self._answer)
        self._answer.set_markdown(text)

    def _set_font(self) -> None:
        self._text.setFont(self._theme.font("small"))

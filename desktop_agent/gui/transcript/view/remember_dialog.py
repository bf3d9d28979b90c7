"""A line to remember is seen and edited before it is written anywhere."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QRadioButton, QStyle, QWidget

from desktop_agent.gui.kit.fields.input_methods import PlainText
from desktop_agent.gui.kit.fitted_area import fit_dialog
from desktop_agent.gui.kit.safe_text import clean, with_marks
from desktop_agent.gui.kit.text import plain, plain_words, whole_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextLabel,
    column,
    named,
    row,
)

_WIDE, _HIGH = 44, 22  # in widths of the text size
_LINES = 4
_GAP = 12  # between the mark of a choice and its words, with the edge
# A line to keep in mind, not an answer.
_SUGGESTED = 300
LONGEST_LINE = 2_000


class RememberDialog(QDialog):
    """Signals:
    kept(str, bool): the line, and whether it is for the folder alone
    """

    kept = Signal(str, bool)

    def __init__(self, theme: Theme, text: str, root: str, parent: QWidget | None = None) -> None:
        """Without a `root` there is no folder to write in."""
        super().__init__(parent)
        self.setObjectName("rememberDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Remember this"))
        self._theme = theme
        self._make_line(text)
        self._build(root)
        fit_dialog(self, theme, _WIDE, _HIGH)
        self._line.setFocus()
        self._line.selectAll()
        self._look()

    def _make_line(self, text: str) -> None:
        self._line = named(PlainText(self), "rememberLine", self.tr("What to remember"))
        self._line.setTabChangesFocus(True)
        self._line.setPlainText(suggested_line(text))
        self._line.setFixedHeight(_LINES * self._line.fontMetrics().lineSpacing() + 16)
        self._line.textChanged.connect(self._look)

    def _build(self, root: str) -> None:
        theme = self._theme
        about_mine = self.tr("Every agent is given them, in every folder")
        self._mine = self._choice("rememberMine", self.tr("Your instructions"), about_mine)
        folder = with_marks(plain(PurePath(root).name or root)).replace("&", "&&")
        here = self.tr("AGENTS.md of {folder}").format(folder=folder)
        about_here = self.tr("Agents that work in this folder are given it, also by other apps")
        self._here = self._choice("rememberHere", here, about_here)
        self._mine.setChecked(True)
        self._keep = PrimaryButton(theme, self.tr("Remember"), "check", self, name="rememberKeep")
        self._keep.setDefault(True)
        self._keep.clicked.connect(self._accept)
        leave = GhostButton(theme, self.tr("Cancel"), "", self, clicked=self.reject)
        where = TextLabel(self.tr("Where it is written"), "strong", self)
        choices = column(where, self._mine, self._caption(about_mine), spacing=theme.space("xs"))
        if root:
            choices.addWidget(self._here)
            choices.addWidget(self._caption(about_here))
        self._here.setVisible(bool(root))
        column(
            self._line,
            choices,
            None,
            row(None, leave, self._keep),
            spacing=theme.space("m"),
            edges=theme.space("l"),
            within=self,
        )

    def _choice(self, name: str, words: str, about: str) -> QRadioButton:
        button = named(QRadioButton(words, self), name)
        button.setAccessibleDescription(about)
        return button

    def _caption(self, words: str) -> TextLabel:
        label = TextLabel(words, "caption", self, wraps=True)
        self._mine.ensurePolished()
        mark = QStyle.PixelMetric.PM_ExclusiveIndicatorWidth
        label.setIndent(self._mine.style().pixelMetric(mark, None, self._mine) + _GAP)
        return label

    @property
    def _text(self) -> str:
        return plain(self._line.toPlainText())

    def _look(self) -> None:
        self._keep.setEnabled(0 < len(self._text) <= LONGEST_LINE)

    def _accept(self) -> None:
        if self._keep.isEnabled():
            self.kept.emit(self._text, self._here.isChecked())
            self.accept()


def suggested_line(text: str) -> str:
    """Return a message as one line, its beginning if it is long."""
    words = plain_words(clean(text[: 10 * _SUGGESTED])).replace("\ufffc", "").strip()
    return whole_words(words, words[:_SUGGESTED]).strip()

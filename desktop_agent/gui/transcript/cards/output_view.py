"""Plain text of a tool or a command: read-only, selectable, bounded."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.rtl import keep_left_to_right
from desktop_agent.gui.kit.safe_text import hard_wrapped
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import ReadOnlyText

_SHOWN_CHARS = 200_000


class OutputView(ReadOnlyText):
    """Shows the text; while it grows, the end stays in view if it was."""

    def __init__(
        self, theme: Theme, name: str, parent: QWidget | None = None, *, mono: bool = True
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mono = mono
        self._shown = ""
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        if mono:
            keep_left_to_right(self)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAcceptDrops(False)
        # The style sheet's edge and ground are for fields that can be typed into.
        self.setObjectName("outputView")
        self.setStyleSheet(_SHEET)
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.document().setDocumentMargin(theme.space("s"))
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def set_text(self, text: str) -> None:
        """Show this text; what is there already is not laid out again."""
        text = hard_wrapped(text[-_SHOWN_CHARS:])
        if text == self._shown:
            return
        bar = self.verticalScrollBar()
        at, is_at_end = bar.value(), bar.value() >= bar.maximum() - 4
        if self._shown and text.startswith(self._shown):
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(text[len(self._shown) :])
        else:
            # What went at its beginning does not lead the reader there.
            self.setPlainText(text)
            bar.setValue(at)
        is_first, self._shown = not self._shown, text
        if is_at_end and not is_first and not self.textCursor().hasSelection():
            bar.setValue(bar.maximum())

    def set_whole(self, text: str) -> None:
        """Show all of a text, however long, from its beginning."""
        self._shown = hard_wrapped(text)
        self.setPlainText(self._shown)

    def content_height(self, width: int, limit: int) -> int:
        """Return about the height of the text at this width, at most `limit`."""
        metrics = QFontMetrics(self.font())
        step = max(1, (width - 2 * self._theme.space("l")) // max(1, metrics.averageCharWidth()))
        line_height = metrics.lineSpacing()
        height = 2 * self._theme.space("s") + 2
        for line in self._shown.split("\n"):
            height += line_height * max(1, -(-len(line) // step))
            if height >= limit:
                return limit
        return height

    def sizeHint(self) -> QSize:
        """Small: the card decides."""
        return QSize(200, 60)

    def _on_theme_changed(self) -> None:
        theme = self._theme
        self.setFont(mono_font(theme, "small") if self._mono else theme.font("small"))


_SHEET = "#outputView { background: transparent; border: none; padding: 0 4px; }"

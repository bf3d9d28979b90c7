"""Two small buttons beside the user's message under the pointer."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, row
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.state.items import UserItem
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser


class HoverBar(QWidget):
    """Shows itself beside a message; the same is in the context menu for the keyboard."""

    edit_requested = Signal(str, object)
    copy_requested = Signal(str)

    def __init__(
        self, theme: Theme, browser: TranscriptBrowser, page: TranscriptDocument, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._browser = browser
        self._page = page
        self._text = ""
        self._skills: tuple[str, ...] = ()
        edit = IconButton(theme, "square-pen", self.tr("Edit and send again"), self, size=14)
        edit.setObjectName("editMessage")
        edit.clicked.connect(lambda: self.edit_requested.emit(self._text, self._skills))
        copy = IconButton(theme, "copy", self.tr("Copy message"), self, size=14)
        copy.setObjectName("copyMessage")
        copy.clicked.connect(lambda: self.copy_requested.emit(self._text))
        for button in (edit, copy):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(row(edit, copy, spacing=2))
        self.hide()

    def follow(self, at: QPointF) -> None:
        """Stand beside the message at a place of the viewport, if there is one."""
        top = self._browser.verticalScrollBar().value()
        index = self._page.first_below(at.y() + top)
        shown = self._page.rows[index] if index < len(self._page.rows) else None
        if shown is None or not isinstance(shown.row, UserItem):
            self.hide()
            return
        box = self._page.rect(shown).translated(0, -top)
        if not box.adjusted(-self._page.bubble_indent, 0, 0, 0).contains(at):
            self.hide()
            return
        self._text, self._skills = shown.row.text, shown.row.skills
        self._stand_beside(box)

    def _stand_beside(self, box: QRectF) -> None:
        size = self.sizeHint()
        left = box.right() + 6 if self._page.is_mirrored else box.left() - size.width() - 6
        y = max(4.0, box.top() + 6)
        self.setGeometry(round(max(0.0, left)), round(y), size.width(), size.height())
        self.raise_()
        self.show()

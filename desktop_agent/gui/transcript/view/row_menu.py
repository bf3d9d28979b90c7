"""The context menu of the transcript: what can be done with the message under the pointer."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, QPointF, Signal
from PySide6.QtGui import QGuiApplication, QTextCursor, QTextFrame
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.gui.transcript.document.document import ShownRow, TranscriptDocument
from desktop_agent.gui.transcript.document.styles import FRAME_KIND
from desktop_agent.gui.transcript.state.items import AnswerItem, UserItem
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser


class RowMenu(QObject):
    """Opens the menu; `edit_requested` carries a message's text and skills."""

    edit_requested = Signal(str, object)

    def __init__(
        self, browser: TranscriptBrowser, page: TranscriptDocument, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._browser = browser
        self._page = page

    def open_at(self, at: QPoint, on_screen: QPoint) -> None:
        """Show the menu for what is at a place of the viewport."""
        self.build(at).popup(on_screen)

    def build(self, at: QPoint) -> QMenu:
        """Return the menu for what is at a place of the viewport."""
        menu = QMenu(self._browser)
        cursor = self._browser.cursorForPosition(at)
        copy = menu.addAction(self.tr("Copy"))
        copy.setEnabled(self._browser.textCursor().hasSelection())
        copy.triggered.connect(self._browser.copy)
        link = self._browser.anchorAt(at)
        if link and not link.startswith("app:"):
            menu.addAction(self.tr("Copy link address")).triggered.connect(lambda: self.copy(link))
        code = _code_around(cursor)
        if code is not None:
            menu.addAction(self.tr("Copy code")).triggered.connect(
                lambda: self._browser.copy_frame(code)
            )
        self._add_message(menu, at)
        menu.addSeparator()
        menu.addAction(self.tr("Select all")).triggered.connect(self._browser.selectAll)
        return menu

    def row_at(self, at: QPointF) -> ShownRow | None:
        """Return the row at a place of the viewport."""
        y = at.y() + self._browser.verticalScrollBar().value()
        index = self._page.first_below(y)
        return self._page.rows[index] if index < len(self._page.rows) else None

    def copy(self, text: str) -> None:
        """Put text on the clipboard."""
        QGuiApplication.clipboard().setText(text)

    def _add_message(self, menu: QMenu, at: QPoint) -> None:
        shown = self.row_at(QPointF(at))
        row = shown.row if shown is not None else None
        if not isinstance(row, AnswerItem | UserItem):
            return
        menu.addAction(self.tr("Copy message")).triggered.connect(lambda: self.copy(row.text))
        if isinstance(row, UserItem):
            menu.addAction(self.tr("Edit and send again")).triggered.connect(
                lambda: self.edit_requested.emit(row.text, row.skills)
            )


def _code_around(cursor: QTextCursor) -> QTextFrame | None:
    frame: QTextFrame | None = cursor.currentFrame()
    while frame is not None and frame.frameFormat().property(FRAME_KIND) != "code":
        frame = frame.parentFrame()
    return frame

"""What can be done with a message: by two buttons beside it, and in the context menu."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor, QTextFrame
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, row
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.document.styles import FRAME_KIND
from desktop_agent.gui.transcript.state.items import AnswerItem, UserItem
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser

translate = QCoreApplication.translate

# Takes a message's text and the names of its skills.
Edit = Callable[[str, tuple[str, ...]], object]


def copy_text(text: str) -> None:
    """Put text on the clipboard."""
    QGuiApplication.clipboard().setText(text)


def message_menu(browser: TranscriptBrowser, at: QPoint, edit: Edit) -> QMenu:
    """Return the menu for what is at a place of the viewport."""
    menu = QMenu(browser)

    def add(words: str, act: Callable[[], object]) -> None:
        menu.addAction(words).triggered.connect(lambda: act())

    add(translate("Transcript", "Copy"), browser.copy)
    menu.actions()[0].setEnabled(browser.textCursor().hasSelection())
    link = browser.anchorAt(at)
    if link and not link.startswith("app:"):
        add(translate("Transcript", "Copy link address"), lambda: copy_text(link))
    code = _code_around(browser.cursorForPosition(at))
    if code is not None:
        add(translate("Transcript", "Copy code"), lambda: browser.copy_frame(code))
    shown = browser.row_at(QPointF(at))
    item = shown.row if shown is not None else None
    if isinstance(item, AnswerItem | UserItem):
        add(translate("Transcript", "Copy message"), lambda: copy_text(item.text))
    if isinstance(item, UserItem):
        again = translate("Transcript", "Edit and send again")
        add(again, lambda: edit(item.text, item.skills))
    menu.addSeparator()
    add(translate("Transcript", "Select all"), browser.selectAll)
    return menu


def _code_around(cursor: QTextCursor) -> QTextFrame | None:
    frame = cursor.currentFrame()
    while frame and frame.frameFormat().property(FRAME_KIND) != "code":
        frame = frame.parentFrame()
    return frame or None


class HoverBar(QWidget):
    """Stands beside the user's message under the pointer; for the keyboard there is the menu."""

    def __init__(
        self, theme: Theme, browser: TranscriptBrowser, page: TranscriptDocument, edit: Edit
    ) -> None:
        super().__init__(browser.parentWidget())
        self._browser = browser
        self._page = page
        self._item = UserItem("", "")
        edit_button = IconButton(theme, "square-pen", self.tr("Edit and send again"), self, size=14)
        edit_button.setObjectName("editMessage")
        edit_button.clicked.connect(lambda: edit(self._item.text, self._item.skills))
        copy_button = IconButton(theme, "copy", self.tr("Copy message"), self, size=14)
        copy_button.setObjectName("copyMessage")
        copy_button.clicked.connect(lambda: copy_text(self._item.text))
        for button in (edit_button, copy_button):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(row(edit_button, copy_button, spacing=2))
        self.hide()

    def follow(self, at: QPointF) -> None:
        """Stand beside the message at a place of the viewport, if there is one."""
        shown = self._browser.row_at(at)
        if shown is not None and isinstance(shown.row, UserItem):
            box = self._page.rect(shown).translated(0, -self._browser.verticalScrollBar().value())
            if box.adjusted(-self._page.bubble_indent, 0, 0, 0).contains(at):
                self._item = shown.row
                self._stand_beside(box)
                return
        self.hide()

    def _stand_beside(self, box: QRectF) -> None:
        size = self.sizeHint()
        left = box.right() + 6 if self._page.is_mirrored else box.left() - size.width() - 6
        y = max(4.0, box.top() + 6)
        self.setGeometry(round(max(0.0, left)), round(y), size.width(), size.height())
        self.raise_()
        self.show()

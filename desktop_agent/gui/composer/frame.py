"""The rounded frame of the composer: it shows the focus, and the free mode in colour."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QRectF, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.composer.text_edit import ComposerText, is_folder_drop
from desktop_agent.gui.kit.theme import Theme


class ComposerFrame(QFrame):
    """Draws itself: one style sheet rule can't tell focus inside from free mode.

    `files_given(list[Path])` for files dropped beside the text.
    """

    files_given = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_focused = False
        self._is_free = False
        self._is_over = False
        self.setObjectName("composer")
        self.setAcceptDrops(True)
        theme.changed.connect(self.update)

    def set_focused(self, is_focused: bool) -> None:
        """Draw the ring."""
        self._is_focused = is_focused
        self.update()

    def set_free(self, is_free: bool) -> None:
        """Draw the warning colour."""
        self._is_free = is_free
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw ground and edge."""
        theme = self._theme
        is_lit = self._is_focused or self._is_over
        is_strong = is_lit or self._is_free or theme.is_high_contrast
        width = 2.0 if is_strong else 1.0
        token = "err" if self._is_free else "accent" if is_lit else "line3"
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color(token), width))
        painter.setBrush(theme.color("accentSoft" if self._is_over else "raised"))
        edge = width / 2
        box = QRectF(self.rect()).adjusted(edge, edge, -edge, -edge)
        radius = theme.radius("composer")
        painter.drawRoundedRect(box, radius, radius)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to write: what looks like one field is one."""
        super().mousePressEvent(event)
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        """Light up for what is held over the text, too: it takes what is dropped by itself."""
        super().showEvent(event)
        text = self.findChild(ComposerText)
        if text is not None:
            text.files_held.connect(self._light, Qt.ConnectionType.UniqueConnection)

    def _light(self, is_over: bool) -> None:
        self._is_over = is_over
        self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files, but no folders: those are the window's."""
        if _is_file_drop(event.mimeData()):
            event.acceptProposedAction()
            self._light(True)
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """They went elsewhere."""
        super().dragLeaveEvent(event)
        self._light(False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Attach what was dropped."""
        self._light(False)
        urls = event.mimeData().urls()
        self.files_given.emit([Path(url.toLocalFile()) for url in urls if url.isLocalFile()])
        event.acceptProposedAction()


def _is_file_drop(source: QMimeData) -> bool:
    return source.hasUrls() and not is_folder_drop(source)

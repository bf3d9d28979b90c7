"""The rounded frame of the composer: it shows the focus, and the free mode in colour."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.gui.kit.links import accept_copy, dropped_folder, dropped_paths
from desktop_agent.gui.kit.theme import Theme

_BESIDE = 24  # that the message box stands outside the column of text, on either side


def composer_width(theme: Theme) -> int:
    """Return how wide the message box may be: in line with the column of text."""
    return theme.size("transcript_max") + 2 * _BESIDE


class Centred(QWidget):
    """Is no wider than the message box may be, in any text size."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        theme.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self.setMaximumWidth(composer_width(self._theme))


class ComposerFrame(QFrame):
    """Draws itself: one style sheet rule can't tell focus inside from free mode.

    `given(QMimeData)` for what is dropped beside the text.
    """

    given = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_focused = False
        self._is_free = False
        self.is_held_over = False
        self.setObjectName("composer")
        self.setAcceptDrops(True)
        theme.changed.connect(self.update)

    def set_focused(self, is_focused: bool) -> None:
        self._is_focused = is_focused
        self.update()

    def set_free(self, is_free: bool) -> None:
        self._is_free = is_free
        self.update()

    def set_held_over(self, is_over: bool) -> None:
        """Light up for files that are held over it, or over the text in it."""
        self.is_held_over = is_over
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        is_lit = self._is_focused or self.is_held_over
        is_strong = is_lit or self._is_free or theme.is_high_contrast
        width = 2.0 if is_strong else 1.0
        token = "err" if self._is_free else "accent" if is_lit else "line3"
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color(token), width))
        painter.setBrush(theme.color("accentSoft" if self.is_held_over else "raised"))
        edge = width / 2
        box = QRectF(self.rect()).adjusted(edge, edge, -edge, -edge)
        radius = theme.radius("composer")
        painter.drawRoundedRect(box, radius, radius)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to write: what looks like one field is one."""
        super().mousePressEvent(event)
        self.setFocus(Qt.FocusReason.MouseFocusReason)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take what the text takes, but no folders: those are the window's."""
        mime = event.mimeData()
        if (mime.hasText() or mime.hasImage()) and not dropped_folder(mime):
            accept_copy(event)
            self.set_held_over(bool(dropped_paths(mime)))
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self.set_held_over(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.set_held_over(False)
        self.given.emit(event.mimeData())
        accept_copy(event)

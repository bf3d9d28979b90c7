"""A panel that floats within the window."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QGraphicsDropShadowEffect, QVBoxLayout, QWidget

from desktop_agent.gui.kit.theme import Theme


class Popover(QFrame):
    """A panel that floats within the window and closes on Esc or on a click beside it.

    Put the content into `body`. It is no window of its own, so that it looks the same on every
    desktop.

    Signals:
        closed: however it was closed; the focus is back where it was
    """

    closed = Signal()
    _MARGIN = 16

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._before: QWidget | None = None
        self._anchor: tuple[QWidget, bool] | None = None
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._frame = QFrame(self)
        self._frame.setProperty("frame", "popover")
        self._shadow = QGraphicsDropShadowEffect(self._frame)
        self._shadow.setBlurRadius(24)
        self._shadow.setOffset(0, 6)
        self._frame.setGraphicsEffect(self._shadow)
        self._outer = outer = QVBoxLayout(self)
        outer.setContentsMargins(self._MARGIN, self._MARGIN, self._MARGIN, self._MARGIN)
        outer.addWidget(self._frame)
        self.body = QVBoxLayout(self._frame)
        self.body.setContentsMargins(*(theme.space("s"),) * 4)
        self.body.setSpacing(theme.space("xs"))
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    def open_below(self, anchor: QWidget, *, above: bool = False) -> None:
        """Show under the anchor's leading edge (or above it), kept inside its window."""
        self._anchor = (anchor, above)
        focused = QApplication.focusWidget()
        # Asked for once more while it is open, it gives the focus back to where it was at first.
        if focused is not None and not self.isAncestorOf(focused):
            self._before = focused
        self.setParent(anchor.window())
        self.show()
        self.raise_()
        # Only now is everything in its final font, and asks for its final size.
        self.place()
        self.setFocus()
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    def wide(self, letters: int) -> int:
        """Return the width of so many letters, or what the window has room for if that is less."""
        edges = 2 * (self._MARGIN + self._theme.space("m"))
        return max(1, min(letters * self._theme.text_px("ui"), self.window().width() - edges))

    def place(self) -> None:
        """Take the size of the content, and the place at the anchor."""
        # A layout within a layout learns only later that its size hint changed.
        self.body.activate()
        self.adjustSize()
        # Its edge is a shadow.
        widest = self.window().width() + 2 * self._MARGIN
        if self.width() > widest:
            self.resize(widest, self.height())
        if self._outer.hasHeightForWidth():
            # The hint of text that wraps is for another width than the one it gets.
            self.resize(self.width(), self._outer.heightForWidth(self.width()))
        if self._anchor is None:
            return
        anchor, above = self._anchor
        window = anchor.window()
        corner = anchor.mapTo(window, QPoint(0, 0 if above else anchor.height()))
        x = corner.x() - self._MARGIN
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            x = corner.x() + anchor.width() - self.width() + self._MARGIN
        y = corner.y() - self._MARGIN + 6
        if above:
            y = corner.y() - self.height() + self._MARGIN - 6
        x = max(-self._MARGIN, min(x, window.width() - self.width() + self._MARGIN))
        y = max(-self._MARGIN, min(y, window.height() - self.height() + self._MARGIN))
        self.move(x, y)

    def event(self, event: QEvent) -> bool:
        """Grow and shrink with the content; nobody else does it for what is no window."""
        is_done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self._anchor and self.isVisible():
            self.place()
        return is_done

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close on a press beside it; menus and lists of its own controls are no such place."""
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            is_inside = watched is self or self.isAncestorOf(watched)
            if not is_inside and watched.window() is self.window():
                self.close()
        elif event.type() == QEvent.Type.Resize and watched is self.window():
            self.place()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        before, self._before = self._before, None
        focused = QApplication.focusWidget()
        has_focus = focused is None or focused is self or self.isAncestorOf(focused)
        if before is not None and has_focus and shiboken6.isValid(before):
            before.setFocus(Qt.FocusReason.PopupFocusReason)
        self.closed.emit()

    def _tint(self) -> None:
        color = QColor(self._theme.color("shadow"))
        color.setAlpha(120 if self._theme.is_dark else 45)
        self._shadow.setColor(color)

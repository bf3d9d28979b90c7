"""Places in a window that reads from right to left. Qt's own functions come with all of QStyle."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt


def placed(direction: Qt.LayoutDirection, whole: QRect, rect: QRect) -> QRect:
    """Return where a rectangle stands in the whole: mirrored, when that is."""
    if direction != Qt.LayoutDirection.RightToLeft:
        return QRect(rect)
    left = whole.left() + whole.right() - rect.right()
    return QRect(left, rect.top(), rect.width(), rect.height())


def at_trailing_edge(direction: Qt.LayoutDirection, size: QSize, whole: QRect) -> QRect:
    """Return where something of this size stands at the trailing end of the whole, centred."""
    top = whole.top() + whole.height() // 2 - size.height() // 2
    trailing = QRect(whole.right() - size.width() + 1, top, size.width(), size.height())
    return placed(direction, whole, trailing)

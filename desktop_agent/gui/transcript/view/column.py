"""Where the conversation's column stands in the window."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QAbstractScrollArea

from desktop_agent.gui.kit.theme import Theme

_MARGIN = 24
NARROW = 640


def column_of(area: QAbstractScrollArea, theme: Theme, direction: Qt.LayoutDirection) -> QRect:
    """Return the left edge and the width of the column in a scroll area."""
    # The scroll bar's room is always left free: nothing moves when it comes.
    room = area.width() - theme.size("scrollbar")
    margin = _MARGIN if room > NARROW else theme.space("l")
    width = max(200, min(theme.size("transcript_max"), room - 2 * margin))
    left = (room - width) // 2
    if direction == Qt.LayoutDirection.RightToLeft:
        left += area.viewport().width() - room
    return QRect(left, 0, width, 0)

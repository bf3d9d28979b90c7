"""Places in a window that reads from right to left, and text that never does.

Qt's own functions for places come with all of QStyle.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt

if TYPE_CHECKING:
    from PySide6.QtWidgets import QPlainTextEdit

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def has_right_to_left(text: str) -> bool:
    """Whether some letters of a text are Hebrew, Arabic or the like."""
    return _RIGHT_TO_LEFT.search(text) is not None


def code_text(text: str) -> str:
    """Return a command or a path for a label, which would take its direction from the letters.

    What has Hebrew or Arabic letters is not to be copied from there.
    """
    if not has_right_to_left(text):
        return text
    return "\n".join(f"\u200e{line}" for line in text.split("\n"))


def keep_left_to_right(field: QPlainTextEdit) -> None:
    """Have every line begin at the left, whatever its letters are: it is code."""
    field.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    option = field.document().defaultTextOption()
    option.setTextDirection(Qt.LayoutDirection.LeftToRight)
    field.document().setDefaultTextOption(option)


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

"""Gives code its colours after it was written: the first lexer takes longer than a paint may."""

from __future__ import annotations

from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextCursor, QTextFrame
from shiboken6 import isValid

from desktop_agent.gui.transcript.code_colors import spans_by_line
from desktop_agent.gui.transcript.styles import FRAME_LANGUAGE, Styles


def color_frame(frame: QTextFrame, styles: Styles) -> None:
    """Colour one frame of code, if it is still there."""
    # Not `frame.document()`: what that gives takes the document along when the frame is let go.
    if not isValid(frame):
        return
    language = str(frame.frameFormat().property(FRAME_LANGUAGE) or "")
    blocks = _blocks(frame)
    lines = spans_by_line("\n".join(block.text() for block in blocks), language)
    for block, line in zip(blocks, lines, strict=False):
        cursor = QTextCursor(block)
        for text, token in line:
            cursor.movePosition(
                QTextCursor.MoveOperation.NextCharacter,
                QTextCursor.MoveMode.KeepAnchor,
                len(text.encode("utf-16-le")) // 2,
            )
            if token:
                shaped = QTextCharFormat()
                shaped.setForeground(styles.color(token))
                cursor.mergeCharFormat(shaped)
            cursor.clearSelection()


def _blocks(frame: QTextFrame) -> list[QTextBlock]:
    block = frame.firstCursorPosition().block()
    last = frame.lastPosition()
    blocks: list[QTextBlock] = []
    while block.isValid() and block.position() <= last:
        blocks.append(block)
        block = block.next()
    return blocks

"""Gives code its colours after it was written: the first lexer takes longer than a paint may."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextFrame
from shiboken6 import isValid

from desktop_agent.gui.kit.safe_text import utf16_length
from desktop_agent.gui.transcript.document.highlighting import is_ready, load, spans_by_line
from desktop_agent.gui.transcript.document.styles import FRAME_LANGUAGE, Styles

_Move = QTextCursor.MoveOperation


class Coloring:
    """The colours that are still to be given, a few lines at a time."""

    def __init__(self) -> None:
        self._steps: Iterator[None] | None = None

    def clear(self) -> None:
        """Give up what is being coloured."""
        self._steps = None

    def has_work(self, styles: Styles) -> bool:
        """Whether some code has no colours yet, be it that its lexer is still to be loaded."""
        return self._steps is not None or bool(styles.uncolored)

    def can_work(self, styles: Styles) -> bool:
        """Whether some code can have its colours now."""
        return self._steps is not None or any(_is_ready(frame) for frame in styles.uncolored)

    def work(self, styles: Styles, until: float) -> bool:
        """Colour until that moment; False if nothing could be done."""
        has_worked = False
        while not has_worked or perf_counter() < until:
            if self._steps is None:
                frame = _take_ready(styles)
                if frame is None:
                    break
                self._steps = _steps(frame, styles)
            has_worked = True
            if next(self._steps, self) is self:
                self._steps = None
        return has_worked


def color_frame(frame: QTextFrame, styles: Styles) -> None:
    """Colour one frame of code at once, if it is still there."""
    for _ in _steps(frame, styles):
        pass


def _take_ready(styles: Styles) -> QTextFrame | None:
    """Take code that can be coloured; have the lexers of the rest loaded."""
    styles.uncolored = [frame for frame in styles.uncolored if isValid(frame)]
    for frame in styles.uncolored:
        if _is_ready(frame):
            styles.uncolored = [other for other in styles.uncolored if other is not frame]
            return frame
        load(_language(frame))
    return None


def _is_ready(frame: QTextFrame) -> bool:
    return not isValid(frame) or is_ready(_language(frame))


def _language(frame: QTextFrame) -> str:
    return str(frame.frameFormat().property(FRAME_LANGUAGE) or "")


def _steps(frame: QTextFrame, styles: Styles) -> Iterator[None]:
    """Colour a line a step, for as long as the code stays what it was."""
    # Not `frame.document()`: what that gives deletes the document with the frame.
    if not isValid(frame):
        return
    texts = _texts(frame)
    lines = spans_by_line("\n".join(texts), _language(frame))
    for number, (text, line) in enumerate(zip(texts, lines, strict=False)):
        if not isValid(frame):
            return
        cursor = frame.firstCursorPosition()
        cursor.movePosition(_Move.NextBlock, QTextCursor.MoveMode.MoveAnchor, number)
        if cursor.block().text() != text:
            return
        _color(cursor, line, styles)
        yield


def _color(cursor: QTextCursor, line: list[tuple[str, str]], styles: Styles) -> None:
    for text, token in line:
        # By position: a step to the next character goes over all that is drawn as one.
        end = cursor.position() + utf16_length(text)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        # Code that grew line by line may have other colours as a whole.
        shaped = QTextCharFormat()
        shaped.setForeground(styles.color(token or "fg"))
        cursor.mergeCharFormat(shaped)
        cursor.clearSelection()


def _texts(frame: QTextFrame) -> list[str]:
    block = frame.firstCursorPosition().block()
    last = frame.lastPosition()
    texts: list[str] = []
    while block.isValid() and block.position() <= last:
        texts.append(block.text())
        block = block.next()
    return texts

"""Colours of code: runs of text, each with its colour token, given when a lexer is at hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from time import perf_counter
from typing import Any

from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextFrame
from shiboken6 import isValid

from desktop_agent.core.prose.code_tokens import LONGEST_CODE, make_lexer, runs_of
from desktop_agent.gui.kit.safe_text import utf16_length
from desktop_agent.gui.transcript.document.styles import FRAME_LANGUAGE, Styles

_Move = QTextCursor.MoveOperation

# By language; none for one that can't be made.
_lexers: dict[str, Any] = {}
_loading: set[str] = set()


def spans(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the code in runs with a colour token; an empty token is the text's own colour."""
    lexer = _lexer(language) if language and len(code) <= LONGEST_CODE else None
    if lexer is None:
        yield code, ""
        return
    for text, kind in runs_of(code, lexer):
        yield text, "" if kind is None else _color(kind)


def spans_by_line(code: str, language: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the runs of each line, as the lexer comes to it."""
    line: list[tuple[str, str]] = []
    for text, token in spans(code, language):
        for number, part in enumerate(text.split("\n")):
            if number:
                yield line
                line = []
            if part:
                line.append((part, token))
    yield line


def is_ready(language: str) -> bool:
    """Whether the colours of a language cost nothing to begin with."""
    return not language or language in _lexers


def load(language: str) -> None:
    """Make a language ready on another thread."""
    if language not in _loading:
        _loading.add(language)
        threading.Thread(target=_lexer, args=(language,), name="lexer", daemon=True).start()


def _lexer(language: str) -> Any:
    if language not in _lexers:
        try:
            _lexers[language] = make_lexer(language)
        finally:
            # A lexer that can't be made is not asked for again.
            _lexers.setdefault(language, None)
    return _lexers[language]


@lru_cache(maxsize=512)
def _color(kind: Any) -> str:
    from pygments.token import Token  # imported with the first lexer

    for parents, color in (
        ((Token.Comment,), "c_com"),
        ((Token.Literal.String,), "c_str"),
        ((Token.Literal.Number, Token.Keyword.Constant), "c_num"),
        ((Token.Keyword, Token.Operator.Word, Token.Name.Tag), "c_kw"),
        ((Token.Name.Function,), "c_fn"),
        ((Token.Name.Class, Token.Name.Decorator, Token.Name.Builtin), "c_cls"),
        ((Token.Generic.Inserted,), "addFg"),
        ((Token.Generic.Deleted,), "delFg"),
    ):
        if any(kind in parent for parent in parents):
            return color
    return ""


class Coloring:
    """The colours that are still to be given, a few lines at a time."""

    def __init__(self) -> None:
        self._steps: Iterator[None] | None = None

    def clear(self) -> None:
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
        _color_line(cursor, line, styles)
        yield


def _color_line(cursor: QTextCursor, line: list[tuple[str, str]], styles: Styles) -> None:
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

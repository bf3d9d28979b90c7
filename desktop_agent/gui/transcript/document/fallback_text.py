"""A text whose layout failed: what can be laid out is, the rest stands as it was written."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextCursor, QTextFrame

from desktop_agent.gui.kit.failure_log import attempt
from desktop_agent.gui.kit.safe_text import breakable, clean, without_direction_marks
from desktop_agent.gui.transcript.document.markdown import Block, parse
from desktop_agent.gui.transcript.document.markdown_writer import MarkdownWriter
from desktop_agent.gui.transcript.document.styles import Styles

translate = QCoreApplication.translate

# As much of a message as the transcript shows of any.
_SHOWN_LIMIT = 60_000


class PlainAnswer:
    """Writes an answer as it comes, without marks; once it is whole, block by block.

    Stands in for an `AnswerText` that failed, and has its interface.
    """

    is_held = False
    is_behind = False

    def __init__(self, frame: QTextFrame, styles: Styles) -> None:
        self._frame = frame
        self._styles = styles
        self._shown = ""
        self._is_whole = False

    @property
    def changed_from(self) -> int:
        """Where in the document begins what changed: all of it."""
        return self._frame.firstPosition()

    def show(self, text: str, *, is_live: bool, hold: bool = True) -> None:
        """Show this text."""
        text = clean(text[:_SHOWN_LIMIT])
        if not is_live:
            _write_by_block(self._frame, text, self._styles)
        elif self._shown and not self._is_whole and text.startswith(self._shown):
            cursor = self._frame.lastCursorPosition()
            cursor.insertText(breakable(without_direction_marks(text[len(self._shown) :])))
        else:
            _write_plain(_emptied(self._frame, self._styles), self._styles, text)
        self._shown, self._is_whole = text, not is_live


def write_plain(frame: QTextFrame, styles: Styles, text: str) -> None:
    """Write a text as it is into an emptied frame, under a line that says why."""
    _write_plain(_emptied(frame, styles), styles, clean(text[:_SHOWN_LIMIT]))


def _write_plain(writer: MarkdownWriter, styles: Styles, text: str) -> None:
    muted = styles.text("small", token="muted")
    words = translate(
        "Transcript", "This text could not be laid out. It is shown as it was written."
    )
    writer.new_block(styles.block("tight", bottom=4), muted)
    writer.cursor.insertText(words, muted)
    writer.plain(text, styles.text(), styles.block(bottom=0))


def _write_by_block(frame: QTextFrame, text: str, styles: Styles) -> None:
    writer = _emptied(frame, styles)
    blocks = attempt("an answer", lambda: parse(text), tuple)
    if not blocks and text.strip():
        _write_plain(writer, styles, text)
    lines = text.split("\n")
    for block in blocks:
        writer = _with_block(writer, frame, block, lines, styles)
    writer.finish()


def _with_block(
    writer: MarkdownWriter, frame: QTextFrame, block: Block, lines: list[str], styles: Styles
) -> MarkdownWriter:
    """Write one block, or its source if that fails; return the writer to go on with."""
    start, is_fresh = writer.cursor.position(), writer.is_fresh

    def write() -> MarkdownWriter:
        writer.write((block,))
        return writer

    def write_source() -> MarkdownWriter:
        source = "\n".join(lines[block.first_line : block.last_line])
        plain = _without_rest(frame, start, styles, is_fresh=is_fresh)
        _write_plain(plain, styles, source)
        return plain

    return attempt(f"a block ({block.kind})", write, write_source)


def _emptied(frame: QTextFrame, styles: Styles) -> MarkdownWriter:
    return _without_rest(frame, frame.firstPosition(), styles, is_fresh=True)


def _without_rest(
    frame: QTextFrame, start: int, styles: Styles, *, is_fresh: bool
) -> MarkdownWriter:
    cursor = frame.firstCursorPosition()
    cursor.setPosition(start)
    cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    cursor.removeSelectedText()
    return MarkdownWriter(cursor, styles, is_fresh=is_fresh)

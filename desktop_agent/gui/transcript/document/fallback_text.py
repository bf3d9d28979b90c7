"""A text whose layout failed: what can be laid out is, the rest stands as it was written."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextFrame

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
        text = clean(text[:_SHOWN_LIMIT])
        if not is_live:
            self._write_by_block(text)
        elif self._shown and not self._is_whole and text.startswith(self._shown):
            cursor = self._frame.lastCursorPosition()
            cursor.insertText(breakable(without_direction_marks(text[len(self._shown) :])))
        else:
            write_plain(self._frame, self._styles, text)
        self._shown, self._is_whole = text, not is_live

    def _write_by_block(self, text: str) -> None:
        blocks = attempt("an answer", lambda: parse(text), tuple)
        if not blocks and text.strip():
            write_plain(self._frame, self._styles, text)
            return
        start = self._frame.firstPosition()
        writer = MarkdownWriter.from_position(self._frame, self._styles, start)
        lines = text.split("\n")
        for block in blocks:
            writer = self._with_block(writer, block, lines)
        writer.finish()

    def _with_block(self, writer: MarkdownWriter, block: Block, lines: list[str]) -> MarkdownWriter:
        """Write one block, or its source if that fails; return the writer to go on with."""
        start, is_fresh = writer.cursor.position(), writer.is_fresh

        def write() -> MarkdownWriter:
            writer.write((block,))
            return writer

        def write_source() -> MarkdownWriter:
            frame, styles = self._frame, self._styles
            plain = MarkdownWriter.from_position(frame, styles, start, is_fresh=is_fresh)
            _write(plain, styles, "\n".join(lines[block.first_line : block.last_line]))
            return plain

        return attempt(f"a block ({block.kind})", write, write_source)


def write_plain(frame: QTextFrame, styles: Styles, text: str) -> None:
    """Write a text as it is into an emptied frame, under a line that says why."""
    writer = MarkdownWriter.from_position(frame, styles, frame.firstPosition())
    _write(writer, styles, clean(text[:_SHOWN_LIMIT]))


def _write(writer: MarkdownWriter, styles: Styles, text: str) -> None:
    words = translate(
        "Transcript", "This text could not be laid out. It is shown as it was written."
    )
    muted = styles.text("small", token="muted")
    writer.text_block(words, styles.block("tight", bottom=4), muted)
    writer.plain(text, styles.text(), styles.block(bottom=0))

"""The rows in the document: each is a frame of its own, so any of them can change or go."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QCoreApplication, QRectF
from PySide6.QtGui import QTextCursor, QTextDocument, QTextFrame, QTextFrameFormat

from desktop_agent.gui.kit.failure_log import attempt
from desktop_agent.gui.kit.safe_text import breakable, clean, one_line, without_direction_marks
from desktop_agent.gui.transcript.document.answer import AnswerText
from desktop_agent.gui.transcript.document.markdown import Block, parse
from desktop_agent.gui.transcript.document.markdown_writer import MarkdownWriter
from desktop_agent.gui.transcript.document.styles import Styles
from desktop_agent.gui.transcript.document.user_message import text_width, write_user_text
from desktop_agent.gui.transcript.state.items import AnswerItem, ToolItem, UserItem
from desktop_agent.gui.transcript.state.rows import ActivityRow, Row

BUBBLE_INDENT = 96
_BUBBLE_PADDING = 12
translate = QCoreApplication.translate

# As much of a message as the transcript shows of any.
_SHOWN_LIMIT = 60_000


class ShownRow(msgspec.Struct, eq=False):
    """A row and its place in the document. `height` is what a card was given."""

    row: Row
    frame: QTextFrame
    height: int = 0
    answer: AnswerText | PlainAnswer | None = None


class TranscriptDocument:
    """Puts rows into a document. `height_of` and `text_of` give a card's room and its text."""

    def __init__(
        self,
        document: QTextDocument,
        styles: Styles,
        height_of: Callable[[Row], int],
        text_of: Callable[[Row], str],
    ) -> None:
        self._document = document
        self._height_of = height_of
        self._text_of = text_of
        self.styles = styles
        self.rows: list[ShownRow] = []
        # Answers of which a part is still to be written.
        self._behind: list[ShownRow] = []
        self.is_mirrored = False
        self.bubble_indent = BUBBLE_INDENT
        self._margins = (0, 0)
        self._column = 0

    def clear(self) -> None:
        self.rows.clear()
        self._behind.clear()
        self._document.clear()
        self._apply_margins()
        self._shrink(QTextCursor(self._document))

    def set_margins(self, left: int, right: int, column: int) -> None:
        """Put the column where it belongs; `column` is its width."""
        if self._margins != (left, right):
            self._margins = (left, right)
            self._apply_margins()
        if self._column != column:
            self._column = column
            self._shape_bubbles()

    def set_narrow(self, is_narrow: bool, *, is_mirrored: bool) -> None:
        """Indent the user's messages less where there is little room."""
        indent = BUBBLE_INDENT // 3 if is_narrow else BUBBLE_INDENT
        if (indent, is_mirrored) != (self.bubble_indent, self.is_mirrored):
            self.bubble_indent, self.is_mirrored = indent, is_mirrored
            self._shape_bubbles()

    def insert(self, index: int, row: Row) -> ShownRow:
        """Put a row before the one that is at the index now."""
        cursor = QTextCursor(self._document)
        if index < len(self.rows):
            cursor.setPosition(self.rows[index].frame.firstPosition() - 1)
        else:
            cursor.movePosition(QTextCursor.MoveOperation.End)
        frame = cursor.insertFrame(self._shape(row))
        shown = ShownRow(row, frame)
        after = QTextCursor(self._document)
        after.setPosition(frame.lastPosition() + 1)
        self._shrink(after)
        self.rows.insert(index, shown)
        self._fill(shown)
        return shown

    def remove(self, index: int) -> ShownRow:
        shown = self.rows.pop(index)
        cursor = QTextCursor(self._document)
        cursor.setPosition(shown.frame.firstPosition() - 1)
        cursor.setPosition(shown.frame.lastPosition() + 1, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if shown in self._behind:
            self._behind.remove(shown)
        return shown

    def update(self, index: int, row: Row) -> bool:
        """Show a row as it is now; returns whether a text is held back for a moment."""
        shown = self.rows[index]
        shown.row = row
        if isinstance(row, AnswerItem) and shown.answer is not None:
            return self._write_answer(shown, row, shown.answer)
        if isinstance(row, UserItem):
            shown.frame.setFrameFormat(self._shape(row))
            self._write_user(shown, row)
        else:
            self.resize_card(shown, self._height_of(row))
        return False

    def changed_from(self, index: int) -> int:
        """Return where in the document begins what changed when an answer grew."""
        answer = self.rows[index].answer
        return answer.changed_from if answer is not None else 0

    def show_held(self, index: int) -> None:
        self._write_on(self.rows[index])

    @property
    def is_behind(self) -> bool:
        return bool(self._behind)

    def catch_up(self) -> None:
        """Write the next part of the newest answer that is behind."""
        self._write_on(self._behind[-1])

    def _write_on(self, shown: ShownRow) -> None:
        if shown.answer is not None and isinstance(shown.row, AnswerItem):
            self._write_answer(shown, shown.row, shown.answer, hold=False)

    def resize_card(self, shown: ShownRow, height: int) -> None:
        """Give a card's place another height, and its words."""
        words = self._spoken(shown.row)
        cursor = shown.frame.firstCursorPosition()
        block, char = self.styles.placeholder(height)
        if shown.height != height:
            cursor.setBlockFormat(block)
            shown.height = height
        if cursor.block().text() != words:
            cursor.movePosition(
                QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
            cursor.setBlockCharFormat(char)
            cursor.insertText(words, char)

    def take_uncolored(self) -> list[QTextFrame]:
        """Return the code that still has no colours; it is not given twice."""
        taken, self.styles.uncolored = self.styles.uncolored, []
        return taken

    def rect(self, shown: ShownRow) -> QRectF:
        """Return a row's place in the document, without its margins."""
        layout = self._document.documentLayout()
        shape = shown.frame.frameFormat()
        box = layout.frameBoundingRect(shown.frame)
        return box.adjusted(
            shape.leftMargin(), shape.topMargin(), -shape.rightMargin(), -shape.bottomMargin()
        )

    @property
    def live_row(self) -> ShownRow | None:
        """The last row, if it is an answer that still comes."""
        last = self.rows[-1] if self.rows else None
        is_live = last is not None and isinstance(last.row, AnswerItem) and last.row.is_live
        return last if is_live else None

    def first_below(self, top: float) -> int:
        """Return the index of the first row that ends below a height, by bisection."""
        low, high = 0, len(self.rows)
        layout = self._document.documentLayout()
        while low < high:
            middle = (low + high) // 2
            if layout.frameBoundingRect(self.rows[middle].frame).bottom() <= top:
                low = middle + 1
            else:
                high = middle
        return low

    def index_of(self, key: str) -> int:
        """Return where the row with this key is, or -1; the newest are looked at first."""
        for index in range(len(self.rows) - 1, -1, -1):
            if self.rows[index].row.key == key:
                return index
        return -1

    def _spoken(self, row: Row) -> str:
        what = f"the words of a card ({type(row).__name__})"
        return attempt(what, lambda: one_line(self._text_of(row)), str)

    def _shape_bubbles(self) -> None:
        for shown in self.rows:
            if isinstance(shown.row, UserItem):
                shown.frame.setFrameFormat(self._shape(shown.row))

    def _apply_margins(self) -> None:
        root = self._document.rootFrame()
        shape = root.frameFormat()
        shape.setLeftMargin(self._margins[0])
        shape.setRightMargin(self._margins[1])
        shape.setTopMargin(20)
        shape.setBottomMargin(28)
        root.setFrameFormat(shape)

    def _fill(self, shown: ShownRow) -> None:
        row = shown.row
        if isinstance(row, AnswerItem):
            shown.answer = AnswerText(shown.frame, self.styles)
            self._write_answer(shown, row, shown.answer)
        elif isinstance(row, UserItem):
            self._write_user(shown, row)
        else:
            self.resize_card(shown, self._height_of(row))

    def _write_user(self, shown: ShownRow, row: UserItem) -> None:
        def write() -> None:
            start = shown.frame.firstPosition()
            writer = MarkdownWriter.from_position(shown.frame, self.styles, start)
            write_user_text(row, writer, self.styles)

        attempt("a message", write, lambda: write_plain(shown.frame, self.styles, row.text))

    def _write_answer(
        self,
        shown: ShownRow,
        row: AnswerItem,
        answer: AnswerText | PlainAnswer,
        *,
        hold: bool = True,
    ) -> bool:
        """Write a step of an answer; returns whether a text is held back for a moment."""

        def show(answer: AnswerText | PlainAnswer) -> AnswerText | PlainAnswer:
            answer.show(row.text, is_live=row.is_live, hold=hold)
            return answer

        plain = PlainAnswer(shown.frame, self.styles)
        answer = shown.answer = attempt("an answer", lambda: show(answer), lambda: show(plain))
        if answer.is_behind != (shown in self._behind):
            (self._behind.append if answer.is_behind else self._behind.remove)(shown)
        return answer.is_held

    def _shape(self, row: Row) -> QTextFrameFormat:
        if isinstance(row, UserItem):
            # A short message has a small bubble at the trailing side.
            kind = "user" if row.is_from_user else "note"
            natural = text_width(row, self.styles) + 2 * _BUBBLE_PADDING + 2
            indent = max(self.bubble_indent, self._column - natural)
            # What others say to the agent stands on the leading side.
            is_at_left = self.is_mirrored == row.is_from_user
            left, right = (0, indent) if is_at_left else (indent, 0)
            return self.styles.frame(
                kind, padding=_BUBBLE_PADDING, top=14, bottom=14, left=left, right=right
            )
        if isinstance(row, AnswerItem):
            return self.styles.frame("answer", top=10, bottom=2)
        gap = 2 if isinstance(row, ToolItem | ActivityRow) else 6
        return self.styles.frame("card", top=gap, bottom=gap)

    def _shrink(self, cursor: QTextCursor) -> None:
        block, char = self.styles.nothing()
        cursor.setBlockFormat(block)
        cursor.setBlockCharFormat(char)


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

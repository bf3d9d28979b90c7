"""An answer in the document: while it grows, only its last block is written again."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextCursor, QTextFrame

from desktop_agent.gui.transcript.characters import breakable, clean, without_direction_marks
from desktop_agent.gui.transcript.markdown import (
    Block,
    closed,
    is_undecided,
    open_fence,
    parse,
    split_open,
)
from desktop_agent.gui.transcript.styles import Styles
from desktop_agent.gui.transcript.writer import MarkdownWriter

translate = QCoreApplication.translate

# More of one message is shown in a window of its own.
SHOWN_LIMIT = 60_000
# A paragraph that gets longer than this while it comes is shown without marks until it ends.
_PLAIN_FROM = 4_000
_PLAIN_BLOCK = 3_000
# Only the app itself makes links of this scheme; a model's Markdown can't.
SHOW_ALL = "app:show-all"


@dataclass(slots=True)
class _OpenFence:
    """Code that still comes: its frame, and how much of it is in the document."""

    frame: QTextFrame
    language: str
    code: str


class AnswerText:
    """Writes one answer into its frame. Final and streamed text end up the same."""

    def __init__(self, frame: QTextFrame, styles: Styles) -> None:
        self._frame = frame
        self._styles = styles
        self._text = ""
        self._final: list[tuple[object, ...]] = []
        self._final_chars = 0
        self._tail_offset = 0
        self._tail_is_fresh = True
        self._fence: _OpenFence | None = None
        self._is_held = False
        self._tail: list[tuple[object, ...]] | None = None
        self._plain = 0

    @property
    def is_held(self) -> bool:
        """Whether a last line is not shown yet, as it may become a table."""
        return self._is_held

    def grow(self, text: str, *, hold: bool = True) -> None:
        """Show more of an answer that still comes."""
        text = text[:SHOWN_LIMIT]
        if not text.startswith(self._text):
            self._clear()
        self._text = text
        tail = text[self._final_chars :]
        fenced = open_fence(tail)
        if self._fence is not None and fenced is not None and self._grow_fence(fenced[1]):
            return
        if self._plain and "\n\n" not in tail[self._plain - 1 :]:
            self._grow_plain(tail)
            return
        writer = self._without_tail()
        blocks, rest = split_open(tail)
        if blocks:
            self._commit(writer, blocks, len(text) - len(rest))
            fenced = open_fence(rest)
        self._is_held = hold and is_undecided(rest)
        if fenced is not None:
            self._begin_fence(writer, *fenced)
        elif len(rest) > _PLAIN_FROM:
            writer.finish()
            self._grow_plain(rest)
            return
        elif not self._is_held:
            self._write_tail(writer, rest)
        writer.finish()

    def finish(self, text: str) -> None:
        """Show the whole answer; what stands already and stays the same is left alone."""
        shown = text[:SHOWN_LIMIT]
        blocks = parse(shown)
        signatures = [block.signature for block in blocks]
        if self._tail is not None and signatures == [*self._final, *self._tail] and shown == text:
            self._text, self._is_held = shown, False
            return
        kept = len(self._final)
        if signatures[:kept] != self._final:
            self._clear()
            kept = 0
        writer = self._without_tail()
        writer.write(blocks[kept:])
        if len(text) > SHOWN_LIMIT:
            self._offer_rest(writer, len(text))
        writer.finish()
        self._text = shown
        self._is_held = False

    # -- inside --------------------------------------------------------------------------

    def _clear(self) -> None:
        self._final, self._final_chars, self._tail_offset = [], 0, 0
        self._tail_is_fresh, self._fence, self._text = True, None, ""
        self._tail, self._plain = None, 0

    def _without_tail(self) -> MarkdownWriter:
        """Remove what is not final and return a writer that goes on there."""
        self._fence, self._tail, self._plain = None, None, 0
        cursor = QTextCursor(self._frame.document())
        cursor.setPosition(self._frame.firstPosition() + self._tail_offset)
        cursor.setPosition(self._frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        return MarkdownWriter(cursor, self._styles, is_fresh=self._tail_is_fresh)

    def _write_tail(self, writer: MarkdownWriter, rest: str) -> None:
        blocks = parse(closed(rest), is_whole=False)
        writer.write(blocks)
        self._tail = [block.signature for block in blocks]

    def _grow_plain(self, tail: str) -> None:
        """Add only what is new, as it is: a block this long can't be laid out each time."""
        cursor = QTextCursor(self._frame.document())
        cursor.setPosition(self._frame.lastPosition())
        block, char = self._styles.block(bottom=0), self._styles.text()
        if not self._plain and self._tail_is_fresh:
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(char)
        elif not self._plain:
            cursor.insertBlock(block, char)
        for at in range(self._plain, len(tail), _PLAIN_BLOCK):
            piece = clean(without_direction_marks(tail[at : at + _PLAIN_BLOCK]))
            # Pieces join without a space: the mark lets the line break there all the same.
            cursor.insertText("\u200b" + breakable(piece).replace("\n", "\u2028"), char)
            if cursor.block().length() > _PLAIN_BLOCK:
                cursor.insertBlock(block, char)
        self._plain = len(tail)

    def _commit(self, writer: MarkdownWriter, blocks: tuple[Block, ...], chars: int) -> None:
        writer.write(blocks)
        # An empty block would lose its format when the text behind it is removed.
        if not writer.is_fresh and not writer.cursor.block().text():
            return
        self._final.extend(block.signature for block in blocks)
        self._final_chars = chars
        self._tail_offset = writer.cursor.position() - self._frame.firstPosition()
        self._tail_is_fresh = writer.is_fresh

    def _begin_fence(self, writer: MarkdownWriter, info: str, code: str) -> None:
        language = info.split()[0] if info else ""
        frame = writer.begin_code(language)
        writer.code_lines(code, language)
        self._fence = _OpenFence(frame, language, code)
        writer.leave(frame)

    def _grow_fence(self, code: str) -> bool:
        """Write only the lines that are new, and the last one again."""
        fence = self._fence
        if fence is None or not code.startswith(fence.code):
            return False
        cursor = QTextCursor(self._frame.document())
        cursor.setPosition(fence.frame.lastPosition())
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        writer = MarkdownWriter(cursor, self._styles)
        writer.code_lines(code[fence.code.rfind("\n") + 1 :], fence.language)
        fence.code = code
        return True

    def _offer_rest(self, writer: MarkdownWriter, chars: int) -> None:
        note = translate("Transcript", "Only the beginning of a long message is shown here.")
        styles = self._styles
        writer.new_block(styles.block(top=8), styles.text("small", token="muted"))
        writer.cursor.insertText(f"{note} ", styles.text("small", token="muted"))
        link = styles.text("small", token="accent")
        link.setAnchor(True)
        link.setAnchorHref(SHOW_ALL)
        words = translate("Transcript", "Show all {count} characters")
        writer.cursor.insertText(words.format(count=f"{chars:,}"), link)

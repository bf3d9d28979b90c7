"""An answer in the document: while it grows, only its last block is written again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextCursor, QTextFrame

from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.transcript.document.line_patch import TailLines, planned
from desktop_agent.gui.transcript.document.markdown import (
    Block,
    Split,
    closed,
    has_far_effects,
    is_long_paragraph,
    is_undecided,
    open_fence,
    parse,
    split_open,
    whole_rows,
)
from desktop_agent.gui.transcript.document.markdown_writer import MarkdownWriter
from desktop_agent.gui.transcript.document.styles import Styles

translate = QCoreApplication.translate

# More of one message is shown in a window of its own.
SHOWN_LIMIT = 60_000
# So much is parsed, written and laid out at once; what is more follows in the next slices.
STEP = 4_000
# A paragraph that gets longer than this while it comes is shown without marks until it ends.
_PLAIN_FROM = 4_000
# A paragraph of any length is final when the next one begins.
_LONG_SIGNATURE = (False, "wall")
Signature = tuple[object, ...]


class _OpenFence(msgspec.Struct):
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
        self._final = StableBlocks()
        self._tail_offset = 0
        self._tail_is_fresh = True
        self._fence: _OpenFence | None = None
        # A last line is not shown yet, as it may become a table.
        self.is_held = False
        # `show` left something out, as it was too much for one time.
        self.is_behind = False
        self._tail: list[Signature] | None = None
        self._lines: TailLines | None = None
        # What the tail was written from, if it was as a whole.
        self._source = ""
        # Where in the document begins what `grow` has just changed.
        self.changed_from = 0
        # How much of a tail without marks is there, and where its last piece begins.
        self._plain = (0, 0)

    def show(self, text: str, *, is_live: bool, hold: bool = True) -> None:
        """Come a step nearer to this text; to be called again while it `is_behind`."""
        chars = len(text)
        # One end of a line is one character: a step must not end inside of it.
        text = shown = clean(text[:SHOWN_LIMIT])
        reach = len(self._text) + STEP
        if len(shown) > reach and not shown.startswith(self._text):
            self._restart()
            reach = STEP
        self.is_behind = len(shown) > reach
        if self.is_behind:
            self.grow(shown[:reach], hold=False)
        elif is_live:
            self.grow(text, hold=hold)
        else:
            self.finish(text, chars)

    def grow(self, text: str, *, hold: bool = True) -> None:
        """Show more of an answer that still comes."""
        text = text[:SHOWN_LIMIT]
        if not text.startswith(self._text):
            self._restart()
        self._text = text
        self.changed_from = self._tail_position
        tail = text[self._final.chars :]
        if self._fence is not None and self._go_on_with_code(self._fence, tail):
            return
        if self._plain[0] and self._grow_plain(tail):
            return
        tail = text[self._final.chars :]
        if hold and self._has_open_row(tail):
            return
        split = split_open(tail)
        rest = split.rest
        shown = self._without_open_row(rest) if hold else rest
        self.is_held = shown != rest or (hold and is_undecided(rest))
        if not split.final and not self.is_held and self._go_on_with_lines(split):
            return
        writer = self._without_tail()
        if split.final:
            self._commit(writer, split.final, len(text) - len(rest))
        fenced = open_fence(rest)
        if fenced is not None:
            self._begin_fence(writer, *fenced)
        elif len(rest) > _PLAIN_FROM:
            self._plain = len(rest), writer.long_paragraph(rest)
        elif shown != rest or not self.is_held:
            self._write_tail(writer, split if shown == rest else Split((), shown))
            self._source = shown
        writer.finish()

    def finish(self, text: str, chars_in_all: int = 0) -> None:
        """Show the whole answer; what stands already and stays the same is left alone."""
        in_all = max(len(text), chars_in_all)
        shown = text[:SHOWN_LIMIT]
        is_same_text = shown.startswith(self._text[: self._final.chars])
        count, chars = self._final.sure(shown) if is_same_text else (0, 0)
        final = self._final.signatures[count:]
        if not final and self._finish_long_paragraph(shown, in_all):
            return
        blocks = parse(shown[chars:])
        signatures = looks(blocks)
        is_same = self._tail is not None and signatures == [*final, *self._tail]
        if not (is_same and in_all <= SHOWN_LIMIT):
            if signatures[: len(final)] != final:
                blocks, final = parse(shown) if chars else blocks, []
                self._restart()
            rest = blocks[len(final) :]
            if rest and self._close_code(self._fence, rest[0], chars + rest[0].end(shown[chars:])):
                rest = rest[1:]
            writer = self._without_tail()
            writer.write(rest)
            self._offer_rest(writer, in_all)
            writer.finish()
        self._text = shown
        self.is_held = False

    def _restart(self) -> None:
        self._final.clear()
        self._text, self._tail_offset, self._tail_is_fresh = "", 0, True
        self._forget_tail()

    def _forget_tail(self) -> None:
        self._fence = self._tail = self._lines = None
        self._source = ""
        self._plain = 0, 0

    @property
    def _tail_position(self) -> int:
        return self._frame.firstPosition() + self._tail_offset

    def _without_tail(self) -> MarkdownWriter:
        """Remove what is not final and return a writer that goes on there."""
        self._forget_tail()
        start, is_fresh = self._tail_position, self._tail_is_fresh
        return MarkdownWriter.from_position(self._frame, self._styles, start, is_fresh=is_fresh)

    def _write_tail(self, writer: MarkdownWriter, split: Split) -> None:
        blocks = _closed_blocks(split)
        if lines := planned(blocks, self._styles):
            self._lines = TailLines(self._frame, writer, lines)
        else:
            writer.write(blocks)
        self._tail = looks(blocks)

    def _without_open_row(self, rest: str) -> str:
        """Leave out the last row of a table that comes, unless it is shown already."""
        whole = whole_rows(rest)
        is_shown = len(self._source) > len(whole) and self._source.startswith(whole)
        return rest if is_shown else whole

    def _has_open_row(self, tail: str) -> bool:
        """Whether all that is new is a part of a table's row."""
        if len(tail) == len(self._source) or whole_rows(tail) != self._source:
            return False
        self.is_held = True
        self.changed_from = self._frame.lastPosition()
        return True

    def _go_on_with_lines(self, split: Split) -> bool:
        """Write what is new of them; False when it is not only lines, or not these any more."""
        if self._lines is None or len(split.rest) > _PLAIN_FROM:
            return False
        blocks = _closed_blocks(split)
        lines = planned(blocks, self._styles)
        place = self._frame.firstCursorPosition()
        place.setPosition(self._tail_position)
        first = place.block() if self._tail_is_fresh else place.block().next()
        changed = self._lines.change(first, lines)
        if changed < 0:
            return False
        self.changed_from = changed
        self._tail = looks(blocks)
        return True

    def _grow_plain(self, tail: str) -> bool:
        """Write what is new, as it is; False when that block is over, and may be in marks now."""
        written, start = self._plain
        end = tail.find("\n\n", written - 1)
        if end >= 0 and not is_long_paragraph(tail[:end]):
            return False
        writer = self._at_last_block()
        start = writer.long_paragraph(tail if end < 0 else tail[:end], start)
        self._plain = len(tail), start
        if end >= 0:
            self._keep_finished(writer, [_LONG_SIGNATURE], self._final.chars + end)
            self._plain = 0, 0
        return end < 0

    def _at_last_block(self) -> MarkdownWriter:
        """Empty the last block and return a writer that begins in it."""
        cursor = self._frame.firstCursorPosition()
        cursor.setPosition(self._frame.lastPosition())
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        self.changed_from = cursor.position()
        cursor.removeSelectedText()
        return MarkdownWriter(cursor, self._styles)

    def _finish_long_paragraph(self, shown: str, chars: int) -> bool:
        """Leave a paragraph that looks the same with marks and without; False if it does not."""
        tail = shown[self._final.chars :]
        if not self._plain[0] or not shown.startswith(self._text) or not is_long_paragraph(tail):
            return False
        writer = self._at_last_block()
        writer.long_paragraph(tail, self._plain[1])
        self._offer_rest(writer, chars)
        self._text, self._plain = shown, (0, 0)
        return True

    def _commit(self, writer: MarkdownWriter, blocks: tuple[Block, ...], chars: int) -> None:
        writer.write(blocks)
        # An empty block would lose its format when the text behind it is removed.
        if not writer.is_fresh and not writer.cursor.block().text():
            return
        self._keep_finished(writer, looks(blocks), chars)

    def _keep_finished(
        self, writer: MarkdownWriter, signatures: list[Signature], chars: int
    ) -> None:
        self._final.add(self._text, signatures, chars)
        self._tail_offset = writer.cursor.position() - self._frame.firstPosition()
        self._tail_is_fresh = writer.is_fresh

    def _begin_fence(self, writer: MarkdownWriter, info: str, code: str) -> None:
        language = info.split()[0] if info else ""
        frame = writer.begin_code(language)
        writer.code_lines(code, language)
        self._fence = _OpenFence(frame, language, code)
        writer.leave(frame)

    def _go_on_with_code(self, fence: _OpenFence, tail: str) -> bool:
        """Write more of the code; False when it is over, or has to be written again."""
        fenced = open_fence(tail)
        if fenced is not None:
            return self._set_code(fence, fenced[1])
        if len(fence.code) <= STEP:
            return False
        block = parse(tail, is_whole=False)[0]
        end = block.end(tail)
        if not tail[:end].endswith("\n"):
            return True  # what looks like its end may still become a line of it
        self._close_code(fence, block, self._final.chars + end)
        return False

    def _close_code(self, fence: _OpenFence | None, block: Block, chars: int) -> bool:
        """Leave long code that is over as it stands, to get its colours as a whole."""
        if fence is None or len(fence.code) <= STEP or block.kind != "fence":
            return False
        if not self._set_code(fence, block.tokens[0].content.rstrip("\n")):
            return False
        cursor = self._frame.firstCursorPosition()
        cursor.setPosition(fence.frame.lastPosition() + 1)
        self._fence = None
        self._keep_finished(MarkdownWriter(cursor, self._styles), [block.signature], chars)
        self._styles.uncolored.append(fence.frame)
        return True

    def _set_code(self, fence: _OpenFence, code: str) -> bool:
        """Write only the lines that are new, and the last one again; or take lines away."""
        start = fence.code.rfind("\n") + 1
        cursor = self._frame.firstCursorPosition()
        cursor.setPosition(fence.frame.lastPosition())
        keep = QTextCursor.MoveMode.KeepAnchor
        if code.startswith(fence.code[:start]):
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, keep)
            self.changed_from = cursor.position()
            cursor.removeSelectedText()
            MarkdownWriter(cursor, self._styles).code_lines(code[start:], fence.language)
        elif fence.code.startswith(f"{code}\n"):
            lines = fence.code.count("\n", len(code))
            cursor.movePosition(QTextCursor.MoveOperation.PreviousBlock, keep, lines)
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, keep)
            cursor.removeSelectedText()
        else:
            return False
        fence.code = code
        return True

    def _offer_rest(self, writer: MarkdownWriter, chars: int) -> None:
        if chars <= SHOWN_LIMIT:
            return
        note = translate("Transcript", "Only the beginning of a long message is shown here.")
        writer.offer_whole(chars, top=8, bottom=8, note=f"{note} ")


def _closed_blocks(split: Split) -> Sequence[Block]:
    """Return the blocks of what still comes, with what is unfinished in it closed."""
    text = closed(split.rest)
    known = split.last if text == split.rest else None
    return parse(text, is_whole=False) if known is None else known


class StableBlocks:
    """`signatures` are what the blocks look like, `chars` is where their source ends.

    What was sure once is not parsed again: the end of a long answer costs as little as its
    beginning.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.signatures: list[Signature] = []
        self.chars = 0
        self._sure = (0, 0)
        self._is_lost = False

    def add(self, text: str, signatures: Sequence[Signature], chars: int) -> None:
        """Take in the blocks up to `chars` of the text that is known by now."""
        count, before = self._sure
        is_doubtful = count != len(self.signatures)
        self.signatures.extend(signatures)
        self.chars = chars
        # A list that goes on may still become a loose one.
        self._is_lost |= any(signature[0] for signature in signatures)
        if self._is_lost or not _is_closed(text, chars):
            return
        if is_doubtful and self.signatures[count:] != looks(parse(text[before:chars])):
            self._is_lost = True
            return
        self._sure = len(self.signatures), chars

    def sure(self, text: str) -> tuple[int, int]:
        """Return how many blocks of the whole text are sure, and where they end."""
        return (0, 0) if has_far_effects(text) else self._sure


def looks(blocks: Sequence[Block]) -> list[Signature]:
    """Return what the blocks look like."""
    return [block.signature for block in blocks]


def _is_closed(text: str, chars: int) -> bool:
    """Whether what ends there has ended: a line that still comes may yet belong to it."""
    return text[:chars].rstrip(" \t").endswith("\n\n") or "\n" in text[chars:]

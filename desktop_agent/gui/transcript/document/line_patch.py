"""The lines of a text that still comes: planned first, so that only what differs is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from PySide6.QtGui import (
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrame,
    QTextList,
    QTextListFormat,
)

from desktop_agent.gui.kit.safe_text import utf16_length
from desktop_agent.gui.transcript.document.markdown import Block
from desktop_agent.gui.transcript.document.markdown_writer import MarkdownWriter
from desktop_agent.gui.transcript.document.styles import Styles

_Move = QTextCursor.MoveOperation
# These have frames of their own, and are written as a whole.
_FRAMED = frozenset({"fence", "code_block", "table_open", "blockquote_open", "hr"})

Run = tuple[str, QTextCharFormat]


class _Listed(msgspec.Struct, frozen=True):
    """A list; those of one plan are numbered in the order in which they begin."""

    number: int
    shape: QTextListFormat

    def add(self, line: Line) -> None:
        line.listed = self


class Line(msgspec.Struct):
    """One block of the document as it is to be."""

    block: QTextBlockFormat
    char: QTextCharFormat
    runs: list[Run] = []
    listed: _Listed | None = None

    def can_become(self, other: Line) -> bool:
        """Whether it takes no more than other words and another height."""
        return self.listed == other.listed and self.char == other.char


class _LineRecorder:
    """Takes the place of a cursor: what a writer does with it makes lines."""

    def __init__(self) -> None:
        self.lines = [Line(QTextBlockFormat(), QTextCharFormat())]
        self._lists = 0

    def insertBlock(self, block: QTextBlockFormat, char: QTextCharFormat) -> None:
        self.lines.append(Line(QTextBlockFormat(block), char))

    def insertText(self, text: str, char: QTextCharFormat) -> None:
        if text:
            self.lines[-1].runs.append((text, char))

    def setBlockFormat(self, block: QTextBlockFormat) -> None:
        self.lines[-1].block = QTextBlockFormat(block)

    def setBlockCharFormat(self, char: QTextCharFormat) -> None:
        self.lines[-1].char = char

    def blockFormat(self) -> QTextBlockFormat:
        return QTextBlockFormat(self.lines[-1].block)

    def block(self) -> Line:
        return self.lines[-1]

    def createList(self, shape: QTextListFormat) -> _Listed:
        listed = self.lines[-1].listed = _Listed(self._lists, QTextListFormat(shape))
        self._lists += 1
        return listed


def planned(blocks: Sequence[Block], styles: Styles) -> list[Line]:
    """Return the lines of the blocks; none if they need more than lines."""
    if any(token.type in _FRAMED for block in blocks for token in block.tokens):
        return []
    pen = _LineRecorder()
    # Any: it has of a QTextCursor what the writer uses.
    writer = MarkdownWriter(cast(Any, pen), styles)
    writer.write(blocks)
    return [] if writer.is_fresh else pen.lines


class _Kept(msgspec.Struct, frozen=True):
    """How long the beginning is that stays, and what is to be written behind it."""

    units: int
    rest: list[Run]


_NOTHING = _Kept(0, [])


class TailLines:
    """Lines that were written last in a frame: what follows the first of them is theirs."""

    def __init__(self, frame: QTextFrame, writer: MarkdownWriter, lines: list[Line]) -> None:
        self._frame = frame
        self._lines = lines
        self._lists: dict[int, QTextList] = {}
        for line in lines:
            writer.new_block(line.block, line.char)
            self._fill(writer.cursor, line)

    def change(self, first: QTextBlock, lines: list[Line]) -> int:
        """Write what differs from the lines that stand, the first of which is given.

        Returns the position from which on the document is another; -1 if nothing was done,
        as it takes more than to write on.
        """
        old, same = self._lines, _alike(self._lines, lines)
        kept = _kept(old[same], lines[same]) if same < min(len(old), len(lines)) else _NOTHING
        # A block that is left empty would take the format of what is removed behind it.
        if not kept.units and not (same and old[same - 1].runs):
            return -1
        at = same if kept.units else same - 1
        cursor = QTextCursor(first)
        cursor.movePosition(_Move.NextBlock, QTextCursor.MoveMode.MoveAnchor, at)
        changed = cursor.position() + (
            kept.units or sum(utf16_length(run) for run, _ in old[at].runs)
        )
        cursor.setPosition(changed)
        cursor.setPosition(self._frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        numbers = {line.listed.number for line in lines[: at + 1] if line.listed is not None}
        self._lists = {number: self._lists[number] for number in numbers}
        if kept.units:
            _reshape(cursor, old[at].block, lines[at].block)
            _insert(cursor, kept.rest)
        for line in lines[at + 1 :]:
            cursor.insertBlock(line.block, line.char)
            self._fill(cursor, line)
        self._lines = lines
        return changed

    def _fill(self, cursor: QTextCursor, line: Line) -> None:
        if line.listed is not None:
            begun = self._lists.get(line.listed.number)
            if begun is None:
                self._lists[line.listed.number] = cursor.createList(line.listed.shape)
            else:
                begun.add(cursor.block())
        _insert(cursor, line.runs)


def _insert(cursor: QTextCursor, runs: Iterable[Run]) -> None:
    for text, char in runs:
        cursor.insertText(text, char)


def _reshape(cursor: QTextCursor, old: QTextBlockFormat, new: QTextBlockFormat) -> None:
    if old != new:
        shaped = QTextBlockFormat(new)
        shaped.setObjectIndex(cursor.blockFormat().objectIndex())  # it stays in its list
        cursor.setBlockFormat(shaped)


def _alike(old: Sequence[Line], new: Sequence[Line]) -> int:
    """Return how many lines are the same in both, from the first one on."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return number
    return min(len(old), len(new))


def _kept(old: Line, new: Line) -> _Kept:
    """Return what of a line can stay when it becomes another one."""
    if not old.can_become(new):
        return _NOTHING
    units = 0
    for number, ((text, char), (wanted, shape)) in enumerate(zip(old.runs, new.runs, strict=False)):
        if text == wanted and char == shape:
            units += utf16_length(text)
            continue
        same = _common(text, wanted) if char == shape else 0
        rest = [(wanted[same:], shape), *new.runs[number + 1 :]]
        return _Kept(units + utf16_length(wanted[:same]), rest)
    return _Kept(units, new.runs[len(old.runs) :])


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

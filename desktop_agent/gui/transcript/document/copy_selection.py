"""A selection of the transcript as Markdown and as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from PySide6.QtGui import (
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextFormat,
    QTextFrame,
    QTextListFormat,
)

from desktop_agent.gui.kit.safe_text import utf16_slice
from desktop_agent.gui.transcript.document.styles import BLOCK_ROLE, CONTINUED, FRAME_KIND

# Frame marks, objects, thin spaces and soft breaks belong to the look, not to the text.
_UNWANTED = dict.fromkeys(map(ord, "\ufdd0\ufdd1\ufffc\u2009\u200b"))

_BACKTICKS = re.compile("`+")


class _Line(msgspec.Struct, frozen=True):
    """`kind` is `text`, `code`, `cell` or `card`; `group` tells one code or table from another."""

    kind: str
    plain: str
    markdown: str
    group: int = 0
    place: tuple[int, int] = (0, 0)
    language: str = ""
    is_listed: bool = False
    is_continued: bool = False


def selection_text(cursor: QTextCursor) -> tuple[str, str]:
    """Return the selection as plain text and as Markdown."""
    lines = list(_lines(cursor))
    return _plain(lines), _markdown(lines)


def _lines(cursor: QTextCursor) -> Iterator[_Line]:
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    block = cursor.document().findBlock(start)
    while block.isValid() and block.position() < end:
        if block.position() + block.length() > start and _is_content(block):
            yield _line(block, start, end)
        block = block.next()


def _is_content(block: QTextBlock) -> bool:
    shape = block.blockFormat()
    if shape.property(BLOCK_ROLE) == "state":
        return False
    is_collapsed = (
        shape.lineHeightType() == QTextBlockFormat.LineHeightTypes.FixedHeight.value
        and not block.text()
    )
    return not is_collapsed


def _line(block: QTextBlock, start: int, end: int) -> _Line:
    at = QTextCursor(block)
    frame, table = at.currentFrame(), at.currentTable()
    low = max(0, start - block.position())
    high = min(block.length() - 1, end - block.position())
    plain = utf16_slice(block.text(), low, high).replace("\u2028", "\n").translate(_UNWANTED)
    shape = block.blockFormat()
    if shape.hasProperty(QTextFormat.Property.BlockCodeFence):
        language = str(shape.property(QTextFormat.Property.BlockCodeLanguage) or "")
        return _Line("code", plain, plain, frame.firstPosition(), language=language)
    inline = _inline(block, start, end)
    if table:
        cell = table.cellAt(at)
        words = (plain if cell.row() == 0 else inline).replace("|", "\\|")
        return _Line("cell", plain, words, table.firstPosition(), (cell.row(), cell.column()))
    prefix, mark = _prefixes(block, low == 0)
    quote = "> " * _quote_depth(frame)
    is_listed = bool(block.textList())
    is_continued = shape.property(BLOCK_ROLE) == CONTINUED
    words = inline if is_continued else quote + prefix + inline
    return _Line("text", mark + plain, words, is_listed=is_listed, is_continued=is_continued)


def _prefixes(block: QTextBlock, is_whole: bool) -> tuple[str, str]:
    """Return what stands before a block: in Markdown, and in plain text."""
    shape = block.blockFormat()
    if shape.headingLevel():
        return "#" * shape.headingLevel() + " ", ""
    listed = block.textList()
    if not listed or not is_whole:
        return "", ""
    indent = "   " * (listed.format().indent() - 1)
    if listed.format().style() == QTextListFormat.Style.ListDecimal:
        number = f"{listed.itemText(block) or '1.'} "
        return indent + number, indent + number
    marker = shape.marker()
    marks = QTextBlockFormat.MarkerType
    task = {marks.Checked: "[x] ", marks.Unchecked: "[ ] "}.get(marker, "")
    return f"{indent}- {task}", f"{indent}• {task}"


def _inline(block: QTextBlock, start: int, end: int) -> str:
    words: list[str] = []
    place = block.begin()
    while not place.atEnd():
        fragment = place.fragment()
        low = max(0, start - fragment.position())
        high = min(fragment.length(), end - fragment.position())
        text = (
            utf16_slice(fragment.text(), low, high).replace("\u2028", "\\\n").translate(_UNWANTED)
        )
        if text and high > low:
            words.append(_marked(text, fragment.charFormat(), block.blockFormat()))
        place += 1
    return "".join(words)


def _marked(text: str, shape: QTextFormat, block: QTextBlockFormat) -> str:
    char = shape.toCharFormat()
    if char.fontFixedPitch():
        ticks = _ticks(1, [text])
        edge = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{ticks}{edge}{text}{edge}{ticks}"
    inner = text.strip()
    if not inner:
        return text
    marked = inner
    if char.fontWeight() >= 600 and not block.headingLevel():
        marked = f"**{marked}**"
    if char.fontItalic():
        marked = f"*{marked}*"
    if char.fontStrikeOut():
        marked = f"~~{marked}~~"
    address = char.anchorHref() if char.isAnchor() else ""
    if address and address != inner and not address.startswith("app:"):
        marked = f"[{marked}]({address})"
    return text.replace(inner, marked, 1)


def _ticks(least: int, texts: Iterable[str]) -> str:
    """Return more backticks than stand anywhere in these texts: they enclose what is code."""
    runs = (len(run) for text in texts for run in _BACKTICKS.findall(text))
    return "`" * max(least, max(runs, default=0) + 1)


def _quote_depth(frame: QTextFrame | None) -> int:
    depth = 0
    while frame is not None:
        depth += frame.frameFormat().property(FRAME_KIND) == "quote"
        frame = frame.parentFrame()
    return depth


def _plain(lines: list[_Line]) -> str:
    words: list[str] = []
    last: _Line | None = None
    for line in lines:
        if last is not None:
            is_same_row = (line.kind, line.group) == ("cell", last.group)
            gap = "\t" if is_same_row and line.place[0] == last.place[0] else "\n"
            words.append("" if line.is_continued else gap)
        words.append(line.plain)
        last = line
    return "".join(words)


def _markdown(lines: list[_Line]) -> str:
    words: list[str] = []
    last: _Line | None = None
    fence = _ticks(3, (line.markdown for line in lines if line.kind == "code"))
    for line in lines:
        is_same = last is not None and (line.kind, line.group) == (last.kind, last.group)
        if last is not None and last.kind == "code" and not is_same:
            words.append(f"\n{fence}")
        words.append(_gap(last, line, is_same))
        if line.kind == "code" and not is_same:
            words.append(f"{fence}{line.language}\n")
        if line.kind == "cell" and (not is_same or last is None or line.place[1] == 0):
            words.append("| ")
        words.append(line.markdown + (" |" if line.kind == "cell" else ""))
        last = line
    if last is not None and last.kind == "code":
        words.append(f"\n{fence}")
    return "".join(words)


def _gap(last: _Line | None, line: _Line, is_same: bool) -> str:
    if last is None or line.is_continued:
        return ""
    if line.kind == "cell" and is_same:
        if line.place[0] == last.place[0]:
            return " "
        columns = last.place[1] + 1
        return "\n" + "| --- " * columns + "|\n" if last.place[0] == 0 else "\n"
    if (line.kind == "code" and is_same) or (line.is_listed and last.is_listed):
        return "\n"
    return "\n\n"

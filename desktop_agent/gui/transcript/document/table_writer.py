"""Writes a Markdown table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextTable,
    QTextTableFormat,
)

from desktop_agent.gui.transcript.document.styles import FRAME_KIND, Styles

if TYPE_CHECKING:
    from markdown_it.token import Token

# More cells than this are cut: each is a layout of its own.
_MAX_ROWS = 500
_MAX_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class _Cell:
    is_head: bool
    alignment: Qt.AlignmentFlag
    inline: Token


def write_table(
    tokens: Sequence[Token],
    cursor: QTextCursor,
    styles: Styles,
    write_inline: Callable[[Token, QTextCharFormat], None],
) -> QTextTable:
    """Insert the table at the cursor, which `write_inline` writes through as well."""
    rows = _rows(tokens)
    table = cursor.insertTable(len(rows), max(len(row) for row in rows), _shape(styles))
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            place = table.cellAt(number, column)
            shaped = place.format().toTableCellFormat()
            shaped.setLeftPadding(10)
            shaped.setRightPadding(10)
            if cell.is_head:
                shaped.setBackground(styles.color("sunken"))
            place.setFormat(shaped)
            cursor.setPosition(place.firstCursorPosition().position())
            block = styles.block("table", bottom=0)
            block.setAlignment(cell.alignment)
            char = styles.text("ui", "semibold" if cell.is_head else "regular")
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(char)
            write_inline(cell.inline, char)
    return table


def _shape(styles: Styles) -> QTextTableFormat:
    shape = QTextTableFormat()
    shape.setCellPadding(6)
    shape.setCellSpacing(0)
    shape.setBorder(1)
    shape.setBorderBrush(styles.color("line2"))
    shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    shape.setBorderCollapse(True)
    shape.setTopMargin(4)
    shape.setBottomMargin(12)
    shape.setHeaderRowCount(1)
    shape.setProperty(FRAME_KIND, "table")
    return shape


def _rows(tokens: Sequence[Token]) -> list[list[_Cell]]:
    rows: list[list[_Cell]] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            if len(rows) == _MAX_ROWS:
                break
            rows.append([])
        elif token.type in ("th_open", "td_open") and len(rows[-1]) < _MAX_COLUMNS:
            style = str(token.attrGet("style") or "")
            rows[-1].append(_Cell(token.type == "th_open", _alignment(style), tokens[number + 1]))
    return rows


def _alignment(style: str) -> Qt.AlignmentFlag:
    if "right" in style:
        return Qt.AlignmentFlag.AlignRight
    if "center" in style:
        return Qt.AlignmentFlag.AlignHCenter
    return Qt.AlignmentFlag.AlignLeading

"""Blocks that would take longer than a frame to lay out: shown as they were written.

A table is laid out as a whole, a fifth of a millisecond for each cell, and a quote in a quote is a
frame in a frame. What is larger than these limits is a block of code, which comes in steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

MOST_CELLS = 240
# A block of more tokens than this, with tokens this deep, is too much for one layout.
MOST_TOKENS = 300
DEEP = 8
_BELOW_HEAD = re.compile(r"[ \t|:-]+")
_CELLS = frozenset({"th_open", "td_open"})
_CODE_INDENT = 4
# What ends a table: a quote, a heading, a fence.
_ENDS_TABLE = (">", "#", "```", "~~~")


# Any: the parser's module is imported with the first text.
def add_rule(parser: Any) -> None:
    """Have the parser take a large table as a block of code, before it looks at its cells."""
    parser.block.ruler.before("table", "large_table", _large_table)


def is_heavy(tokens: Sequence[Token]) -> bool:
    """Whether a top-level block is nested deeply, and large, or has many small tables."""
    if len(tokens) <= MOST_TOKENS:
        return False
    if sum(token.type in _CELLS for token in tokens) > MOST_CELLS:
        return True
    return any(token.level >= DEEP for token in tokens) or tokens[0].type == "blockquote_open"


def as_written(tokens: Sequence[Token], text: str) -> Token:
    """Return one token that shows the block's source."""
    from markdown_it.token import Token as NewToken  # loaded by now: it made these

    first, last = tokens[0].map or [0, 0]
    source = "".join(text.splitlines(keepends=True)[first:last])
    return NewToken("fence", "code", 0, content=source, map=[first, last], markup="```")


def _large_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent or start + 2 >= end or state.is_code_block(start):
        return False
    if state.sCount[start + 1] < state.blkIndent or not _is_head(state, start):
        return False
    cells, line = 0, start
    while line < end and (line < start + 2 or _goes_on(state, line)):
        cells += _line(state, line).strip("| \t").count("|") + 1
        line += 1
    if cells <= MOST_CELLS:
        return False
    token = state.push("fence", "code", 0)
    token.content = state.getLines(start, line, state.blkIndent, True)
    token.map = [start, line]
    token.markup = "```"
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _is_head(state: StateBlock, start: int) -> bool:
    head, below = _line(state, start), _line(state, start + 1)
    if "|" not in head or not {"|", "-"} <= set(below) or _BELOW_HEAD.fullmatch(below) is None:
        return False
    names = head.replace("\\|", "").strip().strip("|").count("|")
    return names == below.strip().strip("|").count("|")


def _goes_on(state: StateBlock, line: int) -> bool:
    if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
        return False
    if state.sCount[line] - state.blkIndent >= _CODE_INDENT:
        return False
    return not _line(state, line).startswith(_ENDS_TABLE)

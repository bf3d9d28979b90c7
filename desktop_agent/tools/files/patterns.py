"""Searching text with Python's `re` where ripgrep is missing, without patterns that never end."""

from __future__ import annotations

import re
from re import _constants as codes  # pyright: ignore[reportAttributeAccessIssue]
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

from desktop_agent.core.tool import ToolError

# `re` backtracks and can't be interrupted; with few repeats and short lines it stays quick.
LINE_LENGTH = 500
_REPEATS = 3
_REPEATING = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
_LONG = 20


def compile_safely(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """Compile a pattern; raises ToolError when it is wrong or could take for ever."""
    try:
        tree = parser.parse(pattern)
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"the pattern is not a regular expression: {error}.") from None
    if _repeats(tree, inside=False) > _REPEATS:
        raise ToolError(
            "the pattern repeats too much to be searched quickly; use a simpler one "
            "(at most three of * + {n,}, none inside another)."
        )
    return compiled


def _repeats(node: Any, *, inside: bool) -> int:
    """Count the long repeats in a parsed pattern; one inside another counts as too many."""
    if isinstance(node, tuple) and len(node) == 2 and node[0] in _REPEATING:
        low, high, body = node[1]
        is_long = high is codes.MAXREPEAT or int(high) > _LONG
        if is_long and (inside or _has_branch(body)):
            return _REPEATS + 1
        return is_long + _repeats(body, inside=inside or is_long or int(low) > 1)
    if isinstance(node, (tuple, list, parser.SubPattern)):
        return sum(_repeats(child, inside=inside) for child in node)
    return 0


def _has_branch(node: Any) -> bool:
    if isinstance(node, tuple) and node and node[0] is codes.BRANCH:
        return True
    if isinstance(node, (tuple, list, parser.SubPattern)):
        return any(_has_branch(child) for child in node)
    return False

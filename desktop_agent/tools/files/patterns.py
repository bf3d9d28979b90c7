"""Expressions of the model's: `regex` gives up on a match that takes long, Python's `re` does not.

While it matches it also lets the other threads go on.
"""

from __future__ import annotations

import re
import time
from typing import Any

from desktop_agent.core.tool import ToolError

LINE_LENGTH = 500
# Larger files are searched only when they are named: their lines may be as long.
LARGEST = 200_000_000
_LONGEST = 1_000
_ONE_MATCH_S = 1.0
_LONG_LINE_S = 0.1
_MOST_CUT = 50
# A line feed, as itself or escaped; `[^\n]` may be searched for.
_HAS_LINE_END = re.compile(r"\n|^[^\[]*(?<!\\)(?:\\\\)*\\n")
_ALL_S = 40.0


class Expression:
    """A regular expression for one search. Raises ToolError when it is wrong or takes too long."""

    def __init__(self, pattern: str, *, ignore_case: bool = False, of_lines: bool = False) -> None:
        import regex  # 10 ms: not before somebody searches

        if len(pattern) > _LONGEST:
            raise ToolError(f"the pattern is longer than {_LONGEST:,} characters.")
        if of_lines and _HAS_LINE_END.search(pattern):
            raise ToolError("a search goes line by line, so no pattern with a line end fits.")
        try:
            self._compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except (regex.error, RecursionError, OverflowError, MemoryError) as error:
            raise ToolError(f"the pattern is not a regular expression: {error}.") from None
        self._until = time.monotonic() + _ALL_S
        self.cut = 0

    def search(self, text: str) -> bool:
        """Whether it fits some part of a line.

        Of a long one that takes long only the start is searched; `cut` counts these.
        """
        if len(text) > LINE_LENGTH:
            try:
                if self.cut < _MOST_CUT and time.monotonic() < self._until:
                    return self._compiled.search(text, timeout=_LONG_LINE_S) is not None
            except TimeoutError:
                pass
            self.cut += 1
        return self._in_time(self._compiled.search, text[:LINE_LENGTH])

    def fullmatch(self, text: str) -> bool:
        """Whether it fits the whole text."""
        return self._in_time(self._compiled.fullmatch, text)

    def _in_time(self, match: Any, text: str) -> bool:
        left = min(_ONE_MATCH_S, self._until - time.monotonic())
        try:
            # No time at all would mean that there is no limit.
            if left > 0:
                return match(text, timeout=left) is not None
        except TimeoutError:
            pass
        raise ToolError("the pattern takes too long here; use a simpler one, or look in less.")

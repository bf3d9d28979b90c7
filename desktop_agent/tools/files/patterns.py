"""Expressions of the model's: `regex` gives up on a match that takes long, Python's `re` does not.

While it matches it also lets the other threads go on.
"""

from __future__ import annotations

import time
from typing import Any

from desktop_agent.core.tool import ToolError

LINE_LENGTH = 500
_LONGEST = 1_000
_ONE_MATCH_S = 1.0
_ALL_S = 40.0


class Expression:
    """A regular expression for one search. Raises ToolError when it is wrong or takes too long."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        import regex  # 10 ms: not before somebody searches

        if len(pattern) > _LONGEST:
            raise ToolError(f"the pattern is longer than {_LONGEST:,} characters.")
        try:
            self._compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except (regex.error, RecursionError, OverflowError, MemoryError) as error:
            raise ToolError(f"the pattern is not a regular expression: {error}.") from None
        self._until = time.monotonic() + _ALL_S

    def search(self, text: str) -> bool:
        """Whether it fits some part of the text."""
        return self._in_time(self._compiled.search, text)

    def fullmatch(self, text: str) -> bool:
        """Whether it fits the whole text."""
        return self._in_time(self._compiled.fullmatch, text)

    def _in_time(self, match: Any, text: str) -> bool:
        left = min(_ONE_MATCH_S, self._until - time.monotonic())
        try:
            # No time at all would mean that there is no limit.
            return match(text, timeout=max(left, 0.001)) is not None
        except TimeoutError:
            raise ToolError("the pattern takes too long here; use a simpler one.") from None

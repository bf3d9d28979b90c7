"""The last calls of an agent, to notice one that goes in circles."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from desktop_agent.core.messages import ToolCall

_IN_A_ROW = 3


class RecentCalls:
    """Remembers as many calls as make a repetition."""

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=_IN_A_ROW)

    def add(self, calls: Iterable[ToolCall]) -> None:
        """Take in the calls of a message."""
        self._last.extend(_fingerprint(call) for call in calls)

    def is_repeated(self, call: ToolCall) -> bool:
        """Whether the call ends three identical ones in a row."""
        same = _fingerprint(call)
        return len(self._last) == _IN_A_ROW and all(last == same for last in self._last)


def _fingerprint(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, default=str)}{call.raw}"

"""The tools by name, brought in when the first is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from desktop_agent.core.tool import Tool


class Toolbox(Mapping[str, Tool]):
    """Tools with their schemas are a fifth of the window's memory: an app at rest needs none.

    `load` may be called on any thread; whoever asks meanwhile waits for it.
    """

    def __init__(self, tools: Sequence[Tool] | Callable[[], Sequence[Tool]]) -> None:
        self._find = tools if callable(tools) else lambda: tools
        self._guard = threading.Lock()
        self._tools: dict[str, Tool] | None = None

    def load(self) -> dict[str, Tool]:
        """Return the tools, found at the first call."""
        with self._guard:
            if self._tools is None:
                self._tools = {tool.name: tool for tool in self._find()}
            return self._tools

    def __getitem__(self, name: str) -> Tool:
        return self.load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.load())

    def __len__(self) -> int:
        return len(self.load())

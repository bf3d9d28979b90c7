"""The tools by name, brought in when the first is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from desktop_agent.core.tool import Tool


class MoreTools(Protocol):
    """Tools of servers."""

    def tools(self) -> Mapping[str, Tool]:
        """Return all of them by name."""
        ...

    def listed(self) -> tuple[str, ...]:
        """Return the names that models are told."""
        ...


class Toolbox(Mapping[str, Tool]):
    """Tools with their schemas are a fifth of the window's memory: an app at rest needs none.

    `load` may be called on any thread; whoever asks meanwhile waits for it. `more` are tools that
    come and go: found by every name, and listed as far as models are told of them.
    """

    def __init__(self, tools: Sequence[Tool] | Callable[[], Sequence[Tool]]) -> None:
        self._find = tools if callable(tools) else lambda: tools
        self._guard = threading.Lock()
        self._tools: dict[str, Tool] | None = None
        self.more: MoreTools | None = None

    def load(self) -> dict[str, Tool]:
        """Return the tools, found at the first call."""
        with self._guard:
            if self._tools is None:
                self._tools = {tool.name: tool for tool in self._find()}
            return self._tools

    def __getitem__(self, name: str) -> Tool:
        own = self.load()
        if self.more is None or name in own:
            return own[name]
        return self.more.tools()[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.load()
        if self.more is not None:
            yield from self.more.listed()

    def __len__(self) -> int:
        return sum(1 for _ in self)

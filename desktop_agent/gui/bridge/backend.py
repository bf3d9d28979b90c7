"""What the window knows of the engine's side: enough to start it, call it and end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from desktop_agent.core.events import Event

Emit = Callable[[Event], None]


class Backend(Protocol):
    """What runs on the engine thread; commands go to `engine`, queries to any of the parts."""

    @property
    def engine(self) -> Any:
        """The engine."""
        ...

    async def close(self) -> None:
        """Stop everything and let go of it."""
        ...


Compose = Callable[[Emit], Awaitable[Backend]]


class BridgeClosed(Exception):
    """The query can't be answered any more: the engine is gone."""

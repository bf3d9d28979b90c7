"""Parts of the backend as the window calls them: the same methods, run on the engine thread.

Callers see the protocols of core/commands.py, so the type checker follows a call to the method
that it ends in. Arguments are evaluated on the window's thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from desktop_agent.gui.bridge.backend import Part

Post = Callable[[Part, str, tuple[Any, ...], dict[str, Any]], None]
Ask = Callable[[Part, str, tuple[Any, ...], dict[str, Any]], Awaitable[Any]]


class Posted:
    """Each method is a command: it returns at once, and a failure is an EngineFailed event."""

    def __init__(self, post: Post, part: Part) -> None:
        self._post = post
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., None]:
        def command(*args: Any, **kwargs: Any) -> None:
            self._post(self._part, name, args, kwargs)

        return command


class Asked:
    """Each method is awaited on the window's loop; it raises what the method raised."""

    def __init__(self, ask: Ask, part: Part) -> None:
        self._ask = ask
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._ask(self._part, name, args, kwargs)

        return call

"""What every part of the Engine has of it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from desktop_agent.core.events import Event
from desktop_agent.core.ids import AgentId


class EnginePart(ABC):
    """Some of the Engine's commands and queries, in a class that it inherits."""

    _thread: int

    def _check_thread(self) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError("engine commands run on the engine thread only")

    @abstractmethod
    def _emit(self, event: Event) -> None:
        """Tell the listener."""

    @abstractmethod
    def _refusing(
        self, command: str, what: str, agent_id: AgentId | None = None, about: str = ""
    ) -> AbstractContextManager[None]:
        """Tell in words of a command that came too late, or that the disk kept from being done."""

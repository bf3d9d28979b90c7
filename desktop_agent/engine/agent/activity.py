"""What an agent does at this moment: several tools may run at once."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import contextmanager

from desktop_agent.core.agents import AgentStatus

# What the person has to settle is shown before what runs beside it.
_FIRST: tuple[AgentStatus, ...] = ("waiting_approval", "waiting_answer")


class Activity:
    """The things under way, newest last."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._under_way: dict[int, tuple[AgentStatus, str]] = {}

    @contextmanager
    def doing(self, status: AgentStatus, doing: str) -> Generator[None]:
        """Count this as under way while the block runs."""
        number = next(self._numbers)
        self._under_way[number] = (status, doing)
        try:
            yield
        finally:
            del self._under_way[number]

    def now(self) -> tuple[AgentStatus, str] | None:
        """Return what to show; None when nothing is under way."""
        states = list(self._under_way.values())
        for wanted in _FIRST:
            for state in reversed(states):
                if state[0] == wanted:
                    return state
        return states[-1] if states else None

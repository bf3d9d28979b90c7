"""Rows of a list that changed, put into those that were known."""

from __future__ import annotations

from collections.abc import Iterable

from desktop_agent.core.agents import AgentInfo


def with_rows(known: Iterable[AgentInfo], rows: Iterable[AgentInfo]) -> tuple[AgentInfo, ...]:
    """Return the agents with these rows in place of their older ones; new agents come last."""
    fresh = {row.id: row for row in rows}
    return (*[fresh.pop(one.id, one) for one in known], *fresh.values())

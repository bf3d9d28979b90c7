"""Questions about the tree of agents, answered from a snapshot. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.ids import AgentId


def path_of(agents: Sequence[AgentInfo], agent_id: AgentId) -> tuple[AgentInfo, ...]:
    """Return the agents from the main one down to this one."""
    by_id = {info.id: info for info in agents}
    path: list[AgentInfo] = []
    info = by_id.get(agent_id)
    while info is not None and info not in path:
        path.append(info)
        info = by_id.get(info.parent_id) if info.parent_id is not None else None
    return tuple(reversed(path))


def live_below(agents: Sequence[AgentInfo], agent_id: AgentId) -> int:
    """Return how many live agents there are below this one."""
    children: dict[AgentId, list[AgentInfo]] = {}
    for info in agents:
        if info.parent_id is not None:
            children.setdefault(info.parent_id, []).append(info)
    count, above = 0, [agent_id]
    while above:
        for info in children.pop(above.pop(), ()):
            above.append(info.id)
            count += not info.is_ended
    return count

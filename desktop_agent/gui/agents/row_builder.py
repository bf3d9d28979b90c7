"""Makes the rows of the tree of subagents from a snapshot, as few of them anew as can be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.agents.rows import AgentRow, RowState

SILENT_S = 30.0
_STATES: dict[AgentStatus, RowState] = {
    "idle": "waiting",
    "queued": "queued",
    "running": "running",
    "waiting_approval": "needs_approval",
    "waiting_answer": "needs_answer",
    "waiting_children": "waiting",
    "paused": "paused",
    "stopping": "stopping",
    "completed": "done",
    "failed": "failed",
    "stopped": "stopped",
    "over_budget": "over_budget",
}


@dataclass(slots=True)
class _Made:
    row: AgentRow
    # When it would read otherwise by itself; ended rows never do.
    stale_at: float


class AgentRowBuilder:
    """Makes rows, keeping the very row of an agent for which nothing changed: views compare."""

    def __init__(self) -> None:
        self._made: dict[AgentId, _Made] = {}
        # The agents that were put in order last, and where each then stood.
        self._ordered: Sequence[AgentInfo] = ()
        self._places: list[int] = []
        self._names: dict[str, str] = {}

    def rows(
        self, agents: Sequence[AgentInfo], held: Collection[AgentId], now: float
    ) -> tuple[AgentRow, ...]:
        """Return the rows of the subagents; `held` are those that wait for more budget."""
        children: dict[AgentId, int] = {}
        for info in agents:
            if info.parent_id is not None and not info.is_ended:
                children[info.parent_id] = children.get(info.parent_id, 0) + 1
        self._put_in_order(agents)
        self._names = {}
        made: dict[AgentId, _Made] = {}
        for place in self._places:
            info = agents[place]
            # It waits for more budget, its own or that of one above it.
            is_held = info.status == "paused" and (info.id in held or info.used >= 1.0)
            state = "held" if is_held else _STATES[info.status]
            made[info.id] = self._make(info, state, children.get(info.id, 0), now)
        self._made = made
        return tuple([one.row for one in made.values()])

    def _put_in_order(self, agents: Sequence[AgentInfo]) -> None:
        """Sort only when something came that decides the order: most news don't."""
        before, self._ordered = self._ordered, agents
        if len(before) == len(agents) and all(map(_is_placed_as, before, agents)):
            return
        places = {info.id: place for place, info in enumerate(agents)}
        below = [info for info in agents if info.parent_id is not None]
        self._places = [places[info.id] for info in latest_first(below)]

    def _name_of(self, agent_id: str) -> str:
        if not self._names:
            self._names = {info.id: info.name for info in self._ordered}
        return self._names.get(agent_id, "")

    def _make(self, info: AgentInfo, state: RowState, children: int, now: float) -> _Made:
        known = self._made.get(info.id)
        if (
            known is not None
            and now < known.stale_at
            and known.row.children == children
            and known.row.state == state
            and (known.row.info is info or known.row.info == info)
        ):
            return known
        silence = int(now - info.active_at) if state == "running" and info.active_at else 0
        if silence < SILENT_S:
            silence = 0
        seconds = _seconds(info, now)
        stopper = self._name_of(info.stopped_by) if info.stopped_by else ""
        row = AgentRow(info, state, seconds, silence, children, stopper)
        if known is not None and known.row == row:
            row = known.row
        # Elapsed seconds are whole: the row stands until the next one.
        second = now + 1.0 - ((now - info.started_at) % 1.0)
        return _Made(row, float("inf") if info.is_ended else second)


def same_states(before: Sequence[AgentInfo], after: Sequence[AgentInfo]) -> bool:
    """Tell whether two snapshots hold the same agents, each in the same state: the usual case."""
    return len(before) == len(after) and all(map(_is_in_same_state, before, after))


def _is_in_same_state(before: AgentInfo, after: AgentInfo) -> bool:
    return before is after or (
        before.id == after.id and before.status == after.status and before.pace == after.pace
    )


def _is_placed_as(before: AgentInfo, after: AgentInfo) -> bool:
    return before is after or (
        before.id == after.id
        and before.parent_id == after.parent_id
        and before.started_at == after.started_at
        and before.ended_at == after.ended_at
        and before.is_ended == after.is_ended
    )


def _seconds(info: AgentInfo, now: float) -> int:
    """Return how many whole seconds it has worked."""
    if not info.started_at:
        return 0
    end = now
    if info.is_ended:
        end = info.ended_at or now
    elif info.status == "paused":  # the time stands still; after a restart, since it was heard
        end = info.paused_at or info.active_at or now
    return max(0, int(end - info.started_at - info.paused))


def latest_first(agents: Sequence[AgentInfo]) -> list[AgentInfo]:
    """Return those who worked at the same time together, the latest of such groups first.

    Who lives is always in the first group, and one that ends does not move by that.
    """
    group: dict[AgentId, int] = {}
    number, ends = 0, float("-inf")
    for info in sorted(agents, key=lambda one: one.started_at):
        if info.started_at > ends:
            number -= 1
        group[info.id] = number
        end = max(info.started_at, info.ended_at) if info.is_ended else float("inf")
        ends = max(ends, end)
    return sorted(agents, key=lambda one: group[one.id])

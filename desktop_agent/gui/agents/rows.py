"""The rows of the tree of subagents, made from a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache, cached_property
from typing import Literal

import msgspec
from PySide6.QtCore import QCoreApplication, QDateTime

from desktop_agent.core.agents import AgentInfo, AgentStatus, Budget
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.kit.text import plain, plain_words, short_count, stop_words

RowState = Literal[
    "queued",
    "running",
    "waiting",
    "needs_approval",
    "needs_answer",
    "paused",
    "held",
    "stopping",
    "done",
    "failed",
    "stopped",
    "over_budget",
]
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


class AgentRow(msgspec.Struct, frozen=True, dict=True):
    """One line of the tree. `children` counts the live ones directly below; `stopper` is the name
    of the agent that stopped it.

    `seconds` is how long it has worked, `silence` for how long it gave no sign of life, or 0 as
    long as that is no news. The texts are made when they are asked for: most rows are never in
    sight, and kept in the `__dict__`.
    """

    info: AgentInfo
    state: RowState
    seconds: int = 0
    silence: int = 0
    children: int = 0
    stopper: str = ""

    @property
    def key(self) -> AgentId:
        return self.info.id

    @property
    def parent_key(self) -> AgentId | None:
        return self.info.parent_id

    @property
    def is_holding(self) -> bool:
        """Whether it holds, or will at its next step, because the user paused it."""
        return self.state == "paused" or self.info.pace == "pausing"

    @property
    def is_silent(self) -> bool:
        return self.silence > 0

    @property
    def is_away(self) -> bool:
        """Whether nothing is heard from where it works."""
        return self.info.away_since > 0 and not self.info.is_ended

    @property
    def where(self) -> str:
        """Where it works, if not here."""
        return _tr("on {place}").format(place=plain(self.info.place)) if self.info.place else ""

    @property
    def has_budget(self) -> bool:
        return self.info.budget != _NO_LIMIT

    @property
    def name(self) -> str:
        """Its name, on one line."""
        return plain(self.info.name)

    @property
    def chip(self) -> str:
        """The text at the trailing end; empty while it just works."""
        if self.is_away:
            return self._away[:1].upper() + self._away[1:]
        pace = self._pace
        if self.state == "queued" and self.info.place:
            return self.standing[:1].upper() + self.standing[1:]
        return pace[:1].upper() + pace[1:] if pace else _state_texts()[self.state][1]

    @property
    def elapsed(self) -> str:
        """How long it has worked, such as `2 m 04 s`."""
        whole = self.seconds
        if whole < 60:
            return _tr("{s} s").format(s=whole)
        if whole < 3600:
            return _tr("{m} m {s} s").format(m=whole // 60, s=f"{whole % 60:02d}")
        return _tr("{h} h {m} m").format(h=whole // 3600, m=f"{whole % 3600 // 60:02d}")

    @property
    def tokens(self) -> str:
        return tokens_text((self.info,))

    @property
    def doing(self) -> str:
        """What it does, or that it is silent; once it has ended, its result."""
        if self.state == "stopped" and self.info.stopped_by:
            # The chip says that it was, so this says by whom, and what it had run.
            by = self.standing.removeprefix(f"{_state_texts()['stopped'][0]} ")
            return f"{by} {self._ran}"
        doing = self._silent or self._activity
        return " · ".join(part for part in (self.where, doing) if part)

    @property
    def _away(self) -> str:
        """Since when nothing is heard of it; a stop waits for its place's word."""
        if not self.is_away:
            return ""
        if self.state == "stopping":
            return _tr("stop on its way")
        at = QDateTime.fromSecsSinceEpoch(int(self.info.away_since)).toString("HH:mm")
        return _tr("no word since {time}").format(time=at)

    @property
    def _ran(self) -> str:
        count = self.info.tools_run
        if not count:
            return _tr("before it ran any tools")
        if count == 1:
            return _tr("after 1 tool; side effects may exist")
        return _tr("after {count} tools; side effects may exist").format(count=count)

    @property
    def standing(self) -> str:
        """Its state; of one that was stopped, by whom."""
        if self.state == "stopped":
            return stop_words().of(self.info.stopped_by, self.stopper)
        if self.state == "queued" and self.info.place:
            return _tr("on its way") if self.info.is_under_way else _tr("queued there")
        return _state_texts()[self.state][0]

    @property
    def spoken(self) -> str:
        said = [self.name, self.where, self.standing, self._away, self._pace]
        said += [self._activity] if not self.info.is_ended else []
        return ", ".join(part for part in (*said, self.tokens, self._silent, self._percent) if part)

    @property
    def tip(self) -> str:
        """All that is known of it, a line each."""
        cost = self.info.usage.cost
        money = _tr("${cost}").format(cost=f"{cost:.2f}") if cost else ""
        about = (self.name, self.where, self.standing, self._away, self._pace, self._activity)
        rest = (self._silent, money, self._percent, self.info.model)
        return "\n".join(part for part in (*about, *rest) if part)

    @property
    def _pace(self) -> str:
        if self.state == "held" or not self.info.pace:
            return ""
        return _tr("pausing…") if self.info.pace == "pausing" else _tr("wrapping up…")

    @property
    def _silent(self) -> str:
        return _tr("silent {seconds} s").format(seconds=self.silence) if self.silence else ""

    @property
    def _percent(self) -> str:
        if not self.has_budget:
            return ""
        return _tr("{percent} % of its budget").format(percent=round(self.info.used * 100))

    @cached_property
    def _activity(self) -> str:
        info = self.info
        doing = plain_words(info.result if info.is_ended else info.doing)
        return doing or (_tr("its subagents work") if self.state == "waiting" else "")


@cache
def _state_texts() -> dict[RowState, tuple[str, str]]:
    """Return what each state is called, within a sentence and as a chip."""
    return {
        "queued": (_tr("queued"), _tr("Queued")),
        "running": (_tr("running"), ""),
        "waiting": (_tr("waiting for its subagents"), ""),
        "needs_approval": (_tr("needs your approval"), _tr("Needs approval")),
        "needs_answer": (_tr("needs an answer"), _tr("Needs answer")),
        "paused": (_tr("paused"), _tr("Paused")),
        "held": (_tr("budget reached"), _tr("Budget reached")),
        "stopping": (_tr("stopping"), _tr("Stopping…")),
        "done": (_tr("done"), _tr("Done")),
        "failed": (_tr("failed"), _tr("Failed")),
        "stopped": (_tr("stopped"), _tr("Stopped")),
        "over_budget": (_tr("ended at its budget"), _tr("Budget reached")),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("Agents", text)


def tokens_text(agents: Iterable[AgentInfo]) -> str:
    """Return what agents themselves used, in and out; nothing where nobody counted."""
    counts = [one for info in agents for one in (info.usage.input_tokens, info.usage.output_tokens)]
    known = [one for one in counts if one is not None]
    return _tr("{count} tokens").format(count=short_count(sum(known))) if known else ""


def matching(rows: Sequence[AgentRow], text: str) -> tuple[AgentRow, ...]:
    """Return the rows that match a text word by word, and those above them."""
    wanted = text.casefold().split()
    by_key = {row.key: row for row in rows}
    kept: set[AgentId] = set()
    for row in rows:
        said = f"{row.name} {row.info.role} {row.doing} {row.chip}".casefold()
        if not all(word in said for word in wanted):
            continue
        above: AgentRow | None = row
        while above is not None and above.key not in kept:
            kept.add(above.key)
            above = by_key.get(above.parent_key) if above.parent_key is not None else None
    return tuple(row for row in rows if row.key in kept)


_NO_LIMIT = Budget()


class _Made(msgspec.Struct):
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
        used_up: set[AgentId] = set()
        for info in agents:  # parents before their children
            if info.used >= 1.0 or info.parent_id in used_up:
                used_up.add(info.id)
            if info.parent_id is not None and not info.is_ended:
                children[info.parent_id] = children.get(info.parent_id, 0) + 1
        self._put_in_order(agents)
        self._names = {}
        made: dict[AgentId, _Made] = {}
        for place in self._places:
            info = agents[place]
            # It waits for more budget, its own or that of one above it.
            is_held = info.status == "paused" and (info.id in held or info.id in used_up)
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
        is_heard = state == "running" and not info.away_since
        silence = int(now - info.active_at) if is_heard and info.active_at else 0
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

"""The rows of the tree of subagents, made from a snapshot. No Qt."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from desktop_agent.core.agents import AgentInfo, AgentStatus, Budget
from desktop_agent.core.ids import AgentId

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


@dataclass(frozen=True, slots=True)
class AgentWords:
    """The words of the rows, translated by the panel."""

    states: dict[RowState, str]
    chips: dict[RowState, str]
    silent: str = "silent {seconds} s"
    tokens: str = "{count} tokens"
    seconds: str = "{s} s"
    minutes: str = "{m} m {s} s"
    hours: str = "{h} h {m} m"
    budget: str = "{percent} % of its budget"
    cost: str = "${cost}"
    waits: str = "its subagents work"
    paces: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One line of the tree. `children` counts the live ones directly below."""

    info: AgentInfo
    state: RowState
    name: str
    elapsed: str = ""
    tokens: str = ""
    doing: str = ""
    chip: str = ""
    spoken: str = ""
    is_silent: bool = False
    children: int = 0
    tip: str = ""
    has_budget: bool = False

    @property
    def key(self) -> AgentId:
        """The agent's id."""
        return self.info.id

    @property
    def is_holding(self) -> bool:
        """Whether it holds, or will at its next step, because the person paused it."""
        return self.state == "paused" or self.info.pace == "pausing"

    @property
    def parent_key(self) -> AgentId | None:
        """Who started it."""
        return self.info.parent_id


@dataclass(slots=True)
class _Made:
    info: AgentInfo
    is_held: bool
    children: int
    row: AgentRow
    # When it would read otherwise by itself; ended rows never do.
    stale_at: float = field(default=float("inf"))


class AgentRowMaker:
    """Makes rows, keeping the very row of an agent for which nothing changed: views compare."""

    def __init__(self, words: AgentWords) -> None:
        self._words = words
        self._made: dict[AgentId, _Made] = {}

    def rows(
        self, agents: Sequence[AgentInfo], held: Collection[AgentId], now: float
    ) -> tuple[AgentRow, ...]:
        """Return the rows of the subagents; `held` are those that wait for more budget."""
        children: dict[AgentId, int] = {}
        for info in agents:
            if info.parent_id is not None and not info.is_ended:
                children[info.parent_id] = children.get(info.parent_id, 0) + 1
        self._made = {
            info.id: self._make(info, is_held(info, held), children.get(info.id, 0), now)
            for info in latest_first([one for one in agents if one.parent_id is not None])
        }
        return tuple(made.row for made in self._made.values())

    def _make(self, info: AgentInfo, is_held: bool, children: int, now: float) -> _Made:
        known = self._made.get(info.id)
        if (
            known is not None
            and now < known.stale_at
            and known.children == children
            and known.is_held == is_held
            and known.info == info
        ):
            return known
        row = self._row(info, is_held, children, now)
        if known is not None and known.row == row:
            row = known.row
        # Elapsed seconds are whole: the row stands until the next one.
        stale_at = float("inf") if info.is_ended else now + 1.0 - ((now - info.started_at) % 1.0)
        return _Made(info, is_held, children, row, stale_at)

    def _row(self, info: AgentInfo, is_held: bool, children: int, now: float) -> AgentRow:
        state: RowState = "held" if is_held else _STATES[info.status]
        silence = now - info.active_at if state == "running" and info.active_at else 0.0
        is_silent = silence >= SILENT_S
        words = self._words
        tokens = words.tokens.format(count=short_count(tokens_of(info)))
        is_ended = info.is_ended
        doing = plain_words(info.result if is_ended else info.doing)
        if state == "waiting" and not doing:
            doing = words.waits
        silent = words.silent.format(seconds=int(silence)) if is_silent else ""
        name = plain(info.name)
        has_budget = _has_limit(info)
        pace = words.paces.get(info.pace, "") if state != "held" else ""
        said = [name, words.states[state], pace]
        said += [doing] if doing and not is_ended else []
        said += [tokens, silent]
        percent = words.budget.format(percent=round(info.used * 100)) if has_budget else ""
        cost = info.usage.cost
        money = words.cost.format(cost=f"{cost:.2f}") if cost else ""
        tip = [name, words.states[state], pace, doing, silent, money, percent, info.model]
        return AgentRow(
            info=info,
            state=state,
            name=name,
            elapsed=self._elapsed(info, now),
            tokens=tokens,
            doing=silent or doing,
            chip=pace[:1].upper() + pace[1:] if pace else words.chips.get(state, ""),
            spoken=", ".join(part for part in (*said, percent) if part),
            is_silent=is_silent,
            children=children,
            tip="\n".join(part for part in tip if part),
            has_budget=has_budget,
        )

    def _elapsed(self, info: AgentInfo, now: float) -> str:
        if not info.started_at:
            return self._words.seconds.format(s=0)
        end = now
        if info.is_ended:
            end = info.ended_at or now
        elif info.status == "paused":  # the time stands still; after a restart, since it was heard
            end = info.paused_at or info.active_at or now
        return duration(max(0.0, end - info.started_at - info.paused), self._words)


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


def is_held(info: AgentInfo, held: Collection[AgentId]) -> bool:
    """Tell whether an agent waits for more budget, its own or that of one above it."""
    return info.status == "paused" and (info.id in held or info.used >= 1.0)


def duration(seconds: float, words: AgentWords) -> str:
    """Return a time such as `2 m 04 s`."""
    whole = int(seconds)
    if whole < 60:
        return words.seconds.format(s=whole)
    if whole < 3600:
        return words.minutes.format(m=whole // 60, s=f"{whole % 60:02d}")
    return words.hours.format(h=whole // 3600, m=f"{whole % 3600 // 60:02d}")


def short_count(count: int) -> str:
    """Return a count such as `950`, `42.7k` or `1.2M`."""
    if count < 1_000:
        return str(count)
    if count < 99_950:
        return f"{count / 1_000:.1f}".removesuffix(".0") + "k"
    if count < 999_500:
        return f"{count / 1_000:.0f}k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def tokens_of(info: AgentInfo) -> int:
    """Return what an agent itself used, in and out."""
    return (info.usage.input_tokens or 0) + (info.usage.output_tokens or 0)


def matching(rows: Sequence[AgentRow], text: str) -> tuple[AgentRow, ...]:
    """Return the rows that hold the words, and those above them."""
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


def plain_words(text: str) -> str:
    """Return Markdown as words for one line: code and bold text without the marks around them."""
    return plain(unmarked(text))


def unmarked(text: str) -> str:
    """Return Markdown without the marks around its code and bold text, on as many lines."""
    return _MARKS.sub(lambda found: found[2] or found[3], text)


def plain(text: str) -> str:
    """Return text from a model on one line, without marks that turn its direction."""
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    return "".join(one for one in flat if one not in _TURNING and (one.isprintable() or one == " "))


def whole_words(text: str, cut: str) -> str:
    """Return a text that was cut with `…`, cut after a whole word where that leaves the most."""
    kept = cut.removesuffix("…")
    if cut == text or text[len(kept) : len(kept) + 1].isspace():
        return cut
    whole = kept.rpartition(" ")[0].rstrip()
    return f"{whole}…" if len(whole) * 2 >= len(kept) else cut


def _has_limit(info: AgentInfo) -> bool:
    return info.budget != _NO_LIMIT


_NO_LIMIT = Budget()
# Code in its backticks, where stars are just stars; or else bold text.
_MARKS = re.compile(
    r"(?<!`)(`+)(?!`) ?([^`]+?) ?\1(?!`)|\*\*(?=\w)([^*`]+?)(?<=[\w.!?…])\*\*(?!\w)"
)
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")

"""The rows of the tree of subagents, made from a snapshot. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from desktop_agent.core.agents import AgentInfo, Budget
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.kit.stop_text import StopWords
from desktop_agent.gui.kit.text import plain, plain_words, short_count

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
    # With no tool, with one, with more.
    ran: tuple[str, str, str] = (
        "before it ran any tools",
        "after 1 tool; side effects may exist",
        "after {count} tools; side effects may exist",
    )
    paces: dict[str, str] = field(default_factory=dict)
    stops: StopWords = field(default_factory=lambda: StopWords())


@dataclass(frozen=True)
class AgentRow:
    """One line of the tree. `children` counts the live ones directly below; `stopper` is the name
    of the agent that stopped it.

    `seconds` is how long it has worked, `silence` for how long it gave no sign of life, or 0 as
    long as that is no news. The words are made when they are asked for: most rows are never in
    sight.
    """

    info: AgentInfo
    state: RowState
    words: AgentWords = field(repr=False, compare=False)
    seconds: int = 0
    silence: int = 0
    children: int = 0
    stopper: str = ""

    @property
    def key(self) -> AgentId:
        """The agent's id."""
        return self.info.id

    @property
    def parent_key(self) -> AgentId | None:
        """Who started it."""
        return self.info.parent_id

    @property
    def is_holding(self) -> bool:
        """Whether it holds, or will at its next step, because the person paused it."""
        return self.state == "paused" or self.info.pace == "pausing"

    @property
    def is_silent(self) -> bool:
        """Whether it gave no sign of life for long."""
        return self.silence > 0

    @property
    def has_budget(self) -> bool:
        """Whether anything limits what it may use up."""
        return self.info.budget != _NO_LIMIT

    @property
    def name(self) -> str:
        """Its name, on one line."""
        return plain(self.info.name)

    @property
    def chip(self) -> str:
        """The words at the far end; empty while it just works."""
        pace = self._pace
        return pace[:1].upper() + pace[1:] if pace else self.words.chips.get(self.state, "")

    @property
    def elapsed(self) -> str:
        """How long it has worked."""
        return duration(self.seconds, self.words)

    @property
    def tokens(self) -> str:
        """What it used."""
        return self.words.tokens.format(count=short_count(tokens_of(self.info)))

    @property
    def doing(self) -> str:
        """What it does, or that it is silent; once it has ended, what came of it."""
        if self.state == "stopped" and self.info.stopped_by:
            # The chip says that it was, so this says by whom, and what it had run.
            by = self.standing.removeprefix(f"{self.words.states['stopped']} ")
            return f"{by} {self._ran}"
        return self._silent or self._activity

    @property
    def _ran(self) -> str:
        count = self.info.tools_run
        return self.words.ran[min(count, 2)].format(count=count)

    @property
    def standing(self) -> str:
        """Its state in words; of one that was stopped, who did it."""
        if self.state != "stopped":
            return self.words.states[self.state]
        return self.words.stops.of(self.info.stopped_by, self.stopper)

    @property
    def spoken(self) -> str:
        """What a screen reader says of the row."""
        said = [self.name, self.standing, self._pace]
        said += [self._activity] if not self.info.is_ended else []
        return ", ".join(part for part in (*said, self.tokens, self._silent, self._percent) if part)

    @property
    def tip(self) -> str:
        """All that is known of it, a line each."""
        cost = self.info.usage.cost
        money = self.words.cost.format(cost=f"{cost:.2f}") if cost else ""
        about = (self.name, self.standing, self._pace, self._activity)
        rest = (self._silent, money, self._percent, self.info.model)
        return "\n".join(part for part in (*about, *rest) if part)

    @property
    def _pace(self) -> str:
        return self.words.paces.get(self.info.pace, "") if self.state != "held" else ""

    @property
    def _silent(self) -> str:
        return self.words.silent.format(seconds=self.silence) if self.silence else ""

    @property
    def _percent(self) -> str:
        if not self.has_budget:
            return ""
        return self.words.budget.format(percent=round(self.info.used * 100))

    @cached_property
    def _activity(self) -> str:
        info = self.info
        doing = plain_words(info.result if info.is_ended else info.doing)
        return doing or (self.words.waits if self.state == "waiting" else "")


def duration(seconds: float, words: AgentWords) -> str:
    """Return a time such as `2 m 04 s`."""
    whole = int(seconds)
    if whole < 60:
        return words.seconds.format(s=whole)
    if whole < 3600:
        return words.minutes.format(m=whole // 60, s=f"{whole % 60:02d}")
    return words.hours.format(h=whole // 3600, m=f"{whole % 3600 // 60:02d}")


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


_NO_LIMIT = Budget()

"""Agents as values: what one was started with, what it may use up, how it stands now."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.approvals import Mode
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.messages import Value
from desktop_agent.core.network.places import Place
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace

AgentStatus = Literal[
    "idle",  # the main agent, with nothing to do
    "queued",
    "running",
    "waiting_approval",
    "waiting_answer",
    "waiting_children",
    "paused",
    "stopping",
    "completed",
    "failed",
    "stopped",
    "over_budget",
]
EndStatus = Literal["completed", "failed", "stopped", "over_budget"]
ENDED: frozenset[AgentStatus] = frozenset({"completed", "failed", "stopped", "over_budget"})

# `interrupted`: the app itself ended while the turn ran; written at the next start.
StopReason = Literal["finished", "cancelled", "error", "step_limit", "budget", "interrupted"]
# How a run without a window ends.
EndReason = Literal["finished", "error", "step_limit", "budget", "timeout", "interrupted"]


class Budget(Value, frozen=True):
    """What an agent and all below it may use up; None sets no limit. Cost in US dollars."""

    cost: float | None = None
    tokens: int | None = None
    steps: int | None = None
    seconds: float | None = None


class Spent(Value, frozen=True):
    """What was used up. Time that was spent waiting for the user does not count.

    `unpriced` and `uncounted` are requests that are in neither `cost` nor `tokens`: the model's
    price is not known, or the provider reported no counts.
    """

    cost: float = 0.0
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    unpriced: int = 0
    uncounted: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.cost + other.cost,
            self.tokens + other.tokens,
            self.steps + other.steps,
            self.seconds + other.seconds,
            self.unpriced + other.unpriced,
            self.uncounted + other.uncounted,
        )

    def unmeasured(self, budget: Budget) -> tuple[Literal["cost", "tokens"], ...]:
        """Return which limits can't be held, since what counts towards them is not known."""
        found: list[Literal["cost", "tokens"]] = []
        if budget.cost is not None and self.unpriced:
            found.append("cost")
        if budget.tokens is not None and self.uncounted:
            found.append("tokens")
        return tuple(found)

    def share_of(self, budget: Budget) -> float:
        """Return the largest used share of any limit; 1.0 is all of it.

        A limit that can't be measured counts as used up: it must not let everything through.
        """
        pairs = (
            (self.cost, budget.cost),
            (self.tokens, budget.tokens),
            (self.steps, budget.steps),
            (self.seconds, budget.seconds),
        )
        limited = [(used, limit) for used, limit in pairs if limit is not None]
        # A limit of 0 is used up from the start.
        share = max((used / limit if limit else 1.0 for used, limit in limited), default=0.0)
        return max(share, 1.0) if self.unmeasured(budget) else share


class AgentSpec(Value, frozen=True):
    """What a subagent was started with. Its rights are at most its parent's.

    `tools` names the tools it may use; None is all of them. `task_id` is a task of its
    parent's list, or 0. Only with `has_own_model` does it run on `model` at `api_base`: the
    person's word covers them. Else it runs on its session's, whichever that is. It works at
    `place`, in a copy of the folder, or here.
    """

    parent_id: AgentId
    name: str
    prompt: str
    depth: int
    workspace: Workspace
    role: str = "general"
    model: str = ""
    api_base: str = ""
    mode: Mode = "ask"
    tools: tuple[str, ...] | None = None
    budget: Budget = Budget()
    task_id: int = 0
    started_at: float = 0.0
    has_own_model: bool = False
    place: Place | None = None


class AgentInfo(Value, frozen=True):
    """An agent as it is now. `doing` is a verb and an object, such as `reading prices.csv`.

    `active_at` is its last sign of life. `used` is the share of its budget. `result` is the
    text it ended with, shortened; `question` is what it asks, `question_id` which question that
    is. `pace` tells what the user asked of it that its next step will show. `paused_at` is since
    when it is paused, `paused` how many seconds it was before. `stopped_by` is who stopped it:
    `user`, `app`, the id of an agent, or `ended` when the agent above it ended. `unmeasured` are
    limits of its own that can't be held. `api_base` is where its `model` is asked, if not at the
    provider's usual address. `place` names where it works, if not here, and `away_since` is since
    when nothing is heard from there; 0 while that is not so. Until the place has begun it, it
    `is_under_way`.
    """

    id: AgentId
    session_id: SessionId
    name: str
    status: AgentStatus = "idle"
    parent_id: AgentId | None = None
    doing: str = ""
    step: int = 0
    usage: Usage = Usage()
    started_at: float = 0.0
    active_at: float = 0.0
    role: str = ""
    model: str = ""
    budget: Budget = Budget()
    used: float = 0.0
    tools_run: int = 0
    task_id: int = 0
    ended_at: float = 0.0
    result: str = ""
    question: str = ""
    waiting_notes: int = 0
    pace: Literal["", "pausing", "finishing"] = ""
    paused_at: float = 0.0
    paused: float = 0.0
    stopped_by: str = ""
    unmeasured: tuple[Literal["cost", "tokens"], ...] = ()
    question_id: str = ""
    api_base: str = ""
    place: str = ""
    away_since: float = 0.0
    is_under_way: bool = False

    @property
    def is_ended(self) -> bool:
        """Whether it will do nothing more."""
        return self.status in ENDED

    @property
    def is_in_turn(self) -> bool:
        """Whether a turn of it is under way that can be stopped, paused ones included."""
        return self.status != "idle" and self.status not in ENDED

    @property
    def is_working(self) -> bool:
        """Whether its turn goes on: it runs, or waits for a place, an answer or subagents."""
        return self.is_in_turn and self.status != "paused"

"""Budgets over the tree: no agent gets past its own limits, nor past those above it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from desktop_agent.core.agents import Budget, Spent
from desktop_agent.engine.agent.agent import Agent

WARN_AT = 0.8
MORE = 1.5
_NO_LIMIT = Budget()


class Tree(Protocol):
    """What budgets need of the registry."""

    def subtree(self, agent: Agent) -> Iterator[Agent]:
        """Yield the agent and all below it."""
        ...

    def parent(self, agent: Agent) -> Agent | None:
        """Return who started it."""
        ...


def spent(tree: Tree, agent: Agent) -> Spent:
    """Return what an agent and all below it used up."""
    total = Spent()
    for one in tree.subtree(agent):
        total += one.meter.spent
    return total


def used(tree: Tree, agent: Agent) -> float:
    """Return the largest share used of any limit of its own; 0 when it has none."""
    if agent.meter.budget == _NO_LIMIT:
        return 0.0  # asked for each change of any agent: no need to add up what is below
    return spent(tree, agent).share_of(agent.meter.budget)


def left(tree: Tree, agent: Agent) -> Budget:
    """Return what it may still use up, for a child to be clamped to."""
    budget, gone = agent.meter.budget, spent(tree, agent)
    return Budget(
        cost=None if budget.cost is None else max(0.0, budget.cost - gone.cost),
        tokens=None if budget.tokens is None else max(0, budget.tokens - gone.tokens),
        steps=None if budget.steps is None else max(0, budget.steps - gone.steps),
        seconds=None if budget.seconds is None else max(0.0, budget.seconds - gone.seconds),
    )


def for_child(tree: Tree, parent: Agent, wanted: Budget) -> Budget:
    """Return the budget of a new child: what is wanted, at most what its parent has left."""
    room = left(tree, parent)
    return Budget(
        cost=_least(wanted.cost, room.cost),
        tokens=_least_whole(wanted.tokens, room.tokens),
        steps=_least_whole(wanted.steps, room.steps),
        seconds=_least(wanted.seconds, room.seconds),
    )


def exhausted(tree: Tree, agent: Agent) -> Agent | None:
    """Return the nearest agent, itself or above, whose budget is used up; None if there is."""
    one: Agent | None = agent
    while one is not None:
        if used(tree, one) >= 1.0:
            return one
        one = tree.parent(one)
    return None


def more(budget: Budget, gone: Spent) -> Budget:
    """Return the budget half as large again, and in any case above what is gone."""
    return Budget(
        cost=_grown(budget.cost, gone.cost, 0.1),
        tokens=_whole(_grown(budget.tokens, gone.tokens, 10_000)),
        steps=_whole(_grown(budget.steps, gone.steps, 5)),
        seconds=_grown(budget.seconds, gone.seconds, 60.0),
    )


def _grown(limit: float | None, gone: float, least: float) -> float | None:
    return None if limit is None else max(max(limit, gone) * MORE, least)


def _whole(limit: float | None) -> int | None:
    return None if limit is None else round(limit)


def _least(first: float | None, second: float | None) -> float | None:
    known = [value for value in (first, second) if value is not None]
    return min(known) if known else None


def _least_whole(first: int | None, second: int | None) -> int | None:
    least = _least(first, second)
    return None if least is None else int(least)

"""Budgets over the tree: no agent gets past its own limits, nor past those above it.

A subagent's own limit is a lease: what it has not used of it is set aside of its parent's, where
nobody else can use it up, until it ends. One without a limit of its own draws from its parent's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol, TypeVar

import msgspec

from desktop_agent.core.agents import Budget, Spent
from desktop_agent.engine.agent.agent import Agent

WARN_AT = 0.8
MORE = 1.5
_NO_LIMIT = Budget()
_NOTHING = Spent()
_Number = TypeVar("_Number", int, float)


class Tree(Protocol):
    """What budgets need of the registry."""

    def subtree(self, agent: Agent) -> Iterator[Agent]:
        """Yield the agent and all below it."""
        ...

    def parent(self, agent: Agent) -> Agent | None:
        """Return who started it."""
        ...

    def live_children(self, agent: Agent) -> list[Agent]:
        """Return those of its subagents that have not ended."""
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


def unmeasured(tree: Tree, agent: Agent) -> tuple[Literal["cost", "tokens"], ...]:
    """Return the limits of its own that can't be held."""
    if agent.meter.budget == _NO_LIMIT:
        return ()
    return spent(tree, agent).unmeasured(agent.meter.budget)


def limits_cost(tree: Tree, agent: Agent) -> bool:
    """Whether its money is limited, by its own budget or by one above it."""
    one: Agent | None = agent
    while one is not None:
        if one.meter.budget.cost is not None:
            return True
        one = tree.parent(one)
    return False


def set_aside(tree: Tree, agent: Agent) -> Spent:
    """Return what those below it hold of its budget, and have not used up yet."""
    total = Spent()
    for child in tree.live_children(agent):
        total += _held_by(tree, child)
    return total


def _held_by(tree: Tree, child: Agent) -> Spent:
    below = set_aside(tree, child)
    if child.meter.budget == _NO_LIMIT:
        return below
    room = _minus(child.meter.budget, spent(tree, child))
    return Spent(
        below.cost if room.cost is None else room.cost,
        below.tokens if room.tokens is None else room.tokens,
        below.steps if room.steps is None else room.steps,
        below.seconds if room.seconds is None else room.seconds,
    )


def left(tree: Tree, agent: Agent) -> Budget:
    """Return what it may still give away: neither used up nor set aside, of its own or above."""
    room = Budget()
    one: Agent | None = agent
    while one is not None:
        if one.meter.budget != _NO_LIMIT:
            gone = spent(tree, one) + set_aside(tree, one)
            room = _or_else(room, _minus(one.meter.budget, gone))
        one = tree.parent(one)
    return room


def for_child(tree: Tree, parent: Agent, wanted: Budget) -> Budget:
    """Return the lease of a new child: what is wanted, at most what is left for it.

    Without a limit of its own it draws from its parent's.
    """
    room = left(tree, parent)
    return Budget(
        cost=_least(wanted.cost, room.cost),
        tokens=_least(wanted.tokens, room.tokens),
        steps=_least(wanted.steps, room.steps),
        seconds=_least(wanted.seconds, room.seconds),
    )


def drawn(tree: Tree, agent: Agent) -> Iterator[tuple[Agent, Budget]]:
    """Yield whose limits it draws from, itself first, with those limits: the nearest of a kind."""
    room = Budget()
    one: Agent | None = agent
    while one is not None:
        mine = one.meter.budget
        direct = Budget(
            mine.cost if room.cost is None else None,
            mine.tokens if room.tokens is None else None,
            mine.steps if room.steps is None else None,
            mine.seconds if room.seconds is None else None,
        )
        if direct != _NO_LIMIT:
            yield one, direct
        room = _or_else(room, mine)
        one = tree.parent(one)


def share_drawn(tree: Tree, agent: Agent) -> float:
    """Return the largest share used of any limit that it draws from."""
    shares = (spent(tree, owner).share_of(limits) for owner, limits in drawn(tree, agent))
    return max(shares, default=0.0)


def lent_out(tree: Tree, agent: Agent) -> Agent | None:
    """Return whose limit leaves it nothing since the rest of it is set aside; None if none."""
    for owner, limits in drawn(tree, agent):
        aside = set_aside(tree, owner)
        if aside != _NOTHING and (spent(tree, owner) + aside).share_of(limits) >= 1.0:
            return owner
    return None


def exhausted(tree: Tree, agent: Agent) -> Agent | None:
    """Return the nearest agent, itself or above, whose budget is used up; None if there is."""
    one: Agent | None = agent
    while one is not None:
        if used(tree, one) >= 1.0:
            return one
        one = tree.parent(one)
    return None


def more(budget: Budget, gone: Spent) -> Budget:
    """Return the budget half as large again, and in any case above what is gone.

    A limit that can't be measured is given up instead: no larger one could be held either.
    """
    if lost := gone.unmeasured(budget):
        return msgspec.structs.replace(budget, **dict.fromkeys(lost))
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


def _least(wanted: _Number | None, room: _Number | None) -> _Number | None:
    return wanted if wanted is None or room is None else min(wanted, room)


def _minus(budget: Budget, gone: Spent) -> Budget:
    return Budget(
        cost=None if budget.cost is None else max(0.0, budget.cost - gone.cost),
        tokens=None if budget.tokens is None else max(0, budget.tokens - gone.tokens),
        steps=None if budget.steps is None else max(0, budget.steps - gone.steps),
        seconds=None if budget.seconds is None else max(0.0, budget.seconds - gone.seconds),
    )


def _or_else(budget: Budget, further: Budget) -> Budget:
    """Return the limits of the one, and where it has none those of the other."""
    return Budget(
        further.cost if budget.cost is None else budget.cost,
        further.tokens if budget.tokens is None else budget.tokens,
        further.steps if budget.steps is None else budget.steps,
        further.seconds if budget.seconds is None else budget.seconds,
    )

"""Enforces budgets: warns at four fifths, pauses when used up, goes on when the person says so."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from desktop_agent.core.agents import Budget
from desktop_agent.core.events import BudgetChanged, BudgetReached
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.tree import budgets
from desktop_agent.engine.tree.agents import Agents

_WARNING = "Four fifths of your budget are used. Come to an end: finish what matters most."


class BudgetGuard:
    """Pauses agents whose budget, or one above it, is used up.

    `is_priced` tells whether the cost of requests to a model will be known.
    """

    def __init__(self, agents: Agents, is_priced: Callable[[str], Awaitable[bool]]) -> None:
        self._agents = agents
        self._is_priced = is_priced

    async def check(self, agent: Agent) -> None:
        """Before a step: pause an agent whose budget, or one above it, is used up."""
        if agent.pace.is_last_step:
            return
        # Before the first request is paid, not after it.
        is_limited = budgets.limits_cost(self._agents, agent)
        agent.meter.is_priced = not is_limited or await self._is_priced(agent.scope.model)
        owner = budgets.exhausted(self._agents, agent)
        if owner is not None:
            self._pause(agent, owner)
            return
        share = budgets.used(self._agents, agent)
        if share >= budgets.WARN_AT and not agent.meter.was_warned:
            note = Note(new_note_id(), _WARNING, "notice", sender="app", created_at=time.time())
            agent.inbox.put(note)
            agent.meter.was_warned = True

    def extend(self, agent: Agent) -> None:
        """Give the owner of the budget that pauses this agent half as much again."""
        owner = self._agents.find(agent.life.budget_owner or agent.id) or agent
        if agent.life.budget_owner is None:  # since an earlier run of the app, perhaps by one above
            owner = budgets.exhausted(self._agents, agent) or agent
        gone = budgets.spent(self._agents, owner)
        self.set_budget(owner, budgets.more(owner.meter.budget, gone))

    def set_budget(self, owner: Agent, budget: Budget) -> None:
        """Give an agent this budget; those it paused and that now have room go on.

        Raises StoreError, and then nothing changed.
        """
        owner.session.emit(BudgetChanged(owner.id, budget))
        paused = [one for one in self._agents.subtree(owner) if self._is_paused(one)]
        owner.meter.budget = budget
        owner.meter.was_warned = False
        for agent in paused:
            still = budgets.exhausted(self._agents, agent)
            if still is None:
                agent.life.budget_owner = None
                if not self._agents.is_ending(agent):
                    agent.resume()
            elif agent.life.budget_owner not in {None, still.id}:
                with suppress(StoreError):  # it stays paused; by whom is said at the next try
                    self._pause(agent, still)
        self._agents.tell_changed(owner)

    def _pause(self, agent: Agent, owner: Agent) -> None:
        gone = budgets.spent(self._agents, owner)
        agent.session.emit(BudgetReached(agent.id, owner.id, gone, owner.meter.budget))
        agent.life.budget_owner = owner.id
        agent.pace.pause()

    def _is_paused(self, agent: Agent) -> bool:
        if agent.life.budget_owner is not None:
            return True
        was_paused = agent.pace.is_paused and agent.life.can_begin
        return was_paused and budgets.exhausted(self._agents, agent) is not None

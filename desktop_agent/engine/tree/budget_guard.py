"""Enforces budgets: warns at four fifths, pauses when used up, goes on when the person says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from desktop_agent.core.agents import Budget
from desktop_agent.core.events import BudgetChanged, BudgetReached
from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.tree import budgets
from desktop_agent.engine.tree.agents import Agents

_WAITS = "waiting for what is set aside for subagents"
_AT_REST = frozenset({"idle", "paused", "waiting_children"})
_WARNING = "Four fifths of your budget are used. Come to an end: finish what matters most."


class BudgetGuard:
    """Pauses agents whose budget, or one above it, is used up.

    One whose rest is set aside for subagents waits for the first of them to end, and is paused
    only if none of them works. `is_priced` tells whether the cost of a model will be known.
    """

    def __init__(self, agents: Agents, is_priced: Callable[[str], Awaitable[bool]]) -> None:
        self._agents = agents
        self._is_priced = is_priced
        self._waiting: set[AgentId] = set()
        self._lent_out: set[AgentId] = set()
        self._changed = asyncio.Event()

    async def check(self, agent: Agent) -> None:
        """Before a step: pause an agent whose budget, or one above it, is used up."""
        if agent.pace.is_last_step:
            return
        # Before the first request is paid, not after it.
        is_limited = budgets.limits_cost(self._agents, agent)
        agent.meter.is_priced = not is_limited or await self._is_priced(agent.scope.model)
        if (owner := await self._used_up(agent)) is not None:
            self._pause(agent, owner)
            return
        share = budgets.share_drawn(self._agents, agent)
        if share >= budgets.WARN_AT and not agent.meter.was_warned:
            note = Note(new_note_id(), _WARNING, "notice", sender="app", created_at=time.time())
            agent.inbox.put(note)
            agent.meter.was_warned = True

    async def _used_up(self, agent: Agent) -> Agent | None:
        """Return whose limit holds the agent; first wait for what subagents will return."""
        if not self._is_to_wait(agent):
            return self._holder(agent)
        self._waiting.add(agent.id)
        try:
            with agent.busy("queued", _WAITS):
                while self._is_to_wait(agent):
                    self._changed.clear()
                    await self._changed.wait()
        finally:
            self._waiting.discard(agent.id)
        return self._holder(agent)

    def _is_to_wait(self, agent: Agent) -> bool:
        if budgets.exhausted(self._agents, agent) is not None:
            return False
        lender = budgets.lent_out(self._agents, agent)
        return lender is not None and self._works(lender, but=agent)

    def _works(self, lender: Agent, but: Agent) -> bool:
        """Whether one of those that hold its budget may come to its end by itself."""
        below = (one for one in self._agents.subtree(lender) if one is not but and one.end is None)
        return any(
            one.id not in self._waiting and self._agents.status(one)[0] not in _AT_REST
            for one in below
        )

    def on_agents_changed(self) -> None:
        """Let those go on for which something was returned."""
        self._changed.set()
        for agent_id in list(self._lent_out):
            agent = self._agents.find(agent_id)
            if agent is None or agent.end is not None or agent.life.budget_owner is None:
                self._lent_out.discard(agent_id)
            elif self._holder(agent) is None:
                self._go_on(agent)

    def extend(self, agent: Agent) -> None:
        """Give the owner of the budget that pauses this agent half as much again."""
        owner = self._agents.find(agent.life.budget_owner or agent.id) or agent
        if agent.life.budget_owner is None:  # since an earlier run of the app, perhaps by one above
            owner = self._holder(agent) or agent
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
            still = self._holder(agent)
            if still is None:
                self._go_on(agent)
            elif agent.life.budget_owner not in {None, still.id}:
                with suppress(StoreError):  # it stays paused; by whom is said at the next try
                    self._pause(agent, still)
        self._agents.changed(owner)

    def _holder(self, agent: Agent) -> Agent | None:
        return budgets.exhausted(self._agents, agent) or budgets.lent_out(self._agents, agent)

    def _go_on(self, agent: Agent) -> None:
        agent.life.budget_owner = None
        self._lent_out.discard(agent.id)
        if not self._agents.is_ending(agent):
            agent.resume()

    def _pause(self, agent: Agent, owner: Agent) -> None:
        gone = budgets.spent(self._agents, owner)
        aside = budgets.set_aside(self._agents, owner)
        budget = owner.meter.budget
        agent.session.emit(BudgetReached(agent.id, owner.id, gone, budget, aside))
        if gone.share_of(budget) < 1.0:
            self._lent_out.add(agent.id)
        agent.life.budget_owner = owner.id
        agent.pace.pause()

    def _is_paused(self, agent: Agent) -> bool:
        if agent.life.budget_owner is not None:
            return True
        was_paused = agent.pace.is_paused and agent.life.can_begin
        return was_paused and self._holder(agent) is not None

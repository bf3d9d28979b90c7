"""Approvals that wait, and the rules that were made of earlier ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from desktop_agent.core.approvals import AllowAlways, ApprovalRequest, Decision, Deny, Rule
from desktop_agent.core.events import ApprovalRequested, ApprovalResolved, Happening
from desktop_agent.core.ids import AgentId, RequestId, SessionId
from desktop_agent.engine.base.ports import Store


class Approvals:
    """One list of open requests for all sessions. Futures never leave the engine loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rules: tuple[Rule, ...] = store.rules()
        self._waiting: dict[RequestId, tuple[ApprovalRequest, asyncio.Future[Decision]]] = {}
        self._covered: dict[RequestId, Callable[[Rule], bool]] = {}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every stored rule, oldest first."""
        return self._rules

    def rules_for(self, session_id: SessionId) -> Sequence[Rule]:
        """Return the rules that may hold in a session; the folder is checked by the policy."""
        return [r for r in self._rules if r.scope != "session" or r.where == session_id]

    def waiting_of(self, agent_id: AgentId) -> tuple[ApprovalRequest, ...]:
        """Return an agent's open requests, oldest first."""
        return tuple(req for req, _ in self._waiting.values() if req.agent_id == agent_id)

    async def ask(
        self,
        request: ApprovalRequest,
        emit: Callable[[Happening], None],
        is_covered: Callable[[Rule], bool],
    ) -> Decision:
        """Put the request before the person and wait; cancelling withdraws it.

        `is_covered` tells whether a new rule settles this request as well.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = (request, answer)
        self._covered[request.id] = is_covered
        decision: Decision = Deny("The request was withdrawn.", by="withdrawn")
        try:
            emit(ApprovalRequested(request.agent_id, request))
            decision = await answer
        finally:
            self._waiting.pop(request.id, None)
            self._covered.pop(request.id, None)
            emit(ApprovalResolved(request.agent_id, request.id, decision))
        return decision

    def decide(self, request_id: RequestId, decision: Decision) -> None:
        """Settle a request; an id that is settled already (a second click) is ignored."""
        waiting = self._waiting.get(request_id)
        if waiting is None or waiting[1].done():
            return
        waiting[1].set_result(decision)
        if isinstance(decision, AllowAlways):
            self._remember(decision.rule, origin=waiting[0].title)
            self._settle_covered(decision.rule)

    def note_use(self, rule: Rule) -> None:
        """Count that a rule allowed a call."""
        self._rules = tuple(
            msgspec.structs.replace(r, uses=r.uses + 1) if _same(r, rule) else r
            for r in self._rules
        )
        self._store.save_rules(self._rules)

    def delete(self, rule: Rule) -> None:
        """Forget a rule."""
        self._rules = tuple(r for r in self._rules if not _same(r, rule))
        self._store.save_rules(self._rules)

    def forget_session(self, session_id: SessionId) -> None:
        """Forget the rules that hold in a session which is deleted."""
        kept = tuple(r for r in self._rules if (r.scope, r.where) != ("session", session_id))
        if kept != self._rules:
            self._rules = kept
            self._store.save_rules(kept)

    def _remember(self, rule: Rule, *, origin: str) -> None:
        made = msgspec.structs.replace(rule, origin=origin, created_at=time.time(), uses=1)
        self._rules = (*(r for r in self._rules if not _same(r, rule)), made)
        self._store.save_rules(self._rules)

    def _settle_covered(self, rule: Rule) -> None:
        for request_id, (_, answer) in list(self._waiting.items()):
            if not answer.done() and self._covered[request_id](rule):
                answer.set_result(AllowAlways(rule))


def _same(first: Rule, second: Rule) -> bool:
    def key(rule: Rule) -> tuple[object, ...]:
        return (rule.tool, rule.pattern, rule.scope, rule.where, rule.is_deny)

    return key(first) == key(second)

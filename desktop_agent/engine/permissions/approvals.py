"""Approvals that wait, and the rules that were made of earlier ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from desktop_agent.core.approvals import AllowAlways, ApprovalRequest, Decision, Deny, Rule
from desktop_agent.core.events import ApprovalRequested, ApprovalResolved
from desktop_agent.core.ids import AgentId, RequestId, SessionId
from desktop_agent.engine.base.ports import Store, StoreError
from desktop_agent.engine.base.session import Session


class _Open(msgspec.Struct, frozen=True):
    """A request that waits; `decide_by_rules` returns what the rules now decide of it."""

    request: ApprovalRequest
    answer: asyncio.Future[Decision]
    session: Session
    decide_by_rules: Callable[[], Decision | None]

    def resolved(self, decision: Decision) -> ApprovalResolved:
        request = self.request
        return ApprovalResolved(request.agent_id, request.id, decision, request.there)


class Approvals:
    """One list of open requests for all sessions. Futures never leave the engine loop."""

    def __init__(self, store: Store, given: Sequence[Rule] = ()) -> None:
        """`given` are rules that hold while the app runs, and are neither stored nor listed."""
        self._store = store
        self._given = tuple(given)
        self._rules: tuple[Rule, ...] = store.rules()
        self._waiting: dict[RequestId, _Open] = {}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every stored rule, oldest first."""
        return self._rules

    def rules_for(self, session_id: SessionId) -> Sequence[Rule]:
        """Return the rules that may hold in a session; the folder is checked by the policy."""
        kept = [r for r in self._rules if r.scope != "session" or r.where == session_id]
        return [*kept, *self._given]

    def waiting_of(self, agent_id: AgentId) -> tuple[ApprovalRequest, ...]:
        """Return an agent's open requests, oldest first."""
        return tuple(
            one.request for one in self._waiting.values() if one.request.agent_id == agent_id
        )

    def agent_of(self, request_id: RequestId) -> AgentId | None:
        """Return whose open request it is."""
        waiting = self._waiting.get(request_id)
        return waiting.request.agent_id if waiting is not None else None

    async def ask(
        self,
        request: ApprovalRequest,
        session: Session,
        decide_by_rules: Callable[[], Decision | None],
    ) -> Decision:
        """Put the request before the user and wait; cancelling withdraws it.

        `decide_by_rules` returns what the rules as they are now decide of it, if they do. Raises
        StoreError when the request can't be put on disk: the user did not see it then.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        waiting = _Open(request, answer, session, decide_by_rules)
        self._waiting[request.id] = waiting
        try:
            session.emit(ApprovalRequested(request.agent_id, request))
        except StoreError:
            del self._waiting[request.id]
            raise
        try:
            return await answer
        finally:
            if self._waiting.pop(request.id, None) is not None:  # cancelled before a decision
                no = Deny("The request was withdrawn.", by="withdrawn")
                session.conclude(waiting.resolved(no))

    def decide(self, request_id: RequestId, decision: Decision) -> None:
        """Resolve a request; an id that is resolved already (a second click) is ignored.

        Raises StoreError when the decision can't be put on disk: the request still waits.
        """
        waiting = self._waiting.get(request_id)
        if waiting is None or waiting.answer.done():
            return
        before = self._rules
        rule = decision.rule if isinstance(decision, AllowAlways | Deny) else None
        if rule is not None:
            others = decision.others if isinstance(decision, AllowAlways) else ()
            self._remember(rule, *others, origin=waiting.request.title, uses=1)
        try:
            self._resolve(waiting, decision)
        except StoreError:
            self._take_back(before)
            raise
        if rule is not None:
            self._resolve_others()

    def _take_back(self, rules: tuple[Rule, ...]) -> None:
        """Have these rules again; what the disk refuses of that is saved with the next change."""
        if rules != self._rules:
            self._rules = rules
            with suppress(StoreError):
                self._store.save_rules(rules)

    def _resolve(self, waiting: _Open, decision: Decision) -> None:
        waiting.session.emit(waiting.resolved(decision))
        del self._waiting[waiting.request.id]
        waiting.answer.set_result(decision)

    def add(self, rule: Rule) -> None:
        """Keep a rule that no request led to, and resolve what waits by it. Raises StoreError."""
        self._remember(rule, origin="", uses=0)
        self._resolve_others()

    def note_use(self, *rules: Rule) -> None:
        """Count that rules allowed a call; a count that can't be saved is saved with the next."""
        if not rules:
            return
        self._rules = tuple(
            msgspec.structs.replace(kept, uses=kept.uses + 1)
            if any(_same(kept, rule) for rule in rules)
            else kept
            for kept in self._rules
        )
        with suppress(StoreError):
            self._store.save_rules(self._rules)

    def delete(self, rule: Rule) -> None:
        """Forget a rule. Raises StoreError, and then it still holds."""
        self._save(tuple(r for r in self._rules if not _same(r, rule)))

    def forget_session(self, session_id: SessionId) -> None:
        """Forget the rules that hold in a session which is deleted."""
        kept = tuple(r for r in self._rules if (r.scope, r.where) != ("session", session_id))
        if kept != self._rules:
            with suppress(StoreError):  # a rule of a session that is gone matches nothing
                self._save(kept)

    def _remember(self, rule: Rule, *others: Rule, origin: str, uses: int) -> None:
        """Keep rules; `uses` are those of the first."""
        now = time.time()
        made = [
            msgspec.structs.replace(one, origin=origin, created_at=now, uses=0 if number else uses)
            for number, one in enumerate((rule, *others))
        ]
        kept = (old for old in self._rules if not any(_same(old, new) for new in made))
        self._save((*kept, *made))

    def _save(self, rules: tuple[Rule, ...]) -> None:
        self._store.save_rules(rules)
        self._rules = rules

    def _resolve_others(self) -> None:
        for waiting in list(self._waiting.values()):
            if not waiting.answer.done() and (decision := waiting.decide_by_rules()):
                with suppress(StoreError):  # it still waits for the user
                    self._resolve(waiting, decision)
                    if isinstance(decision, AllowAlways):
                        self.note_use(decision.rule)


def _same(first: Rule, second: Rule) -> bool:
    def key(rule: Rule) -> tuple[object, ...]:
        return (rule.tool, rule.pattern, rule.scope, rule.where, rule.is_deny)

    return key(first) == key(second)

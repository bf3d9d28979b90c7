"""Whether commands in the sandbox may reach a host: by rules, or asked while they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from desktop_agent.core.agents import AgentStatus
from desktop_agent.core.approvals import (
    AllowAlways,
    AllowOnce,
    ApprovalRequest,
    Decision,
    Deny,
    Mode,
    Rule,
)
from desktop_agent.core.ids import AgentId, SessionId, new_request_id
from desktop_agent.core.messages import ToolCall
from desktop_agent.core.network.questions import HostQuestion, HostVerdict
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions.approvals import Approvals
from desktop_agent.engine.permissions.host_rules import (
    NETWORK,
    covers_host,
    deciding,
    host_rule,
)
from desktop_agent.engine.permissions.scope import Scope

# A program that was refused often tries again at once.
_REMEMBERED_S = 60.0
_MOST_OPEN = 8
_LONGEST_COMMAND = 120

_ALLOWED = HostVerdict(True)


class CommandOwner(Protocol):
    """The agent that runs a command."""

    @property
    def id(self) -> AgentId:
        """The agent's id."""
        ...

    @property
    def session(self) -> Session:
        """The session it works in."""
        ...

    @property
    def scope(self) -> Scope:
        """What it may use now."""
        ...

    def busy(self, status: AgentStatus, doing: str) -> AbstractContextManager[None]:
        """Show a status and an activity while the block runs."""
        ...


@dataclass(eq=False, slots=True)
class _Command:
    """A command that runs; `ended` is resolved at its end."""

    call_id: str
    words: str
    owner: CommandOwner
    ended: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class _Asker:
    """On whose behalf the user is asked; `command` is None for one left in the background."""

    agent_id: AgentId
    mode: Mode
    command: _Command | None = None

    def busy(self, doing: str) -> AbstractContextManager[None]:
        if self.command is None:
            return nullcontext()
        return self.command.owner.busy("waiting_approval", doing)


@dataclass(slots=True)
class _Known:
    """What is known of a session: its commands, oldest first, and how many requests wait."""

    session: Session
    commands: list[_Command] = field(default_factory=list[_Command])
    open: int = 0


class HostRequests:
    """Answers for hosts. For the engine thread."""

    def __init__(self, approvals: Approvals, clock: Callable[[], float] = time.monotonic) -> None:
        self._approvals = approvals
        self._clock = clock
        self._known: dict[SessionId, _Known] = {}
        self._refused: dict[tuple[SessionId, str, int], float] = {}

    @contextmanager
    def command(self, call_id: str, words: str, owner: CommandOwner) -> Generator[None]:
        """Count a command as running in the block: what its programs want is asked for it."""
        known = self._known.setdefault(owner.session.info.id, _Known(owner.session))
        ended = asyncio.get_running_loop().create_future()
        command = _Command(call_id, words, owner, ended)
        known.commands.append(command)
        try:
            yield
        finally:
            known.commands.remove(command)
            ended.set_result(None)

    def forget(self, session_id: SessionId) -> None:
        """Drop what is known of a session that is deleted."""
        self._known.pop(session_id, None)

    async def ask(self, question: HostQuestion) -> HostVerdict:
        """Return whether the host may be reached; cancelling withdraws what the user was asked."""
        known = self._known.get(question.session_id)
        if known is None:
            return HostVerdict(False, "No command of this session is known.")
        while True:
            asker = _asker(known, question)
            verdict = self._settled(known.session, asker, question)
            if verdict is not None:
                return verdict
            if known.open >= _MOST_OPEN:
                return HostVerdict(False, "Too many hosts wait for an answer already.")
            known.open += 1
            try:
                decision = await self._put(known.session, asker, question)
            except StoreError:
                return HostVerdict(False, "The question could not be saved.")
            finally:
                known.open -= 1
            if decision is not None:
                return self._verdict(decision, question)
            # Its command ended. Another one may wait for the same host.
            if not known.commands:
                return HostVerdict(False, "The command that wanted it has ended.")

    def _settled(
        self, session: Session, asker: _Asker, question: HostQuestion
    ) -> HostVerdict | None:
        """Return what needs no asking."""
        rule = self._rule(session, question)
        if asker.mode == "look" and not (rule is not None and rule.is_deny):
            return HostVerdict(False, "The mode is Look only: no host is reached.")
        if rule is not None:
            self._approvals.note_use(rule)
            refused = HostVerdict(False, f"A rule refuses {question.host}.")
            return refused if rule.is_deny else _ALLOWED
        if self._refused.get(_key(question), 0.0) > self._clock():
            return HostVerdict(False, f"{question.host} was refused a moment ago.")
        return None

    def _rule(self, session: Session, question: HostQuestion) -> Rule | None:
        info = session.info
        rules = self._approvals.rules_for(info.id)
        return deciding(rules, info.workspace.root, question.host, question.port)

    async def _put(
        self, session: Session, asker: _Asker, question: HostQuestion
    ) -> Decision | None:
        """Ask the user; return None when the command ended before there was an answer."""

        def settle() -> Decision | None:
            rule = self._rule(session, question)
            if rule is None:
                return None
            return Deny(by="rule") if rule.is_deny else AllowAlways(rule)

        request = _request(asker, question)
        with asker.busy(f"asking whether {question.host} may be reached"):
            asking = asyncio.ensure_future(self._approvals.ask(request, session, settle))
            ending = [asker.command.ended] if asker.command is not None else []
            try:
                await asyncio.wait({asking, *ending}, return_when=asyncio.FIRST_COMPLETED)
                return asking.result() if asking.done() else None
            finally:
                asking.cancel()
                await asyncio.wait({asking})

    def _verdict(self, decision: Decision, question: HostQuestion) -> HostVerdict:
        host, port = question.host, question.port
        match decision:
            case AllowOnce():
                return _ALLOWED
            case AllowAlways(rule) if rule.tool == NETWORK and covers_host(
                rule.pattern, host, port
            ):
                return _ALLOWED
            case Deny(by=by):
                self._remember(question)
                return HostVerdict(False, _denial(by, host, port))
            case _:
                return HostVerdict(False, f"What was decided does not speak of {host}.")

    def _remember(self, question: HostQuestion) -> None:
        now = self._clock()
        self._refused = {key: until for key, until in self._refused.items() if until > now}
        self._refused[_key(question)] = now + _REMEMBERED_S


def _key(question: HostQuestion) -> tuple[SessionId, str, int]:
    return (question.session_id, question.host, question.port)


def _asker(known: _Known, question: HostQuestion) -> _Asker:
    """Return the command that the connection names, if it is true; else the newest that runs."""
    running = known.commands
    named = [command for command in running if command.call_id == question.call_id]
    command = next(iter([*named, *reversed(running)]), None)
    if command is None:
        info = known.session.info
        return _Asker(info.main_agent, info.mode)
    return _Asker(command.owner.id, command.owner.scope.mode, command)


def _request(asker: _Asker, question: HostQuestion) -> ApprovalRequest:
    host, port = question.host, question.port
    words = asker.command.words if asker.command is not None else ""
    if len(words) > _LONGEST_COMMAND:
        words = f"{words[:_LONGEST_COMMAND]}…"
    who = f"`{words}`" if words else "A command in the background"
    rule = host_rule(host, port)
    return ApprovalRequest(
        id=(request_id := new_request_id()),
        agent_id=asker.agent_id,
        # A call of its own: the command's keeps running.
        call=ToolCall(request_id, NETWORK, {"host": host, "port": port, "command": words}),
        title=f"Allow {host}?",
        display=None,
        reason=f"{who} wants to reach it (port {port}). What it reads could be sent there.",
        stakes=("reaches the network",),
        rules=(rule,),
        refusals=(msgspec.structs.replace(rule, is_deny=True),),
        created_at=time.time(),
    )


def _denial(by: str, host: str, port: int) -> str:
    if by == "unattended":
        return f"Nobody is here to allow {host}; a run allows it with --allow-host {host}:{port}."
    return f"The user refused {host}." if by == "user" else f"{host} was not allowed."

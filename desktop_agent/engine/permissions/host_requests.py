"""Whether commands in the sandbox may reach a host: by rules, or asked while they wait."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol
from weakref import WeakValueDictionary

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
from desktop_agent.engine.permissions.checked_sandbox import FindPlaces
from desktop_agent.engine.permissions.host_rules import (
    NETWORK,
    USUAL_PORTS,
    covers_host,
    deciding,
    host_rule,
)
from desktop_agent.engine.permissions.scope import Scope

# A program that was refused often tries again at once.
_REMEMBERED_S = 60.0
_MOST_OPEN = 8
_PATIENCE_S = 2.0
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


class _Command(msgspec.Struct, eq=False):
    """A command that runs; `ended` is resolved at its end.

    `waits` counts its open requests, `since` is when the first of them began, `waited` the
    seconds of those before.
    """

    call_id: str
    words: str
    owner: CommandOwner
    ended: asyncio.Future[None]
    waits: int = 0
    since: float = 0.0
    waited: float = 0.0

    @contextmanager
    def waiting(self, clock: Callable[[], float]) -> Generator[None]:
        """Count the block as waiting for the user."""
        if not self.waits:
            self.since = clock()
        self.waits += 1
        try:
            yield
        finally:
            self.waits -= 1
            if not self.waits:
                self.waited += clock() - self.since


class _Asker(msgspec.Struct, frozen=True):
    """On whose behalf the user is asked; `command` is None for one left in the background.

    `is_named` tells that the connection said whose it is; else it may be any of those that run.
    `server` is the name of an MCP server that asks.
    """

    agent_id: AgentId
    mode: Mode
    command: _Command | None = None
    is_named: bool = False
    server: str = ""

    @contextmanager
    def busy(self, doing: str, clock: Callable[[], float]) -> Generator[None]:
        if self.command is None:
            yield
            return
        with self.command.owner.busy("waiting_approval", doing), self.command.waiting(clock):
            yield


class HostRequests:
    """Answers for hosts. For the engine thread."""

    def __init__(
        self,
        approvals: Approvals,
        clock: Callable[[], float] = time.monotonic,
        registries: FindPlaces | None = None,
    ) -> None:
        self._approvals = approvals
        self._clock = clock
        self._registries = registries
        # A session that was deleted is not kept for this; its commands have ended.
        self._sessions: WeakValueDictionary[SessionId, Session] = WeakValueDictionary()
        self._commands: defaultdict[SessionId, list[_Command]] = defaultdict(list)
        self._waiting: Counter[SessionId] = Counter()
        self._refused: dict[tuple[SessionId, str, int], float] = {}

    @contextmanager
    def command(self, call_id: str, words: str, owner: CommandOwner) -> Generator[None]:
        """Count a command as running in the block: what its programs want is asked for it."""
        session_id = owner.session.info.id
        self._sessions[session_id] = owner.session
        ended = asyncio.get_running_loop().create_future()
        command = _Command(call_id, words, owner, ended)
        self._commands[session_id].append(command)
        try:
            yield
        finally:
            self._commands[session_id].remove(command)
            if not self._commands[session_id]:
                del self._commands[session_id]
            ended.set_result(None)

    def waited_s(self, session_id: SessionId, call_id: str) -> float:
        """Return for how long a command that runs has waited for the user, so far."""
        for command in self._commands.get(session_id, ()):
            if command.call_id == call_id:
                return command.waited + (self._clock() - command.since if command.waits else 0.0)
        return 0.0

    async def ask(self, question: HostQuestion) -> HostVerdict:
        """Return whether the host may be reached; cancelling withdraws what the user was asked."""
        session = self._sessions.get(question.session_id)
        if session is None:
            return HostVerdict(False, "No command of this session is known.")
        return await self._ask(question, session, lambda: self._asker(session, question))

    async def ask_for_server(
        self, question: HostQuestion, name: str, session: Session, agent_id: AgentId
    ) -> HostVerdict:
        """Return whether an MCP server may reach the host; the user is asked in `session`.

        It runs in every mode: that it should is the user's own doing.
        """
        asker = _Asker(agent_id, "ask", server=name)
        return await self._ask(question, session, lambda: asker)

    async def _ask(
        self, question: HostQuestion, session: Session, find: Callable[[], _Asker]
    ) -> HostVerdict:
        while True:
            asker = find()
            verdict = self._settled(session, asker, question)
            if verdict is not None:
                return verdict
            if self._waiting[session.info.id] >= _MOST_OPEN:
                return HostVerdict(False, "Too many hosts wait for an answer already.")
            try:
                decision = await self._put(session, asker, question)
            except StoreError:
                return HostVerdict(False, "The question could not be saved.")
            if decision is not None:
                return self._verdict(decision, question)
            # Its command ended. Another one may wait for the same host.
            if question.session_id not in self._commands:
                return HostVerdict(False, "The command that wanted it has ended.")

    def _asker(self, session: Session, question: HostQuestion) -> _Asker:
        """Return the command that the connection names, if it is true; else the newest.

        Not every program names one: git and clients of SOCKS don't.
        """
        running = self._commands.get(question.session_id, ())
        named = [command for command in running if command.call_id == question.call_id]
        command = next(iter([*named, *reversed(running)]), None)
        if command is None:
            return _Asker(session.info.main_agent, session.info.mode)
        owner = command.owner
        return _Asker(owner.id, owner.scope.mode, command, is_named=bool(named))

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

        async def ask() -> Decision:
            request = _request(asker, question, await self._together(question))
            # A rule may have been made meanwhile.
            return settle() or await self._approvals.ask(request, session, settle)

        with asker.busy(f"asking whether {question.host} may be reached", self._clock):
            self._waiting[session.info.id] += 1
            asking = asyncio.ensure_future(ask())
            ending = [asker.command.ended] if asker.command is not None else []
            try:
                await asyncio.wait({asking, *ending}, return_when=asyncio.FIRST_COMPLETED)
                return asking.result() if asking.done() else None
            finally:
                asking.cancel()
                self._waiting -= Counter({session.info.id: 1})
                await asyncio.wait({asking})

    async def _together(self, question: HostQuestion) -> tuple[str, ...]:
        """Return the hosts that packages come from, the asked one first, if it is one of them."""
        if self._registries is None or question.port not in USUAL_PORTS:
            return ()
        finding = asyncio.ensure_future(self._registries())
        # Who waits for an answer sees the question soon; the next one has them.
        await asyncio.wait({finding}, timeout=_PATIENCE_S)
        places, asked = finding.result() if finding.done() else (), _place(question)
        if asked not in places or len(places) < 2:
            return ()
        return (asked, *(place for place in places if place != asked))

    def _verdict(self, decision: Decision, question: HostQuestion) -> HostVerdict:
        host, port = question.host, question.port
        match decision:
            case AllowOnce():
                return _ALLOWED
            case AllowAlways(rule, others) if any(
                one.tool == NETWORK and covers_host(one.pattern, host, port)
                for one in (rule, *others)
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


def _place(question: HostQuestion) -> str:
    return f"{question.host}:{question.port}"


def _key(question: HostQuestion) -> tuple[SessionId, str, int]:
    return (question.session_id, question.host, question.port)


def _request(asker: _Asker, question: HostQuestion, together: tuple[str, ...]) -> ApprovalRequest:
    host, port = question.host, question.port
    words = asker.command.words if asker.command is not None else ""
    if len(words) > _LONGEST_COMMAND:
        words = f"{words[:_LONGEST_COMMAND]}…"
    who = f"`{words}`" if words else "A command in the background"
    if words and not asker.is_named:
        who, words = f"A program that doesn't say whose it is, while `{words}` runs,", ""
    if asker.server:
        who = words = f"The MCP server “{asker.server[:_LONGEST_COMMAND]}”"
    rule = host_rule(host, port)
    return ApprovalRequest(
        id=(request_id := new_request_id()),
        agent_id=asker.agent_id,
        # A call of its own: the command's keeps running.
        call=ToolCall(request_id, NETWORK, {"host": host, "port": port, "wanted_by": words}),
        title=f"Allow {host}?",
        display=None,
        reason=f"{who} wants to reach it (port {port}). What it reads could be sent there.",
        stakes=("reaches the network",),
        rules=(rule,),
        refusals=(msgspec.structs.replace(rule, is_deny=True),),
        created_at=time.time(),
        together=tuple(Rule(NETWORK, place) for place in together),
    )


def _denial(by: str, host: str, port: int) -> str:
    if by == "unattended":
        return f"Nobody is here to allow {host}; a run allows it with --allow-host {host}:{port}."
    return f"The user refused {host}." if by == "user" else f"{host} was not allowed."

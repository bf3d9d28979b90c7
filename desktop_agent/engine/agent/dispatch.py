"""One tool call, from the model's words to its result. The only road to a tool."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from desktop_agent.core.agents import AgentStatus
from desktop_agent.core.approvals import (
    AllowAlways,
    ApprovalRequest,
    Decision,
    Deny,
    Edited,
    Rule,
)
from desktop_agent.core.events import EngineFailed, ToolEnded, ToolOutput, ToolStarted
from desktop_agent.core.ids import AgentId, new_question_id, new_request_id
from desktop_agent.core.messages import ToolCall, ToolResult
from desktop_agent.core.parts.forms import FormAnswer, ServerForm
from desktop_agent.core.questions import Question
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import (
    Access,
    FileMemory,
    Preview,
    Tool,
    ToolContext,
    ToolError,
)
from desktop_agent.core.tool import ToolOutput as Output
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.agent.refused_calls import as_error, denial, refusals
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions import policy
from desktop_agent.engine.permissions.approvals import Approvals
from desktop_agent.engine.permissions.checked_sandbox import Confinement
from desktop_agent.engine.permissions.host_requests import HostRequests
from desktop_agent.engine.permissions.host_rules import local_ports
from desktop_agent.engine.permissions.outside_permits import OutsidePermits
from desktop_agent.engine.permissions.scope import Scope, offered
from desktop_agent.engine.skills.agent_skills import SkillUse
from desktop_agent.engine.tasks.task_list import TaskList
from desktop_agent.engine.undo.kept_calls import Call, KeptCalls
from desktop_agent.engine.workspace.output_files import OutputFiles

_log = logging.getLogger(__name__)

# Live output is for the eye; the result holds what matters. In characters, per call.
_LIVE_OUTPUT_LIMIT = 400_000

# What models send when a tool takes no arguments.
_NO_ARGUMENTS = {"", '""', "null", "{}"}

Outcome = Literal["ok", "failed", "denied", "cancelled", "unknown"]


class Caller(Protocol):
    """What a call needs of its agent; a Protocol, as `agent.py` imports this module."""

    @property
    def id(self) -> AgentId:
        """The agent's id."""
        ...

    @property
    def session(self) -> Session:
        """The session it works in."""
        ...

    @property
    def files(self) -> FileMemory:
        """What it has read."""
        ...

    @property
    def jobs(self) -> Any:
        """Its background commands."""
        ...

    @property
    def scope(self) -> Scope:
        """What it may use now."""
        ...

    @property
    def skills(self) -> SkillUse:
        """What it has of the skills."""
        ...

    @property
    def name(self) -> str:
        """Its name, as owner of a task."""
        ...

    @property
    def tasks(self) -> TaskList:
        """Its task list."""
        ...

    @property
    def settings(self) -> Callable[[], Settings]:
        """The person's settings, as they are now."""
        ...

    def is_repeated(self, call: ToolCall) -> bool:
        """Whether this is the third identical call in a row."""
        ...

    def busy(self, status: AgentStatus, doing: str) -> AbstractContextManager[None]:
        """Show a status and an activity while the block runs."""
        ...


class _Denied(Exception):
    """The call must not run; `deny` says who said so."""

    def __init__(self, deny: Deny) -> None:
        super().__init__(deny.reason)
        self.deny = deny


class _Prepared(msgspec.Struct):
    """A call that was checked: parsed arguments and the effect they will have.

    `restorable` is what of its deletions an undo could bring back.
    """

    call: ToolCall
    tool: Tool
    arguments: Any
    preview: Preview
    remark: str = ""
    restorable: frozenset[str] = frozenset()

    @property
    def lost(self) -> tuple[str, ...]:
        """What it deletes that no undo brings back."""
        return tuple(name for name in self.preview.deletes if name not in self.restorable)


class Dispatch:
    """Finds, validates, gets approval for and runs tool calls of any agent."""

    def __init__(
        self,
        *,
        tools: Mapping[str, Tool],
        approvals: Approvals,
        questions: Questions,
        report_failure: Callable[[EngineFailed], None],
        outputs: OutputFiles,
        steering: object,
        confinement: Confinement,
        kept: KeptCalls,
    ) -> None:
        """`steering` is what the tools of delegation work with."""
        self._tools = tools
        self._approvals = approvals
        self._questions = questions
        self._report_failure = report_failure
        self._outputs = outputs
        self._sandbox = confinement.sandbox
        self._is_machine_sandbox = confinement.is_machine
        self.hosts = HostRequests(approvals, registries=confinement.registries)
        self.permits = OutsidePermits()
        self._steering = steering
        self._own = confinement.own
        self._kept = kept

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool by name."""
        return self._tools

    def activity(self, call: ToolCall) -> str:
        """Say what a call does in a verb and an object, from its raw arguments."""
        tool = self._tools.get(call.name)
        if tool is None or tool.describe is None:
            return call.name
        try:
            return tool.describe(call.arguments)
        except (KeyError, TypeError, ValueError, AttributeError):  # the arguments are the model's
            return call.name

    async def run(
        self, call: ToolCall, caller: Caller, started: Callable[[], None] = lambda: None
    ) -> ToolEnded:
        """Run one call and return its end, for the caller to tell; an expected failure is one too.

        Emits ToolStarted, and calls `started`, when it really starts. On cancellation the agent,
        which knows what else was, closes the call. Raises StoreError for one that did not run.
        """
        began: float | None = None

        def starts() -> None:
            nonlocal began
            began = time.monotonic()
            started()

        outcome: Outcome = "failed"
        try:
            output = await self._checked(call, caller, starts)
            shown = (output.display, output.images, output.facts)
            result = ToolResult(call.id, output.text, False, *shown)
            outcome = "ok"
        except StoreError:
            raise
        except _Denied as denied:
            result, outcome = denial(call, denied.deny), "denied"
        except ToolError as error:
            result = ToolResult(call.id, as_error(str(error)), is_error=True)
        except TimeoutError:
            result = ToolResult(call.id, "Error: the tool took too long.", is_error=True)
        except Exception as error:  # noqa: BLE001 - a defect in a tool must not end the turn
            result = self._defect(call, caller, error)
        seconds = time.monotonic() - began if began is not None else 0.0
        return ToolEnded(caller.id, result, outcome, seconds)

    async def _checked(self, call: ToolCall, caller: Caller, starts: Callable[[], None]) -> Output:
        prepared = await self._prepare(call, caller)
        prepared = await self._approved(prepared, caller)
        context = replace(self._context(call, caller), judged=prepared.preview)
        doing = self.activity(prepared.call)
        caller.session.emit(ToolStarted(caller.id, prepared.call, doing, at=time.time()))
        starts()
        with caller.busy("running", doing), self._as_command(prepared, caller):
            output = await self._run_kept(prepared, context, caller)
        if prepared.remark:
            output = replace(output, text=f"{prepared.remark}\n\n{output.text}")
        return output

    async def _run_kept(self, prepared: _Prepared, context: ToolContext, caller: Caller) -> Output:
        """Run it; what it changes in files is kept."""
        call = Call(prepared.tool, prepared.preview, prepared.call, context.workspace)
        async with (
            self._kept.around(call, caller) as changes,
            asyncio.timeout(prepared.tool.timeout_s),
        ):
            try:
                return await prepared.tool.run(
                    prepared.arguments, replace(context, changes=changes)
                )
            except StoreError as error:  # what it wanted to write did not happen
                raise ToolError(str(error)) from error

    def _as_command(self, prepared: _Prepared, caller: Caller) -> AbstractContextManager[None]:
        command = prepared.preview.command
        if not command:
            return nullcontext()
        return self.hosts.command(prepared.call.id, command, caller)

    async def _prepare(self, call: ToolCall, caller: Caller) -> _Prepared:
        tool = self._tools.get(call.name)
        is_allowed = tool is not None and caller.scope.allows(tool)
        if is_allowed and tool is not None and tool.forward is not None:
            name, arguments = tool.forward(call.arguments)
            call = msgspec.structs.replace(call, name=name, arguments=arguments)
            tool = self._tools.get(name)
            is_allowed = tool is not None and caller.scope.is_here(tool)
        if tool is None or not is_allowed:
            known = ", ".join(sorted(offered(self._tools, caller.scope)))
            raise ToolError(f"there is no tool {call.name!r}. The tools are: {known}.")
        if call.raw and call.raw.strip() not in _NO_ARGUMENTS:
            raise ToolError(
                f"invalid tool input: the arguments are not a JSON object: {call.raw[:200]}"
            )
        arguments = tool.parse(call.arguments)
        preview = await self._preview(tool, arguments, call, caller)
        restorable = await self._kept.restorable(preview, caller.session)
        return _Prepared(call, tool, arguments, preview, restorable=restorable)

    async def _preview(self, tool: Tool, arguments: Any, call: ToolCall, caller: Caller) -> Preview:
        if tool.preview is None:
            return Preview(title=f"Use {tool.name}?")
        if tool.access is Access.EXECUTE and self._sandbox is not None:
            await self._sandbox.ready()
        return await tool.preview(arguments, self._context(call, caller))

    async def _approved(self, prepared: _Prepared, caller: Caller) -> _Prepared:
        """Return the call as it may run; raises _Denied, or ToolError when its effect changed."""
        situation = self._situation(prepared, caller)
        match policy.verdict(prepared.tool, prepared.preview, situation):
            case policy.Allowed(rules):
                self._approvals.note_use(*rules)
                if policy.leaves(prepared.preview):
                    self.permits.use(caller.id, prepared.preview.fingerprint)
                return prepared
            case policy.Refused(reason, by, rules):
                self._approvals.note_use(*rules)
                raise _Denied(Deny(reason, by=by))
            case policy.Asked(reason):
                return await self._ask(prepared, reason, caller)

    def _situation(self, prepared: _Prepared, caller: Caller) -> policy.Situation:
        return policy.Situation(
            mode=caller.scope.mode,
            rules=self._approvals.rules_for(caller.session.info.id),
            # A rule speaks of the session's folder, whatever part of it the caller has.
            workspace=caller.session.info.workspace,
            is_repeated=caller.is_repeated(prepared.call),
            is_machine_sandbox=self._is_machine_sandbox or caller.scope.is_machine_sandbox,
            is_let_out=self.permits.has(caller.id, prepared.preview.fingerprint),
            restorable=prepared.restorable,
        )

    async def _ask(self, prepared: _Prepared, reason: str, caller: Caller) -> _Prepared:
        request = ApprovalRequest(
            id=new_request_id(),
            agent_id=caller.id,
            call=prepared.call,
            title=prepared.preview.title,
            display=prepared.preview.display,
            reason=reason,
            stakes=prepared.preview.stakes,
            rules=policy.offered(
                prepared.tool, prepared.preview, self._situation(prepared, caller)
            ),
            refusals=refusals(prepared.preview),
            created_at=time.time(),
            lost=prepared.lost,
        )

        def decide_by_rules() -> Decision | None:
            # Asked again whenever a rule is added meanwhile.
            situation = self._situation(prepared, caller)
            match policy.verdict(prepared.tool, prepared.preview, situation):
                case policy.Allowed(rules):
                    return AllowAlways(rules[0]) if rules else None
                case policy.Refused(by="rule", reason=words):
                    return Deny(words, by="rule")
                case _:
                    return None

        with caller.busy("waiting_approval", self.activity(prepared.call)):
            decision = await self._approvals.ask(request, caller.session, decide_by_rules)
        if isinstance(decision, Deny):
            raise _Denied(decision)
        if isinstance(decision, Edited):
            return await self._edited(prepared, decision, caller)
        if isinstance(decision, AllowAlways) and not self._speaks_of(
            decision.rule, prepared, caller
        ):
            raise ToolError("the rule that was made does not cover this call; it was not run.")
        return await self._unchanged(prepared, caller)

    def _speaks_of(self, rule: Rule, prepared: _Prepared, caller: Caller) -> bool:
        situation = self._situation(prepared, caller)
        is_same = policy.speaks_of_tool(rule, prepared.tool)
        return is_same and policy.speaks_of(rule, prepared.preview, situation)

    async def _edited(self, prepared: _Prepared, decision: Edited, caller: Caller) -> _Prepared:
        call = msgspec.structs.replace(prepared.call, arguments=decision.arguments)
        edited = await self._prepare(call, caller)
        situation = self._situation(edited, caller)
        verdict = policy.verdict(edited.tool, edited.preview, situation)
        if isinstance(verdict, policy.Refused):
            raise _Denied(Deny(verdict.reason, by=verdict.by))
        shown = json.dumps(decision.arguments, ensure_ascii=False)[:2000]
        edited.remark = f"[The user changed this call before allowing it. It ran with: {shown}]"
        return edited

    async def _unchanged(self, prepared: _Prepared, caller: Caller) -> _Prepared:
        """Check that what runs is what was shown: files may have changed during the wait."""
        again = await self._preview(prepared.tool, prepared.arguments, prepared.call, caller)
        if again != prepared.preview:
            raise ToolError(
                "what this call would do changed while it waited for approval, so it was not "
                "run. Look at the current state and call again."
            )
        return prepared

    def _context(self, call: ToolCall, caller: Caller) -> ToolContext:
        async def ask_user(question: str, options: tuple[str, ...]) -> str:
            with caller.busy("waiting_answer", "asking you"):
                asked = Question(
                    new_question_id(), caller.id, call.id, question, options, time.time()
                )
                return await self._questions.ask(asked, caller.session)

        async def ask_form(form: ServerForm) -> FormAnswer:
            with caller.busy("waiting_answer", "asking you"):
                asked = Question(
                    new_question_id(), caller.id, call.id, form.message, (), time.time(), form=form
                )
                return await self._questions.ask_form(asked, caller.session)

        return ToolContext(
            agent_id=caller.id,
            call_id=call.id,
            boundary=self._boundary(caller),
            report=_reporter(call, caller),
            ask_user=ask_user,
            ask_form=ask_form,
            files=caller.files,
            outputs=self._outputs.of(caller.session.info.id),
            jobs=caller.jobs,
            tasks=caller.tasks,
            agent_name=caller.name,
            agent=caller,
            steering=self._steering,
            command_time_s=caller.settings().shell_timeout_s,
            sandbox=self._sandbox,
            waited_s=lambda: self.hosts.waited_s(caller.session.info.id, call.id),
        )

    def leave(self, caller: Caller, name: str, text: str) -> str:
        """Keep a text where the agents of a session can read it; return its path for them.

        Raises OSError.
        """
        body = text.encode("utf-8", "surrogateescape")
        if temporary := self._boundary(caller).temporary:
            # Commands write there too: what they put in the way is not followed.
            with Path(temporary, name).open("xb") as made:
                made.write(body)
            return f"/tmp/{name}"
        file = self._outputs.of(caller.session.info.id).create()
        if file is None:
            raise OSError("the disk refuses")
        file.write(body)
        file.close()
        if file.size < len(body):
            raise OSError("there is no room for it")
        return str(file.path)

    def _boundary(self, caller: Caller) -> Boundary:
        """Return what a call may reach, by whichever tool."""
        info, folders, sandbox = caller.session.info, caller.skills.workspace, self._sandbox
        rules = self._approvals.rules_for(info.id)
        is_apart = sandbox is not None and sandbox.state.holds and not folders.has_whole_disk
        return Boundary(
            session_id=info.id,
            folders=folders,
            own=self._own,
            refusals=policy.refusing(rules, info.workspace),
            temporary=sandbox.temporary_folder(info.id) if sandbox and is_apart else "",
            options=caller.settings().sandbox,
            is_offline=caller.scope.mode == "look",
            local_ports=local_ports(rules, info.workspace.root),
        )

    def _defect(self, call: ToolCall, caller: Caller, error: Exception) -> ToolResult:
        _log.exception("the tool %s failed", call.name)
        self._report_failure(EngineFailed(call.name, f"{type(error).__name__}: {error}", caller.id))
        return ToolResult(
            call.id, f"Error: {call.name} failed unexpectedly ({type(error).__name__}).", True
        )


def _reporter(call: ToolCall, caller: Caller) -> Callable[[str], None]:
    """Return what shows live output of a call to the user, as much as there is room for."""
    room = _LIVE_OUTPUT_LIMIT

    def report(text: str) -> None:
        nonlocal room
        if room > 0 and text:
            shown = text[:room]
            room -= len(shown)
            # For the eye: a disk that refuses must not end a command in its middle.
            caller.session.conclude(ToolOutput(caller.id, call.id, shown))

    return report

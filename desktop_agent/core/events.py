"""What the window and the store hear. Frozen values; no future, callback or key inside.

A turn is TurnStarted, steps, then exactly one TurnEnded; one that could not begin, as the disk
refused it, is TurnEnded alone. A step: StepStarted, NoteTaken*, MessageAdded(user)?,
(SideCallEnded?, ContextCompacted)*, RetryScheduled*, NoteDelivered*, MessageStarted, PartDelta*,
MessageAdded(assistant), StepEnded, then for each call (ApprovalRequested, ApprovalResolved)?,
ToolStarted?, ToolOutput*, ToolEnded, and last MessageAdded(tool). Calls that only read run
concurrently, so their events mix; a call that was refused never started.

Agent events belong to one agent and are recorded. Most `…Changed` are snapshots that replace the
one before (AgentsChanged by row; ListChanged, BudgetChanged are recorded); others are told once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from desktop_agent.core.agents import AgentInfo, AgentSpec, Budget, EndStatus, Spent, StopReason
from desktop_agent.core.approvals import ApprovalRequest, Decision
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.diffs.rows import with_rows
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import (
    AgentId,
    CompactionId,
    MessageId,
    NoteId,
    RequestId,
    SessionId,
)
from desktop_agent.core.mcp import McpState
from desktop_agent.core.messages import Message, PutAside, ToolCall, ToolResult, Value
from desktop_agent.core.network.places import PlaceFollowed
from desktop_agent.core.notes import Note, NoteArrived, ReturnReason
from desktop_agent.core.questions import QuestionAnswered, QuestionAsked
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.sessions import BranchPoint, SessionInfo
from desktop_agent.core.skills import FolderTrust, Skill
from desktop_agent.core.tasks import Task
from desktop_agent.core.usage import Usage


class TurnStarted(Value, frozen=True):
    """The agent woke up."""

    agent_id: AgentId
    at: float = 0.0


class StopReport(Value, frozen=True):
    """What a stop cancelled, killed, kept and left undone; `alive` are pids that refused.

    `by` is who stopped: `user`, `app` as it was closed, the id of an agent, or `ended` when the
    agent above ended; empty where it is unknown, as in old records.
    """

    cancelled: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    not_executed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    alive: tuple[int, ...] = ()
    by: str = ""


class TurnEnded(Value, frozen=True):
    """The agent stopped. `fault` is set for the reason `error`, `report` for `cancelled`.

    `seconds` is what the turn took, without waiting for the user.
    """

    agent_id: AgentId
    reason: StopReason
    usage: Usage = Usage()
    fault: Fault | None = None
    report: StopReport | None = None
    at: float = 0.0
    seconds: float = 0.0


class StepStarted(Value, frozen=True):
    """A model request is about to be made; steps count from 1 over an agent's life."""

    agent_id: AgentId
    step: int


class StepEnded(Value, frozen=True):
    """The model has answered; the tool calls of the step follow.

    `context_tokens` is what the request took, if known. `model` is empty in older sessions.
    """

    agent_id: AgentId
    step: int
    usage: Usage = Usage()
    context_tokens: int | None = None
    model: str = ""


class RetryScheduled(Value, frozen=True):
    """The request failed at `at`, and is made again after `delay_s` seconds."""

    agent_id: AgentId
    attempt: int
    delay_s: float
    fault: Fault
    at: float = 0.0


class MessageStarted(Value, frozen=True):
    """The model began to answer; the message comes whole in MessageAdded with the same id."""

    agent_id: AgentId
    message_id: MessageId


class PartDelta(Value, frozen=True):
    """More text of a message that has started."""

    agent_id: AgentId
    message_id: MessageId
    kind: Literal["text", "thinking"]
    text: str


class MessageAdded(Value, frozen=True):
    """The message is in the history. `is_partial`: the stream ended before its end."""

    agent_id: AgentId
    message: Message
    is_partial: bool = False


class ToolStarted(Value, frozen=True):
    """The call runs now; approvals are behind it."""

    agent_id: AgentId
    call: ToolCall
    doing: str = ""
    at: float = 0.0


class ToolOutput(Value, frozen=True):
    """Live output of a running call, for the user; bounded by the engine."""

    agent_id: AgentId
    call_id: str
    text: str


class ToolEnded(Value, frozen=True):
    """The call has its result. `outcome` tells the card's state apart from the text.

    `seconds` is how long it ran, without what it waited for the user.
    """

    agent_id: AgentId
    result: ToolResult
    outcome: Literal["ok", "failed", "denied", "cancelled", "unknown"] = "ok"
    seconds: float = 0.0


class ApprovalRequested(Value, frozen=True):
    """A call waits for the user."""

    agent_id: AgentId
    request: ApprovalRequest


class ApprovalResolved(Value, frozen=True):
    """The request is resolved; every card of that id collapses. `there`: as in the request."""

    agent_id: AgentId
    request_id: RequestId
    decision: Decision
    there: str = ""


class NoteQueued(Value, frozen=True):
    """The note is on disk and in the inbox. The same id again means it was edited."""

    agent_id: AgentId
    note: Note


class NoteTaken(Value, frozen=True):
    """The note is in the message that goes out now; it can't be edited any more."""

    agent_id: AgentId
    note_id: NoteId
    message_id: MessageId


class NoteDelivered(Value, frozen=True):
    """The provider accepted a request that holds the note."""

    agent_id: AgentId
    note_id: NoteId
    step: int
    at: float = 0.0


class NoteReturned(Value, frozen=True):
    """The note left the inbox unread; its text is kept. `by` is as in a StopReport."""

    agent_id: AgentId
    note_id: NoteId
    why: ReturnReason
    by: str = ""


class AgentSpawned(Value, frozen=True):
    """A subagent was started; its first turn follows."""

    agent_id: AgentId
    spec: AgentSpec


class AgentEnded(Value, frozen=True):
    """A subagent will do nothing more; `text` is its result, or why there is none.

    `by` is who stopped it, as in a StopReport; empty if not stopped. `paused` are the seconds
    that it was held.
    """

    agent_id: AgentId
    status: EndStatus
    text: str
    at: float = 0.0
    usage: Usage = Usage()
    tools_run: int = 0
    steps: int = 0
    by: str = ""
    paused: float = 0.0


class BudgetReached(Value, frozen=True):
    """The agent used up its budget, or that of an agent above it, and waits for the user.

    Also when a limit can't be measured: `spent.unmeasured(budget)` names it. `set_aside` is held
    by subagents that don't work, and comes back when they end.
    """

    agent_id: AgentId
    owner_id: AgentId
    spent: Spent
    budget: Budget
    set_aside: Spent = Spent()


class SideCallEnded(Value, frozen=True):
    """What a request of the agent's used that is no step: asked aside, over a copy of its history,
    or an answer that was empty, stopped or broke off (then estimated). `model` as in StepEnded.
    """

    agent_id: AgentId
    usage: Usage
    model: str = ""


class ContextCompacted(Value, frozen=True):
    """From now on requests carry less of the history; the transcript keeps what was said.

    `aside` replaces tool results. With a `summary` only the messages `kept` stay beside it, and
    `count` is how many it stands for. `reason`: the next request would have passed the limit, a
    provider refused one, or the user asked. Tokens are estimates, `window` is 0 if unknown.
    """

    agent_id: AgentId
    compaction_id: CompactionId
    reason: Literal["limit", "refused", "asked"] = "limit"
    aside: tuple[PutAside, ...] = ()
    summary: Message | None = None
    kept: tuple[MessageId, ...] = ()
    count: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    window: int = 0
    at: float = 0.0


class CompactionUndone(Value, frozen=True):
    """The history is again as it was before that compaction, which nothing had followed."""

    agent_id: AgentId
    compaction_id: CompactionId


class ContextCleared(Value, frozen=True):
    """The history is empty from here on, for the model; the transcript keeps what was said."""

    agent_id: AgentId
    at: float = 0.0


class BranchStarted(Value, frozen=True):
    """The history goes on from right before the message `before`, apart from what followed it.

    What the user wrote and nobody had read by then stays behind on the other branch.
    """

    agent_id: AgentId
    before: MessageId
    at: float = 0.0


class BudgetChanged(Value, frozen=True):
    """The user gave the agent another budget."""

    agent_id: AgentId
    budget: Budget


class ListChanged(Value, frozen=True):
    """All tasks of one agent, in the order shown; `revision` grows by one a change."""

    agent_id: AgentId
    revision: int
    tasks: tuple[Task, ...]
    next_id: int = 1


class FilesChanged(Value, frozen=True):
    """A call of the agent's has changed files, or the user has undone what it changed.

    Of a call it comes before its ToolEnded; of a command that goes on in the background, and of
    one that was stopped, it may come later.
    """

    agent_id: AgentId
    changes: ChangeSet


class AgentsChanged(Value, frozen=True):
    """The agents of a session that changed, new ones last; with `is_whole` all, parents first."""

    session_id: SessionId
    agents: tuple[AgentInfo, ...]
    is_whole: bool = True

    def over(self, known: Iterable[AgentInfo]) -> tuple[AgentInfo, ...]:
        """Return all agents, where `known` are those that were told before."""
        return self.agents if self.is_whole else with_rows(known, self.agents)

    def after(self, earlier: AgentsChanged) -> AgentsChanged:
        """Return the one event that stands for an earlier one and this."""
        agents = self.over(earlier.agents)
        return AgentsChanged(self.session_id, agents, self.is_whole or earlier.is_whole)

    def as_whole(self, agents: tuple[AgentInfo, ...]) -> AgentsChanged:
        """Return it with all agents, as they are once it was taken in."""
        return self if self.is_whole else AgentsChanged(self.session_id, agents)


class SessionsChanged(Value, frozen=True):
    """All sessions, newest activity first; `deleted` are those that can still be restored."""

    sessions: tuple[SessionInfo, ...]
    deleted: tuple[SessionInfo, ...] = ()


class SkillsChanged(Value, frozen=True):
    """All skills that hold in a folder (empty: without one), and how that folder is trusted."""

    root: str
    skills: tuple[Skill, ...]
    trust: FolderTrust


class SandboxChanged(Value, frozen=True):
    """Whether commands run in a sandbox that holds; told after each check."""

    state: SandboxState


class McpChanged(Value, frozen=True):
    """The MCP servers of a folder, by name; `root` is empty for those outside of any."""

    root: str
    servers: tuple[McpState, ...]


class MachineSandboxChanged(Value, frozen=True):
    """The sessions for which the person has said that this machine is the sandbox.

    It holds while the app runs, and is not stored: what is not listed doesn't have the right.
    """

    session_ids: tuple[SessionId, ...]


class CommandRefused(Value, frozen=True):
    """A command of the user's that was not done, and why: by a rule, or by the disk.

    `command` is its name in EngineCommands. What it was about is as it was: `about` is the id of
    the note or the question, whose text the window gives back.
    """

    command: str
    message: str
    agent_id: AgentId | None = None
    about: str = ""


class EngineFailed(Value, frozen=True):
    """A defect or a lost resource; the app goes on. `where` is for the log and the details."""

    where: str
    message: str
    agent_id: AgentId | None = None


AgentEvent = (
    TurnStarted
    | TurnEnded
    | StepStarted
    | StepEnded
    | SideCallEnded
    | RetryScheduled
    | MessageStarted
    | PartDelta
    | MessageAdded
    | ToolStarted
    | ToolOutput
    | ToolEnded
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionAnswered
    | NoteQueued
    | NoteArrived
    | PlaceFollowed
    | NoteTaken
    | NoteDelivered
    | NoteReturned
    | ListChanged
    | AgentSpawned
    | AgentEnded
    | BudgetReached
    | BudgetChanged
    | ContextCompacted
    | CompactionUndone
    | ContextCleared
    | BranchStarted
    | FilesChanged
)


class SessionOpened(Value, frozen=True):
    """A session's state for the window. `events` are the newest events, oldest first.

    `first_seq` is the number of the oldest event given: more can be asked for while it is
    above 1. The events are reduced into the transcript just as live ones are. `lists` are the
    agents' task lists, `notes` what they have not read yet, however long ago it was queued.
    `branches` are the places where others branch off; `path` is another number whenever another
    branch is shown.
    """

    info: SessionInfo
    agents: tuple[AgentInfo, ...] = ()
    events: tuple[AgentEvent, ...] = ()
    first_seq: int = 1
    lists: tuple[ListChanged, ...] = ()
    notes: tuple[NoteQueued, ...] = ()
    branches: tuple[BranchPoint, ...] = ()
    path: int = 0


class AgentOpened(Value, frozen=True):
    """One agent's transcript for the window: as SessionOpened, for the events of one."""

    info: AgentInfo
    events: tuple[AgentEvent, ...] = ()
    first_seq: int = 1
    notes: tuple[NoteQueued, ...] = ()


Snapshot = (
    AgentOpened
    | AgentsChanged
    | SessionsChanged
    | SessionOpened
    | SkillsChanged
    | SandboxChanged
    | MachineSandboxChanged
    | McpChanged
    | CommandRefused
    | EngineFailed
)
Event = AgentEvent | Snapshot

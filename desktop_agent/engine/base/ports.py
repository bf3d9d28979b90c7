"""The seams: what the engine needs from outside, named by role."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from desktop_agent.core.agents import AgentSpec, Budget
from desktop_agent.core.approvals import Rule
from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FarFile,
    FolderLook,
    JudgedResult,
    SessionChanges,
    UndoPlan,
    UndoReport,
    UndoScope,
    UndoUsage,
)
from desktop_agent.core.commands import EventPage
from desktop_agent.core.events import AgentEnded, AgentEvent
from desktop_agent.core.ids import AgentId, CompactionId, MessageId, SessionId
from desktop_agent.core.messages import DiffDisplay, Message
from desktop_agent.core.notes import Note
from desktop_agent.core.pipes.file_capture import CallBegun, Captured
from desktop_agent.core.requests import ModelRequest, StreamItem
from desktop_agent.core.sessions import BranchPoint, SearchFound, SessionInfo
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.usage import Usage, UsageReport
from desktop_agent.engine.base.places import FarRecord


class Model(Protocol):
    """A language model, whichever."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Yield Retrying*, Accepted, Delta*, then exactly one Answer.

        Raises ModelError when it failed for good. Closing the generator cancels the request.
        """
        ...


@runtime_checkable
class ModelHost(Protocol):
    """What is behind the models, beside streams."""

    async def is_priced(self, model: str) -> bool:
        """Whether the cost of requests to a model will be known."""
        ...

    def forget(self, agent_id: AgentId) -> None:
        """Drop what is kept of an agent's history between its requests."""
        ...


class AgentRecord(msgspec.Struct, frozen=True):
    """What the store knows of one agent: enough to go on with it.

    `inbox` are the notes that were queued and neither taken nor returned. `unconfirmed` are
    notes that were taken but not delivered. `was_running` tells that a turn had no end.
    `spec` and `end` are a subagent's; `usage`, `tools_run` and `seconds` are sums over its
    life. `budget` is what the person gave it since. `unpriced` and `uncounted` are steps whose
    cost, or tokens, are not known. `left_out` are user messages that a compaction or a clearing
    took out of the history, `before_compaction` the id and the history before a compaction that
    nothing follows. A subagent that `is_elsewhere` was started on another branch than is shown.
    Of one whose `is_end_known` the parent has said or read something since it ended. `far` is what
    is known of its work at a place.
    """

    agent_id: AgentId
    history: tuple[Message, ...] = ()
    inbox: tuple[Note, ...] = ()
    step: int = 0
    was_running: bool = False
    unconfirmed: tuple[Note, ...] = ()
    spec: AgentSpec | None = None
    end: AgentEnded | None = None
    usage: Usage = msgspec.field(default_factory=Usage)
    tools_run: int = 0
    budget: Budget | None = None
    seconds: float = 0.0
    unpriced: int = 0
    uncounted: int = 0
    left_out: tuple[Message, ...] = ()
    before_compaction: tuple[CompactionId, tuple[Message, ...]] | None = None
    is_elsewhere: bool = False
    is_end_known: bool = False
    far: FarRecord = msgspec.field(default_factory=FarRecord)

    @property
    def is_far_at_work(self) -> bool:
        """Whether its place may be at work for it still: an app that ended ended nothing there."""
        return self.end is None and self.far.followed is not None


class StoreError(Exception):
    """The store could not write or read; the text says why, in words for a person."""


class Store(Protocol):
    """Where sessions are kept. Every method is called on the engine thread.

    Any method raises StoreError when the disk refuses.
    """

    def record(
        self, session_id: SessionId, *events: AgentEvent, info: SessionInfo | None = None
    ) -> None:
        """Put events on disk, all or none, before it returns; deltas, live output within 0.5 s.

        `info`, when given, is saved in the same transaction.
        """
        ...

    def flush_pending(self) -> None:
        """Write what is buffered; called at least every 0.4 s while anything streams."""
        ...

    def save_session(self, info: SessionInfo) -> None:
        """Insert or update a session's row."""
        ...

    def delete_session(self, session_id: SessionId) -> None:
        """Delete a session and all its events."""
        ...

    def sessions(self) -> tuple[SessionInfo, ...]:
        """Return all sessions, newest activity first."""
        ...

    def page(
        self,
        session_id: SessionId,
        before_seq: int | None,
        count: int,
        agent_id: AgentId | None = None,
    ) -> EventPage:
        """Return the `count` events before `before_seq` (None: the newest).

        With `agent_id` only that agent's.
        """
        ...

    def load_agents(
        self, session_id: SessionId, more: Sequence[AgentEvent] = ()
    ) -> tuple[AgentRecord, ...]:
        """Return every agent of the session, with its whole history; as if `more` were on disk."""
        ...

    def load_agent(
        self, session_id: SessionId, agent_id: AgentId, more: Sequence[AgentEvent] = ()
    ) -> AgentRecord:
        """Return one agent of the session, with its whole history; as if `more` were on disk."""
        ...

    def load_tree(self, session_id: SessionId) -> tuple[AgentRecord, ...]:
        """Return the session's subagents without their histories, parents first."""
        ...

    def task_states(self, session_id: SessionId) -> dict[AgentId, TaskState]:
        """Return the task lists of the session's agents: what the last ListChanged said."""
        ...

    def told_changes(self, session_id: SessionId) -> tuple[ChangeSet, ...]:
        """Return what was told of changed files in the session, on all branches."""
        ...

    def begin_branch(
        self,
        session_id: SessionId,
        before: MessageId,
        *events: AgentEvent,
        info: SessionInfo | None = None,
    ) -> None:
        """Go on from right before a user message of the main agent's, with these events.

        Its task list is as it was then, as far as that was kept. What follows the message stays
        on its branch. Raises LookupError when the branch that is shown has no such message.
        """
        ...

    def switch_branch(
        self, session_id: SessionId, head: int, info: SessionInfo | None = None
    ) -> None:
        """Go on at the end of a branch; LookupError when there is none of that number."""
        ...

    def branch_points(self, session_id: SessionId) -> tuple[tuple[BranchPoint, ...], int]:
        """Return where others branch off, first to last, and a number for the branch shown."""
        ...

    def branch_with(self, session_id: SessionId, seq: int) -> int | None:
        """Return the branch to switch to for an event of the main agent's; None if it is shown."""
        ...

    def notes_in(self, session_id: SessionId, message_id: MessageId) -> tuple[Note, ...]:
        """Return the notes that a user message of the main agent's was made of."""
        ...

    def search(self, text: str, limit: int, hidden: Collection[SessionId] = ()) -> SearchFound:
        """Return sessions whose title, and messages that hold the words; none of `hidden`."""
        ...

    def usage(self, since: str) -> UsageReport:
        """Return what requests used from a day such as `2026-11-01` on; ever, if that is empty.

        A session that was erased still counts, one that was imported does not.
        """
        ...

    def index_more(self) -> bool:
        """Do a few milliseconds of what is owed to the index; tell whether there is more."""
        ...

    def count_more(self) -> bool:
        """Count some requests of an earlier version's for `usage`; tell whether there are more."""
        ...

    def rules(self) -> tuple[Rule, ...]:
        """Return the stored approval rules."""
        ...

    def save_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the stored approval rules."""
        ...


class FileHistory(Protocol):
    """Keeps what calls change in files. Every method but `close` raises UndoError."""

    @property
    def is_unfinished(self) -> bool:
        """Whether an undo was begun of which nobody said that it is `settled`."""
        ...

    async def watch(self, session_id: SessionId, root: str) -> None:
        """Look at a session's folder for the first time; the rest goes on in the background."""
        ...

    async def first_look(self, root: str, *, is_stopped: bool = False) -> FolderLook:
        """Return how far the first look at a folder is; stop it if it `is_stopped`."""
        ...

    async def begin(self, begun: CallBegun) -> Captured:
        """Note what is there before a call; returns what was recorded of others by that."""
        ...

    async def end(self, set_id: str, *, is_done: bool = True) -> Captured:
        """Record what a call changed; a file tool that was refused `is_done` False."""
        ...

    async def held(
        self, session_id: SessionId, root: str, paths: Sequence[bytes]
    ) -> tuple[bool, ...]:
        """Return which of these absolute paths an undo could bring back as they are now."""
        ...

    async def recovered(self) -> tuple[UndoReport, ...]:
        """Finish what a crash cut off in the middle of an undo; return what is not `settled`."""
        ...

    def settled(self) -> None:
        """What the last undo did is told, or it did nothing."""
        ...

    async def changes(self, session_id: SessionId, root: str) -> SessionChanges:
        """Return all that a session changed; paths are relative to `root`."""
        ...

    async def diff(self, scope: UndoScope, *, is_since: bool = False) -> DiffDisplay:
        """Return how a scope changed its path, or how that was changed since."""
        ...

    async def patch(self, session_id: SessionId, root: str) -> str:
        """Return all that a session changed as one patch."""
        ...

    async def plan(self, scope: UndoScope, root: str) -> UndoPlan:
        """Return what an undo would do now."""
        ...

    async def undo(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None,
        root: str,
    ) -> UndoReport:
        """Take a scope back, conflicts by choice; `meta` is of the change set that this makes."""
        ...

    async def keep_result(
        self, meta: ChangeSet, session_id: SessionId, root: str, files: Sequence[FarFile]
    ) -> ChangeSet:
        """Keep what an agent changed in a copy elsewhere, in place of what it had before."""
        ...

    async def judged_results(self, session_id: SessionId, root: str) -> tuple[JudgedResult, ...]:
        """Return what applying each result would do now, one after the other."""
        ...

    async def plan_result(self, scope: UndoScope, root: str) -> UndoPlan:
        """Return what applying a result would do now; its id is the set's of the scope."""
        ...

    async def apply_result(
        self,
        scope: UndoScope,
        choices: Mapping[str, Choice],
        meta: ChangeSet,
        plan: UndoPlan | None,
        root: str,
    ) -> UndoReport:
        """Apply a result, conflicts by choice; `meta` is of the change set that this makes."""
        ...

    async def usage(self) -> tuple[UndoUsage, ...]:
        """Return what each folder takes."""
        ...

    async def empty(self, folder: str) -> None:
        """Forget all that is kept for a folder, or for all of them."""
        ...

    async def forget_session(self, session_id: SessionId) -> None:
        """Forget what a session changed."""
        ...

    async def close(self) -> None:
        """Write what is held, and end."""
        ...

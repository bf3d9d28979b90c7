"""The engine's commands about branches of a session: begun at a message, and switched."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from desktop_agent.core.events import BranchStarted, CommandRefused, NoteQueued
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_note_id
from desktop_agent.core.notes import Note, is_written
from desktop_agent.core.parts.origins import EditLine, TaskEdits
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.base.ports import Store
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.sessions.crash_recovery import unreported
from desktop_agent.engine.sessions.registry import Sessions
from desktop_agent.engine.tree.agents import Agents

_RUNNING = "Stop the agent and its subagents first, or wait until they are done."
_SUBAGENT = "Only the conversation with the main agent has branches."
_ELSEWHERE = "That message is not on the branch that is shown."
_UNKNOWN = "That branch is not there any more."
_NO_WORDS = "That message can’t be sent again. Edit it and send it again instead."


class BranchCommands(EnginePart):
    """A part of the Engine. A main agent that works, or has live subagents, is left alone."""

    _agents: Agents
    _sessions: Sessions
    _store: Store

    @abstractmethod
    def _agent(self, agent_id: AgentId) -> Agent:
        """Return an agent; raises KeyError for an unknown id."""

    @abstractmethod
    def _after_sending(self, agent: Agent, note: Note) -> None:
        """Do what a message of the user's calls for besides."""

    def begin_branch(
        self,
        agent_id: AgentId,
        before: MessageId,
        note: Note | None = None,
        *,
        is_edit: bool = False,
    ) -> None:
        """Go on from right before a message of the user's, on a branch of its own.

        With the note, which `is_edit` has the message's files as well; without one the message is
        sent once more. What followed it stays, on its branch.
        """
        agent, about = self._agent(agent_id), note.id if note is not None else ""
        if why := self._why_not(agent):
            self._emit(CommandRefused("begin_branch", why, agent_id, about))
            return
        with self._refusing("begin_branch", "The branch was not begun", agent_id, about):
            said = self._said(agent.session, before)
            notes = _again(said) if note is None else [_with_files(note, said if is_edit else ())]
            if not notes:
                self._emit(CommandRefused("begin_branch", _NO_WORDS, agent_id))
                return
            try:
                self._begin(agent, before, notes)
            except LookupError:
                self._emit(CommandRefused("begin_branch", _ELSEWHERE, agent_id, about))

    def switch_branch(self, session_id: SessionId, head: int) -> None:
        """Show another branch of a session, and go on at its end. Files stay as they are."""
        agent = self._agent(self._sessions.session(session_id).info.main_agent)
        if why := self._why_not(agent):
            self._emit(CommandRefused("switch_branch", why, agent.id))
            return
        with self._refusing("switch_branch", "The branch was not changed", agent.id):
            try:
                agent.session.switch_branch(head, status="idle", context_tokens=None)
            except LookupError:
                self._emit(CommandRefused("switch_branch", _UNKNOWN, agent.id))
            else:
                self._sessions.take_path(agent)

    async def branch_with(self, session_id: SessionId, seq: int) -> int | None:
        """Return the branch that holds an event of the main agent's, None if it is shown.

        Of several, it is the one that was used last.
        """
        return self._store.branch_with(session_id, seq)

    def _begin(self, agent: Agent, before: MessageId, notes: Sequence[Note]) -> None:
        begun, session = BranchStarted(agent.id, before, time.time()), agent.session
        edits = _edits(self._store.notes_in(session.info.id, before))
        queued = (NoteQueued(agent.id, one) for one in notes)
        # Under way from here on: whatever is killed is found at the next start.
        session.begin_branch(before, begun, *queued, status="running", context_tokens=None)
        session.conclude(*unreported(self._store.load_agents(session.info.id)))
        self._sessions.take_path(agent)
        waiting = _edits(agent.inbox.waiting)
        for one in edits:  # those made since a branch began that this one stands beside
            if one not in waiting:
                agent.inbox.put_edit(one)
        agent.wake()
        self._after_sending(agent, notes[-1])

    def _why_not(self, agent: Agent) -> str:
        if agent.spec is not None:
            return _SUBAGENT
        is_idle = self._agents.is_idle(agent.session.info.id) and not agent.commands.is_ending
        return "" if is_idle else _RUNNING

    def _said(self, session: Session, message_id: MessageId) -> list[Note]:
        """Return what the user wrote of a message."""
        notes = self._store.notes_in(session.info.id, message_id)
        return [note for note in notes if is_written(note)]


def _again(said: Sequence[Note]) -> list[Note]:
    """Return the same words as new notes: an id is never used again."""
    now = time.time()
    return [
        msgspec.structs.replace(note, id=new_note_id(), delivery="turn", created_at=now)
        for note in said
    ]


def _edits(notes: Sequence[Note]) -> list[EditLine]:
    """Return the edits of the task list that notes tell of."""
    told = (note.origin for note in notes)
    return [line for origin in told if isinstance(origin, TaskEdits) for line in origin.edits]


def _with_files(note: Note, said: Sequence[Note]) -> Note:
    """Return an edited note with the files of the message that it stands for."""
    files = (part for one in said for part in one.attachments)
    return msgspec.structs.replace(note, attachments=(*note.attachments, *files), delivery="turn")

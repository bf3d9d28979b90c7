"""Copies the branch of a session that is shown, up to a message: another session goes on from it.

Every id is new. What could be undone in files stays with the session that did it, and so do
messages that wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec

from desktop_agent.adapters.store.importing import EventRow, SessionFrame
from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    BranchStarted,
    FilesChanged,
    MessageAdded,
    SideCallEnded,
    StepEnded,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.sessions import SessionFileError, SessionInfo
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.usage import Usage
from desktop_agent.session_files.document import Ids, renewed

_ELSEWHERE = "no message of the user's with the id {} on the branch that is shown."


class Fork(msgspec.Struct, frozen=True):
    """What a new session begins with. `rows` are made anew, with new ids, each time."""

    frame: SessionFrame
    usage: Usage
    count: int
    _rows: Sequence[EventRow]
    _ids: Ids

    def rows(self) -> Iterator[EventRow]:
        """Yield the events, in order."""
        for row in self._rows:
            body = self._ids.replace(msgspec.json.encode(row.event))
            yield EventRow(row.seq, 0, row.at, msgspec.json.decode(body, type=AgentEvent))


def read(reader: SessionReader, info: SessionInfo, before: MessageId | None) -> Fork:
    """Return what was said right before a message; all of it, if none is named.

    Raises SessionFileError.
    """
    rows: list[EventRow] = []
    is_found = before is None
    for row in reader.shown_rows(info):
        if before is not None and _is_message(row.event, info.main_agent, before):
            is_found = True
            break
        if not isinstance(row.event, FilesChanged):
            rows.append(row)
    if not is_found:
        raise SessionFileError(f"The session has {_ELSEWHERE.format(before)}")
    rows += _endings(rows, info.main_agent, before)
    ids = renewed()
    ids.learn(b'"%s"' % info.main_agent.encode())
    for row in rows:
        ids.learn(msgspec.json.encode(row.event))
    frame = _frame(reader.frame(info), rows, before)
    renamed = msgspec.json.decode(ids.replace(msgspec.json.encode(frame)), type=SessionFrame)
    used = (row.event.usage for row in rows if isinstance(row.event, StepEnded | SideCallEnded))
    return Fork(renamed, sum(used, Usage()), len(rows), rows, ids)


def _is_message(event: AgentEvent, main: AgentId, message_id: MessageId) -> bool:
    return (
        isinstance(event, MessageAdded)
        and event.agent_id == main
        and event.message.id == message_id
        and event.message.role == "user"
    )


def _endings(
    rows: Sequence[EventRow], main: AgentId, before: MessageId | None
) -> Iterator[EventRow]:
    """Yield the ends of subagents that work on in the other session, and of what waits there."""
    last, now = rows[-1].seq if rows else 0, time.time()
    spawned = [row.event.agent_id for row in rows if isinstance(row.event, AgentSpawned)]
    ended = {row.event.agent_id for row in rows if isinstance(row.event, AgentEnded)}
    for agent_id in spawned:
        if agent_id not in ended:
            last += 1
            yield EventRow(last, 0, now, AgentEnded(agent_id, "stopped", "", now, by="app"))
    yield EventRow(last + 1, 0, now, BranchStarted(main, before or MessageId(""), now))


def _frame(whole: SessionFrame, rows: Sequence[EventRow], before: MessageId | None) -> SessionFrame:
    """Return the task lists as they were then."""
    main, versions, marked = whole.main_agent, dict(whole.versions), dict(whole.marks)
    state = whole.lists.get(main, TaskState())
    if before is not None and before in marked:
        state = versions.get(marked[before], state if marked[before] else TaskState())
    said = {row.event.message.id for row in rows if isinstance(row.event, MessageAdded)}
    marks = tuple((one, at) for one, at in whole.marks if one in said and at <= state.revision)
    kept = tuple((at, one) for at, one in whole.versions if at <= state.revision)
    return SessionFrame(main, (), {main: state}, kept, marks)


def info_of(info: SessionInfo, new: SessionInfo, fork: Fork) -> SessionInfo:
    """Return the row of the new session."""
    return msgspec.structs.replace(
        new,
        main_agent=fork.frame.main_agent,
        title=f"{info.title} (fork)",
        model=info.model,
        api_base=info.api_base,
        mode=info.mode,
        # One that was never changed would count as a session in which nothing was said.
        created_at=min(info.created_at, new.updated_at - 1),
        usage=fork.usage,
    )


def fork_of(
    reader: SessionReader, session_id: SessionId, before: MessageId | None
) -> tuple[SessionInfo, Fork]:
    """Return a session's row and what its fork begins with. Raises SessionFileError."""
    try:
        info = reader.session(session_id)
    except LookupError as error:
        raise SessionFileError(f"There is no session {session_id}.") from error
    return info, read(reader, info, before)

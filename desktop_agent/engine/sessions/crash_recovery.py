"""Closing what a crash left open, so that the session can go on and says what happened."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    Happening,
    MessageAdded,
    NoteQueued,
    NoteReturned,
    QuestionAnswered,
    QuestionAsked,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, SessionId, new_message_id
from desktop_agent.core.messages import (
    UNKNOWN_OUTCOME,
    Message,
    TextPart,
    ToolResult,
    open_calls,
)
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.facts import CutShort
from desktop_agent.core.parts.origins import Report
from desktop_agent.engine.agent.inbox import why_unread
from desktop_agent.engine.base.ports import AgentRecord
from desktop_agent.engine.tree.reports import report_note

_SOON_S = 5.0


def closing_events(record: AgentRecord, recent: Sequence[Happening]) -> tuple[Happening, ...]:
    """Return what has to be recorded for an agent whose turn has no end.

    Results that were recorded are kept, calls without one are marked unknown and are not run
    again, open requests and questions are withdrawn, the turn ends as `interrupted`.
    `recent` are the session's newest happenings.
    """
    agent_id = record.agent_id
    if record.end is not None:  # killed before it had given back what it did not read
        why, by = why_unread(record.end.status), record.end.by
        unread = (*record.unconfirmed, *record.inbox)
        return tuple(NoteReturned(agent_id, note.id, why, by) for note in unread)
    own = [event for event in recent if event.agent_id == agent_id]
    events: list[Happening] = []
    events.extend(_withdrawn(own))
    events.extend(NoteQueued(agent_id, note) for note in _never_said(record))
    events.extend(_closed_calls(agent_id, record.history, own))
    fault = Fault("internal", "The app ended while this was running.", "continue")
    events.append(TurnEnded(agent_id, "interrupted", fault=fault, at=time.time()))
    return tuple(events)


def unreported(records: Sequence[AgentRecord]) -> list[NoteQueued]:
    """Return the reports that were not written: killed after a subagent's end, before them."""
    by_id = {record.agent_id: record for record in records}
    reports: list[NoteQueued] = []
    for record in records:
        parent = by_id.get(record.spec.parent_id) if record.spec is not None else None
        if parent is None or record.spec is None or record.end is None or parent.end is not None:
            continue
        end = record.end
        if _went_on(parent, end.at) or _has_report(parent, record.agent_id):
            continue
        report = Report(record.agent_id, record.spec.name, end.status)
        reports.append(NoteQueued(parent.agent_id, report_note(report, end.text)))
    return reports


def _has_report(parent: AgentRecord, child: AgentId) -> bool:
    notes = (*parent.inbox, *parent.unconfirmed)
    if any(note.kind == "report" and note.sender == child for note in notes):
        return True
    parts = [part for message in parent.history for part in message.parts]
    return any(
        isinstance(part, TextPart)
        and isinstance(part.origin, Report)
        and part.origin.agent_id == child
        for part in parts
    )


def _went_on(parent: AgentRecord, at: float) -> bool:
    """Whether it said or read something since: then it had the report, compacted by now."""
    return any(message.created_at > at + _SOON_S for message in parent.history)


def info_of_record(record: AgentRecord, session_id: SessionId) -> AgentInfo:
    """Return a subagent's snapshot from its record alone; one that did not end is paused."""
    spec, end = record.spec, record.end
    assert spec is not None
    return AgentInfo(
        id=record.agent_id,
        session_id=session_id,
        name=spec.name,
        status=end.status if end is not None else "paused",
        parent_id=spec.parent_id,
        step=end.steps if end is not None else record.step,
        usage=end.usage if end is not None else record.usage,
        started_at=spec.started_at,
        active_at=end.at if end is not None else spec.started_at,
        role=spec.role,
        model=spec.model,
        budget=spec.budget,
        tools_run=end.tools_run if end is not None else record.tools_run,
        task_id=spec.task_id,
        ended_at=end.at if end is not None else 0.0,
        paused=end.paused if end is not None else 0.0,
        result=" ".join(end.text.split())[:300] if end is not None else "",
    )


def _closed_calls(
    agent_id: AgentId, history: Sequence[Message], own: Sequence[Happening]
) -> list[Happening]:
    calls = open_calls(history)
    if not calls:
        return []
    known = {e.result.call_id: e.result for e in own if isinstance(e, ToolEnded)}
    events: list[Happening] = []
    results: list[ToolResult] = []
    for call in calls:
        result = known.get(call.id)
        if result is None:
            result = ToolResult(call.id, UNKNOWN_OUTCOME, is_error=True, facts=CutShort())
            events.append(ToolEnded(agent_id, result, "unknown"))
        results.append(result)
    message = Message(new_message_id(), "tool", tuple(results), created_at=time.time())
    return [*events, MessageAdded(agent_id, message)]


def _never_said(record: AgentRecord) -> list[Note]:
    said = {note_id for message in record.history for note_id in message.note_ids}
    return [note for note in record.unconfirmed if note.id not in said]


def _withdrawn(own: Iterable[Happening]) -> list[Happening]:
    """Return what settles the requests and questions that were open."""
    settling: dict[str, Happening] = {}
    for event in own:
        match event:
            case ApprovalRequested(agent_id=agent_id, request=request):
                no = Deny(by="withdrawn")
                settling[request.id] = ApprovalResolved(agent_id, request.id, no)
            case QuestionAsked(agent_id=agent_id, question=question):
                settling[question.id] = QuestionAnswered(agent_id, question.id, "", "withdrawn")
            case ApprovalResolved(request_id=settled) | QuestionAnswered(question_id=settled):
                settling.pop(settled, None)
            case _:
                pass
    return list(settling.values())

"""Closing what a crash left open, so that the session can go on and says what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
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
    owes_reply,
)
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.facts import CutShort
from desktop_agent.core.parts.origins import Report
from desktop_agent.core.sessions import SessionStatus
from desktop_agent.engine.agent.inbox import why_unread
from desktop_agent.engine.base.ports import AgentRecord, Store
from desktop_agent.engine.tree.reports import last_text, report_note

_SOON_S = 5.0
_PAGE = 400


def newest_events(store: Store, session_id: SessionId, agent_id: AgentId) -> Sequence[AgentEvent]:
    """Return an agent's newest events: its last message, and so all that its calls did, included.

    They are its own: what others stream beside it must not push these out.
    """
    page = store.page(session_id, None, _PAGE, agent_id)
    events = list(page.events)
    while page.first_seq > 1 and not any(isinstance(e, MessageAdded) for e in page.events):
        page = store.page(session_id, page.first_seq, _PAGE, agent_id)
        events[:0] = page.events
    return events


def recovered(
    records: Sequence[AgentRecord],
    recent: Callable[[AgentId], Sequence[AgentEvent]],
    *,
    keeps_far: bool,
) -> tuple[tuple[AgentEvent, ...], SessionStatus]:
    """Return what has to be recorded of a session that was under way, and how it stands then.

    `recent` returns an agent's `newest_events`. What is at work at a place stays as it is if it
    `keeps_far`: only what it asked here is withdrawn, for the place asks again.
    """
    events: list[AgentEvent] = []
    known = list(records)
    for place, record in enumerate(known):
        is_open = record.was_running or record.inbox or record.unconfirmed
        if not is_open and (record.spec is None or record.end is not None):
            continue
        own = recent(record.agent_id)
        if keeps_far and record.is_far_at_work:
            events.extend(_withdrawn(own))
            continue
        if is_open:
            events.extend(closing_events(record, own))
        if (end := completed(record, known, own)) is not None:
            events.append(end)
            known[place] = replace(record, end=end)
    events.extend(unreported(known))
    if keeps_far:
        return tuple(events), "running"
    is_cut = any(one.spec is not None and one.end is None for one in known)
    is_cut |= any(isinstance(e, TurnEnded) and e.reason == "interrupted" for e in events)
    return tuple(events), "interrupted" if is_cut else "idle"


def closing_events(record: AgentRecord, recent: Sequence[AgentEvent]) -> tuple[AgentEvent, ...]:
    """Return what has to be recorded for an agent whose turn has no end.

    Results that were recorded are kept, calls without one are marked unknown and are not run
    again, open requests and questions are withdrawn. The turn ends as `interrupted`, but as
    `finished` when all that was missing was to say so. `recent` are its `newest_events`.
    """
    agent_id = record.agent_id
    if record.end is not None:  # killed before it had given back what it did not read
        why, by = why_unread(record.end.status), record.end.by
        unread = (*record.unconfirmed, *record.inbox)
        return tuple(NoteReturned(agent_id, note.id, why, by) for note in unread)
    own = [event for event in recent if event.agent_id == agent_id]
    events: list[AgentEvent] = []
    events.extend(_withdrawn(own))
    events.extend(NoteQueued(agent_id, note) for note in _never_said(record))
    events.extend(_closed_calls(agent_id, record.history, own))
    now = time.time()
    if record.was_running and _has_answered(record, own):
        events.append(TurnEnded(agent_id, "finished", at=now))
    else:
        fault = Fault("internal", "The app ended while this was running.", "continue")
        events.append(TurnEnded(agent_id, "interrupted", fault=fault, at=now))
    return tuple(events)


def completed(
    record: AgentRecord, records: Sequence[AgentRecord], recent: Sequence[AgentEvent]
) -> AgentEnded | None:
    """Return the end of a subagent that had finished when the app ended before it said so."""
    own = [event for event in recent if event.agent_id == record.agent_id]
    turns = [event.reason for event in own if isinstance(event, TurnEnded)]
    children = [one for one in records if one.spec and one.spec.parent_id == record.agent_id]
    unread = any(report.agent_id == record.agent_id for report in unreported(records))
    if (
        record.spec is None
        or record.end is not None
        or unread
        or any(child.end is None for child in children)
        or not _has_answered(record, own)
        or not (record.was_running or turns[-1:] == ["finished"])
    ):
        return None
    text = last_text(record.history)
    used = (record.usage, record.tools_run, record.step)
    return AgentEnded(record.agent_id, "completed", text, time.time(), *used)


def _has_answered(record: AgentRecord, own: Sequence[AgentEvent]) -> bool:
    """Whether it had said its last word, and nothing waits for it."""
    said = [event for event in own if isinstance(event, MessageAdded)]
    # The history may end with what was cut off while it streamed, and is no event yet.
    is_last = bool(said) and [said[-1].message] == list(record.history[-1:])
    is_whole = is_last and not said[-1].is_partial
    has_open = bool(record.inbox or _never_said(record) or open_calls(record.history))
    return is_whole and not has_open and not owes_reply(record.history)


def unreported(records: Sequence[AgentRecord]) -> list[NoteQueued]:
    """Return the reports that were not written: killed after a subagent's end, before them."""
    by_id = {record.agent_id: record for record in records}
    reports: list[NoteQueued] = []
    for record in records:
        parent = by_id.get(record.spec.parent_id) if record.spec is not None else None
        if parent is None or record.spec is None or record.end is None or parent.end is not None:
            continue
        if record.is_elsewhere:  # who started it was told on that branch
            continue
        end = record.end
        # The time alone does not tell: the clock may have been put back.
        went_on = record.is_end_known and _went_on(parent, end.at)
        if went_on or _has_report(parent, record.agent_id):
            continue
        report = Report(record.agent_id, record.spec.name, end.status)
        reports.append(NoteQueued(parent.agent_id, report_note(report, end.text)))
    return reports


def _has_report(parent: AgentRecord, child: AgentId) -> bool:
    notes = (*parent.inbox, *parent.unconfirmed)
    if any(note.kind == "report" and note.sender == child for note in notes):
        return True
    said = (*parent.left_out, *parent.history)
    parts = [part for message in said for part in message.parts]
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
        usage=record.usage,
        started_at=spec.started_at,
        active_at=end.at if end is not None else spec.started_at,
        role=spec.role,
        model=spec.model,
        api_base=spec.api_base,
        budget=spec.budget,
        tools_run=end.tools_run if end is not None else record.tools_run,
        task_id=spec.task_id,
        ended_at=end.at if end is not None else 0.0,
        paused=end.paused if end is not None else 0.0,
        result=" ".join(end.text.split())[:300] if end is not None else "",
    )


def _closed_calls(
    agent_id: AgentId, history: Sequence[Message], own: Sequence[AgentEvent]
) -> list[AgentEvent]:
    calls = open_calls(history)
    if not calls:
        return []
    known = {e.result.call_id: e.result for e in own if isinstance(e, ToolEnded)}
    events: list[AgentEvent] = []
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
    messages = (*record.left_out, *record.history)
    said = {note_id for message in messages for note_id in message.note_ids}
    return [note for note in record.unconfirmed if note.id not in said]


def _withdrawn(own: Iterable[AgentEvent]) -> list[AgentEvent]:
    """Return what settles the requests and questions that were open."""
    settling: dict[str, AgentEvent] = {}
    for event in own:
        match event:
            case ApprovalRequested(agent_id=agent_id, request=request):
                denied = Deny(by="withdrawn")
                settling[request.id] = ApprovalResolved(agent_id, request.id, denied, request.there)
            case QuestionAsked(agent_id=agent_id, question=question):
                no = QuestionAnswered(agent_id, question.id, "", "withdrawn", question.there)
                settling[question.id] = no
            case ApprovalResolved(request_id=settled) | QuestionAnswered(question_id=settled):
                settling.pop(settled, None)
            case _:
                pass
    return list(settling.values())

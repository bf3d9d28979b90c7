"""The words in which an agent's end is told: its outcome, what it left, the report."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.core.agents import EndStatus, StopReason
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.messages import Message
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import Report
from desktop_agent.engine.agent.agent import Agent

# A longer report is shortened; agent_result gives the whole.
REPORT_LIMIT = 4_000
_NOTE_SHOWN = 200

_ENDED_AS: dict[EndStatus, str] = {
    "completed": "completed",
    "failed": "failed",
    "stopped": "was stopped",
    "over_budget": "reached its limit",
}


def outcome(agent: Agent, reason: StopReason, fault: Fault | None) -> tuple[EndStatus, str]:
    """Return what a turn's end means for a subagent, and the text it ends with."""
    match reason:
        case "finished":
            return "completed", last_text(agent.history)
        case "cancelled" | "interrupted":
            return "stopped", effects(agent)
        case "step_limit" | "budget":
            return "over_budget", last_text(agent.history) or "It reached its limit."
        case "error":
            return "failed", fault.message if fault is not None else "It failed."


def effects(agent: Agent) -> str:
    """Say what a stopped agent had run, and what of it could not be ended."""
    count = agent.meter.tools_run
    text = "stopped before it ran any tools"
    if count:
        tools = "1 tool" if count == 1 else f"{count} tools"
        text = f"stopped after {tools}; side effects may exist"
    if agent.commands.alive:
        pids = ", ".join(f"pid {pid}" for pid in agent.commands.alive)
        text += f"; could not be ended and still runs: {pids}"
    return text


def report(
    agent: Agent, status: EndStatus, text: str, unread: Sequence[str], task: tuple[str, str]
) -> Note:
    """Return what the parent is told: `unread` are notes of its own that came too late.

    `task` is the status that the agent's task has now, if it was changed, and a remark on it.
    """
    task_status, remark = task
    remarks = [remark] if remark else []
    if status != "completed" and effects(agent) != text:
        remarks.insert(0, effects(agent))
    remarks += [f"It did not read your note: {shortened(note, _NOTE_SHOWN)}" for note in unread]
    if agent.left_behind:
        remarks.insert(0, agent.left_behind)
    task_id = agent.spec.task_id if agent.spec is not None else 0
    told = Report(agent.id, agent.name, status, tuple(remarks), task_id, task_status)
    return report_note(told, text)


def report_note(report: Report, text: str) -> Note:
    """Return the note of a report; a long text is shortened, and the remarks say so."""
    if len(text) > REPORT_LIMIT:
        rest = f"shortened: agent_result gives all {len(text)} characters"
        report = replace(report, remarks=(rest, *report.remarks))
        text = f"{text[:REPORT_LIMIT]}\n…"
    now = time.time()
    return Note(
        new_note_id(), text, "report", sender=report.agent_id, created_at=now, origin=report
    )


def task_is_free(number: int, status: EndStatus) -> str:
    """Say that a task waits again, and why."""
    return f"Task #{number} is pending again: its subagent {_ENDED_AS[status]}."


def last_text(history: Sequence[Message]) -> str:
    """Return the newest words of the model's."""
    for message in reversed(history):
        if message.role == "assistant" and message.text.strip():
            return message.text.strip()
    return ""


def shortened(text: str, limit: int) -> str:
    """Return a text on one line, cut with `…` after a whole word."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    whole = cut if flat[limit - 1] == " " else cut.rpartition(" ")[0]
    # A word that takes more than half of the room is cut itself.
    return f"{(whole if len(whole) * 2 >= limit else cut).rstrip()}…"

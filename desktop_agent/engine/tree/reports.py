"""The words in which an agent's end is told: its outcome, what it left, the report."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.agents import EndStatus, StopReason
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
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


def report(agent: Agent, status: EndStatus, text: str, unread: Sequence[str], remark: str) -> str:
    """Return what the parent is told: `unread` are notes of its own that came too late."""
    lines = [head(agent.name, agent.id, status)]
    if status != "completed" and effects(agent) != text:
        lines.append(effects(agent))
    if text:
        lines.append(body(agent.id, text))
    if remark:
        lines.append(remark)
    lines += [f"It did not read your note: {shortened(note, _NOTE_SHOWN)}" for note in unread]
    return "\n".join(lines)


def head(name: str, agent_id: AgentId, status: EndStatus) -> str:
    """Return the line by which a report is known."""
    return f"[Report from {name} ({agent_id}): {status}]"


def body(agent_id: AgentId, text: str) -> str:
    """Return a result as it stands in a report."""
    if len(text) <= REPORT_LIMIT:
        return text
    rest = f'agent_result(agent_id: "{agent_id}") gives all {len(text)} characters'
    return f"{text[:REPORT_LIMIT]}\n… (shortened; {rest})"


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

"""What an exported session says beside the words of the people and models in it."""

from __future__ import annotations

import datetime
import json
import re
import unicodedata
from collections.abc import Sequence

from desktop_agent.core.approvals import ApprovalRequest, Decision, Deny
from desktop_agent.core.changes import ChangedFile, ChangeSet
from desktop_agent.core.events import TurnEnded
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.messages import FilesDisplay, OutputDisplay, ToolCall, ToolResult
from desktop_agent.core.sessions import SessionInfo

QUESTION = "Question"
CLEARED = "Context cleared: from here on the agent knows nothing of what stands above"
BROKEN_OFF = "The answer broke off here."
_VERBS = {
    "read": "Read", "write": "Write", "edit": "Edit", "glob": "Find files", "grep": "Search",
    "shell": "Run", "shell_job": "Background command", "shell_input": "Type into command",
    "web_fetch": "Fetch", "spawn": "Start subagent", "wait": "Wait for subagents",
    "agent_result": "Read a subagent’s result", "steer": "Steer a subagent",
    "probe": "Probe a subagent", "ask_parent": "Ask", "answer_child": "Answer a subagent",
    "stop": "Stop a subagent", "TaskCreate": "Add a task", "TaskUpdate": "Update task",
    "TaskGet": "Look at task", "TaskList": "Look at the tasks", "skill": "Load a skill",
}  # fmt: skip
_TARGETS = (
    "pattern", "job_id", "path", "file_path", "command", "url", "query", "question", "description",
    "note", "answer", "subject", "taskId", "name",
)  # fmt: skip
_SPEAKERS = {
    "user": "You", "parent": "The agent that started it", "agent": "Another agent",
    "app": "The app", "edits": "Your edits of the task list",
}  # fmt: skip
_OUTCOMES = {
    "ok": "", "failed": "failed", "denied": "not allowed", "cancelled": "stopped",
    "unknown": "outcome unknown",
}  # fmt: skip
_ENDS = {
    "completed": "done", "failed": "failed", "stopped": "stopped",
    "over_budget": "ended at its budget",
}  # fmt: skip
_TURN_ENDS = {
    "cancelled": "Stopped", "step_limit": "Stopped: the limit of steps was reached",
    "budget": "Stopped by the budget", "interrupted": "The app ended while this was running",
}  # fmt: skip
_LONGEST = 400
_HIDDEN = frozenset({"Cc", "Cs"})
_TERMINAL = re.compile(r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]")
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def clean(text: str) -> str:
    """Return the text without keys, and without what steers a terminal or a line's direction.

    Ends of lines stay. To be called before anything is escaped, which may hide a key.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            one for one in _TERMINAL.sub("", text).replace("\r\n", "\n")
            if one in "\n\t"
            or (one not in _DIRECTION and unicodedata.category(one) not in _HIDDEN)
        )  # fmt: skip
    return redact(text)


def one_line(text: str, limit: int = _LONGEST) -> str:
    """Return the text on one line, cut with `…`."""
    line = " ".join(clean(text[: limit * 8]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def title(info: SessionInfo) -> str:
    """Return the session's title."""
    return one_line(info.title) or "Session"


def about(info: SessionInfo) -> str:
    """Return where, when and with which model the session was."""
    said = [info.workspace.name, info.model, day(info.created_at)]
    if (cost := info.usage.cost) is not None:
        said.append(f"${cost:,.2f}")
    return " · ".join(one_line(one) for one in said if one)


def day(at: float) -> str:
    """Return date and time of day here, empty where they are not known."""
    try:
        return datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if at > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def speaker(kind: str) -> str:
    """Return who speaks."""
    return _SPEAKERS.get(kind, kind)


def call(made: ToolCall) -> tuple[str, str]:
    """Return what a call does, and what it acts on."""
    verb = _VERBS.get(made.name) or one_line(made.name.replace("_", " ").capitalize(), 80)
    for name in _TARGETS:
        value = made.arguments.get(name)
        if isinstance(value, str | int) and value:
            return verb, one_line(str(value))
    rest = json.dumps(made.arguments, ensure_ascii=False, default=str) if made.arguments else ""
    return verb, one_line(rest or made.raw)


def outcome(kind: str, result: ToolResult | None, seconds: float) -> str:
    """Return how a call went, in short."""
    said = [_OUTCOMES.get(kind, kind)]
    match result.display if result is not None else None:
        case FilesDisplay(summary=summary):
            said.append(one_line(summary))
        case OutputDisplay(exit_code=code) if code:
            said.append(f"exit {code}")
        case _:
            pass
    if seconds >= 0.1:
        said.append(duration(seconds))
    return ", ".join(one for one in said if one)


def duration(seconds: float) -> str:
    """Return `4.2 s`, `3 min 4 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60):,} min {int(seconds % 60)} s"


def files(changes: Sequence[ChangeSet]) -> list[str]:
    """Return a line for each file that a call changed."""
    return [_file(one) for made in changes for one in made.files]


def undone(changes: ChangeSet) -> str:
    """Return what became of an undo."""
    names = ", ".join(one_line(one.path, 120) for one in changes.files[:5])
    more = f" and {changes.count - 5} more" if changes.count > 5 else ""
    return f"Changes to files were undone: {names}{more}" if names else "Changes were undone"


def decision(request: ApprovalRequest, made: Decision) -> str:
    """Return what was asked and decided."""
    is_no = isinstance(made, Deny)
    said = "Not allowed" if is_no else "Allowed"
    return f"{said}: {one_line(request.title)}"


def answer(text: str, by: str) -> str:
    """Return the answer to a question."""
    if by == "withdrawn":
        return "Not answered: it was stopped."
    return f"Answered: {one_line(text, 2000)}" if text.strip() else "Skipped"


def compaction(count: int, aside: int) -> str:
    """Return what a compaction left out of requests."""
    if count:
        return f"Earlier work summarised: {count:,} messages"
    return f"Older outputs put aside: {aside:,}"


def turn_end(event: TurnEnded) -> str:
    """Return how a turn ended, empty where it finished."""
    if event.fault is not None:
        return one_line(event.fault.message, 2000)
    return _TURN_ENDS.get(event.reason, "")


def report(name: str, status: str) -> str:
    """Return the head of a subagent's report."""
    return f"{one_line(name, 80)}: {_ENDS.get(status, one_line(status, 40) or 'report')}"


def asked(name: str) -> str:
    """Return the head of a subagent's question."""
    return f"{one_line(name, 80)} asked"


def told(name: str) -> str:
    """Return the head of what the user told a subagent."""
    return f"You told {one_line(name, 80)}"


def _file(one: ChangedFile) -> str:
    counts = f" +{one.added} −{one.removed}" if one.added >= 0 and one.removed >= 0 else ""
    return f"{one.kind} {one_line(one.path)}{counts}"

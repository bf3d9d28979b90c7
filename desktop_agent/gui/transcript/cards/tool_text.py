"""What a tool call's card says: an icon, a verb, what it acts on, and what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.messages import (
    DiffDisplay,
    FilesDisplay,
    OutputDisplay,
    ToolCall,
)
from desktop_agent.gui.kit.safe_text import duration_text, terminal_text, with_marks
from desktop_agent.gui.transcript.state.items import ToolItem

translate = QCoreApplication.translate

_ICONS = {
    "read": "file-text",
    "write": "file-plus",
    "edit": "pencil",
    "glob": "folder-search",
    "grep": "search",
    "shell": "terminal",
    "shell_job": "terminal",
    "shell_input": "terminal",
    "web_fetch": "globe",
    "ask_user": "message-circle-question-mark",
}
# What agents say to each other: the icon, and the argument that holds the words.
_TEAM = {
    "spawn": ("bot", "description"),
    "wait": ("clock", ""),
    "agent_result": ("file-text", ""),
    "steer": ("pencil", "note"),
    "probe": ("radar", "question"),
    "ask_parent": ("message-circle-question-mark", "question"),
    "answer_child": ("message-circle-reply", "answer"),
    "stop": ("square", ""),
}
# What an agent does for itself: the icon, and the argument that says what it is about.
_OWN = {
    "TaskCreate": ("list-checks", "subject"),
    "TaskUpdate": ("list-checks", "taskId"),
    "TaskGet": ("list-checks", "taskId"),
    "TaskList": ("list-checks", ""),
    "skill": ("zap", "name"),
}
_TARGETS = ("job_id", "path", "file_path", "command", "pattern", "url", "query", "question", "name")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ToolText:
    """`path` is set when the target is a file that can be opened; `is_prose` for a sentence."""

    icon: str
    verb: str
    target: str
    path: str = ""
    is_prose: bool = False


def tool_text(call: ToolCall, doing: str = "") -> ToolText:
    """Return the words for a call; a tool that isn't known here says itself what it does."""
    if call.name in _TEAM:
        return _agent_tool_text(call)
    if call.name not in _ICONS and doing:
        icon, _ = _OWN.get(call.name, ("zap", ""))
        return ToolText(icon, with_marks(doing[:1].upper() + doing[1:])[:_LONGEST], "")
    if call.name in _OWN:
        return _own_tool_text(call)
    target = _target(call)
    shown = with_marks(" ".join(target.split()))[:_LONGEST]
    if call.name == "grep" and shown:
        shown = f"“{shown}”"
    path = target if "path" in call.arguments and call.name in {"read", "write", "edit"} else ""
    return ToolText(_ICONS.get(call.name, "zap"), _verb(call.name), shown, path)


def _agent_tool_text(call: ToolCall) -> ToolText:
    """Return the words for what an agent says to others, with what it says."""
    icon, argument = _TEAM[call.name]
    verb = {
        "spawn": translate("Transcript", "Start subagent"),
        "wait": translate("Transcript", "Wait for subagents"),
        "agent_result": translate("Transcript", "Read a subagent's result"),
        "steer": translate("Transcript", "Steer a subagent"),
        "probe": translate("Transcript", "Probe a subagent"),
        "ask_parent": translate("Transcript", "Ask"),
        "answer_child": translate("Transcript", "Answer a subagent"),
        "stop": translate("Transcript", "Stop a subagent"),
    }[call.name]
    return ToolText(icon, verb, _said(call, argument), is_prose=True)


def _own_tool_text(call: ToolCall) -> ToolText:
    """Return the words for a call that did not run, or whose beginning is not loaded."""
    icon, argument = _OWN[call.name]
    verb = {
        "TaskCreate": translate("Transcript", "Add a task"),
        "TaskUpdate": translate("Transcript", "Update task"),
        "TaskGet": translate("Transcript", "Look at task"),
        "TaskList": translate("Transcript", "Look at the tasks"),
        "skill": translate("Transcript", "Load a skill"),
    }[call.name]
    return ToolText(icon, verb, _said(call, argument), is_prose=True)


def _said(call: ToolCall, argument: str) -> str:
    said = call.arguments.get(argument, "")
    return with_marks(" ".join(str(said).split()))[:_LONGEST] if said else ""


def result_text(item: ToolItem) -> str:
    """Return a few words on how the call went; the first line of an error."""
    result = item.result
    if item.state == "failed" and result is not None:
        return error_line(item)
    words: list[str] = []
    match result.display if result is not None else None:
        case FilesDisplay(summary=summary) if summary:
            words.append(summary)
        case OutputDisplay(exit_code=code) if code:
            words.append(translate("Transcript", "exit {code}").format(code=code))
        case _:
            pass
    if item.seconds >= 0.1:
        words.append(duration_text(item.seconds))
    return "  ".join(words)


def error_line(item: ToolItem) -> str:
    """Return the first telling line of a failed call."""
    result = item.result
    if result is None:
        return ""
    display = result.display
    if isinstance(display, OutputDisplay) and display.exit_code:
        exit_text = translate("Transcript", "exit {code}").format(code=display.exit_code)
        return f"{exit_text}  {duration_text(item.seconds)}" if item.seconds else exit_text
    lines = [line.strip() for line in result.text.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    return with_marks(first.removeprefix("Error: "))[:_LONGEST]


def state_text(state: str) -> str:
    """Return a tool call's state, for people."""
    return {
        "queued": translate("Transcript", "waiting its turn"),
        "waiting": translate("Transcript", "waiting for you"),
        "running": translate("Transcript", "running"),
        "ok": translate("Transcript", "done"),
        "failed": translate("Transcript", "failed"),
        "denied": translate("Transcript", "not allowed"),
        "stopped": translate("Transcript", "stopped"),
        "unknown": translate("Transcript", "outcome unknown"),
    }[state]


def output_of(item: ToolItem) -> str:
    """Return the text for the card's details."""
    result = item.result
    if result is None:
        return terminal_text(item.output)
    match result.display:
        case OutputDisplay(text=text):
            return terminal_text(text)
        case FilesDisplay(paths=paths) if paths and item.call.name == "glob":
            return with_marks("\n".join(paths))
        case _:
            return terminal_text(result.text)


def diff_of(item: ToolItem) -> DiffDisplay | None:
    """Return the change of a file, if that is what the call made."""
    display = item.result.display if item.result is not None else None
    return display if isinstance(display, DiffDisplay) else None


def summary(item: ToolItem) -> str:
    """Return the card in one sentence, for copying, finding and screen readers."""
    words = tool_text(item.call, item.doing)
    said = [f"{words.verb} {words.target}".strip(), state_text(item.state)]
    diff = diff_of(item)
    if diff is not None:
        counts = translate("Transcript", "{added} added, {removed} removed")
        said.append(counts.format(added=diff.added, removed=diff.removed))
    elif result := result_text(item):
        said.append(result)
    return ", ".join(said)


def group_text(name: str, count: int) -> str:
    """Return the words for calls that are grouped."""
    words = {
        "read": translate("Transcript", "Read {count} files"),
        "glob": translate("Transcript", "Looked for files {count} times"),
        "grep": translate("Transcript", "Searched {count} times"),
        "web_fetch": translate("Transcript", "Fetched {count} pages"),
    }
    return words[name].format(count=count)


def _verb(name: str) -> str:
    verbs = {
        "read": translate("Transcript", "Read"),
        "write": translate("Transcript", "Write"),
        "edit": translate("Transcript", "Edit"),
        "glob": translate("Transcript", "Find files"),
        "grep": translate("Transcript", "Search"),
        "shell": translate("Transcript", "Run"),
        "shell_job": translate("Transcript", "Background command"),
        "shell_input": translate("Transcript", "Type into command"),
        "web_fetch": translate("Transcript", "Fetch"),
        "ask_user": translate("Transcript", "Ask you"),
    }
    return verbs.get(name) or name.replace("_", " ").capitalize()


def _target(call: ToolCall) -> str:
    order = ("pattern", *_TARGETS) if call.name in {"grep", "glob"} else _TARGETS
    for name in order:
        value = call.arguments.get(name)
        if isinstance(value, str) and value:
            return value
    if call.arguments:
        return json.dumps(call.arguments, ensure_ascii=False, default=str)
    return call.raw

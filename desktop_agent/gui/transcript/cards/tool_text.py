"""What a tool call's card says: an icon, a verb, what it acts on, and what came of it."""

from __future__ import annotations

import json

import msgspec
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from desktop_agent.core.messages import DiffDisplay, FilesDisplay, OutputDisplay, ToolCall
from desktop_agent.gui.kit.safe_text import duration_text, path_text, terminal_text, with_marks
from desktop_agent.gui.transcript.cards.changes_text import files_text, undone_text
from desktop_agent.gui.transcript.state.items import ToolItem

translate = QCoreApplication.translate

# Icon and verb of the tools that act on files, programs and addresses.
_TOOLS = {
    "read": ("file-text", QT_TRANSLATE_NOOP("Transcript", "Read")),
    "write": ("file-plus", QT_TRANSLATE_NOOP("Transcript", "Write")),
    "edit": ("pencil", QT_TRANSLATE_NOOP("Transcript", "Edit")),
    "glob": ("folder-search", QT_TRANSLATE_NOOP("Transcript", "Find files")),
    "grep": ("search", QT_TRANSLATE_NOOP("Transcript", "Search")),
    "shell": ("terminal", QT_TRANSLATE_NOOP("Transcript", "Run")),
    "shell_job": ("terminal", QT_TRANSLATE_NOOP("Transcript", "Background command")),
    "shell_input": ("terminal", QT_TRANSLATE_NOOP("Transcript", "Type into command")),
    "web_fetch": ("globe", QT_TRANSLATE_NOOP("Transcript", "Fetch")),
    "ask_user": ("message-circle-question-mark", QT_TRANSLATE_NOOP("Transcript", "Ask you")),
}
# What agents say to each other: icon, verb, and the argument that holds the text.
_TEAM = {
    "spawn": ("bot", QT_TRANSLATE_NOOP("Transcript", "Start subagent"), "description"),
    "wait": ("clock", QT_TRANSLATE_NOOP("Transcript", "Wait for subagents"), ""),
    "agent_result": ("file-text", QT_TRANSLATE_NOOP("Transcript", "Read a subagent's result"), ""),
    "steer": ("pencil", QT_TRANSLATE_NOOP("Transcript", "Steer a subagent"), "note"),
    "probe": ("radar", QT_TRANSLATE_NOOP("Transcript", "Probe a subagent"), "question"),
    "ask_parent": (
        "message-circle-question-mark",
        QT_TRANSLATE_NOOP("Transcript", "Ask"),
        "question",
    ),
    "answer_child": (
        "message-circle-reply",
        QT_TRANSLATE_NOOP("Transcript", "Answer a subagent"),
        "answer",
    ),
    "stop": ("square", QT_TRANSLATE_NOOP("Transcript", "Stop a subagent"), ""),
}
# What an agent does for itself; a call that began says itself what it does.
_OWN = {
    "TaskCreate": ("list-checks", QT_TRANSLATE_NOOP("Transcript", "Add a task"), "subject"),
    "TaskUpdate": ("list-checks", QT_TRANSLATE_NOOP("Transcript", "Update task"), "taskId"),
    "TaskGet": ("list-checks", QT_TRANSLATE_NOOP("Transcript", "Look at task"), "taskId"),
    "TaskList": ("list-checks", QT_TRANSLATE_NOOP("Transcript", "Look at the tasks"), ""),
    "skill": ("zap", QT_TRANSLATE_NOOP("Transcript", "Load a skill"), "name"),
}
_TARGETS = ("job_id", "path", "file_path", "command", "pattern", "url", "query", "question", "name")
_LONGEST = 400


class ToolText(msgspec.Struct, frozen=True):
    """`path` is set when the target is a file that can be opened; `is_prose` for a sentence."""

    icon: str
    verb: str
    target: str
    path: str = ""
    is_prose: bool = False


def tool_text(call: ToolCall, doing: str = "") -> ToolText:
    """Return what a call does; a tool that isn't known here says it itself."""
    if call.name in _TEAM or (call.name in _OWN and not doing):
        icon, verb, argument = (_TEAM | _OWN)[call.name]
        said = with_marks(" ".join(str(call.arguments.get(argument) or "").split()))[:_LONGEST]
        return ToolText(icon, translate("Transcript", str(verb)), said, is_prose=True)
    if doing and call.name not in _TOOLS:
        icon = _OWN[call.name][0] if call.name in _OWN else "zap"
        return ToolText(icon, with_marks(doing[:1].upper() + doing[1:])[:_LONGEST], "")
    icon, verb = _TOOLS.get(call.name, ("zap", ""))
    verb = translate("Transcript", str(verb)) if verb else call.name.replace("_", " ").capitalize()
    target = _target(call)
    is_path = "path" in call.arguments and call.name in {"read", "write", "edit"}
    shown = (path_text(target) if is_path else with_marks(" ".join(target.split())))[:_LONGEST]
    if call.name == "grep" and shown:
        shown = f"“{shown}”"
    return ToolText(icon, verb, shown, target if is_path else "")


def result_text(item: ToolItem) -> str:
    """Return how the call went, in short; the first line of an error."""
    result = item.result
    if item.state == "failed" and result is not None:
        return error_line(item)
    said: list[str] = []
    match result.display if result is not None else None:
        case FilesDisplay(summary=what) if what:
            said.append(what)
        case OutputDisplay(exit_code=code) if code:
            said.append(translate("Transcript", "exit {code}").format(code=code))
        case _:
            pass
    if (changes := item.changes) is not None:
        said.append(undone_text() if changes.is_undone else files_text(changes.files))
    if item.seconds >= 0.1:
        said.append(duration_text(item.seconds))
    return "  ".join(said)


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
            return "\n".join(map(path_text, paths))
        case _:
            return terminal_text(result.text)


def diff_of(item: ToolItem) -> DiffDisplay | None:
    """Return the change of a file, if that is what the call made."""
    display = item.result.display if item.result is not None else None
    return display if isinstance(display, DiffDisplay) else None


def line_counts(item: ToolItem) -> tuple[int, int] | None:
    """Return how many lines a call added and removed; None if it changed no text."""
    if (diff := diff_of(item)) is not None:
        return (diff.added, diff.removed) if diff.is_counted else None
    counts = item.changes
    return (counts.added, counts.removed) if counts and (counts.added or counts.removed) else None


def is_undone(item: ToolItem) -> bool:
    """Whether what the call did to files is taken back."""
    return item.changes is not None and item.changes.is_undone


def summary(item: ToolItem) -> str:
    """Return the card in one sentence, for copying, finding and screen readers."""
    words = tool_text(item.call, item.doing)
    said = [f"{words.verb} {words.target}".strip(), state_text(item.state)]
    diff = diff_of(item)
    if diff is not None and diff.is_counted:
        counts = translate("Transcript", "{added} added, {removed} removed")
        said.append(counts.format(added=diff.added, removed=diff.removed))
    elif result := result_text(item):
        said.append(result)
    if diff is not None and is_undone(item):
        said.append(undone_text())
    return ", ".join(said)


def _target(call: ToolCall) -> str:
    order = ("pattern", *_TARGETS) if call.name in {"grep", "glob"} else _TARGETS
    for name in order:
        value = call.arguments.get(name)
        if isinstance(value, str) and value:
            return value
    if call.arguments:
        return json.dumps(call.arguments, ensure_ascii=False, default=str)
    return call.raw

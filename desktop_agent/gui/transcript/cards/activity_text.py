"""What a line of activity says: what was read, planned and started, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from desktop_agent.gui.kit.safe_text import duration_text
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.transcript.cards.tool_text import tool_text
from desktop_agent.gui.transcript.state.items import ToolItem
from desktop_agent.gui.transcript.state.rows import ActivityRow

translate = QCoreApplication.translate
_LOOKS = frozenset({"glob", "grep"})
_NOTABLE_S = 1.0
# Of one call that is over; what comes of it is the target.
_DONE = {
    "glob": QT_TRANSLATE_NOOP("Transcript", "Found files"),
    "grep": QT_TRANSLATE_NOOP("Transcript", "Searched for"),
    "web_fetch": QT_TRANSLATE_NOOP("Transcript", "Fetched"),
    "skill": QT_TRANSLATE_NOOP("Transcript", "Loaded the skill"),
    "spawn": QT_TRANSLATE_NOOP("Transcript", "Started subagent"),
    "steer": QT_TRANSLATE_NOOP("Transcript", "Steered a subagent"),
    "probe": QT_TRANSLATE_NOOP("Transcript", "Probed a subagent"),
    "answer_child": QT_TRANSLATE_NOOP("Transcript", "Answered a subagent"),
    "stop": QT_TRANSLATE_NOOP("Transcript", "Stopped a subagent"),
    "TaskCreate": QT_TRANSLATE_NOOP("Transcript", "Added a task"),
}
# What follows is a text, not a name.
_QUOTED = frozenset({"steer", "probe", "answer_child", "TaskCreate"})
_OF_SUBAGENTS = frozenset({"spawn", "steer", "probe", "answer_child", "stop"})
# Which one, the panel shows: a number says nothing. While it is done, and after.
_ALONE = {
    "wait": (
        QT_TRANSLATE_NOOP("Transcript", "Waiting for subagents"),
        QT_TRANSLATE_NOOP("Transcript", "Waited for subagents"),
    ),
    "TaskUpdate": (
        QT_TRANSLATE_NOOP("Transcript", "Updating a task"),
        QT_TRANSLATE_NOOP("Transcript", "Updated a task"),
    ),
    "TaskGet": (
        QT_TRANSLATE_NOOP("Transcript", "Looking at a task"),
        QT_TRANSLATE_NOOP("Transcript", "Looked at a task"),
    ),
    "TaskList": (
        QT_TRANSLATE_NOOP("Transcript", "Looking at the tasks"),
        QT_TRANSLATE_NOOP("Transcript", "Looked at the tasks"),
    ),
}


def activity_text(row: ActivityRow) -> str:
    """Return the words for all calls of the line, such as `Read 6 files, searched 2 ×`."""
    calls = row.calls
    if len(calls) == 1:
        return _of_one(calls[0])
    said = [words for words in (part(calls) for part in _PARTS) if words]
    # What only follows the list of tasks is told where nothing else is.
    text = ", ".join(said) or _tasks_followed(calls)
    return text[:1].upper() + text[1:]


def running_text(row: ActivityRow) -> str:
    """Return what the newest call is at; empty once none of them runs, or where it is told."""
    running = [one for one in row.calls if one.state == "running"]
    if not running or len(row.calls) == 1 or running[-1].call.name == "wait":
        return ""
    said = tool_text(running[-1].call, running[-1].doing)
    return f"{said.verb} {said.target}".strip()


def _of_one(call: ToolItem) -> str:
    name, is_over = call.call.name, call.state == "ok"
    if name == "wait" and is_over and call.seconds >= _NOTABLE_S:
        waited = translate("Transcript", "Waited {time} for subagents")
        return waited.format(time=duration_text(call.seconds))
    if name in _ALONE:
        return translate("Transcript", str(_ALONE[name][is_over]))
    is_told = is_over and name in _DONE
    said = tool_text(call.call, "" if is_told else call.doing)
    verb = translate("Transcript", str(_DONE[name])) if is_told else said.verb
    if is_told and name in _QUOTED and said.target:
        verb += ":"
    return f"{verb} {said.target}".strip()


def _counted(words: object, *names: str) -> Callable[[Sequence[ToolItem]], str]:
    """Return what tells how many calls of these tools there were."""

    def tell(calls: Sequence[ToolItem]) -> str:
        count = sum(1 for one in calls if one.call.name in names)
        text = translate("Transcript", str(words)).format(n=count)
        return with_plural(text, count) if count else ""

    return tell


def _files_read(calls: Sequence[ToolItem]) -> str:
    paths = {tool_text(one.call).target for one in calls if one.call.name == "read"}
    words = translate("Transcript", "read {n} file(s)").format(n=len(paths))
    return with_plural(words, len(paths)) if paths else ""


def _waited(calls: Sequence[ToolItem]) -> str:
    waits = [one for one in calls if one.call.name == "wait"]
    if any(one.state == "running" for one in waits):
        return translate("Transcript", "waiting for subagents")
    if not waits:
        return ""
    are_named = any(one.call.name in _OF_SUBAGENTS for one in calls)
    seconds = sum(one.seconds for one in waits)
    if seconds < _NOTABLE_S and are_named:
        return translate("Transcript", "waited for them")
    if seconds < _NOTABLE_S:
        return translate("Transcript", "waited for subagents")
    words = translate("Transcript", "waited {time} for subagents")
    if are_named:
        words = translate("Transcript", "waited {time}")
    return words.format(time=duration_text(seconds))


_tasks_followed = _counted(
    QT_TRANSLATE_NOOP("Transcript", "updated tasks {n} ×"), "TaskUpdate", "TaskGet", "TaskList"
)
_PARTS: tuple[Callable[[Sequence[ToolItem]], str], ...] = (
    _files_read,
    _counted(QT_TRANSLATE_NOOP("Transcript", "searched {n} ×"), *sorted(_LOOKS)),
    _counted(QT_TRANSLATE_NOOP("Transcript", "fetched {n} page(s)"), "web_fetch"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "loaded {n} skill(s)"), "skill"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "planned {n} task(s)"), "TaskCreate"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "started {n} subagent(s)"), "spawn"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "asked subagents {n} ×"), "probe"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "steered subagents {n} ×"), "steer"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "answered {n} question(s)"), "answer_child"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "read {n} result(s)"), "agent_result"),
    _counted(QT_TRANSLATE_NOOP("Transcript", "stopped {n} subagent(s)"), "stop"),
    _waited,
)

"""Edits of the task list by the person's hand, and the one note that tells the agent.

The note is short, however many the edits were. Its own text is all that is kept: after a
restart, edits go on where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from desktop_agent.core.messages import TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, ids, one_line, render
from desktop_agent.engine.tasks.task_list import TaskList

MoreParts = Callable[[Note], Sequence[TextPart]]

_HEAD = "[The user edited your task list]"
_MOST_LINES = 30
_MOST_TASKS = 60
_MOST_CHARS = 300

# Every line says what was done and, right after, to which task: `renamed #3 to: …`.
_LINE = re.compile(r"- (?P<verb>[a-z]+)(?: back #\d+ as)? #(?P<task>\d+)")
_EARLIER = re.compile(r"\((\d+) earlier edits? ")
# What an edit says anew, or makes void, for the same task.
_REPLACED = {
    "added": set[str](),
    "brought": set[str](),
    "renamed": {"renamed"},
    "marked": {"marked", "skip"},
    "skip": {"marked", "skip", "do"},
    "moved": {"moved"},
    "do": {"moved", "do"},
    "changed": {"changed"},
    "deleted": {"added", "renamed", "marked", "skip", "moved", "do", "changed", "deleted"},
}


def apply_edit(edit: TaskEdit, tasks: TaskList) -> str:
    """Make the edit and return the line that tells of it; empty when nothing changed.

    Raises TaskError, and then nothing changed.
    """
    before = tasks.state.revision
    line = _apply(edit, tasks)
    return line if tasks.state.revision != before or edit.kind == "next" else ""


def note_text(earlier: str, line: str) -> str:
    """Return the note with one edit more; an edit of the same task takes its place there.

    `line` begins with one of the verbs and the task's id.
    """
    count, lines = _told(earlier)
    lines = _merged(lines, f"- {line}")
    count += max(0, len(lines) - _MOST_LINES)
    return "\n".join([_HEAD, *_left_out(count), *lines[-_MOST_LINES:]])


def with_list(tasks: TaskList, parts_for: MoreParts) -> MoreParts:
    """Return `parts_for` so that a note of edits ends with the list as it is when it is read."""

    def more_parts(note: Note) -> Sequence[TextPart]:
        if note.kind != "task_edit":
            return parts_for(note)
        return (TextPart("\n" + "\n".join(_shown(tasks.tasks))),)

    return more_parts


def _apply(edit: TaskEdit, tasks: TaskList) -> str:
    match edit.kind:
        case "add":
            task = tasks.create(edit.text, blocked_by=edit.blocked_by)
            return f"added #{task.id}: {_quoted(task.subject)}"
        case "restore":
            return _restore(edit, tasks)
        case "move":
            tasks.move(edit.task_id, edit.before)
            where = f"before #{edit.before}" if edit.before else "to the end"
            return f"moved #{edit.task_id} {where}"
        case "next":
            return _next(edit, tasks)
        case _:
            return _update(edit, tasks)


def _update(edit: TaskEdit, tasks: TaskList) -> str:
    task = tasks.get(edit.task_id)
    name = f"#{task.id} ({_quoted(task.subject)})"
    match edit.kind:
        case "rename":
            tasks.update(task.id, TaskChanges(subject=edit.text))
            return f"renamed #{task.id} to: {_quoted(edit.text)}"
        case "status":
            tasks.update(task.id, TaskChanges(status=edit.status))
            return f"marked {name} as {edit.status}"
        case "skip":
            tasks.update(task.id, TaskChanges(status="completed", metadata={"skipped": True}))
            return f"skip {name}: it is marked completed without being done"
        case "blockers":
            _set_blockers(task, edit.blocked_by, tasks)
            waits = ids(edit.blocked_by) or "nothing"
            return f"changed {name}: it now waits for {waits}"
        case _:
            tasks.update(task.id, TaskChanges(status="deleted"))
            return f"deleted {name}"


def _set_blockers(task: Task, blockers: tuple[int, ...], tasks: TaskList) -> None:
    changes = TaskChanges(
        add_blocked_by=tuple(b for b in blockers if b not in task.blocked_by),
        remove_blocked_by=tuple(b for b in task.blocked_by if b not in blockers),
    )
    if not changes.is_empty:
        tasks.update(task.id, changes)


def _restore(edit: TaskEdit, tasks: TaskList) -> str:
    deleted = edit.deleted
    if deleted is None:
        return ""
    task = tasks.restore(deleted, edit.before)
    return f"brought back #{deleted.id} as #{task.id}: {_quoted(task.subject)}"


def _next(edit: TaskEdit, tasks: TaskList) -> str:
    task = tasks.get(edit.task_id)
    first = next((t.id for t in tasks.tasks if t.status == "pending" and t.id != task.id), 0)
    if first:
        tasks.move(task.id, first)
    return f"do #{task.id} ({_quoted(task.subject)}) next"


# -- the note -----------------------------------------------------------------------------


def _quoted(subject: str) -> str:
    """Return a subject as a line of the note has it."""
    flat = one_line(subject)
    return flat if len(flat) <= _MOST_CHARS else f"{flat[: _MOST_CHARS - 1]}…"


def _told(text: str) -> tuple[int, list[str]]:
    """Return what a note says: how many edits it leaves out, and those that it lists."""
    lines = text.splitlines()[1:]
    found = _EARLIER.match(lines[0]) if lines else None
    return int(found[1]) if found else 0, [line for line in lines if _LINE.match(line)]


def _merged(lines: list[str], line: str) -> list[str]:
    verb, task = _parts(line)
    replaced = _REPLACED.get(verb, set())
    kept = [one for one in lines if _parts(one)[1] != task or _parts(one)[0] not in replaced]
    if verb == "renamed":
        added = next((n for n, one in enumerate(kept) if _parts(one) == ("added", task)), None)
        if added is not None:
            # The agent has not heard of the first name.
            kept[added] = f"- added #{task}: {line.partition(' to: ')[2]}"
            return kept
    return [*kept, line]


def _parts(line: str) -> tuple[str, str]:
    found = _LINE.match(line)
    return (found["verb"], found["task"]) if found else ("", "")


def _left_out(count: int) -> list[str]:
    if not count:
        return []
    edits = "edit is" if count == 1 else "edits are"
    return [f"({count} earlier {edits} not listed: the list below is what they led to)"]


def _shown(tasks: Sequence[Task]) -> list[str]:
    """Return the list; of a very long one the first tasks that are still to be done."""
    if len(tasks) <= _MOST_TASKS:
        return [render(tasks)]
    still_open = [task for task in tasks if task.status != "completed"]
    shown = still_open[:_MOST_TASKS]
    more, done = len(still_open) - len(shown), len(tasks) - len(still_open)
    return [f"(not shown below: {more} more open tasks and {done} completed ones)", render(shown)]

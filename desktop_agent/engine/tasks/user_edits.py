"""Edits of the task list by the user's hand, and the one note that tells the agent.

The note is short, however many the edits were, and holds them as values: after a restart, edits
go on where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from desktop_agent.core.messages import TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import EditKind, EditLine, TaskEdits, TaskListShown
from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, ids, one_line, render
from desktop_agent.engine.tasks.task_list import TaskList

MoreParts = Callable[[Note], Sequence[TextPart]]

_MOST_LINES = 30
_MOST_TASKS = 60
_MOST_CHARS = 300

# Edits that a later one of the same task replaces or cancels.
_REPLACED: dict[EditKind, set[EditKind]] = {
    "rename": {"rename"},
    "status": {"status", "skip"},
    "skip": {"status", "skip", "next"},
    "move": {"move"},
    "next": {"move", "next"},
    "blockers": {"blockers"},
    "delete": {"add", "rename", "status", "skip", "move", "next", "blockers", "delete"},
}


def apply_edit(edit: TaskEdit, tasks: TaskList) -> EditLine | None:
    """Make the edit and return what tells of it; None when nothing changed.

    Raises TaskError, and then nothing changed.
    """
    before = tasks.state.revision
    line = _apply(edit, tasks)
    return line if tasks.state.revision != before or edit.kind == "next" else None


def with_edit(earlier: TaskEdits, edit: EditLine) -> TaskEdits:
    """Return the edits with one more; an edit of the same task takes its place there."""
    edits = _merged(earlier.edits, edit)
    return TaskEdits(edits[-_MOST_LINES:], earlier.left_out + max(0, len(edits) - _MOST_LINES))


def edits_text(edits: TaskEdits) -> str:
    """Return the edits in words, a line each, with how many are left out."""
    return "\n".join([*_left_out(edits.left_out), *(f"- {edit.line}" for edit in edits.edits)])


def with_list(tasks: TaskList, parts_for: MoreParts) -> MoreParts:
    """Return `parts_for` so that a note of edits ends with the list as it is when it is read."""

    def more_parts(note: Note) -> Sequence[TextPart]:
        if note.kind != "task_edit":
            return parts_for(note)
        return (list_part(tasks.tasks),)

    return more_parts


def list_part(tasks: Sequence[Task]) -> TextPart:
    """Return the list as it is now, for a message."""
    states = tuple((task.id, task.status) for task in tasks)
    return TextPart("\n".join(_shown(tasks)), TaskListShown(states))


def _apply(edit: TaskEdit, tasks: TaskList) -> EditLine | None:
    match edit.kind:
        case "add":
            task = tasks.create(edit.text, blocked_by=edit.blocked_by)
            return _added(task.id, _quoted(task.subject))
        case "restore":
            return _restore(edit, tasks)
        case "move":
            task = tasks.get(edit.task_id)
            tasks.move(edit.task_id, edit.before)
            where = f"before #{edit.before}" if edit.before else "to the end"
            return EditLine("move", task.id, _quoted(task.subject), f"moved #{task.id} {where}")
        case "next":
            return _next(edit, tasks)
        case _:
            return _update(edit, tasks)


def _update(edit: TaskEdit, tasks: TaskList) -> EditLine:
    task = tasks.get(edit.task_id)
    subject = _quoted(edit.text if edit.kind == "rename" else task.subject)
    return EditLine(edit.kind, task.id, subject, _updated(edit, task, tasks))


def _updated(edit: TaskEdit, task: Task, tasks: TaskList) -> str:
    """Change one task; return the line that tells of it."""
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


def _restore(edit: TaskEdit, tasks: TaskList) -> EditLine | None:
    deleted = edit.deleted
    if deleted is None:
        return None
    task = tasks.restore(deleted, edit.before)
    subject = _quoted(task.subject)
    line = f"brought back #{deleted.id} as #{task.id}: {subject}"
    return EditLine("restore", task.id, subject, line)


def _next(edit: TaskEdit, tasks: TaskList) -> EditLine:
    task = tasks.get(edit.task_id)
    first = next((t.id for t in tasks.tasks if t.status == "pending" and t.id != task.id), 0)
    if first:
        tasks.move(task.id, first)
    subject = _quoted(task.subject)
    return EditLine("next", task.id, subject, f"do #{task.id} ({subject}) next")


# -- the note -----------------------------------------------------------------------------


def _quoted(subject: str) -> str:
    """Return a subject as a line of the note has it."""
    flat = one_line(subject)
    return flat if len(flat) <= _MOST_CHARS else f"{flat[: _MOST_CHARS - 1]}…"


def _added(task_id: int, subject: str) -> EditLine:
    return EditLine("add", task_id, subject, f"added #{task_id}: {subject}")


def _merged(edits: Sequence[EditLine], edit: EditLine) -> tuple[EditLine, ...]:
    replaced = _REPLACED.get(edit.kind, set[EditKind]())
    kept = [one for one in edits if one.task_id != edit.task_id or one.kind not in replaced]
    if edit.kind == "rename":
        for place, one in enumerate(kept):
            if (one.kind, one.task_id) == ("add", edit.task_id):
                # The agent has not heard of the first name.
                kept[place] = _added(edit.task_id, edit.subject)
                return tuple(kept)
    return (*kept, edit)


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

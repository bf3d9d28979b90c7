"""Edits of the task list by the person's hand, and the one note that tells the agent."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, ids, one_line, render
from desktop_agent.engine.tasks import TaskList

_HEAD = "[The user edited your task list]"


def apply_edit(edit: TaskEdit, tasks: TaskList) -> str:
    """Make the edit and return the line that tells of it; empty when nothing changed.

    Raises TaskError, and then nothing changed.
    """
    before = tasks.state.revision
    line = _apply(edit, tasks)
    return line if tasks.state.revision != before or edit.kind == "next" else ""


def note_text(earlier: str, line: str, tasks: Sequence[Task]) -> str:
    """Return the note with one line more; the list as it is now stands at its end."""
    lines = earlier.split("\n<tasks>")[0].splitlines()[1:] if earlier else []
    return "\n".join([_HEAD, *lines, f"- {line}", render(tasks)])


def _apply(edit: TaskEdit, tasks: TaskList) -> str:
    match edit.kind:
        case "add":
            task = tasks.create(edit.text, blocked_by=edit.blocked_by)
            return f"added #{task.id}: {one_line(task.subject)}"
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
    name = f"#{task.id} ({one_line(task.subject)})"
    match edit.kind:
        case "rename":
            tasks.update(task.id, TaskChanges(subject=edit.text))
            return f"renamed #{task.id} to: {one_line(edit.text)}"
        case "status":
            tasks.update(task.id, TaskChanges(status=edit.status))
            return f"marked {name} as {edit.status}"
        case "skip":
            tasks.update(task.id, TaskChanges(status="completed", metadata={"skipped": True}))
            return f"skip {name}: it is marked completed without being done"
        case "blockers":
            _set_blockers(task, edit.blocked_by, tasks)
            waits = ids(edit.blocked_by) or "nothing"
            return f"{name} now waits for {waits}"
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
    """Bring a deleted task back under a new id: the old one is gone for good."""
    deleted = edit.deleted
    if deleted is None:
        return ""
    alive = {task.id for task in tasks.tasks}
    task = tasks.create(
        deleted.subject,
        description=deleted.description,
        active_form=deleted.active_form,
        metadata=deleted.metadata,
        blocked_by=[number for number in deleted.blocked_by if number in alive],
        blocks=[number for number in deleted.blocks if number in alive],
    )
    if deleted.status == "completed":
        tasks.update(task.id, TaskChanges(status="completed"))
    if edit.before in alive:
        tasks.move(task.id, edit.before)
    return f"brought back #{deleted.id} as #{task.id}: {one_line(task.subject)}"


def _next(edit: TaskEdit, tasks: TaskList) -> str:
    task = tasks.get(edit.task_id)
    first = next((t.id for t in tasks.tasks if t.status == "pending" and t.id != task.id), 0)
    if first:
        tasks.move(task.id, first)
    return f"do #{task.id} ({one_line(task.subject)}) next"

"""Tasks of an agent's list: frozen items, what may be changed, and how a model sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from desktop_agent.core.parts.origins import EditKind
from desktop_agent.core.parts.values import Value

TaskStatus = Literal["pending", "in_progress", "completed"]
STATUSES: tuple[TaskStatus, ...] = ("pending", "in_progress", "completed")


class Task(Value, frozen=True):
    """One item. `blocks`, `blocked_by` and `open_blockers` are derived from the list's edges.

    `changed_call` is the tool call that changed it last, to find the place in the transcript.
    `metadata_json` is text, so that a snapshot is immutable.
    """

    id: int
    subject: str
    description: str = ""
    active_form: str = ""
    status: TaskStatus = "pending"
    owner: str = ""
    metadata_json: str = "{}"
    blocks: tuple[int, ...] = ()
    blocked_by: tuple[int, ...] = ()
    open_blockers: tuple[int, ...] = ()
    created_at: float = 0.0
    updated_at: float = 0.0
    status_changed_at: float = 0.0
    changed_call: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of the metadata."""
        return json.loads(self.metadata_json)


class TaskState(Value, frozen=True):
    """A list as it is kept: its tasks in the order shown, and the id of the next one."""

    tasks: tuple[Task, ...] = ()
    next_id: int = 1
    revision: int = 0


class TaskChanges(Value, frozen=True):
    """What an update asks for; None and empty leave a field alone. A metadata None removes."""

    status: str | None = None
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    owner: str | None = None
    metadata: dict[str, Any] | None = None
    add_blocks: tuple[int, ...] = ()
    add_blocked_by: tuple[int, ...] = ()
    remove_blocks: tuple[int, ...] = ()
    remove_blocked_by: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return self == TaskChanges()


class TaskEdit(Value, frozen=True):
    """One edit by hand. `before` is the task it moves in front of; 0 is the end."""

    kind: EditKind
    task_id: int = 0
    text: str = ""
    status: TaskStatus = "pending"
    before: int = 0
    blocked_by: tuple[int, ...] = ()
    deleted: Task | None = None


def restored(state: TaskState) -> TaskState:
    """Return a list as it is after a restart: nothing is in progress any more."""
    return msgspec.structs.replace(
        state,
        tasks=tuple(
            msgspec.structs.replace(task, status="pending")
            if task.status == "in_progress"
            else task
            for task in state.tasks
        ),
    )


def render(tasks: Sequence[Task]) -> str:
    """Return the canonical text that ends every task tool's result."""
    if not tasks:
        return "<tasks>(empty)</tasks>"
    lines = "\n".join(_line(task) for task in tasks)
    return f"<tasks>\n{lines}\n</tasks>"


def one_line(subject: str) -> str:
    """Return a subject that keeps to its line and can't close the block it stands in."""
    return within_block(" ".join(subject.split()))


def within_block(text: str) -> str:
    """Return the text so that it neither opens nor closes a block of tasks."""
    return re.sub(r"<(?=/?tasks>)", "&lt;", text, flags=re.IGNORECASE)


def ids(numbers: Iterable[int]) -> str:
    """Return `#2, #3`."""
    return ", ".join(f"#{number}" for number in numbers)


def _line(task: Task) -> str:
    line = f"- #{task.id} [{task.status}] {one_line(task.subject)}"
    if task.owner:
        line += f" (owner: {one_line(task.owner)})"
    if task.open_blockers:
        line += f" (blocked by {ids(task.open_blockers)})"
    return line

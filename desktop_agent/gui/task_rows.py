"""The rows of the task list, made from a snapshot. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from desktop_agent.core.tasks import Task

RowState = Literal["done", "skipped", "running", "stalled", "blocked", "pending"]

# With more than this many done, they fold into one line.
FOLD_ABOVE = 8


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of the list: a task, or with `task` None the line that folds the done ones."""

    task: Task | None
    state: RowState = "pending"
    detail: str = ""
    folded: int = 0
    is_open: bool = False

    @property
    def key(self) -> int:
        """The task's id; 0 is the folding line."""
        return self.task.id if self.task is not None else 0


@dataclass(frozen=True, slots=True)
class RowWords:
    """The words of the rows, translated by the panel."""

    blocked_by: str
    stalled: str
    skipped: str


class RowMaker:
    """Makes rows, keeping the very row of a task for which nothing changed: views compare."""

    def __init__(self, words: RowWords) -> None:
        self._words = words
        self._made: dict[int, tuple[Task, bool, str, TaskRow]] = {}

    def rows(
        self, tasks: Sequence[Task], *, is_live: bool, is_unfolded: bool
    ) -> tuple[TaskRow, ...]:
        """Return the rows; `is_live` tells that the agent runs, so that a spinner is true."""
        subjects = {task.id: task.subject for task in tasks}
        made = {task.id: self._row(task, subjects, is_live) for task in tasks}
        self._made = made
        done = sum(1 for task in tasks if task.status == "completed")
        rows = [entry[3] for entry in made.values()]
        if done <= FOLD_ABOVE:
            return tuple(rows)
        if not is_unfolded:
            rows = [row for row in rows if row.state not in {"done", "skipped"}]
        return (TaskRow(None, "done", folded=done, is_open=is_unfolded), *rows)

    def _row(
        self, task: Task, subjects: Mapping[int, str], is_live: bool
    ) -> tuple[Task, bool, str, TaskRow]:
        # The name of a blocker is in the row: it has to change when the blocker's does.
        blocker = subjects.get(task.open_blockers[0], "") if task.open_blockers else ""
        known = self._made.get(task.id)
        if known is not None and known[0] is task and known[1:3] == (is_live, blocker):
            return known
        state = state_of(task, is_live=is_live)
        row = TaskRow(task, state, self._detail(task, state, blocker))
        if known is not None and known[3] == row:
            row = known[3]
        return task, is_live, blocker, row

    def _detail(self, task: Task, state: RowState, blocker: str) -> str:
        if state == "running":
            return task.active_form
        if state == "stalled":
            return self._words.stalled
        if state == "skipped":
            return self._words.skipped
        if state == "blocked":
            more = len(task.open_blockers) - 1
            text = self._words.blocked_by.format(name=blocker)
            return f"{text} +{more}" if more else text
        return ""


def state_of(task: Task, *, is_live: bool) -> RowState:
    """Return how a task is shown: a spinner turns only while its agent really runs."""
    if task.status == "completed":
        return "skipped" if task.metadata_json != "{}" and task.metadata.get("skipped") else "done"
    if task.status == "in_progress":
        return "running" if is_live else "stalled"
    return "blocked" if task.open_blockers else "pending"

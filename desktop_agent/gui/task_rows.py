"""The rows of the task list, made from a snapshot. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from desktop_agent.core.tasks import Task

RowState = Literal["done", "skipped", "running", "stalled", "blocked", "pending"]

# With more than this many done, they fold into one line.
FOLD_ABOVE = 8

_COMPLETED = "completed"
_STATUS = attrgetter("status")


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
        self._tasks: dict[int, Task] = {}
        self._rows: dict[int, TaskRow] = {}
        self._is_live = False
        self._fold = TaskRow(None)

    def rows(
        self, tasks: Sequence[Task], *, is_live: bool, is_unfolded: bool
    ) -> tuple[TaskRow, ...]:
        """Return the rows; `is_live` tells that the agent runs, so that a spinner is true."""
        old, now = self._tasks, {task.id: task for task in tasks}
        self._tasks = now
        changed = now if is_live != self._is_live else _changed(old, now)
        self._is_live = is_live
        made = {number: self._rows[number] for number in now if number in self._rows}
        for number in changed:
            row = self._row(now[number], now, is_live=is_live)
            if made.get(number) != row:
                made[number] = row
        self._rows = made
        done = sum(map(_COMPLETED.__eq__, map(_STATUS, tasks)))
        rows = [made[number] for number in now]
        if done <= FOLD_ABOVE:
            return tuple(rows)
        if not is_unfolded:
            rows = [row for row in rows if row.state not in {"done", "skipped"}]
        fold = TaskRow(None, "done", folded=done, is_open=is_unfolded)
        if fold != self._fold:
            self._fold = fold
        return (self._fold, *rows)

    def _row(self, task: Task, tasks: Mapping[int, Task], *, is_live: bool) -> TaskRow:
        blocker = tasks.get(task.open_blockers[0]) if task.open_blockers else None
        state = state_of(task, is_live=is_live)
        return TaskRow(task, state, self._detail(task, state, blocker.subject if blocker else ""))

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


def _changed(old: Mapping[int, Task], now: Mapping[int, Task]) -> set[int]:
    """Return the tasks whose rows may differ: a blocker's name is in the rows it blocks."""
    changed = {number for number, task in now.items() if old.get(number) is not task}
    renamed = {n for n in changed if n in old and old[n].subject != now[n].subject}
    if not renamed:
        return changed
    blockers = ((number, task.open_blockers) for number, task in now.items())
    return changed | {number for number, waits in blockers if waits and waits[0] in renamed}


def state_of(task: Task, *, is_live: bool) -> RowState:
    """Return how a task is shown: a spinner turns only while its agent really runs."""
    if task.status == "completed":
        return "skipped" if task.metadata_json != "{}" and task.metadata.get("skipped") else "done"
    if task.status == "in_progress":
        return "running" if is_live else "stalled"
    return "blocked" if task.open_blockers else "pending"

"""The rows of the task list, made from a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, filterfalse
from operator import attrgetter, is_not
from types import MappingProxyType
from typing import Literal

import msgspec
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.diffs.ordering import same_ends
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tasks import Task

RowState = Literal["done", "skipped", "running", "asking", "stalled", "blocked", "pending"]

# With more than this many done, they fold into one line.
FOLD_ABOVE = 8
# Of tasks whose subagent does nothing now: its name and its status.
Halted = Mapping[int, tuple[str, AgentStatus]]
NOBODY: Halted = MappingProxyType({})
# Of tasks whose agent waits for the user: what it says in its row.
Asking = Mapping[int, str]
NO_ASKS: Asking = MappingProxyType({})

_ID = attrgetter("id")


class TaskRow(msgspec.Struct, frozen=True):
    """One line of the list: a task, or with `task` None the line that folds the done ones.

    `key` is the task's id; 0 is the folding line.
    """

    task: Task | None
    state: RowState = "pending"
    detail: str = ""
    folded: int = 0
    is_open: bool = False
    key: int = 0


class RowBuilder:
    """Makes rows, keeping the very row of a task for which nothing changed: views compare.

    What it knows of a long list it changes along with the few tasks that changed.
    """

    def __init__(self) -> None:
        self._tasks: dict[int, Task] = {}
        self._order: Sequence[Task] = ()
        self._rows: dict[int, TaskRow] = {}
        # The ids of what is completed and of what is in progress.
        self.done: set[int] = set()
        self.active: set[int] = set()
        self._is_live = False
        self._halted = NOBODY
        self._asking = NO_ASKS
        self._fold = TaskRow(None)

    def task(self, number: int) -> Task | None:
        return self._tasks.get(number)

    def rows(
        self,
        tasks: Sequence[Task],
        *,
        is_live: bool,
        is_unfolded: bool,
        halted: Halted = NOBODY,
        asking: Asking = NO_ASKS,
    ) -> tuple[TaskRow, ...]:
        """Return the rows; `is_live` tells that the agent runs, so that a spinner is true."""
        changed = self._follow(tasks)
        if halted != self._halted:
            changed |= (halted.keys() | self._halted.keys()) & self.active
            self._halted = halted
        if asking != self._asking:
            changed |= (asking.keys() | self._asking.keys()) & self.active
            self._asking = asking
        if is_live != self._is_live:
            self._is_live = is_live
            changed |= self.active
        for number in changed:
            row = self._row(self._tasks[number])
            if self._rows.get(number) != row:
                self._rows[number] = row
        numbers = map(_ID, tasks)
        is_folded = len(self.done) > FOLD_ABOVE and not is_unfolded
        shown = filterfalse(self.done.__contains__, numbers) if is_folded else numbers
        rows = map(self._rows.__getitem__, shown)
        if len(self.done) <= FOLD_ABOVE:
            return tuple(rows)
        fold = TaskRow(None, "done", folded=len(self.done), is_open=is_unfolded)
        if fold != self._fold:
            self._fold = fold
        return (self._fold, *rows)

    def _follow(self, tasks: Sequence[Task]) -> set[int]:
        """Take the new list; return the tasks whose rows may differ."""
        old, self._order = self._order, tasks
        same = same_ends(old, tasks, _ID)
        gone: set[int] = set()
        changed = {tasks[place].id: tasks[place] for place in same.places}
        if not same.moved:
            fresh = tasks[same.head : len(tasks) - same.tail]
            gone.update(map(_ID, old[same.head : len(old) - same.tail]))
            gone.difference_update(map(_ID, fresh))
            # A task for which nothing changed is the same object as before.
            known = map(self._tasks.get, map(_ID, fresh))
            changed |= {task.id: task for task in compress(fresh, map(is_not, fresh, known))}
        # A blocker's name is in the rows that it blocks.
        old_names = {n: self._tasks[n].subject for n in changed if n in self._tasks}
        renamed = [changed[n] for n, name in old_names.items() if changed[n].subject != name]
        self._forget(gone)
        self._keep(changed)
        return changed.keys() | {n for t in renamed for n in t.blocks if n in self._tasks}

    def _forget(self, gone: set[int]) -> None:
        for number in gone:
            del self._tasks[number], self._rows[number]
        self.done -= gone
        self.active -= gone

    def _keep(self, changed: Mapping[int, Task]) -> None:
        self._tasks |= changed
        for status, among in (("completed", self.done), ("in_progress", self.active)):
            among.difference_update(changed)
            among.update(n for n, task in changed.items() if task.status == status)

    def _row(self, task: Task) -> TaskRow:
        blocker = self._tasks.get(task.open_blockers[0]) if task.open_blockers else None
        state = state_of(task, is_live=self._is_live, halted=self._halted, asking=self._asking)
        if state == "asking":
            return TaskRow(task, state, self._asking[task.id], key=task.id)
        halted = self._halted.get(task.id) if is_halted(task, self._halted) else None
        detail = _detail(task, state, blocker.subject if blocker else "", halted)
        return TaskRow(task, state, detail, key=task.id)


def halted_tasks(agents: Iterable[AgentInfo], parent: AgentId | None) -> Halted:
    """Return the tasks of an agent whose last subagent has ended or is paused."""
    last = {one.task_id: one for one in agents if one.parent_id == parent and one.task_id}
    still = (one for one in last.values() if one.is_ended or one.status == "paused")
    return {one.task_id: (one.name, one.status) for one in still}


def is_halted(task: Task, halted: Halted) -> bool:
    """Whether its subagent does nothing, and nobody else has taken the task."""
    return task.id in halted and task.owner == halted[task.id][0]


def _halted_text(name: str, status: AgentStatus) -> str:
    texts = {
        "completed": _tr("{name} has finished"),
        "failed": _tr("{name} failed"),
        "over_budget": _tr("{name} used up its budget"),
        "paused": _tr("{name} is paused"),
    }
    return texts.get(status, _tr("{name} was stopped")).format(name=name)


def _detail(
    task: Task, state: RowState, blocker: str, halted: tuple[str, AgentStatus] | None
) -> str:
    if state == "running":
        return task.active_form
    if state == "stalled" and halted is not None:
        return _halted_text(*halted)
    if state == "stalled":
        return _tr("Stalled: the agent is not running")
    if state == "skipped":
        return _tr("Skipped by you")
    if state == "blocked":
        more = len(task.open_blockers) - 1
        text = _tr("Waits for {name}").format(name=blocker)
        return f"{text} +{more}" if more else text
    return ""


def state_of(task: Task, *, is_live: bool, halted: Halted, asking: Asking) -> RowState:
    """Return how a task is shown: a spinner turns only while its agent really runs."""
    if task.status == "completed":
        return "skipped" if task.metadata_json != "{}" and task.metadata.get("skipped") else "done"
    if task.status == "in_progress":
        if not is_live or is_halted(task, halted):
            return "stalled"
        return "asking" if asking.get(task.id) else "running"
    return "blocked" if task.open_blockers else "pending"


def _tr(text: str) -> str:
    return QCoreApplication.translate("TaskRows", text)

"""An agent's task list: every change is atomic and announced exactly once."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from desktop_agent.core.events import ListChanged
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tasks import STATUSES, Task, TaskChanges, TaskState, ids
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.base.ports import StoreError

_log = logging.getLogger(__name__)

Tasks = dict[int, Task]
# A blocker and what it blocks.
Edge = tuple[int, int]
Edges = frozenset[Edge]
_SUBJECT = attrgetter("subject")


class TaskError(ToolError):
    """A change that was refused; nothing was changed."""


class TaskList:
    """The tasks of one agent, in the order shown. `emit` gets one ListChanged a change.

    Ids grow from 1 and are never given twice, until the list begins anew. `check` raises off the
    engine thread.
    """

    def __init__(
        self,
        agent_id: AgentId,
        state: TaskState,
        emit: Callable[[ListChanged], None],
        *,
        check: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._agent_id = agent_id
        self._emit = emit
        self._check = check
        self._clock = clock
        tasks = {task.id: task for task in state.tasks}
        self._edges: Edges = frozenset(
            (b, task.id) for task in state.tasks for b in task.blocked_by if b in tasks
        )
        self._tasks: Tasks = _rederived(tasks, self._edges)
        self._next_id = state.next_id
        self._revision = state.revision
        # Those that subagents work on, once for each.
        self._lent: list[int] = []

    @property
    def tasks(self) -> tuple[Task, ...]:
        """A snapshot, in the order shown; it never changes."""
        return tuple(self._tasks.values())

    @property
    def state(self) -> TaskState:
        """The whole of the list, as it is kept."""
        return TaskState(self.tasks, self._next_id, self._revision)

    def get(self, task_id: int) -> Task:
        """Return a task; raises TaskError for one that is not, or no longer, there."""
        task = self._tasks.get(task_id)
        if task is None:
            raise TaskError(f"task {task_id} not found")
        return task

    # -- changes ---------------------------------------------------------------------------

    def create(
        self,
        subject: str,
        *,
        description: str = "",
        active_form: str = "",
        metadata: dict[str, Any] | None = None,
        blocked_by: Iterable[int] = (),
        blocks: Iterable[int] = (),
        call_id: str = "",
    ) -> Task:
        """Add a task at the end. Raises TaskError: blank or duplicate subject, a bad blocker."""
        task = Task(
            id=self._next_id,
            subject=subject.strip(),
            description=description,
            active_form=active_form,
            metadata_json=_merged({}, metadata or {}),
            changed_call=call_id,
        )
        return self._add(task, blocked_by, blocks)

    def restore(self, deleted: Task, before: int = 0) -> Task:
        """Bring a deleted task back, not started and under a new id: the old one is gone for good.

        What it waited for, or blocked, and is gone as well is left out. Raises TaskError.
        """
        status = "completed" if deleted.status == "completed" else "pending"
        task = msgspec.structs.replace(
            deleted,
            id=self._next_id,
            status=status,
            blocks=(),
            blocked_by=(),
            open_blockers=(),
            changed_call="",
        )
        blocked_by = filter(self._tasks.__contains__, deleted.blocked_by)
        blocks = filter(self._tasks.__contains__, deleted.blocks)
        return self._add(task, blocked_by, blocks, before if before in self._tasks else 0)

    def _add(
        self, task: Task, blocked_by: Iterable[int], blocks: Iterable[int], before: int = 0
    ) -> Task:
        self._check()
        self._require_new_subject(task.subject)
        now, number = self._clock(), task.id
        task = msgspec.structs.replace(task, created_at=now, updated_at=now, status_changed_at=now)
        tasks = {**self._tasks, number: task}
        new = [(b, number) for b in blocked_by] + [(number, b) for b in blocks]
        edges = _linked(tasks, self._edges, new) if new else self._edges
        if before:
            tasks = {one: tasks[one] for one in _moved(tasks, number, before)}
        self._commit(tasks, edges, number, next_id=number + 1)
        return self._tasks[number]

    def update(
        self, task_id: int, changes: TaskChanges, *, owner: str = "", call_id: str = ""
    ) -> str:
        """Change or delete a task; return a warning, or an empty text.

        `owner` is set on a task that starts and has none. Raises TaskError.
        """
        self._check()
        task = self.get(task_id)
        if changes.is_empty:
            raise TaskError("no updates specified")
        if changes.status == "deleted":
            self._delete(task_id, changes)
            return ""
        changed = self._changed(task, changes, owner)
        tasks = {**self._tasks, task_id: changed}
        edges = self._changed_edges(tasks, task_id, changes)
        if changed == task and edges is self._edges:
            return self._warning(task_id, changes)
        tasks[task_id] = msgspec.structs.replace(
            changed, updated_at=self._clock(), changed_call=call_id
        )
        self._commit(tasks, edges, task_id)
        return self._warning(task_id, changes)

    def move(self, task_id: int, before: int = 0) -> None:
        """Show a task in front of another (0: at the end); no id changes."""
        self._check()
        self.get(task_id)
        if before:
            self.get(before)
        if before == task_id:
            return
        order = _moved(self._tasks, task_id, before)
        if order != list(self._tasks):
            self._commit({number: self._tasks[number] for number in order}, self._edges, task_id)

    def clear_if_done(self) -> bool:
        """Empty the list when all of it is completed; ids go on from where they were."""
        self._check()
        if not self._tasks or any(task.status != "completed" for task in self._tasks.values()):
            return False
        self._commit({}, frozenset())
        return True

    def begin_anew(self, emit: Callable[[ListChanged], None]) -> None:
        """Empty the list and count from 1 again, unless a subagent knows of an id still."""
        self._check()
        self._commit({}, frozenset(), next_id=None if self._lent else 1, emit=emit)

    def lend(self, task_id: int) -> None:
        """A subagent works on a task: what it ends with is about this id."""
        self._lent.append(task_id)

    def give_back(self, task_id: int) -> None:
        """It has ended."""
        if task_id in self._lent:
            self._lent.remove(task_id)

    # -- inside ----------------------------------------------------------------------------

    def _require_new_subject(self, subject: str, *, but: int = 0) -> None:
        wanted = subject.strip()
        if not wanted:
            raise TaskError("subject is required")
        # The common case, a new subject, costs no Python step a task.
        if wanted not in map(_SUBJECT, self._tasks.values()):
            return
        for task in self._tasks.values():
            if task.id != but and task.subject == wanted:
                raise TaskError(f"duplicate task: '{wanted}' already exists as #{task.id}")

    def _delete(self, task_id: int, changes: TaskChanges) -> None:
        if changes != TaskChanges(status="deleted"):
            raise TaskError("status=deleted cannot be combined with other updates")
        task = self._tasks[task_id]
        gone = {(task_id, other) for other in task.blocks}
        gone |= {(other, task_id) for other in task.blocked_by}
        tasks = dict(self._tasks)
        del tasks[task_id]
        self._commit(tasks, self._edges - gone if gone else self._edges, task_id)

    def _changed(self, task: Task, changes: TaskChanges, owner: str) -> Task:
        """Return the task with its own fields changed; its edges are the caller's."""
        wanted: dict[str, Any] = {}
        if changes.status is not None:
            wanted |= self._new_status(task, changes.status, owner)
        if changes.subject is not None:
            self._require_new_subject(changes.subject, but=task.id)
            wanted["subject"] = changes.subject.strip()
        for name in ("description", "active_form", "owner"):
            value = getattr(changes, name)
            if value is not None:
                wanted[name] = value
        more = changes.metadata or {}
        if wanted.get("status", "completed") != "completed" and task.metadata_json != "{}":
            more = {"skipped": None, **more}  # what is open again may yet be done
        if more:
            wanted["metadata_json"] = _merged(task.metadata, more)
        return msgspec.structs.replace(task, **wanted)

    def _new_status(self, task: Task, status: str, owner: str) -> dict[str, Any]:
        if status not in STATUSES:
            raise TaskError(
                f"invalid status: {status} (must be pending, in_progress, completed, or deleted)"
            )
        wanted: dict[str, Any] = {"status": status}
        if status != task.status:
            wanted["status_changed_at"] = self._clock()
        if status == "in_progress" and not task.owner:
            wanted["owner"] = owner
        return wanted

    def _known(self, numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.get(number).id for number in numbers)

    def _changed_edges(self, tasks: Tasks, task_id: int, changes: TaskChanges) -> Edges:
        """Return the edges as the update wants them: the very same set when nothing differs."""
        gone = {(task_id, other) for other in self._known(changes.remove_blocks)}
        gone |= {(other, task_id) for other in self._known(changes.remove_blocked_by)}
        new = [(task_id, other) for other in changes.add_blocks]
        new += [(other, task_id) for other in changes.add_blocked_by]
        if not gone and not new:
            return self._edges
        edges = _linked(tasks, self._edges - gone, new)
        return self._edges if edges == self._edges else edges

    def _warning(self, task_id: int, changes: TaskChanges) -> str:
        task = self._tasks[task_id]
        if changes.status == "in_progress" and task.open_blockers:
            return f"warning: #{task_id} is blocked by {ids(task.open_blockers)}"
        return ""

    def _commit(
        self,
        tasks: Tasks,
        edges: Edges,
        changed: int = 0,
        *,
        next_id: int | None = None,
        emit: Callable[[ListChanged], None] | None = None,
    ) -> None:
        """Take the new state, then tell it once; a disk that refuses undoes it."""
        before = (self._tasks, self._edges, self._next_id, self._revision)
        self._tasks = _updated(tasks, changed, self._edges, edges)
        self._edges = edges
        self._next_id = next_id or self._next_id
        self._revision += 1
        event = ListChanged(self._agent_id, self._revision, self.tasks, self._next_id)
        try:
            (emit or self._emit)(event)
        except StoreError:
            self._tasks, self._edges, self._next_id, self._revision = before
            raise
        except Exception:  # noqa: BLE001 - a listener neither undoes a change nor hides it
            _log.exception("a listener failed on a change of the task list")


def _moved(numbers: Iterable[int], number: int, before: int) -> list[int]:
    """Return the numbers with one in front of another; 0 is the end."""
    order = [one for one in numbers if one != number]
    order.insert(order.index(before) if before else len(order), number)
    return order


def _merged(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Merge key by key, None removes; return JSON."""
    kept = {key: value for key, value in {**old, **new}.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True)


# -- dependencies ------------------------------------------------------------------------


def _rederived(tasks: Tasks, edges: Edges) -> Tasks:
    """Return the tasks with `blocks`, `blocked_by` and `open_blockers` as the edges say.

    A task for which nothing changed stays the same object: views compare by identity.
    """
    blocks: dict[int, list[int]] = {}
    blocked_by: dict[int, list[int]] = {}
    for blocker, blocked in sorted(edges):
        blocks.setdefault(blocker, []).append(blocked)
        blocked_by.setdefault(blocked, []).append(blocker)
    return {
        number: _with_edges(
            task, tuple(blocks.get(number, ())), tuple(blocked_by.get(number, ())), tasks
        )
        for number, task in tasks.items()
    }


def _updated(tasks: Tasks, changed: int, old: Edges, new: Edges) -> Tasks:
    """Rederive only what a change of one task, and of some edges, can have touched.

    `tasks` was right for the edges in `old`, but for the task that changed; it is changed here.
    """
    gone: Edges = frozenset() if new is old else old - new
    fresh: Edges = frozenset() if new is old else new - old
    touched = {number for edge in gone | fresh for number in edge}
    if changed in tasks:
        touched |= {changed, *tasks[changed].blocks}
    for number in touched & tasks.keys():
        task = tasks[number]
        blocks = {blocked for blocked in task.blocks if (number, blocked) not in gone}
        blocks |= {blocked for blocker, blocked in fresh if blocker == number}
        blocked_by = {blocker for blocker in task.blocked_by if (blocker, number) not in gone}
        blocked_by |= {blocker for blocker, blocked in fresh if blocked == number}
        tasks[number] = _with_edges(task, tuple(sorted(blocks)), tuple(sorted(blocked_by)), tasks)
    return tasks


def _linked(tasks: Mapping[int, Task], edges: Edges, new: Sequence[Edge]) -> Edges:
    """Return the edges with more of them, added one by one: the error names the bad one.

    `tasks` says `blocks` as it was before this change. Raises TaskError.
    """
    added: dict[int, list[int]] = {}
    for blocker, blocked in new:
        for number in (blocker, blocked):
            if number not in tasks:
                raise TaskError(f"task {number} not found")
        if blocker == blocked:
            raise TaskError(f"task {blocker} cannot depend on itself")
        if path := _path(tasks, edges, added, (blocked, blocker)):
            shown = " -> ".join(f"#{number}" for number in [*path, blocked])
            raise TaskError(f"dependency cycle: {shown}")
        added.setdefault(blocker, []).append(blocked)
    return edges | frozenset(new)


def _path(
    tasks: Mapping[int, Task], edges: Edges, added: Mapping[int, Sequence[int]], ends: Edge
) -> list[int]:
    """Return the tasks from one end to the other along edges, both included; empty if none."""
    start, goal = ends
    came_from = {start: start}
    to_visit = [start]
    while to_visit:
        number = to_visit.pop()
        if number == goal:
            return _way_back(came_from, goal)
        kept = [blocked for blocked in tasks[number].blocks if (number, blocked) in edges]
        for following in sorted({*kept, *added.get(number, ())}):
            if following not in came_from:
                came_from[following] = number
                to_visit.append(following)
    return []


def _way_back(came_from: Mapping[int, int], goal: int) -> list[int]:
    path = [goal]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]


def _with_edges(
    task: Task, blocks: tuple[int, ...], blocked_by: tuple[int, ...], tasks: Mapping[int, Task]
) -> Task:
    still_open = tuple(number for number in blocked_by if tasks[number].status != "completed")
    if (blocks, blocked_by, still_open) == (task.blocks, task.blocked_by, task.open_blockers):
        return task
    return msgspec.structs.replace(
        task, blocks=blocks, blocked_by=blocked_by, open_blockers=still_open
    )

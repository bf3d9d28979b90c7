"""The edges of a task list: which may be added, and what they say of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from desktop_agent.core.tasks import Task
from desktop_agent.core.tool import ToolError

Edge = tuple[int, int]
"""A blocker and what it blocks."""

Edges = frozenset[Edge]


class TaskError(ToolError):
    """A change that was refused; nothing was changed."""


def rederived(tasks: dict[int, Task], edges: Edges) -> dict[int, Task]:
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


def updated(tasks: dict[int, Task], changed: int, old: Edges, new: Edges) -> dict[int, Task]:
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


def linked(tasks: Mapping[int, Task], edges: Edges, new: Sequence[Edge]) -> Edges:
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

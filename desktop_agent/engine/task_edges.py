"""What the edges of a task list say of each task."""

from __future__ import annotations

import msgspec

from desktop_agent.core.tasks import Task

Edge = tuple[int, int]
"""A blocker and what it blocks."""

Edges = set[Edge]


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


def _with_edges(
    task: Task, blocks: tuple[int, ...], blocked_by: tuple[int, ...], tasks: dict[int, Task]
) -> Task:
    still_open = tuple(number for number in blocked_by if tasks[number].status != "completed")
    if (blocks, blocked_by, still_open) == (task.blocks, task.blocked_by, task.open_blockers):
        return task
    return msgspec.structs.replace(
        task, blocks=blocks, blocked_by=blocked_by, open_blockers=still_open
    )

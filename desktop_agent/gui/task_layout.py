"""Where the tasks of a dependency graph stand: in layers, with few crossings. No Qt.

The method of Sugiyama, Tagawa and Toda (1981), cut down: layers by longest path, then a few
sweeps that put each task at the mean place of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from desktop_agent.core.tasks import Task

_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """`places` are (layer, place in the layer) by task id; places are fractions of a node."""

    places: Mapping[int, tuple[int, float]]
    layers: int
    widest: int


def lay_out(tasks: Sequence[Task]) -> Layout:
    """Return places for all tasks; what blocks stands before what it blocks."""
    known = {task.id for task in tasks}
    blockers = {task.id: [b for b in task.blocked_by if b in known] for task in tasks}
    blocked = {task.id: [b for b in task.blocks if b in known] for task in tasks}
    layer_of = _layers(blockers)
    count = max(layer_of.values(), default=-1) + 1
    layers: list[list[int]] = [[] for _ in range(count)]
    for task in tasks:
        layers[layer_of[task.id]].append(task.id)
    for sweep in range(_SWEEPS):
        _sweep(layers, blockers if sweep % 2 == 0 else blocked, is_down=sweep % 2 == 0)
    widest = max((len(layer) for layer in layers), default=0)
    places = {
        number: (depth, place + (widest - len(layer)) / 2)
        for depth, layer in enumerate(layers)
        for place, number in enumerate(layer)
    }
    return Layout(places, count, widest)


def _layers(blockers: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return each task's layer: one more than the deepest of its blockers."""
    found: dict[int, int] = {}
    for start in blockers:
        path = [start]
        while path:
            number = path[-1]
            missing = [b for b in blockers[number] if b not in found]
            if missing:
                path.extend(missing)
                continue
            path.pop()
            found[number] = max((found[b] + 1 for b in blockers[number]), default=0)
    return found


def _sweep(
    layers: list[list[int]], neighbours: Mapping[int, Sequence[int]], *, is_down: bool
) -> None:
    order = range(1, len(layers)) if is_down else range(len(layers) - 2, -1, -1)
    place: dict[int, float] = {}
    for layer in layers:
        place.update(_centred(layer))
    for depth in order:
        layers[depth].sort(key=lambda number: _mean(number, neighbours, place))
        place.update(_centred(layers[depth]))


def _centred(layer: Sequence[int]) -> dict[int, float]:
    return {number: n - (len(layer) - 1) / 2 for n, number in enumerate(layer)}


def _mean(
    number: int, neighbours: Mapping[int, Sequence[int]], place: Mapping[int, float]
) -> float:
    near = neighbours[number]
    return sum(place[one] for one in near) / len(near) if near else place[number]

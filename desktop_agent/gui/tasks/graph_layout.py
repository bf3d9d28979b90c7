"""Where the tasks of a dependency graph stand: in layers, with few crossings. No Qt.

The method of Sugiyama, Tagawa and Toda (1981): layers by longest path; an arrow over several
layers gets a lane of its own through each, so that it runs behind no task; sweeps that sort
each layer by the mean place of its neighbours; then places as close to those as order allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from desktop_agent.core.tasks import Task

Edge = tuple[int, int]
_Vertex = int | tuple[int, int, int]
"""A task, or the lane of an arrow: blocker, blocked and layer."""

# More of them make a small graph tidier, and a large one slower.
_SWEEPS, _FEWER_SWEEPS = 6, 4
_STRAIGHTENINGS, _FEWER_STRAIGHTENINGS = 4, 3
_MANY = 400
# How much of a task's room across a lane takes.
LANE = 0.2


class Layout(msgspec.Struct, frozen=True):
    """`places` are (layer, place across) by task id, in units of a task with its gap.

    `lanes` are the places across that an arrow goes through, from layer to layer.
    """

    places: Mapping[int, tuple[int, float]]
    lanes: Mapping[Edge, Sequence[float]]
    layers: int
    breadth: float


def lay_out(tasks: Sequence[Task]) -> Layout:
    """Return places for all tasks; what blocks stands before what it blocks."""
    known = {task.id for task in tasks}
    blockers = {task.id: [b for b in task.blocked_by if b in known] for task in tasks}
    blocked = {task.id: [b for b in task.blocks if b in known] for task in tasks}
    layer_of = _layers(blockers)
    _shorten(layer_of, blockers, blocked)
    graph = _Graph(layer_of, blockers)
    graph.order()
    across = graph.places()
    low = min((across[number] for number in known), default=0.0)
    high = max((across[number] for number in known), default=0.0)
    return Layout(
        {number: (layer_of[number], across[number] - low) for number in known},
        {
            edge: [across[edge[0], edge[1], n] - low for n in lanes]
            for edge, lanes in graph.lanes.items()
        },
        len(graph.layers),
        high - low,
    )


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


def _shorten(
    layer_of: dict[int, int],
    blockers: Mapping[int, Sequence[int]],
    blocked: Mapping[int, Sequence[int]],
) -> None:
    """Bring a task nearer to what waits for it where that makes more arrows shorter."""
    for number in sorted(layer_of, key=layer_of.__getitem__, reverse=True):
        if len(blocked[number]) > len(blockers[number]):
            layer_of[number] = min(layer_of[one] for one in blocked[number]) - 1


class _Graph:
    """Layers of tasks and lanes; neighbours are always one layer apart."""

    def __init__(self, layer_of: Mapping[int, int], blockers: Mapping[int, Sequence[int]]) -> None:
        count = max(layer_of.values(), default=-1) + 1
        self.layers: list[list[_Vertex]] = [[] for _ in range(count)]
        self.lanes: dict[Edge, range] = {}
        self._before: dict[_Vertex, list[_Vertex]] = {}
        self._after: dict[_Vertex, list[_Vertex]] = {}
        for number, layer in layer_of.items():
            self._add(number, layer)
        for number, its_blockers in blockers.items():
            for blocker in its_blockers:
                self._connect(blocker, number, range(layer_of[blocker] + 1, layer_of[number]))

    @property
    def _is_large(self) -> bool:
        return len(self._before) > _MANY

    def _add(self, vertex: _Vertex, layer: int) -> None:
        self.layers[layer].append(vertex)
        self._before[vertex], self._after[vertex] = [], []

    def _connect(self, blocker: int, blocked: int, between: range) -> None:
        last: _Vertex = blocker
        self.lanes[blocker, blocked] = between
        for layer in between:
            lane = (blocker, blocked, layer)
            self._add(lane, layer)
            self._join(last, lane)
            last = lane
        self._join(last, blocked)

    def _join(self, first: _Vertex, second: _Vertex) -> None:
        self._after[first].append(second)
        self._before[second].append(first)

    def order(self) -> None:
        """Sort each layer by the mean place of its neighbours, down and up in turn."""
        for sweep in range(_FEWER_SWEEPS if self._is_large else _SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self._before if is_down else self._after
            place = {v: n - len(layer) / 2 for layer in self.layers for n, v in enumerate(layer)}
            for layer in self.layers if is_down else reversed(self.layers):
                means = {v: _mean([place[one] for one in neighbours[v]], place[v]) for v in layer}
                layer.sort(key=means.__getitem__)
                place.update((v, n - len(layer) / 2) for n, v in enumerate(layer))

    def places(self) -> dict[_Vertex, float]:
        """Return a place across for each: close to its neighbours, in order, none over another."""
        place: dict[_Vertex, float] = {}
        for layer in self.layers:
            room = _rooms(layer)
            place.update((v, at - room[-1] / 2) for v, at in zip(layer, room, strict=True))
        for turn in range(_FEWER_STRAIGHTENINGS if self._is_large else _STRAIGHTENINGS):
            for layer in self.layers if turn % 2 == 0 else reversed(self.layers):
                wanted = [
                    _mean([place[one] for one in (*self._before[v], *self._after[v])], place[v])
                    for v in layer
                ]
                place.update(zip(layer, _spread(wanted, _rooms(layer)), strict=True))
        return place


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _rooms(layer: Sequence[_Vertex]) -> list[float]:
    """Return where each of a layer stands when all are as close as they may be."""
    at, found = 0.0, list[float]()
    for vertex in layer:
        half = 0.5 if isinstance(vertex, int) else LANE / 2
        found.append(at + half)
        at += 2 * half
    return found


def _spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Return the places nearest to the wanted ones at which nobody is too close.

    What would overlap moves together, to the mean of what its members want.
    """
    groups: list[tuple[float, int]] = []
    for want, room in zip(wanted, rooms, strict=True):
        total, size = want - room, 1
        while groups and groups[-1][0] / groups[-1][1] >= total / size:
            last_total, last_size = groups.pop()
            total, size = total + last_total, size + last_size
        groups.append((total, size))
    offsets = [total / size for total, size in groups for _ in range(size)]
    return [offset + room for offset, room in zip(offsets, rooms, strict=True)]

"""A list model whose whole interface is a snapshot: rows move and change, they never reset."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Row = TypeVar("Row")
_Index = QModelIndex | QPersistentModelIndex
ROW_ROLE = int(Qt.ItemDataRole.UserRole)


class SnapshotListModel(QAbstractListModel, Generic[Row]):
    """Shows a tuple of frozen rows. `key` tells rows apart; `roles` reads a role off a row.

    `ROW_ROLE` gives the row itself.
    """

    def __init__(
        self,
        key: Callable[[Row], Hashable],
        roles: Mapping[int, Callable[[Row], Any]],
        parent: QObject | None = None,
        flags: Callable[[Row], Qt.ItemFlag] | None = None,
    ) -> None:
        super().__init__(parent)
        self._key = key
        self._roles = dict(roles)
        self._flags = flags
        self._rows: list[Row] = []
        self._snapshot: Sequence[Row] = ()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Return how many rows there are."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what the role reads off the row."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        read = self._roles.get(role)
        return read(row) if read else None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Return the row's flags; headings and the like are not selectable."""
        if self._flags is None or not index.isValid():
            return super().flags(index)
        return self._flags(self._rows[index.row()])

    def rows(self) -> tuple[Row, ...]:
        """Return the rows shown now."""
        return tuple(self._rows)

    def index_of(self, key: Hashable) -> QModelIndex:
        """Return the index of the row with this key, or an invalid one."""
        for number, row in enumerate(self._rows):
            if self._key(row) == key:
                return self.index(number)
        return QModelIndex()

    def set_rows(self, snapshot: Sequence[Row]) -> None:
        """Show these rows, telling views only what differs. Keys must be unique."""
        if snapshot is self._snapshot:
            return
        self._snapshot = snapshot
        wanted = list(snapshot)
        # Most changes touch a few rows: what is the same object at both ends is left alone.
        head = _same(self._rows, wanted)
        tail = min(
            _same(reversed(self._rows), reversed(wanted)),
            min(len(self._rows), len(wanted)) - head,
        )
        middle = wanted[head : len(wanted) - tail]
        keys = [self._key(row) for row in middle]
        now = [self._key(row) for row in self._rows[head : len(self._rows) - tail]]
        if keys != now:
            self._restructure(middle, keys, now, head)
        self._replace_changed(middle, head)
        self._rows = wanted

    def _restructure(
        self, wanted: Sequence[Row], keys: list[Hashable], now: list[Hashable], head: int
    ) -> None:
        """Remove, move and insert what comes after the unchanged rows at the head."""
        kept, present = set(keys), set(now)
        if not present <= kept:
            self._remove_missing(kept, now, head)
            now = [key for key in now if key in kept]
        if not kept <= present:
            keys = [key for key in keys if key in present]
        if keys != now:
            self._move_survivors(keys, now, head)
        if not kept <= present:
            self._insert_new(wanted, present, head)

    def _remove_missing(self, kept: set[Hashable], now: Sequence[Hashable], head: int) -> None:
        gone = [number for number, key in enumerate(now, head) if key not in kept]
        for first, last in reversed(list(runs(gone))):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._rows[first : last + 1]
            self.endRemoveRows()

    def _move_survivors(self, order: list[Hashable], now: list[Hashable], head: int) -> None:
        """Move the rows outside the longest run that is already in order, and only those."""
        # One row that moved, the usual case, is the first or the last of what differs.
        if order[1:] == now[:-1]:
            self._move(len(now) - 1 + head, head)
            return
        if order[:-1] == now[1:]:
            self._move(head, len(now) + head)
            return
        place = {key: number for number, key in enumerate(order)}
        places = [place[key] for key in now]
        settled = longest_increasing(places)
        for number, key in enumerate(order):
            if number in settled:
                continue
            source = now.index(key)
            target = now.index(order[number - 1]) + 1 if number else 0
            if target in (source, source + 1):
                continue
            self._move(source + head, target + head)
            now.insert(target - 1 if target > source else target, now.pop(source))

    def _move(self, source: int, target: int) -> None:
        root = QModelIndex()
        self.beginMoveRows(root, source, source, root, target)
        self._rows.insert(target - 1 if target > source else target, self._rows.pop(source))
        self.endMoveRows()

    def _insert_new(self, wanted: Sequence[Row], present: set[Hashable], head: int) -> None:
        fresh = [number for number, row in enumerate(wanted) if self._key(row) not in present]
        for first, last in runs(fresh):
            self.beginInsertRows(QModelIndex(), first + head, last + head)
            self._rows[first + head : first + head] = wanted[first : last + 1]
            self.endInsertRows()

    def _replace_changed(self, wanted: Sequence[Row], head: int) -> None:
        changed = [
            number
            for number, (old, new) in enumerate(zip(self._rows[head:], wanted, strict=False), head)
            if old is not new and old != new
        ]
        self._rows[head : head + len(wanted)] = wanted
        for first, last in runs(changed):
            self.dataChanged.emit(self.index(first), self.index(last))


def _same(old: Iterable[Any], new: Iterable[Any]) -> int:
    """Return how many rows are the very same objects before the first that is not."""
    return sum(1 for _ in itertools.takewhile(bool, map(is_, old, new)))


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each stretch of consecutive numbers."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield numbers[start], numbers[place - 1]
            start = place


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the members of one longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, value in enumerate(numbers):
        length = bisect_left(tails, value)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [value]
        ends[length : length + 1] = [number]
    found: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        found.add(numbers[at])
        at = before[at]
    return found

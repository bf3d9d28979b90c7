"""A list model whose whole interface is a snapshot: rows move and change, they never reset."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import is_not, not_
from typing import Generic, TypeVar

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QStringListModel,
    Qt,
)

from desktop_agent.core.diffs.ordering import longest_increasing, same_ends

Row = TypeVar("Row")
Index = QModelIndex | QPersistentModelIndex
ROW_ROLE = int(Qt.ItemDataRole.UserRole)


def text_roles(
    title: Callable[[Row], str], spoken: Callable[[Row], str], tip: Callable[[Row], str]
) -> dict[int, Callable[[Row], str]]:
    """Return the roles of rows with a title, what a screen reader says, and a tooltip."""
    role = Qt.ItemDataRole
    return {
        int(role.DisplayRole): title,
        int(role.AccessibleTextRole): spoken,
        int(role.ToolTipRole): tip,
    }


class SnapshotListModel(QStringListModel, Generic[Row]):
    """Shows a tuple of frozen rows. `key` tells rows apart; `roles` reads a role off a row.

    `ROW_ROLE` gives the row itself. The strings are empty: they only count the rows, since a
    view that lays out its rows asks for their number once for each, and not in Python then.
    """

    def __init__(
        self,
        key: Callable[[Row], Hashable],
        roles: Mapping[int, Callable[[Row], object]],
        parent: QObject | None = None,
        flags: Callable[[Row], Qt.ItemFlag] | None = None,
    ) -> None:
        super().__init__(parent)
        self._key = key
        self._roles = dict(roles)
        self._flags = flags
        self._rows: list[Row] = []
        self._coming: Sequence[Row] = ()
        self._snapshot: Sequence[Row] = ()
        # Connected before any view is: the rows are right when views hear of them.
        self.rowsInserted.connect(self._on_inserted)
        self.rowsRemoved.connect(self._on_removed)
        self.rowsMoved.connect(self._on_moved)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        read = self._roles.get(role)
        return read(row) if read else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Refuse: rows change by snapshots only."""
        return False

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the row's flags; headings and the like are not selectable."""
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled  # between rows
        if self._flags is None:
            return QAbstractListModel.flags(self, index)
        return self._flags(self._rows[index.row()])

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def rows(self) -> tuple[Row, ...]:
        return tuple(self._rows)

    def index_of(self, key: Hashable) -> QModelIndex:
        keys = list(map(self._key, self._rows))
        return self.index(keys.index(key)) if key in keys else QModelIndex()

    def set_rows(self, snapshot: Sequence[Row]) -> None:
        """Show these rows, telling views only what differs.

        Raises ValueError if two of them have one key: views would read past the end then.
        """
        if snapshot is self._snapshot:
            return
        self._snapshot = snapshot
        wanted = list(snapshot)
        # Most changes touch a few rows: what is the same at both ends is left alone.
        same = same_ends(self._rows, wanted, self._key)
        head, end = same.head, len(self._rows) - same.tail
        changed = list(same.places)
        if same.moved:
            self._move(*((head, end) if same.moved > 0 else (end - 1, head)))
        else:
            middle = wanted[head : len(wanted) - same.tail]
            keys, now = list(map(self._key, middle)), list(map(self._key, self._rows[head:end]))
            if keys != now:
                self._restructure(middle, keys, now, head)
            changed += self._changed(middle, head)
        self._show_changed(wanted, changed)

    def _restructure(
        self, wanted: Sequence[Row], keys: list[Hashable], now: list[Hashable], head: int
    ) -> None:
        """Remove, move and insert what comes after the unchanged rows at the head."""
        kept, present = set(keys), set(now)
        if len(kept) != len(keys):
            raise ValueError("two rows have one key")
        if not present <= kept:
            self._remove_missing(kept, now, head)
            now = list(filter(kept.__contains__, now))
        fresh = kept - present
        survivors = list(filter(present.__contains__, keys)) if fresh else keys
        if survivors != now:
            self._move_survivors(survivors, now, head)
        if fresh:
            self._insert_new(wanted, keys, fresh, head)

    def _remove_missing(self, kept: set[Hashable], now: Sequence[Hashable], head: int) -> None:
        gone = list(compress(count(head), map(not_, map(kept.__contains__, now))))
        for first, last in reversed(list(runs(gone))):
            self.removeRows(first, last - first + 1)

    def _on_removed(self, _: QModelIndex, first: int, last: int) -> None:
        del self._rows[first : last + 1]

    def _move_survivors(self, order: list[Hashable], now: list[Hashable], head: int) -> None:
        """Move the rows outside the longest run that is already in order, and only those."""
        place = {key: number for number, key in enumerate(order)}
        places = [place[key] for key in now]
        unmoved = longest_increasing(places)
        for number, key in enumerate(order):
            if number in unmoved:
                continue
            source = now.index(key)
            target = now.index(order[number - 1]) + 1 if number else 0
            if target in (source, source + 1):
                continue
            self._move(source + head, target + head)
            now.insert(target - 1 if target > source else target, now.pop(source))

    def _move(self, source: int, target: int) -> None:
        self.moveRows(QModelIndex(), source, 1, QModelIndex(), target)

    def _on_moved(self, _: QModelIndex, first: int, last: int, __: QModelIndex, to: int) -> None:
        moved = self._rows[first : last + 1]
        del self._rows[first : last + 1]
        place = to - len(moved) if to > first else to
        self._rows[place:place] = moved

    def _insert_new(
        self, wanted: Sequence[Row], keys: Sequence[Hashable], fresh: set[Hashable], head: int
    ) -> None:
        places = list(compress(count(), map(fresh.__contains__, keys)))
        for first, last in runs(places):
            self._coming = wanted[first : last + 1]
            self.insertRows(first + head, last - first + 1)

    def _on_inserted(self, _: QModelIndex, first: int, __: int) -> None:
        self._rows[first:first] = self._coming

    def _changed(self, wanted: Sequence[Row], head: int) -> list[int]:
        shown = self._rows[head : head + len(wanted)]
        others = compress(count(), map(is_not, shown, wanted))
        return [number + head for number in others if shown[number] != wanted[number]]

    def _show_changed(self, wanted: list[Row], changed: Sequence[int]) -> None:
        self._rows = wanted
        for first, last in runs(changed):
            self.dataChanged.emit(self.index(first), self.index(last))


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each stretch of consecutive numbers."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield numbers[start], numbers[place - 1]
            start = place

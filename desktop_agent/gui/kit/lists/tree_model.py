"""A tree model whose whole interface is a snapshot: rows move and change, they never reset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from desktop_agent.core.diffs.ordering import longest_increasing
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, runs

Row = TypeVar("Row")
_ROOT = 0


class _Node:
    """A place in the tree. Indexes carry its number, which is never used again."""

    # Any: the rows are of the kind that the model is made for.

    __slots__ = ("children", "key", "number", "parent", "place", "row")

    def __init__(self, number: int, key: Hashable, row: Any, parent: _Node | None) -> None:
        self.number = number
        self.key = key
        self.row = row
        self.parent = parent
        self.place = 0
        self.children: list[_Node] = []

    def count_from(self, first: int) -> None:
        """Tell the children their places again, from this one on."""
        for place in range(first, len(self.children)):
            self.children[place].place = place


class SnapshotTreeModel(QAbstractItemModel, Generic[Row]):
    """Shows a sequence of frozen rows as a tree. `key` tells rows apart, `parent_key` names
    the row above; a row whose parent is not in the snapshot stands at the top.

    `roles` reads a role off a row; `ROW_ROLE` gives the row itself. `changed_roles` tells which
    of them read otherwise in the second row of two, for views that repaint no more than that.
    Siblings keep the order of the snapshot. Keys must be unique and the parents free of circles.
    """

    def __init__(
        self,
        key: Callable[[Row], Hashable],
        parent_key: Callable[[Row], Hashable],
        roles: Mapping[int, Callable[[Row], object]],
        parent: QObject | None = None,
        changed_roles: Callable[[Row, Row], Sequence[int]] | None = None,
    ) -> None:
        super().__init__(parent)
        self._changed_roles = changed_roles
        self._key = key
        self._parent_key = parent_key
        self._roles = dict(roles)
        self._numbers = itertools.count(_ROOT + 1)
        self._root = _Node(_ROOT, None, None, None)
        self._nodes: dict[int, _Node] = {_ROOT: self._root}
        self._by_key: dict[Hashable, _Node] = {}
        self._snapshot: Sequence[Row] = ()

    # -- what views ask --------------------------------------------------------------------

    def index(
        self,
        row: int,
        column: int,
        parent: Index = QModelIndex(),  # noqa: B008 - Qt's signature
    ) -> QModelIndex:
        children = self._node(parent).children
        if column != 0 or not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, 0, children[row].number)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        """Return the index above; QObject's own `parent()` is not reachable by this name."""
        above = self._node(index).parent if index.isValid() else None
        return QModelIndex() if above is None else self._index(above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return len(self._node(parent).children)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Return one: everything is drawn in one column."""
        return 1

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 - as above
        return bool(self._node(parent).children)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._node(index).row
        if role == ROW_ROLE or row is None:
            return row
        read = self._roles.get(role)
        return read(row) if read else None

    # -- what panels ask -------------------------------------------------------------------

    def rows(self) -> tuple[Row, ...]:
        return tuple(node.row for node in _below(self._root))

    def index_of(self, key: Hashable) -> QModelIndex:
        node = self._by_key.get(key)
        return QModelIndex() if node is None else self._index(node)

    def row_of(self, index: Index) -> Row | None:
        """Return the row of an index, at less cost than by its role."""
        node = self._nodes.get(index.internalId())
        return None if node is None else node.row

    def level_of(self, index: Index) -> int:
        """Return how many rows stand above an index, up to the top."""
        level, node = -1, self._nodes.get(index.internalId())
        while node is not None and node.parent is not None:
            level, node = level + 1, node.parent
        return max(0, level)

    def count_open(self, is_open: Callable[[QModelIndex], bool], limit: int) -> int:
        """Return how many rows can be seen, or be scrolled to, when these are open."""
        return self._count_below(self._root, is_open, limit)

    def __len__(self) -> int:
        return len(self._by_key)

    def set_rows(self, snapshot: Sequence[Row]) -> None:
        """Show these rows, telling views only what differs."""
        before, self._snapshot = self._snapshot, snapshot
        fresh = self._replaced(before, snapshot)
        if fresh is not None:
            self._replace_changed(fresh)
            return
        wanted = {self._key(row): row for row in snapshot}
        order: dict[Hashable, list[Hashable]] = {None: []}
        for key, row in wanted.items():
            above = self._parent_key(row)
            order.setdefault(above if above in wanted else None, []).append(key)
        if not self._is_shaped(order):
            self._detach_moved(wanted, order)
            self._remove_missing(wanted)
            self._place(self._root, order, wanted)
        self._replace_changed(wanted.values())

    # -- inside ----------------------------------------------------------------------------

    def _node(self, index: Index) -> _Node:
        # The number of an invalid index is the root's. One of a row that is gone counts as one
        # without anything below it.
        return self._nodes.get(index.internalId()) or _Node(-1, None, None, None)

    def _index(self, node: _Node) -> QModelIndex:
        if node is self._root:
            return QModelIndex()
        return self.createIndex(node.place, 0, node.number)

    def _count_below(self, node: _Node, is_open: Callable[[QModelIndex], bool], limit: int) -> int:
        count = 0
        for child in node.children:
            if count >= limit:
                break
            count += 1
            if child.children and is_open(self._index(child)):
                count += self._count_below(child, is_open, limit - count)
        return count

    def _is_shaped(self, order: Mapping[Hashable, list[Hashable]]) -> bool:
        """Tell whether every row stands where it is wanted: the usual case."""
        if sum(map(len, order.values())) != len(self._by_key):
            return False
        return all(
            [child.key for child in node.children] == order.get(node.key, [])
            for node in (self._root, *self._by_key.values())
        )

    def _detach_moved(
        self, wanted: Mapping[Hashable, Row], order: Mapping[Hashable, list[Hashable]]
    ) -> None:
        """Bring each row with another parent to the end of the top, where no circle can be."""
        above = {key: parent for parent, keys in order.items() for key in keys}
        for node in list(self._by_key.values()):
            if node.key not in wanted or node.parent is None or node.parent is self._root:
                continue
            if above[node.key] != node.parent.key:
                self._move(node, self._root, len(self._root.children))

    def _remove_missing(self, wanted: Mapping[Hashable, Row]) -> None:
        for parent in [self._root, *self._by_key.values()]:
            gone = [n for n, child in enumerate(parent.children) if child.key not in wanted]
            # Below a row that goes itself nothing needs to be said.
            if not gone or (parent is not self._root and parent.key not in wanted):
                continue
            for first, last in reversed(list(runs(gone))):
                self.beginRemoveRows(self._index(parent), first, last)
                removed = parent.children[first : last + 1]
                del parent.children[first : last + 1]
                parent.count_from(first)
                for top in removed:
                    for node in (top, *_below(top)):
                        del self._nodes[node.number], self._by_key[node.key]
                self.endRemoveRows()

    def _place(
        self,
        parent: _Node,
        order: Mapping[Hashable, list[Hashable]],
        wanted: Mapping[Hashable, Row],
    ) -> None:
        """Give a parent its children, then each of them its own."""
        keys = order.get(parent.key, [])
        for key in keys:
            node = self._by_key.get(key)
            if node is not None and node.parent is not parent:
                self._move(node, parent, len(parent.children))
        known = [key for key in keys if key in self._by_key]
        # What waits at the top for another parent stays behind the rest.
        others = set(known)
        known += [child.key for child in parent.children if child.key not in others]
        self._sort(parent, known)
        self._insert_new(parent, keys, wanted)
        for key in keys:
            if key in order or self._by_key[key].children:
                self._place(self._by_key[key], order, wanted)

    def _sort(self, parent: _Node, order: list[Hashable]) -> None:
        """Move the rows outside the longest run that is already in order, and only those."""
        place = {key: number for number, key in enumerate(order)}
        places = [place[child.key] for child in parent.children]
        if all(first < second for first, second in itertools.pairwise(places)):
            return
        unmoved = longest_increasing(places)
        for number, key in enumerate(order):
            if number in unmoved:
                continue
            target = self._by_key[order[number - 1]].place + 1 if number else 0
            node = self._by_key[key]
            if target not in (node.place, node.place + 1):
                self._move(node, parent, target)

    def _move(self, node: _Node, parent: _Node, target: int) -> None:
        source = node.parent
        assert source is not None
        place = node.place
        self.beginMoveRows(self._index(source), place, place, self._index(parent), target)
        del source.children[place]
        landing = target - 1 if source is parent and target > place else target
        parent.children.insert(landing, node)
        node.parent = parent
        source.count_from(min(place, landing) if source is parent else place)
        if source is not parent:
            parent.count_from(landing)
        self.endMoveRows()

    def _insert_new(
        self, parent: _Node, keys: list[Hashable], wanted: Mapping[Hashable, Row]
    ) -> None:
        fresh = [number for number, key in enumerate(keys) if key not in self._by_key]
        for first, last in runs(fresh):
            self.beginInsertRows(self._index(parent), first, last)
            nodes = [
                _Node(next(self._numbers), key, wanted[key], parent)
                for key in keys[first : last + 1]
            ]
            parent.children[first:first] = nodes
            parent.count_from(first)
            for node in nodes:
                self._nodes[node.number] = self._by_key[node.key] = node
            self.endInsertRows()

    def _replaced(self, before: Sequence[Row], after: Sequence[Row]) -> list[Row] | None:
        """Return the rows that are new values in old places; None when any place is new."""
        if len(before) != len(after):
            return None
        pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not new]
        for old, new in pairs:
            if self._key(old) != self._key(new) or self._parent_key(old) != self._parent_key(new):
                return None
        return [new for _, new in pairs]

    def _replace_changed(self, rows: Iterable[Row]) -> None:
        changed: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for row in rows:
            node = self._by_key[self._key(row)]
            old, node.row = node.row, row
            if old is not row and old != row:
                assert node.parent is not None
                roles = tuple(self._changed_roles(old, row)) if self._changed_roles else ()
                changed.setdefault((node.parent.number, roles), []).append(node.place)
        for (number, roles), places in changed.items():
            above = self._index(self._nodes[number])
            for first, last in runs(sorted(places)):
                top, bottom = self.index(first, 0, above), self.index(last, 0, above)
                self.dataChanged.emit(top, bottom, list(roles))


def _below(node: _Node) -> Iterator[_Node]:
    for child in node.children:
        yield child
        yield from _below(child)

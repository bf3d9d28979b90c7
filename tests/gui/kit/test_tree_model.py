"""A tree keeps selection, place and what is open while its rows come, go, move and change."""

from dataclasses import dataclass

import shiboken6
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QTreeView

from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.kit.lists.tree_model import SnapshotTreeModel


@dataclass(frozen=True)
class Row:
    id: int
    above: int | None = None
    title: str = ""


def make_model(parent=None):
    return SnapshotTreeModel(
        lambda row: row.id,
        lambda row: row.above,
        {int(Qt.ItemDataRole.DisplayRole): lambda row: row.title},
        parent,
    )


@st.composite
def trees(draw):
    """Any order of any rows under any parents, without circles; some parents are unknown."""
    ids = draw(st.lists(st.integers(1, 12), unique=True, max_size=12))
    rows = []
    for place, number in enumerate(ids):
        above = draw(st.one_of(st.none(), st.just(99), st.sampled_from(ids[:place] or [99])))
        rows.append(Row(number, above, draw(st.sampled_from("ab"))))
    return tuple(draw(st.permutations(rows)))


def shown(model, parent=None):
    """What a view sees, as (row, children)."""
    parent = parent or QModelIndex()
    indexes = [model.index(n, 0, parent) for n in range(model.rowCount(parent))]
    return [(index.data(ROW_ROLE), shown(model, index)) for index in indexes]


def expected(rows):
    ids = {row.id for row in rows}

    def below(above):
        return [(r, below(r.id)) for r in rows if (r.above if r.above in ids else None) == above]

    return below(None)


@settings(max_examples=200)
@given(st.lists(trees(), min_size=1, max_size=8))
def test_any_run_of_trees_is_shown_exactly(qapp, run):
    model = make_model()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    proxy = QSortFilterProxyModel()
    proxy.setSourceModel(model)
    held = {}
    for snapshot in run:
        model.set_rows(snapshot)
        assert shown(model) == expected(snapshot)
        assert shown(proxy) == expected(snapshot)
        ids = {row.id for row in snapshot}
        for number, index in held.items():
            assert index.isValid() == (number in ids)
            assert not index.isValid() or index.data(ROW_ROLE).id == number
        held = {n: QPersistentModelIndex(model.index_of(n)) for n in ids}
    for one in (proxy, tester, model):  # in this order: a tester must not outlive its model
        shiboken6.delete(one)


def test_what_is_selected_and_open_stays_so_when_others_come_and_go(qtbot):
    view = QTreeView()
    qtbot.addWidget(view)
    model = make_model(view)
    view.setModel(model)
    model.set_rows((Row(1), Row(2, 1), Row(3, 2), Row(4)))
    view.setExpanded(model.index_of(1), True)
    view.setCurrentIndex(model.index_of(2))
    model.set_rows((Row(9), Row(4), Row(1, 9, "moved"), Row(8, 1), Row(2, 1), Row(3, 2)))
    assert view.currentIndex().data(ROW_ROLE).id == 2
    assert view.isExpanded(model.index_of(1))
    assert not view.isExpanded(model.index_of(2))


def test_only_changed_rows_are_announced(qapp):
    model = make_model()
    model.set_rows(tuple(Row(n, None if n < 4 else 1) for n in range(1, 8)))
    changed = []
    model.dataChanged.connect(
        lambda top, bottom, _: changed.append((top.parent().isValid(), top.row(), bottom.row()))
    )
    for signal in (model.rowsInserted, model.rowsRemoved, model.rowsMoved, model.modelReset):
        signal.connect(lambda *_: changed.append("shape"))
    titles = {2: "x", 5: "y", 6: "z"}
    model.set_rows(tuple(Row(n, None if n < 4 else 1, titles.get(n, "")) for n in range(1, 8)))
    assert sorted(changed) == [(False, 1, 1), (True, 1, 2)]


def test_a_row_that_is_gone_is_not_touched_through_an_old_index(qapp):
    model = make_model()
    model.set_rows((Row(1, None, "a"), Row(2, 1)))
    old = model.index_of(2)
    model.set_rows((Row(1, None, "a"),))
    assert old.data(ROW_ROLE) is None
    assert not model.parent(old).isValid()
    assert model.rowCount(old) == 0


def test_a_thousand_rows_come_in_a_few_calls(qapp):
    model = make_model()
    inserts = []
    model.rowsInserted.connect(lambda *where: inserts.append(where))
    model.set_rows(tuple(Row(n, None if n < 10 else n % 10) for n in range(1000)))
    assert len(inserts) <= 11
    assert len(model) == 1000

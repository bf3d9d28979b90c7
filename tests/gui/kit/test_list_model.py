"""Lists keep their selection and place while their rows come, go, move and change."""

from dataclasses import dataclass

import pytest
import shiboken6
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtTest import QAbstractItemModelTester

from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel


@dataclass(frozen=True)
class Row:
    id: int
    title: str = ""


def make_model(parent=None):
    return SnapshotListModel(
        lambda row: row.id, {int(Qt.ItemDataRole.DisplayRole): lambda row: row.title}, parent
    )


def rows_of(*ids):
    return tuple(Row(number, f"row {number}") for number in ids)


snapshots = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), unique_by=lambda row: row[0]),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150)
@given(snapshots)
def test_any_run_of_snapshots_is_shown_exactly(qapp, run):
    model = make_model()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    proxy = QSortFilterProxyModel()
    proxy.setSourceModel(model)
    for snapshot in run:
        rows = tuple(Row(*row) for row in snapshot)
        model.set_rows(rows)
        assert model.rows() == rows
        shown = [proxy.index(number, 0).data(ROW_ROLE) for number in range(proxy.rowCount())]
        assert shown == list(rows)
    for one in (proxy, tester, model):  # in this order: a tester must not outlive its model
        shiboken6.delete(one)


def test_a_selected_row_stays_selected_when_others_come_and_go(qapp):
    model = make_model()
    model.set_rows(rows_of(1, 2, 3, 4))
    held = QPersistentModelIndex(model.index(2))
    model.set_rows(rows_of(9, 3, 1, 8, 4))
    assert held.isValid()
    assert held.data(ROW_ROLE).id == 3


def test_bringing_the_last_row_to_the_top_is_one_move(qapp, qtbot):
    model = make_model()
    model.set_rows(rows_of(*range(50)))
    moves = []
    model.rowsMoved.connect(lambda *where: moves.append(where))
    model.set_rows(rows_of(49, *range(49)))
    assert len(moves) == 1
    model.set_rows(rows_of(*range(50)))
    assert len(moves) == 2


def test_only_changed_rows_are_announced(qapp):
    model = make_model()
    model.set_rows(rows_of(1, 2, 3, 4, 5))
    changed = []
    model.dataChanged.connect(lambda top, bottom, _: changed.append((top.row(), bottom.row())))
    model.set_rows((Row(1, "row 1"), Row(2, "x"), Row(3, "y"), Row(4, "row 4"), Row(5, "z")))
    assert changed == [(1, 2), (4, 4)]


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_list_and_back_is_fine(qapp, count):
    model = make_model()
    model.set_rows(rows_of(*range(3)))
    model.set_rows(rows_of(*range(count)))
    assert model.rowCount() == count
    assert model.index_of(77).isValid() is False


def test_two_rows_with_one_key_are_refused_instead_of_crashing_the_view(qapp):
    model = make_model()
    model.set_rows(rows_of(1, 2))
    with pytest.raises(ValueError, match="one key"):
        model.set_rows(rows_of(3, 1, 3))
    assert model.rowCount() == len(model.rows()) == 2
    model.set_rows(rows_of(3, 1))
    assert model.rows() == rows_of(3, 1)

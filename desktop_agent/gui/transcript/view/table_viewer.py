"""A window that shows a table: searched as one types, sorted by any column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionRange,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QDialog, QHeaderView, QWidget

from desktop_agent.gui.kit.background import Background
from desktop_agent.gui.kit.lists.ringed_table import RingedTable
from desktop_agent.gui.kit.safe_text import clean, one_line, plain_tip, with_marks
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import PrimaryButton, TextLabel, column, named, row
from desktop_agent.gui.transcript.view.table_data import (
    MOST_BYTES,
    MOST_COLUMNS,
    MOST_ROWS,
    Table,
    arranged,
    number_in,
)

_SHOWN, _TIP = 300, 2_000
_NARROWEST, _WIDEST = 72, 360
_MEASURED_ROWS = 60
_MOST_COPIED = 200_000
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class TableViewer(QDialog):
    """Reads a table in the background, then shows it. Ctrl+Up and Ctrl+Down sort by a column."""

    def __init__(
        self, theme: Theme, title: str, read: Callable[[], Table], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("tableViewer")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self._table = Table()
        self._asked = 0
        self._background = Background(self)
        self._background.done.connect(self._on_done)
        self._model = TableModel(self)
        self._model.sort_wanted.connect(self._on_sort)
        self._sorted = (-1, False)
        self._field = named(SearchField(theme, self.tr("Find in the table"), self), "tableSearch")
        self._field.textChanged.connect(self._arrange)
        self._field.left.connect(self.reject)
        self._state = TextLabel(self.tr("Reading…"), "muted", self, name="tableState", wraps=True)
        self._view = self._make_view(title)
        close = PrimaryButton(theme, self.tr("Close"), name="closeTable", clicked=self.accept)
        foot = row((self._state, 1), close)
        column(self._field, (self._view, 1), foot, spacing=10, edges=(16, 14, 16, 14), within=self)
        self.resize(960, 640)
        self._reading = self._background.ask(read)

    def _make_view(self, title: str) -> RingedTable:
        view = _Grid(self)
        view.setAccessibleName(title)
        view.setModel(self._model)
        view.setSortingEnabled(True)
        view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        return view

    def _on_sort(self, column: int, is_down: bool) -> None:
        self._sorted = (column, is_down)
        self._arrange()

    def _arrange(self) -> None:
        """Search and sort anew; what was asked before is not wanted any more."""
        self._background.forget(self._asked)
        by, is_down = self._sorted
        act = partial(arranged, self._table, self._field.text(), by, is_down=is_down)
        self._asked = self._background.ask(act)

    def _on_done(self, number: int, result: object) -> None:
        if number == self._reading:
            self._table = result if isinstance(result, Table) else Table(cut="gone")
            self._model.set_table(self._table)
            self._view.resizeColumnsToContents()
            self._arrange()
        elif number == self._asked and isinstance(result, tuple):
            order = cast(tuple[int, ...], result)
            column = max(0, self._view.currentIndex().column())
            self._model.set_order(order)
            self._view.setCurrentIndex(self._model.index(0, column))
            self._say(len(order))

    def _say(self, shown: int) -> None:
        table = self._table
        count = len(table.rows)
        words = self.tr("{rows} row(s) · {columns} columns")
        said = [with_plural(words, count).format(rows=f"{count:,}", columns=len(table.names))]
        if shown < count:
            said.append(self.tr("{count} found").format(count=f"{shown:,}"))
        if table.cut:
            said.append(self._cut_words())
        self._state.setText(" · ".join(said) if table.names else said[-1])
        self._view.setAccessibleDescription(self._state.text())

    def _cut_words(self) -> str:
        limit = self.tr("only the first {rows} rows, or {size} MB, are shown")
        return {
            "rows": limit.format(rows=f"{MOST_ROWS:,}", size=MOST_BYTES // 1_000_000),
            "wide": self.tr("only the first {count} columns are shown").format(count=MOST_COLUMNS),
            "broken": self.tr("the rest of the file can't be read as a table"),
            "gone": self.tr("That file is not there any more, or not in this session's folders."),
        }[self._table.cut]


class TableModel(QAbstractTableModel):
    """The rows of a table in some order. A cell is only text, whatever it looks like.

    `sort_wanted(column, is_down)`: -1 is the order of the file.
    """

    sort_wanted = Signal(int, bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._table = Table()
        self._order: Sequence[int] = ()

    def set_table(self, table: Table) -> None:
        """Show another table, all of it."""
        self.beginResetModel()
        self._table, self._order = table, range(len(table.rows))
        self.endResetModel()

    def set_order(self, order: Sequence[int]) -> None:
        """Show these rows, in this order."""
        if tuple(order) == tuple(self._order):
            return
        self.beginResetModel()
        self._order = order
        self.endResetModel()

    def cell(self, index: _Index) -> str:
        """Return a cell as it is in the file."""
        return self._table.rows[self._order[index.row()]][index.column()]

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._table.names)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._order):
            return None
        cell = self.cell(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return _shown(cell)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(with_marks(clean(cell[:_TIP])))
        if role == Qt.ItemDataRole.TextAlignmentRole and number_in(cell) is not None:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        is_down = orientation == Qt.Orientation.Vertical
        if role == Qt.ItemDataRole.TextAlignmentRole and not is_down and self._order:
            return self.data(self.index(0, section), role)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if is_down:
            return f"{self._order[section] + 1:,}" if section < len(self._order) else None
        name = self._table.names[section] if section < len(self._table.names) else ""
        return _shown(name) or self.tr("Column {number}").format(number=section + 1)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Have the rows sorted; they come in their new order later."""
        self.sort_wanted.emit(column, order == Qt.SortOrder.DescendingOrder)


class _Grid(RingedTable):
    """Copies what is selected, with tabs between cells; sorts by the column it is in."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("tableGrid")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        header = self.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setResizeContentsPrecision(_MEASURED_ROWS)
        header.setMaximumSectionSize(_WIDEST)
        header.setMinimumSectionSize(_NARROWEST)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        orders = {
            Qt.Key.Key_Up: Qt.SortOrder.AscendingOrder,
            Qt.Key.Key_Down: Qt.SortOrder.DescendingOrder,
        }
        # macOS counts the arrows to the keypad.
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        is_control = modifiers == Qt.KeyboardModifier.ControlModifier
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self._selected())
        elif is_control and event.key() in orders:
            by = max(0, self.currentIndex().column())
            self.horizontalHeader().setSortIndicator(by, orders[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def _selected(self) -> str:
        model, lines = self.model(), list[str]()
        if not isinstance(model, TableModel):
            return ""
        cells = 0
        chosen = self.selectionModel().selection()
        for part in cast(Iterable[QItemSelectionRange], chosen):
            for line in range(part.top(), part.bottom() + 1):
                places = (model.index(line, at) for at in range(part.left(), part.right() + 1))
                lines.append("\t".join(_flat(model.cell(place)) for place in places))
                cells += part.width()
                if cells > _MOST_COPIED:
                    return "\n".join(lines)
        return "\n".join(lines)


def _flat(cell: str) -> str:
    return " ".join(cell.split())


def _shown(cell: str) -> str:
    return with_marks(one_line(cell[:_SHOWN]))

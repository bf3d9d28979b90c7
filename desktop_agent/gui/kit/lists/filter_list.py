"""A search field over a list of things to pick: what the pickers and the palette have in common."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListView, QWidget

from desktop_agent.gui.kit.lists.filter_delegate import FilterDelegate, PickRow
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme

_KEYS = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}


class FilterList(KeyboardFocus, QListView):
    """The rows that match a filter.

    Signals:
        picked(PickRow): a click or Enter
    """

    picked = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        display, tip = Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole
        self._rows: SnapshotListModel[PickRow] = SnapshotListModel(
            lambda row: row.key,
            {
                int(display): lambda row: row.title,
                int(tip): lambda row: plain_tip(row.tip) or None,
                int(Qt.ItemDataRole.AccessibleTextRole): lambda row: row.spoken,
            },
            self,
            flags=_flags,
        )
        self.setModel(self._rows)
        self.setItemDelegate(FilterDelegate(theme, self))
        self.clicked.connect(self._on_clicked)
        # The rows' height follows the text size.
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    @property
    def current(self) -> PickRow | None:
        """The row that Enter would pick."""
        row = self.currentIndex().data(ROW_ROLE) if self.currentIndex().isValid() else None
        return row if isinstance(row, PickRow) and not row.is_heading else None

    def rows(self) -> tuple[PickRow, ...]:
        return self._rows.rows()

    def show_rows(self, rows: tuple[PickRow, ...], current: str = "") -> None:
        """Show these rows with the one of key `current`, or the first, ready to be picked."""
        self._rows.set_rows(rows)
        index = self._rows.index_of(current) if current else QModelIndex()
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)
            return
        first = next((n for n, row in enumerate(rows) if not row.is_heading), -1)
        self.setCurrentIndex(self._rows.index(first) if first >= 0 else QModelIndex())
        # The first row's heading is to be seen as well.
        self.scrollToTop()

    def height_for(self, shown: int) -> int:
        rows = range(min(shown, self._rows.rowCount()))
        return sum(self.sizeHintForRow(number) for number in rows) + 6

    def take_key(self, event: QKeyEvent) -> bool:
        """Move or pick on behalf of the search field; True when the key was one of ours."""
        if event.key() in _KEYS:
            self._step(event)
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick_current()
            return True
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick_current()
        else:
            super().keyPressEvent(event)

    def _step(self, event: QKeyEvent) -> None:
        rows = self.rows()
        places = [number for number, row in enumerate(rows) if not row.is_heading]
        if not places:
            return
        now = self.currentIndex().row()
        at = places.index(now) if now in places else -1
        is_page = event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
        step = 8 if is_page else 1
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_PageUp):
            step = -step
        place = max(0, min(at + step, len(places) - 1)) if is_page else (at + step) % len(places)
        self.setCurrentIndex(self._rows.index(places[place]))
        # The heading above the first row of a group is worth seeing too.
        self.scrollTo(self._rows.index(max(0, places[place] - 1)))
        self.scrollTo(self.currentIndex())

    def _pick_current(self) -> None:
        if self.current is not None:
            self.picked.emit(self.current)

    def _on_clicked(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if not row.is_heading:
            self.picked.emit(row)


class PickField(SearchField):
    """The search field of a list; it passes the list its keys."""

    def __init__(self, theme: Theme, name: str, pick_list: FilterList, parent: QWidget) -> None:
        super().__init__(theme, name, parent)
        self._list = pick_list

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up, Down, Page and Enter are the list's."""
        if not self._list.take_key(event):
            super().keyPressEvent(event)


def _flags(row: PickRow) -> Qt.ItemFlag:
    if row.is_heading:
        return Qt.ItemFlag.NoItemFlags
    return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

"""The list of changes: arrows choose, Enter opens the file, Ctrl+Z takes the change back."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QListView, QMenu, QWidget

from desktop_agent.gui.changes.delegate import ChangeDelegate
from desktop_agent.gui.changes.rows import ChangeRow
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel, text_roles
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme


class ChangeList(KeyboardFocus, QListView):
    """Signals:
    pointed(ChangeRow | None): the one shown in detail
    undo_requested(ChangeRow), open_requested(ChangeRow), talk_requested(ChangeRow)
    apply_requested(ChangeRow)
    """

    pointed = Signal(object)
    undo_requested = Signal(object)
    apply_requested = Signal(object)
    open_requested = Signal(object)
    talk_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("changeList")
        self.setAccessibleName(self.tr("Changes"))
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._rows: SnapshotListModel[ChangeRow] = SnapshotListModel(
            lambda row: row.key,
            text_roles(
                lambda row: row.title, lambda row: row.spoken, lambda row: plain_tip(row.title)
            ),
            self,
        )
        self.setModel(self._rows)
        self._delegate = ChangeDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.selectionModel().currentChanged.connect(lambda: self.pointed.emit(self.current))
        self.doubleClicked.connect(lambda: self._open(self.current))
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    @property
    def current(self) -> ChangeRow | None:
        """The row that keys are for."""
        row = self.currentIndex().data(ROW_ROLE) if self.currentIndex().isValid() else None
        return row if isinstance(row, ChangeRow) else None

    def show_rows(self, rows: tuple[ChangeRow, ...], *, is_grouped: bool) -> None:
        """Show these rows; the current one stays if it is among them, else the first is."""
        held = self.current
        self._delegate.is_grouped = is_grouped
        self._rows.set_rows(rows)
        index = self._rows.index_of(held.key) if held is not None else QModelIndex()
        if not index.isValid():
            index = self._rows.index(0) if rows else QModelIndex()
            self.scrollToTop()
        if index != self.currentIndex():
            self.setCurrentIndex(index)
        self.pointed.emit(self.current)

    def point_to(self, agent_id: str) -> None:
        """Go to the first row of an agent's, if there is one."""
        rows = self._rows.rows()
        row = next((one for one in rows if agent_id and one.agent_id == agent_id), None)
        if row is not None:
            self.setCurrentIndex(self._rows.index_of(row.key))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.current
        if row is not None and event.matches(QKeySequence.StandardKey.Undo):
            if not row.result:
                self.undo_requested.emit(row)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(row)
        else:
            super().keyPressEvent(event)

    def _open(self, row: ChangeRow | None) -> None:
        if row is not None and row.path and row.kind != "deleted":
            self.open_requested.emit(row)

    def menu(self) -> QMenu:
        """Return the context menu of the current row."""
        menu, row = QMenu(self), self.current
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if row is not None:
            do, words = self.undo_requested, self.tr("Undo…")
            if row.result:
                do, words = self.apply_requested, self.tr("Apply…")
            menu.addAction(words).triggered.connect(lambda: do.emit(row))
            if row.call_id:
                talk = menu.addAction(self.tr("Show in the conversation"))
                talk.triggered.connect(lambda: self.talk_requested.emit(row))
            if row.path:
                edit = menu.addAction(self.tr("Open in editor"))
                edit.setEnabled(row.kind != "deleted")
                edit.triggered.connect(lambda: self._open(row))
                copy = menu.addAction(self.tr("Copy path"))
                copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(row.path))
        return menu

    def _show_menu(self, at: QPoint) -> None:
        if self.current is not None:
            self.menu().popup(self.viewport().mapToGlobal(at))

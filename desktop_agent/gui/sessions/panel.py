"""The list of sessions: find one, open, rename or delete it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QHideEvent, QPainter, QShowEvent
from PySide6.QtWidgets import QListView, QMenu, QStackedWidget, QStyleOptionViewItem, QWidget

from desktop_agent.core.events import Event, SessionsChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.gui.kit.lists.choice_list import ChoiceList, RenamingDelegate
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, SnapshotListModel, text_roles
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.spinner import paint_spinner
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    TextLabel,
    UndoBar,
    column,
    named,
    row,
    single_timer,
    ticker,
)
from desktop_agent.gui.sessions.rows import SessionRow, in_shown_order, make_rows, spoken

if TYPE_CHECKING:
    from desktop_agent.gui.kit.lists.row_painter import RowPainter

UNDO_MS = 8000
_AGE_MS = 30_000
_SEARCH_MS = 200
_ICONS = {
    "needs_you": ("circle-alert", "warn"),
    "paused": ("circle-pause", "muted"),
    "failed": ("circle-x", "err"),
    "interrupted": ("circle-pause", "warn"),
    "idle": ("message-square", "subtle"),
}
_ICON_PX = 14


class SessionPanel(QWidget):
    """Search, the list of sessions, and undo.

    Signals:
        session_chosen(session_id), renamed(session_id, title)
        leaving(session_id), returned(session_id): it went off the list, and came back
        deleted(session_id): only after the time for *Undo* has passed
        searched(text): search all messages, and call `set_matches`
        typed(str): a character of a message, typed while the list had the focus
    """

    session_chosen = Signal(str)
    renamed = Signal(str, str)
    leaving = Signal(str)
    returned = Signal(str)
    deleted = Signal(str)
    searched = Signal(str)
    typed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._sessions: tuple[SessionInfo, ...] = ()
        self._leaving: dict[SessionId, QTimer] = {}
        self._current: SessionId | None = None
        self._matches: frozenset[SessionId] = frozenset()
        self.setObjectName("sessionPanel")
        self._build()
        self._ages = ticker(self, _AGE_MS, self._show_rows)
        self._search_delay = single_timer(self, _SEARCH_MS, self._ask_search)
        theme.pulse.ticked.connect(self._turn_spinners)
        theme.changed.connect(self.list.doItemsLayout)

    def apply(self, event: Event) -> None:
        if isinstance(event, SessionsChanged):
            self._sessions = event.sessions
            self._show_rows()

    def set_current(self, session_id: str | None) -> None:
        self._current = SessionId(session_id) if session_id else None
        self._select_current()

    def set_matches(self, text: str, found: tuple[SessionId, ...]) -> None:
        """Show what a search of all messages found, if it is still what is searched for."""
        if text == self.search.text().strip():
            self._matches = frozenset(found)
            self._show_rows()

    def rename_current(self) -> None:
        """Begin to rename the session that the cursor is on."""
        index = self.list.currentIndex()
        if index.isValid():
            self.list.edit(index)

    def delete(self, session_id: str | None) -> None:
        """Take the session off the list; it is deleted when the time for *Undo* is over."""
        known = SessionId(session_id or "")
        if known in self._leaving or all(info.id != known for info in self._sessions):
            return
        timer = single_timer(self, UNDO_MS, lambda: self._finish(known))
        timer.start()
        self._leaving[known] = timer
        self._show_rows()
        self._show_undo()
        self.leaving.emit(known)

    def undo_delete(self) -> None:
        if self._leaving:
            session_id, timer = self._leaving.popitem()
            timer.deleteLater()
            self._show_rows()
            self._show_undo()
            self.returned.emit(session_id)

    def finish_deletes(self) -> None:
        """Delete now what waits; the app is closing."""
        for session_id in list(self._leaving):
            self._finish(session_id)

    def _build(self) -> None:
        theme = self._theme
        self.search = named(SearchField(theme, self.tr("Search sessions"), self), "searchSessions")
        self.search.textChanged.connect(self._on_search_changed)
        self.search.left.connect(lambda: self.list.setFocus())
        self._model: SnapshotListModel[SessionRow] = SnapshotListModel(
            lambda one: one.key,
            text_roles(lambda one: one.title, spoken, _tip),
            self,
            _flags,
        )
        self.list = ChoiceList("sessionList", self)
        self.list.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        # What is selected is what is shown; keys and clicks only move the cursor.
        self.list.setSelectionMode(QListView.SelectionMode.NoSelection)
        self.list.setModel(self._model)
        delegate = SessionDelegate(theme, self.list)
        delegate.titled.connect(self._on_titled)
        # What came in while a name was typed is shown after it.
        delegate.closeEditor.connect(self._show_rows, Qt.ConnectionType.QueuedConnection)
        self.list.setItemDelegate(delegate)
        self.list.setAccessibleName(self.tr("Sessions"))
        self.list.chosen.connect(self._choose)
        # After a click its keys are for the session: F2, Del. What is typed is a message.
        self.list.clicked.connect(lambda: self.list.setFocus())
        self.list.passes_text = True
        self.list.typed.connect(self.typed)
        self.list.delete_pressed.connect(self._delete_index)
        self.list.left.connect(self._show_rows)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.list)
        self._pages.addWidget(self._empty_page())
        search = row(theme.space("m"), self.search, theme.space("m"), spacing=0)
        self._undo = UndoBar(theme, "undoDelete", self, self.list, self.undo_delete)
        edge = theme.space("s")
        undo = row(edge, self._undo, edge, spacing=0)
        self.setLayout(column(search, self._pages, undo, spacing=theme.space("xs"), stretch=1))

    def _empty_page(self) -> QWidget:
        page = QWidget(self)
        self._empty = TextLabel(self.tr("No sessions yet"), "muted", page, wraps=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._clear = GhostButton(self._theme, self.tr("Clear search"), "", page)
        self._clear.setObjectName("clearSearch")
        self._clear.clicked.connect(self.search.clear)
        edge, clear = self._theme.space("l"), row(None, self._clear, None)
        page.setLayout(column(self._empty, clear, None, spacing=-1, edges=(edge, edge, edge, edge)))
        return page

    def _show_rows(self) -> None:
        wanted = self.search.text().strip().casefold()
        shown = [
            info
            for info in self._sessions
            if info.id not in self._leaving
            and (not wanted or wanted in info.title.casefold() or info.id in self._matches)
        ]
        if self.list.underMouse() and self.isActiveWindow():
            ids = [one.session_id for one in self._model.rows() if one.session_id]
            shown = in_shown_order(shown, ids)
        elif not self.isActiveWindow():
            shown.sort(key=lambda info: info.status != "needs_you")
        if self.list.state() != QListView.State.EditingState:
            self._model.set_rows(make_rows(shown, time.time()))
        self._pages.setCurrentIndex(0 if self._model.rowCount() else 1)
        self._clear.setVisible(bool(wanted))
        text = self.tr("No session matches “{text}”") if wanted else self.tr("No sessions yet")
        self._empty.setText(text.format(text=self.search.text().strip()))
        self._select_current()
        self._hold_pulse()

    def _select_current(self) -> None:
        index = self._model.index_of(self._current) if self._current else QModelIndex()
        flag = QItemSelectionModel.SelectionFlag
        self.list.selectionModel().select(index, flag.ClearAndSelect)
        # Else the user is walking through the list.
        if not self.list.hasFocus() or not self.list.currentIndex().isValid():
            self.list.selectionModel().setCurrentIndex(index, flag.NoUpdate)

    def _on_search_changed(self) -> None:
        self._matches = frozenset()
        self._search_delay.start()
        self._show_rows()

    def _ask_search(self) -> None:
        text = self.search.text().strip()
        if len(text) >= 2:
            self.searched.emit(text)

    def _on_titled(self, one: SessionRow, title: str) -> None:
        self.renamed.emit(one.session_id, title)

    def _choose(self, index: QModelIndex) -> None:
        one = index.data(ROW_ROLE)
        if one is not None and one.session_id:
            self.session_chosen.emit(one.session_id)

    def _delete_index(self, index: QModelIndex) -> None:
        one = index.data(ROW_ROLE)
        self.delete(one.session_id if one is not None else None)

    def _finish(self, session_id: SessionId) -> None:
        timer = self._leaving.pop(session_id, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()
            self._sessions = tuple(info for info in self._sessions if info.id != session_id)
            self.deleted.emit(session_id)
            self._show_undo()

    def _show_undo(self) -> None:
        last = next(reversed(self._leaving), None)
        title = next((one.title for one in self._sessions if one.id == last), "")
        if last is None:
            self._undo.hide()
        else:
            self._undo.offer(self.tr("Deleted “{title}”").format(title=title))

    def _show_menu(self, where: QPoint) -> None:
        index = self.list.indexAt(where)
        one = index.data(ROW_ROLE) if index.isValid() else None
        if one is None or one.is_heading:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Open"), lambda: self._choose(index))
        # No keys here: they are the list's, and after a click the message box has the focus.
        menu.addAction(self._theme.icon("pencil"), self.tr("Rename"), lambda: self.list.edit(index))
        menu.addAction(
            self._theme.icon("trash-2", "err"), self.tr("Delete"), lambda: self._delete_index(index)
        )
        menu.popup(self.list.viewport().mapToGlobal(where))

    def _turn_spinners(self) -> None:
        for number, one in enumerate(self._model.rows()):
            if one.state == "running":
                self.list.update(self._model.index(number))

    def _hold_pulse(self) -> None:
        is_turning = self.isVisible() and any(o.state == "running" for o in self._model.rows())
        (self._theme.pulse.hold if is_turning else self._theme.pulse.release)(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ages.start()
        self._show_rows()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ages.stop()
        self._theme.pulse.release(self)

    def changeEvent(self, event: QEvent) -> None:
        """Sort again when the window loses or gains the focus."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange:
            self._show_rows()


def _tip(one: SessionRow) -> str:
    return plain_tip(f"{one.title}\n{one.folder}") if one.folder else ""


def _flags(one: SessionRow) -> Qt.ItemFlag:
    if one.is_heading:
        return Qt.ItemFlag.NoItemFlags
    flag = Qt.ItemFlag
    return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable


class SessionDelegate(RenamingDelegate):
    """Draws sessions, and the headings of their groups."""

    field_name = "renameSession"

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        name = QCoreApplication.translate("SessionDelegate", "Session name")
        super().__init__(name, _title_of, parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: SessionRow = index.data(ROW_ROLE)
        return QSize(80, self._theme.size("section_row" if row.is_heading else "session_row"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        # It brings QStyle: not before there is a row.
        from desktop_agent.gui.kit.lists.row_painter import RowPainter

        row: SessionRow = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            inner = pen.rect.adjusted(14, 0, -12, 0)
            if row.is_heading:
                font = self._theme.font("caption", "semibold")
                pen.text(inner.adjusted(-2, 6, 0, 0), row.title, "subtle", font)
            else:
                pen.ground()
                self._paint_session(pen, inner, row)

    def _paint_session(self, pen: RowPainter, inner: QRect, row: SessionRow) -> None:
        theme, size = self._theme, self._theme.icon_px(_ICON_PX)
        icon = QRect(inner.left(), inner.center().y() - size // 2 + 1, size, size)
        self._paint_state(pen, icon, row)
        small = theme.font("caption")
        age_width = QFontMetrics(small).horizontalAdvance(row.age) + 2
        title = inner.adjusted(size + 8, 0, -age_width - 8, 0)
        if row.is_ambiguous:
            title = self._paint_folder(pen, title, row.folder)
        is_strong = pen.is_selected or row.is_bold
        token = "fg" if is_strong or row.state == "running" else "muted"
        pen.text(title, row.title, token, theme.font("ui", "medium" if is_strong else "regular"))
        age = QRect(inner.right() - age_width, inner.top(), age_width + 1, inner.height())
        pen.text(age, row.age, pen.faint, small, side=Qt.AlignmentFlag.AlignRight)

    def _paint_folder(self, pen: RowPainter, room: QRect, folder: str) -> QRect:
        """Draw the folder at the trailing end; return what is left for the title."""
        small = self._theme.font("caption")
        wide = min(QFontMetrics(small).horizontalAdvance(folder) + 2, room.width() // 2)
        trailing = QRect(room.right() - wide, room.top(), wide + 1, room.height())
        pen.text(trailing, folder, pen.faint, small, side=Qt.AlignmentFlag.AlignRight)
        return room.adjusted(0, 0, -wide - 8, 0)

    def _paint_state(self, pen: RowPainter, icon: QRect, row: SessionRow) -> None:
        theme = self._theme
        box = QRectF(pen.mirrored(icon))
        if row.state == "running":
            ring = box.adjusted(-1, -1, 1, 1)
            colors = theme.color("accent"), theme.color("line2")
            paint_spinner(pen.painter, ring, theme.pulse, *colors)
        elif row.state == "unread":
            radius = theme.icon_px(7) / 2
            pen.painter.setPen(Qt.PenStyle.NoPen)
            pen.painter.setBrush(theme.color("accent"))
            pen.painter.drawEllipse(box.center(), radius, radius)
        else:
            pen.icon(icon, *_ICONS[row.state])


def _title_of(row: SessionRow) -> str:
    """Return a session's title; a heading can't be changed."""
    return row.title if row.session_id else ""

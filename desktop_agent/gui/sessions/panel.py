"""The list of sessions: find one, open, rename or delete it."""

from __future__ import annotations

import time
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QListView, QStackedWidget, QWidget

from desktop_agent.core.events import Event, SessionsChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import SearchFound, SessionInfo
from desktop_agent.gui.kit.lists.choice_list import ChoiceList
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel, text_roles
from desktop_agent.gui.kit.safe_text import plain_tip, with_marks
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconButton,
    TextLabel,
    UndoBar,
    column,
    named,
    row,
    single_timer,
    ticker,
)
from desktop_agent.gui.sessions.delegate import SessionDelegate
from desktop_agent.gui.sessions.menu import SessionMenu, ask_to_erase
from desktop_agent.gui.sessions.rows import (
    Fold,
    SessionRow,
    archived_rows,
    deleted_rows,
    hit_rows,
    in_shown_order,
    make_rows,
    spoken,
)

UNDO_MS = 8000
_AGE_MS = 30_000
_SEARCH_MS = 200


class SessionPanel(QWidget):
    """Search, the list of sessions, and undo.

    Signals:
        session_chosen(session_id), renamed(session_id, title)
        leaving(session_id), returned(session_id): it went off the list, and came back
        deleted(session_id): only after the time for *Undo* has passed
        searched(text): search all messages, and call `set_matches`
        hit_chosen(SearchHit): one of those messages
        typed(str): a character of a message, typed while the list had the focus
        pinned(session_id, bool), archived(session_id, bool)
        exported(session_id): to be written to a file
        restored(session_id), erased(session_id), emptied: of the recently deleted ones
        grouping_changed(bool): by folder, or by day
        window_wanted(session_id): to be opened in a window of its own
        refused(session_id): it is not deleted here, as another window has it for writing
    """

    session_chosen = Signal(str)
    renamed = Signal(str, str)
    leaving = Signal(str)
    returned = Signal(str)
    deleted = Signal(str)
    searched = Signal(str)
    hit_chosen = Signal(object)
    typed = Signal(str)
    pinned = Signal(str, bool)
    archived = Signal(str, bool)
    exported = Signal(str)
    restored = Signal(str)
    erased = Signal(str)
    emptied = Signal()
    grouping_changed = Signal(bool)
    window_wanted = Signal(str)
    refused = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._sessions: tuple[SessionInfo, ...] = ()
        self._deleted: tuple[SessionInfo, ...] = ()
        self._elsewhere: frozenset[SessionId] = frozenset()
        self._open: set[Fold] = set()
        self._is_by_folder = False
        self._leaving: dict[SessionId, QTimer] = {}
        self._current: SessionId | None = None
        self._matches = SearchFound()
        self._is_listed = False
        self.setObjectName("sessionPanel")
        self._build()
        self._ages = ticker(self, _AGE_MS, self._show_rows)
        self._search_delay = single_timer(self, _SEARCH_MS, self._ask_search)
        theme.pulse.ticked.connect(self._turn_spinners)
        theme.changed.connect(self.list.doItemsLayout)

    def apply(self, event: Event) -> None:
        if isinstance(event, SessionsChanged):
            self.list_sessions(event.sessions, event.deleted)

    @property
    def listed(self) -> tuple[tuple[SessionInfo, ...], tuple[SessionInfo, ...]]:
        """The sessions, and those that were deleted recently."""
        return self._sessions, self._deleted

    def list_sessions(
        self, sessions: tuple[SessionInfo, ...], deleted: tuple[SessionInfo, ...]
    ) -> None:
        self._sessions, self._deleted, self._is_listed = sessions, deleted, True
        self._show_rows()

    def set_elsewhere(self, sessions: frozenset[SessionId]) -> None:
        """Mark the sessions that other windows have for writing."""
        if sessions != self._elsewhere:
            self._elsewhere = sessions
            self._show_rows()

    def set_current(self, session_id: str | None) -> None:
        self._current = SessionId(session_id) if session_id else None
        self._select_current()

    def set_matches(self, text: str, found: SearchFound) -> None:
        """Show what a search of all messages found, if it is still what is searched for."""
        if text == self.search.text().strip():
            self._matches = found
            self._show_rows()

    def set_by_folder(self, is_by_folder: bool) -> None:
        """List the sessions by folder, or by day."""
        self._is_by_folder = is_by_folder
        icon, other = (
            ("clock", self.tr("by date")) if is_by_folder else ("folder", self.tr("by folder"))
        )
        self._grouping.set_icon(icon)
        say = self.tr("Group {how}").format(how=other)
        self._grouping.setToolTip(say)
        self._grouping.setAccessibleName(say)
        self._show_rows()

    def rename(self, session_id: str) -> None:
        """Begin to rename a session that is listed."""
        index = self._model.index_of(session_id)
        if index.isValid():
            self.list.edit(index)

    def delete(self, session_id: str | None) -> None:
        """Take the session off the list; it is deleted when the time for *Undo* is over."""
        known = SessionId(session_id or "")
        if known in self._leaving or all(info.id != known for info in self._sessions):
            return
        if known in self._elsewhere:
            self.refused.emit(known)
            return
        timer = single_timer(self, UNDO_MS, lambda: self._finish(known))
        timer.start()
        self._leaving[known] = timer
        self._show_rows()
        self._show_undo()
        self.leaving.emit(known)

    def undo_delete(self) -> None:
        if self._leaving:
            self.restore(next(reversed(self._leaving)))

    def restore(self, session_id: str) -> None:
        """Take a session back that was deleted just now, or at most a month ago."""
        known = SessionId(session_id)
        timer = self._leaving.pop(known, None)
        if timer is None:
            self.restored.emit(known)
            return
        timer.deleteLater()
        self._show_rows()
        self._show_undo()
        self.returned.emit(known)

    def erase(self, session_id: str) -> None:
        """Delete for good; the time for *Undo* of one that was deleted just now is over."""
        self._finish(SessionId(session_id))
        self.erased.emit(session_id)

    def empty(self) -> None:
        """Delete all recently deleted sessions for good."""
        self.finish_deletes()
        self.emptied.emit()

    def finish_deletes(self) -> None:
        """Delete now what waits; the app is closing."""
        for session_id in list(self._leaving):
            self._finish(session_id)

    def _build(self) -> None:
        theme = self._theme
        self.search = named(SearchField(theme, self.tr("Search sessions"), self), "searchSessions")
        self.search.textChanged.connect(self._on_search_changed)
        self.search.left.connect(lambda: self.list.setFocus())
        self.search.returnPressed.connect(self._choose_first)
        self.search.stepped.connect(self._step_into_list)
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
        self._connect_list()
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.list)
        self._pages.addWidget(self._empty_page())
        self._grouping = IconButton(theme, "folder", self.tr("Group by folder"), self)
        self._grouping.setObjectName("groupSessions")
        self._grouping.clicked.connect(self._switch_grouping)
        edge = theme.space("m")
        search = row(edge, (self.search, 1), self._grouping, theme.space("s"), spacing=4)
        self._undo = UndoBar(theme, "undoDelete", self, self.list, self.undo_delete)
        edge = theme.space("s")
        undo = row(edge, self._undo, edge, spacing=0)
        self.setLayout(column(search, self._pages, undo, spacing=theme.space("xs"), stretch=1))

    def _connect_list(self) -> None:
        self.list.chosen.connect(self._choose)
        self.list.turned.connect(self._turn)
        # After a click its keys are for the session: F2, Del. What is typed is a message.
        self.list.clicked.connect(lambda: self.list.setFocus())
        self.list.passes_text = True
        self.list.typed.connect(self.typed)
        self.list.delete_pressed.connect(self._delete_index)
        self.list.left.connect(self._show_rows)
        self.list.customContextMenuRequested.connect(self._show_menu_at)

    def _empty_page(self) -> QWidget:
        page = QWidget(self)
        self._empty = TextLabel("", "muted", page, wraps=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._clear = GhostButton(self._theme, self.tr("Clear search"), "", page)
        self._clear.setObjectName("clearSearch")
        self._clear.clicked.connect(self.search.clear)
        edge, clear = self._theme.space("l"), row(None, self._clear, None)
        page.setLayout(column(self._empty, clear, None, spacing=-1, edges=(edge, edge, edge, edge)))
        return page

    def _show_rows(self) -> None:
        wanted = self.search.text().strip().casefold()
        if self.list.state() != QListView.State.EditingState:
            rows = self._found(wanted) if wanted else self._all_rows()
            self._model.set_rows(
                tuple(replace(r, is_elsewhere=r.session_id in self._elsewhere) for r in rows)
                if self._elsewhere
                else rows
            )
        self._pages.setCurrentIndex(0 if self._model.rowCount() else 1)
        self._clear.setVisible(bool(wanted))
        text = self.tr("No session matches “{text}”") if wanted else self.tr("No sessions yet")
        self._empty.setVisible(self._is_listed)
        self._empty.setText(text.format(text=self.search.text().strip()))
        self._select_current()
        self._hold_pulse()

    def _all_rows(self) -> tuple[SessionRow, ...]:
        now = time.time()
        staying = [info for info in self._sessions if info.id not in self._leaving]
        listed = self._ordered([info for info in staying if not info.is_archived])
        archived = [info for info in staying if info.is_archived]
        # What was deleted last, and can be undone, stands at the top.
        going = [info for info in reversed(self._sessions) if info.id in self._leaving]
        return (
            *make_rows(listed, now, by_folder=self._is_by_folder),
            *archived_rows(archived, now, is_open="archived" in self._open),
            *deleted_rows((*going, *self._deleted), now, is_open="deleted" in self._open),
        )

    def _found(self, wanted: str) -> tuple[SessionRow, ...]:
        shown = [
            info
            for info in self._sessions
            if info.id not in self._leaving
            and (wanted in info.title.casefold() or info.id in self._matches.titles)
        ]
        now, staying = time.time(), [i for i in self._sessions if i.id not in self._leaving]
        return (
            *make_rows(self._ordered(shown), now, by_folder=self._is_by_folder),
            *hit_rows(self._matches, staying, now),
        )

    def _ordered(self, sessions: list[SessionInfo]) -> list[SessionInfo]:
        """Keep the rows in place under the mouse; put first what waits while nobody looks."""
        if self.list.underMouse() and self.isActiveWindow():
            ids = [one.session_id for one in self._model.rows() if one.session_id]
            return in_shown_order(sessions, ids)
        if not self.isActiveWindow():
            sessions.sort(key=lambda info: info.status != "needs_you")
        return sessions

    def _switch_grouping(self) -> None:
        self.set_by_folder(not self._is_by_folder)
        self.grouping_changed.emit(self._is_by_folder)

    def _turn(self, index: QModelIndex, is_open: bool | None = None) -> None:
        """Open or close the group of a heading; without `is_open` the other way round."""
        one: SessionRow | None = index.data(ROW_ROLE)
        if one is None or one.fold is None or not one.is_heading:
            return
        if not one.is_open if is_open is None else is_open:
            self._open.add(one.fold)
        else:
            self._open.discard(one.fold)
        self._show_rows()

    def _select_current(self) -> None:
        index = self._model.index_of(self._current) if self._current else QModelIndex()
        flag = QItemSelectionModel.SelectionFlag
        self.list.selectionModel().select(index, flag.ClearAndSelect)
        # Else the user is walking through the list.
        if not self.list.hasFocus() or not self.list.currentIndex().isValid():
            self.list.selectionModel().setCurrentIndex(index, flag.NoUpdate)

    def _on_search_changed(self) -> None:
        self._matches = SearchFound()
        self._search_delay.start()
        self._show_rows()

    def _ask_search(self) -> None:
        text = self.search.text().strip()
        if len(text) >= 2 or not text.isascii():  # an ideograph is a word
            self.searched.emit(text)

    def _on_titled(self, one: SessionRow, title: str) -> None:
        self.renamed.emit(one.session_id, title)

    def _choose(self, index: QModelIndex) -> None:
        one = index.data(ROW_ROLE)
        if one is None:
            return
        if one.is_heading:
            self._turn(index)
        elif one.hit is not None:
            self.hit_chosen.emit(one.hit)
        elif one.is_deleted:
            self._show_menu(index, self.list.visualRect(index).center())
        else:
            self.session_chosen.emit(one.session_id)

    def _choose_first(self) -> None:
        """Open what stands first of what was found."""
        if self.search.text().strip():
            self._choose(self._first())

    def _step_into_list(self) -> None:
        self.list.setFocus(Qt.FocusReason.TabFocusReason)
        flag = QItemSelectionModel.SelectionFlag.NoUpdate
        self.list.selectionModel().setCurrentIndex(self._first(), flag)

    def _first(self) -> QModelIndex:
        rows = self._model.rows()
        place = next((n for n, one in enumerate(rows) if not one.is_heading), -1)
        return self._model.index(place)

    def _delete_index(self, index: QModelIndex) -> None:
        one = index.data(ROW_ROLE)
        if one is not None and one.is_deleted:
            self._ask_to_erase(one)
        else:
            self.delete(one.session_id if one is not None else None)

    def _finish(self, session_id: SessionId) -> None:
        timer = self._leaving.pop(session_id, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()
            if session_id in self._elsewhere:  # another window has opened it since
                self._show_rows()
                self._show_undo()
                self.refused.emit(session_id)
                return
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

    def _show_menu_at(self, where: QPoint) -> None:
        index = self.list.indexAt(where)
        if index.isValid():
            self._show_menu(index, where)

    def _show_menu(self, index: QModelIndex, where: QPoint) -> None:
        one: SessionRow = index.data(ROW_ROLE)
        archived = {info.id for info in self._sessions if info.is_archived}
        menu = SessionMenu(self._theme, one, self)
        menu.wanted.connect(partial(self._do, one))
        menu.fill(is_archived=one.session_id in archived)
        if not menu.isEmpty():
            menu.popup(self.list.viewport().mapToGlobal(where))

    def _ask_to_erase(self, one: SessionRow) -> None:
        words = self.tr("Delete “{title}” permanently?").format(title=with_marks(one.title))
        box = ask_to_erase(self._theme, words, self.window())
        box.accepted.connect(partial(self.erase, one.session_id or ""))

    def _ask_to_empty(self) -> None:
        words = self.tr("Delete all recently deleted sessions permanently?")
        ask_to_erase(self._theme, words, self.window()).accepted.connect(self.empty)

    def _do(self, row: SessionRow, what: str) -> None:
        session_id = row.session_id or ""
        {
            "open": lambda: self.session_chosen.emit(session_id),
            "open_beside": lambda: self.window_wanted.emit(session_id),
            "rename": lambda: self.rename(session_id),
            "pin": lambda: self.pinned.emit(session_id, True),
            "unpin": lambda: self.pinned.emit(session_id, False),
            "archive": lambda: self.archived.emit(session_id, True),
            "unarchive": lambda: self.archived.emit(session_id, False),
            "export": lambda: self.exported.emit(session_id),
            "delete": lambda: self.delete(session_id),
            "restore": lambda: self.restore(session_id),
            "erase": lambda: self._ask_to_erase(row),
            "empty": self._ask_to_empty,
        }[what]()

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
    if not one.folder:
        return ""
    place = QCoreApplication.translate("SessionPanel", "Open in another window")
    lines = (one.title, one.folder, place if one.is_elsewhere else "")
    return plain_tip("\n".join(filter(None, lines)))


def _flags(one: SessionRow) -> Qt.ItemFlag:
    flag = Qt.ItemFlag
    if one.hit is not None:
        return flag.ItemIsEnabled | flag.ItemIsSelectable
    if one.is_heading:
        return flag.NoItemFlags if one.fold is None else flag.ItemIsEnabled
    usable = flag.ItemIsEnabled | flag.ItemIsSelectable
    return usable if one.is_deleted else usable | flag.ItemIsEditable

"""The transcript view: rows in one document, cards over it, and where the user looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint, QPointF, QRect, Qt, QUrl, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.changes import SessionChanges
from desktop_agent.core.events import AgentEvent, Event
from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, column, single_timer
from desktop_agent.gui.state.session_state import AgentPage
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.card import CardHost, Clocks
from desktop_agent.gui.transcript.cards.row_text import row_text
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.document.styles import Styles
from desktop_agent.gui.transcript.state.items import (
    AnswerItem,
    ToolItem,
    UserItem,
    alike,
    is_asking,
)
from desktop_agent.gui.transcript.state.rows import WORKING_KEY
from desktop_agent.gui.transcript.state.transcript import Transcript
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser
from desktop_agent.gui.transcript.view.card_layer import ASKING, CardLayer
from desktop_agent.gui.transcript.view.find import Finder
from desktop_agent.gui.transcript.view.message_actions import (
    HoverBar,
    MessageActions,
    copy_text,
    has_actions,
    message_menu,
)
from desktop_agent.gui.transcript.view.row_window import VisibleRows
from desktop_agent.gui.transcript.view.scroll_anchor import Scrolling
from desktop_agent.gui.transcript.view.table_data import Table, read_table
from desktop_agent.gui.transcript.view.text_dialogs import ask_to_open, show_text

_SILENT_S = 3.0
_HOLD_MS = 150
_RESIZE_MS = 60
_MARGIN = 24
_TITLE = 120
# A narrower view has less room around its text, and indents messages less.
_NARROW = 640


class TranscriptView(CardHost):
    """Shows one agent's transcript."""

    open_link_requested = Signal(str)  # the user agreed to open it
    earlier_requested = Signal()
    waiting_changed = Signal(int)  # open approvals

    def __init__(
        self, theme: Theme, parent: QWidget | None = None, *, clocks: Clocks | None = None
    ) -> None:
        super().__init__(theme, clocks or Clocks(), parent)
        # The number of the oldest event that is shown, and the branch that they are of.
        self.first_seq, self.path = 1, 0
        self._waiting = 0
        self._said = set[str]()  # which cards a screen reader was told of
        self._laid_out = QRect()
        self.setObjectName("transcriptView")
        self.setAccessibleName(self.tr("Transcript"))
        self.browser = TranscriptBrowser(theme, self)
        self.cards = CardLayer(self, self.browser, self.column)
        text_of = partial(row_text, name_of=self.name_of)
        self.page = TranscriptDocument(
            self.browser.document(), Styles(theme), self.cards.measure, text_of
        )
        self.browser.set_page(self.page)
        self._scrolling = Scrolling(self.browser, self.page)
        self._window = VisibleRows(self.page, self.cards, self._scrolling, self.unfolded)
        self._finder = Finder(self.browser, theme)
        self._jump = TextButton(theme, "", "arrow-down", self, name="jumpToLatest")
        self._jump.set_text(self.tr("Jump to latest"))
        self._jump.hide()
        self._actions = MessageActions(self)
        self._hover = HoverBar(theme, self.browser, self.page, self._actions)
        # The row at which another branch was chosen: the view stays there.
        self._chosen = ""
        self._hold = single_timer(self, _HOLD_MS, self._show_held)
        self._placing = single_timer(self, 0, self._place)
        self._resize = single_timer(self, _RESIZE_MS, self._lay_out_again)
        column(self.browser, spacing=-1, within=self)
        self._connect()
        self.page.clear()

    # -- what the window calls -----------------------------------------------------------

    def open(self, page: AgentPage) -> None:
        """Show another agent, its newest messages first."""
        self.session = page.info
        self.first_seq, self.path = page.first_seq, page.path
        self.transcript = Transcript.of_page(page)
        self.unfolded.clear()
        self.last_event_at = self.clocks.wall()
        self._window.reset(has_earlier=page.first_seq > 1)
        self._sync()
        self._scrolling.to_end()
        self._place()
        self._after_events()

    def show_path(self, page: AgentPage) -> None:
        """Show another branch of the session, from the place where it was chosen."""
        chosen, self._chosen = self._chosen, ""
        self._hover.hide()
        self.open(page)
        if chosen:
            self._show_card(chosen)

    def apply(self, events: Sequence[Event]) -> None:
        """Take in a batch of events; the document changes once."""
        transcript = self.transcript
        changed: set[str] = set()
        before = (transcript.is_running, transcript.is_paused)
        for event in events:
            changed |= transcript.apply(event)
        if not changed and before == (transcript.is_running, transcript.is_paused):
            return
        self.last_event_at = self.clocks.wall()
        if not self._grow_only(changed):
            self._sync()
        self._place()
        self._after_events()

    def know_changes(self, changes: SessionChanges) -> None:
        """Show what all agents of the session did to files, and what of it is undone."""
        if self.transcript.know_changes(changes):
            self._sync()
            self._place()

    def set_read_only(self, is_read_only: bool) -> None:
        """Take answers no more, or again; the cards are made anew."""
        if is_read_only != self.is_read_only:
            self.is_read_only = is_read_only
            self._hover.hide()
            self._make_anew()

    def prepend(self, events: Sequence[AgentEvent], first_seq: int) -> None:
        """Take in older messages; what the user looks at stays where it is."""
        self.first_seq = first_seq
        self.transcript.prepend(events)
        self._window.add_earlier(has_earlier=first_seq > 1)
        self._sync()
        self._place()

    def waiting_count(self) -> int:
        return self._waiting

    def focus_oldest_approval(self) -> bool:
        """Scroll to the request or question that has waited longest and give it the focus."""
        return any(self._show_card(item.key) for item in self.transcript.items if is_asking(item))

    def show_end(self) -> None:
        self._scrolling.to_end()
        self._place()

    def follow_sent(self) -> None:
        """Go to where a message comes in that begins a turn; nothing scrolls under a selection."""
        if not self.transcript.is_running and not self.browser.textCursor().hasSelection():
            self.show_end()

    def show_call(self, call_id: str) -> bool:
        """Scroll to a tool call and give its card the focus; False when it is not loaded."""
        if not isinstance(self.transcript.item(call_id), ToolItem):
            return False
        if (line := self._window.activity_of(call_id)) is not None:
            self.unfolded[line.key] = True
            self._sync()
        return self._show_card(call_id)

    def show_message(self, message_id: str, words: str) -> bool:
        """Scroll to a message and mark the words in it; False when it is not loaded."""
        keys = (item.key for item in self.transcript.items)
        key = next((k for k in keys if k == message_id or k.startswith(f"{message_id}/")), "")
        self._window.show_back_to(key)
        index = self.page.index_of(key)
        if index < 0:
            return False
        self._window.write_out()
        row = self.page.rows[index]
        self._scrolling.show(row)
        self._place()
        self._finder.find_from(row.frame.firstPosition(), words)
        return True

    def find(self, text: str, backward: bool = False) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - QWidget.find is a static look-up by window id that nothing here uses
        """Go to the next place with this text; return how many there are."""
        if text:
            self._window.show_all()
        count = self._finder.find(text, backward=backward)
        self._place()
        return count

    def copy_last_answer(self) -> None:
        for item in reversed(self.transcript.items):
            if isinstance(item, AnswerItem) and item.text.strip():
                copy_text(item.text)
                return

    def menu_at(self, at: QPoint) -> QMenu:
        return message_menu(self.browser, at, self._actions, self.show_rows)

    def column(self) -> QRect:
        """Return where cards and text stand: left edge and width."""
        # The scroll bar's room is always left free: nothing moves when it comes.
        room = self.browser.width() - self.theme.size("scrollbar")
        margin = _MARGIN if room > _NARROW else self.theme.space("l")
        width = max(200, min(self.theme.size("transcript_max"), room - 2 * margin))
        left = (room - width) // 2
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            left += self.browser.viewport().width() - room
        return QRect(left, 0, width, 0)

    @property
    def ground(self) -> QWidget:
        return self.browser.viewport()

    # -- events of Qt --------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        size = self._jump.sizeHint()
        left, top = (self.width() - size.width()) // 2, self.height() - size.height() - 12
        self._jump.setGeometry(QRect(QPoint(left, top), size))
        self._jump.raise_()

    def showEvent(self, event: QShowEvent) -> None:
        """Turn the clocks on, and write what came while nobody looked."""
        super().showEvent(event)
        if self._window.is_late:
            self._sync()
            self._place()
        self._follow_clocks()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._follow_clocks()

    def _connect(self) -> None:
        for resolved in (
            self.decided,
            self.answered,
            self.form_answered,
            self.resume_requested,
        ):
            # The button that was pressed goes away; the focus must not go just anywhere.
            resolved.connect(self.compose_requested)
        self.text_requested.connect(self._show_text)
        self.picture_requested.connect(self._show_picture)
        self.table_requested.connect(self._show_table_file)
        self.more_requested.connect(self._show_more)
        self.activity_toggled.connect(self._on_activity_toggled)
        self.row_wanted.connect(self._show_card)
        self.cards.resized.connect(self._on_card_resized)
        self.cards.made.connect(self._place)
        self.cards.second.connect(self._on_second)
        self.browser.resized.connect(self._on_browser_resized)
        self.browser.anchorClicked.connect(self._on_link)
        self.browser.menu_requested.connect(self._open_menu)
        self.browser.pointed.connect(self._hover.follow)
        self.browser.message_wanted.connect(self.step_to_message)
        self.branch_chosen.connect(self._on_branch_chosen)
        self._window.filled.connect(self._place)
        self._scrolling.moved.connect(self._on_scrolled)
        self._jump.clicked.connect(self._on_jump)
        self.browser.document().documentLayout().documentSizeChanged.connect(self._placing.start)
        self.theme.changed.connect(self._on_theme_changed)

    def _on_branch_chosen(self, key: str, _: int) -> None:
        self._chosen = key

    def step_to_message(self, step: int) -> None:
        """Go to the user's message before, or after, the one in view, with what can be done."""
        rows = [shown for shown in self.page.rows if has_actions(shown.row)]
        shown = self._hover.next_to(rows, step)
        if shown is not None:
            self._scrolling.show(shown)
            self._place()
            self._hover.take_focus(shown)

    def _show_text(self, title: str, text: str) -> None:
        show_text(self.theme, title, text, self.window())

    def _show_picture(self, pictures: Sequence[ImagePart], which: int) -> None:
        # Rarely wanted.
        from desktop_agent.gui.transcript.view.picture_viewer import PictureViewer

        PictureViewer(self.theme, pictures, which, self.window()).open()

    def _show_table_file(self, path: str) -> None:
        if self.session is not None:
            self._show_table(path, partial(read_table, path, self.session.workspace))

    def show_rows(self, table: Table) -> None:
        """Show a table of an answer in a window of its own."""
        self._show_table(self.tr("Table"), lambda: table)

    def _show_table(self, title: str, read: Callable[[], Table]) -> None:
        # Rarely wanted.
        from desktop_agent.gui.transcript.view.table_viewer import TableViewer

        TableViewer(self.theme, with_marks(title)[-_TITLE:], read, self.window()).open()

    def _open_menu(self, at: QPoint, on_screen: QPoint) -> None:
        self.menu_at(at).popup(on_screen)

    def _show_card(self, key: str) -> bool:
        self._window.show_back_to(key)
        index = self.page.index_of(key)
        if index < 0:
            return False
        self._scrolling.show(self.page.rows[index])
        self._place()
        card = self.cards.cards.get(key)
        return card is not None and card.take_focus()

    def _grow_only(self, changed: set[str]) -> bool:
        """Show more text of an answer that is there already; False if more has to change."""
        is_held = self._window.grow(self.transcript, changed, is_seen=self.isVisible())
        if is_held:
            self._hold.start()
        return is_held is not None

    def _sync(self) -> None:
        if self._window.sync(self.transcript, is_working=self._is_working):
            self._hold.start()
        self.browser.mark_end_of(self.page.live_row)

    @property
    def _is_working(self) -> bool:
        """Whether a row of its own says that the agent works."""
        transcript = self.transcript
        if transcript.is_silent:
            return True
        silent = self.clocks.wall() - self.last_event_at
        return transcript.is_writing and transcript.is_busy and silent >= _SILENT_S

    def _after_events(self) -> None:
        waiting = self.transcript.waiting()
        for item in waiting:
            card = self.cards.cards.get(item.key)
            if isinstance(card, ApprovalCard):
                card.set_alike(len(alike(waiting, item)))
                self._placing.start()  # another button may take another line
        for key, card in self.cards.cards.items() if self.isVisible() else ():
            if isinstance(card, ASKING) and card.isEnabled() and key not in self._said:
                self._said.add(key)
                card.announce()
        if len(waiting) != self._waiting:
            self._waiting = len(waiting)
            self.waiting_changed.emit(self._waiting)
        self._follow_clocks()

    def _place(self) -> None:
        """Put the cards in place; give those that turned out higher or lower their room."""
        for _ in range(3):
            wrong = self.cards.place(self.page)
            if not wrong:
                break
            with self._scrolling.kept():
                for shown in wrong:
                    self.page.resize_card(shown, self.cards.measure(shown.row))
        self._jump.setVisible(not self._scrolling.is_at_end)
        self._follow_clocks()

    def _show_held(self) -> None:
        index = len(self.page.rows) - 1
        if index >= 0:
            with self._scrolling.kept():
                self.page.show_held(index)
            self._place()

    def _follow_clocks(self) -> None:
        is_running = self.transcript.is_busy
        self.cards.follow_clocks(is_visible=self.isVisible(), is_running=is_running)

    def _on_second(self) -> None:
        """Show or hide that the model has been silent for a while."""
        is_shown = self.page.index_of(WORKING_KEY) >= 0
        if self.transcript.is_running and self._is_working != is_shown:
            self._sync()
            self._place()

    def _on_browser_resized(self) -> None:
        """Fit to another width: at once the first time, else when the dragging rests."""
        column = self.column()
        if self._laid_out.isNull():
            self._lay_out_again()
        elif column.width() != self._laid_out.width():
            self._resize.start()
        else:
            with self._scrolling.kept():
                self._fit_column(column)
            self._place()

    def _fit_column(self, column: QRect) -> None:
        right = self.browser.viewport().width() - column.left() - column.width()
        self.page.set_margins(column.left(), right, column.width())

    def _on_scrolled(self) -> None:
        self._hover.hide()
        if not self._scrolling.is_ours:  # else they are placed when the change is through
            self._place()
        if self.browser.verticalScrollBar().value() < self.browser.viewport().height():
            self._window.fill_soon()

    def _on_jump(self) -> None:
        self.show_end()
        self.browser.setFocus()

    def _on_card_resized(self, key: str) -> None:
        index = self.page.index_of(key)
        if index >= 0:
            shown = self.page.rows[index]
            with self._scrolling.held_at(shown):
                self.page.resize_card(shown, self.cards.measure(shown.row))
            card = self.cards.cards.get(key)
            if isinstance(card, ApprovalCard) and card.has_draft:
                self._scrolling.show_foot(shown)
            self._place()

    def _on_activity_toggled(self, key: str) -> None:
        """Show or hide the cards of an activity; its line stays under the pointer."""
        shown = self.page.rows[self.page.index_of(key)]
        with self._scrolling.held_at(shown):
            self._sync()
        self._place()

    def _show_more(self) -> None:
        if not self._window.show_more():
            self.earlier_requested.emit()

    def _on_link(self, url: QUrl) -> None:
        if url.scheme() != "app":
            ask_to_open(self.theme, url, self, self.open_link_requested.emit)
            return
        # By mouse and by keys alike, the text cursor stands at the link that was followed.
        shown = self.browser.row_at(QPointF(self.browser.cursorRect().center()))
        if shown is not None and isinstance(shown.row, AnswerItem | UserItem):
            self._show_text(self.tr("Whole message"), shown.row.text)

    def _lay_out_again(self) -> None:
        column = self.column()
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        with self._scrolling.kept():
            self._laid_out = column
            self._fit_column(column)
            self.page.set_narrow(column.width() < _NARROW, is_mirrored=is_mirrored)
            for shown in self.page.rows:
                if shown.row.key in self.cards.cards:
                    self.page.resize_card(shown, self.cards.measure(shown.row))
        self._place()

    def _on_theme_changed(self) -> None:
        self.page.styles = Styles(self.theme)
        self._make_anew()

    def _make_anew(self) -> None:
        self.cards.clear()
        self._window.rebuild()
        self._lay_out_again()
        self._sync()
        self._place()

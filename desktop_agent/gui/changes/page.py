"""The page of all changes of a session: what a person looks at before a commit."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QStackedWidget, QWidget

from desktop_agent.core.changes import JudgedResult, SessionChanges
from desktop_agent.core.ids import SessionId
from desktop_agent.gui.changes.counts import LineCounts
from desktop_agent.gui.changes.detail import ChangeDetail
from desktop_agent.gui.changes.list import ChangeList
from desktop_agent.gui.changes.rows import (
    ChangeRow,
    Grouping,
    Named,
    RowMaker,
    result_rows,
)
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.lists.list_page import FullPage
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    Separator,
    TextButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.transcript.cards.changes_text import files_text
from desktop_agent.gui.transcript.document.user_message import clock_text

_BOTH_FROM = 760


class ChangesPage(FullPage):
    """The list on the leading side, the diff on the trailing one; below it if narrow.

    Signals:
        pointed(ChangeRow, bool): asks for its diff, or that of what was changed since; given to
            `detail`
        undo_requested(ChangeRow | None): of a row, or of everything
        apply_requested(ChangeRow | None): what it is of, or every result that fits
        open_requested(ChangeRow): its file, in the user's program
        talk_requested(ChangeRow): the call that made it, in the conversation
        patch_requested, folder_requested
        returned: the user comes back to the window, perhaps from an editor
    """

    pointed = Signal(object, bool)
    undo_requested = Signal(object)
    apply_requested = Signal(object)
    open_requested = Signal(object)
    talk_requested = Signal(object)
    patch_requested = Signal()
    folder_requested = Signal()
    returned = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "changesPage", parent)
        self._changes = SessionChanges()
        self._session_id = SessionId("")
        self._named = Named({}, {})
        self._judged: dict[str, JudgedResult] = {}
        self._maker = RowMaker(self._session_id, self._named)
        self.setAccessibleName(self.tr("Changes"))
        self.list = ChangeList(theme, self)
        self.detail = ChangeDetail(theme, self)
        self._pages = QStackedWidget(self)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._pages.addWidget(self._make_body())
        self._pages.addWidget(self._make_empty())
        self._stopped = TextLabel("", "warn", self, name="undoStopped", wraps=True)
        self._stopped.setContentsMargins(theme.space("xl"), 0, theme.space("xl"), theme.space("s"))
        column(self._make_head(), self._stopped, Separator(), (self._pages, 1), within=self)
        self._connect()

    # -- down --------------------------------------------------------------------------------

    def show_changes(self, changes: SessionChanges, session_id: SessionId, named: Named) -> None:
        """Show what a session changed; what is chosen and scrolled to stays."""
        if (changes, session_id, named) == (self._changes, self._session_id, self._named):
            return
        if (session_id, named) != (self._session_id, self._named):
            self._maker = RowMaker(session_id, named)
        self._changes, self._session_id, self._named = changes, session_id, named
        count = len(changes.files)
        added = sum(max(0, one.file.added) for one in changes.files)
        removed = sum(max(0, one.file.removed) for one in changes.files)
        since = clock_text(next((one.began for one in changes.sets if one.began), 0.0))
        self._summary.setText(files_text(count) if count else "")
        self._counts.show_counts(added, removed)
        since = self.tr("since {time}").format(time=since) if since and count else ""
        self._since.setText(since)
        self._stopped.setText(with_marks(changes.stopped))
        self._stopped.setVisible(bool(changes.stopped))
        for button in (self._patch, self._undo):
            button.setEnabled(count > 0)
        self._show_results(changes)
        was_waiting = self._close.hasFocus() and self._pages.currentIndex() != 0
        self._show_rows()
        if was_waiting and self._pages.currentIndex() == 0:
            self.enter()  # it was opened before it was known what to show

    def show_judged(self, judged: Iterable[JudgedResult]) -> None:
        """Say of each result what applying it would do now."""
        found = {one.id: one for one in judged}
        if found != self._judged:
            self._judged = found
            self._show_apply()
            if self.grouping == "result":
                self._show_rows()

    def show_results_of(self, agent_id: str) -> None:
        """Show what subagents changed elsewhere, that of one of them first, if it is named."""
        if self._changes.results:
            self._tabs.choose("result")
            self._show_rows()
            self.list.point_to(agent_id)

    def enter(self) -> None:
        """Take the focus."""
        target = self.list if self._pages.currentIndex() == 0 else self._close
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # -- construction ------------------------------------------------------------------------

    def _make_head(self) -> QWidget:
        theme = self._theme
        head = QWidget(self)
        title = TextLabel(self.tr("Changes"), "h1", head)
        said = QWidget(head)
        self._summary = TextLabel("", "muted", said, name="changesSummary")
        self._counts = LineCounts(said)
        self._since = TextLabel("", "muted", said)
        summary = FlowLayout(said, theme.space("s"))
        for label in (self._summary, self._counts, self._since):
            summary.addWidget(label)
        holder = QWidget(head)
        flow = FlowLayout(holder, theme.space("xs"))
        self._folder = GhostButton(theme, self.tr("Open folder"), "folder-open", holder)
        self._folder.setObjectName("openChangesFolder")
        self._patch = GhostButton(theme, self.tr("Copy patch"), "copy", holder)
        self._patch.setObjectName("copyPatch")
        self._undo = TextButton(theme, self.tr("Undo all…"), "undo-2", holder, name="undoAll")
        self._apply = TextButton(theme, "", "check", holder, name="applyFitting")
        for button in (self._folder, self._patch, self._undo, self._apply):
            flow.addWidget(button)
        self._close = self._make_close(head, "leaveChanges")
        edge, gap = theme.space("xl"), theme.space("m")
        top = Qt.AlignmentFlag.AlignTop
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.setSpacing(gap)
        middle = Qt.AlignmentFlag.AlignVCenter
        self._head.addLayout(row(title, (said, middle), None, spacing=gap), 1)
        self._head.addWidget(holder)
        line = row((self._head, 1), (self._close, top), spacing=gap, within=head)
        line.setContentsMargins(edge, theme.space("l"), theme.space("l"), theme.space("m"))
        return head

    def _make_body(self) -> QWidget:
        theme = self._theme
        body, pane = QWidget(), QWidget()
        titles: dict[Grouping, str] = {
            "file": self.tr("By file"),
            "message": self.tr("By message"),
            "agent": self.tr("By agent"),
            "result": self.tr("Results"),
        }
        self._tabs = TabRow(theme, self.tr("How changes are listed"), "changesBy", titles, pane)
        promise = self.tr(
            "Files up to 16 MB that git doesn’t ignore come back exactly (128 MB on Btrfs and "
            "XFS). Ignored folders, larger files, commits and what programs did elsewhere don’t."
        )
        about = TextLabel(promise, "caption", pane, wraps=True)
        edge, gap = theme.space("l"), theme.space("s")
        note = row(IconLabel(theme, "info", "subtle", 14, pane), (about, 1), spacing=gap)
        line = row(self._tabs, edges=(theme.space("s"), 0, 0, 0), stretch=0)
        parts = (line, (self.list, 1), note)
        column(*parts, spacing=gap, edges=(edge, gap, gap, edge), within=pane)
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.setSpacing(0)
        self._line = Separator(vertical=True)
        self._body.addWidget(pane, 3)
        self._body.addWidget(self._line)
        self._body.addWidget(self.detail, 5)
        body.setLayout(self._body)
        return body

    def _make_empty(self) -> QWidget:
        page = QFrame()
        page.setObjectName("noChanges")
        self._nothing = words = TextLabel("", "muted", page, name="nothingChanged", wraps=True)
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        icon = IconLabel(self._theme, "file-diff", "subtle", 32, page)
        parts = (None, row(None, icon, None), words, (None, 2))
        column(*parts, spacing=self._theme.space("m"), edges=self._theme.space("xl"), within=page)
        return page

    def _connect(self) -> None:
        self._tabs.chosen.connect(self._show_rows)
        self._apply.clicked.connect(lambda: self.apply_requested.emit(None))
        self._folder.clicked.connect(self.folder_requested)
        self._patch.clicked.connect(self.patch_requested)
        self._undo.clicked.connect(lambda: self.undo_requested.emit(None))
        self.list.pointed.connect(self._on_pointed)
        for part in (self.list, self.detail):
            part.undo_requested.connect(self.undo_requested)
            part.apply_requested.connect(self.apply_requested)
            part.open_requested.connect(self.open_requested)
            part.talk_requested.connect(self.talk_requested)
        self.detail.diff_requested.connect(self.pointed)

    # -- what is shown -----------------------------------------------------------------------

    @property
    def grouping(self) -> Grouping:
        return self._tabs.current

    def _show_rows(self) -> None:
        grouping = self.grouping
        nothing = self.tr("Nothing has been changed in this session.")
        if self._changes.not_kept:
            nothing = self.tr("What was changed in this session is not kept any more.")
        if self._changes.sets:
            nothing = self.tr("What was changed in this session is taken back.")
        self._nothing.setText(nothing)
        rows = self._maker.rows(self._changes, grouping)
        if grouping == "result":
            results = self._changes.results
            rows = result_rows(results, self._judged, self._session_id, self._named)
        is_filled = bool(self._changes.files or self._changes.results or rows)
        self._pages.setCurrentIndex(0 if is_filled else 1)
        for button in (self._patch, self._undo):
            button.setVisible(grouping != "result")
        self._show_apply()
        self.list.show_rows(rows, is_grouped=grouping != "file")

    def _show_results(self, changes: SessionChanges) -> None:
        """Offer the list of results where there are any, with how many wait."""
        waiting, results = len(changes.waiting), changes.results
        tab = self._tabs.buttons["result"]
        words = self.tr("Results")
        tab.setText(f"{words} · {waiting:,}" if waiting else words)
        tab.setVisible(bool(results))
        if not results and self.grouping == "result":
            self._tabs.choose("file")

    def _show_apply(self) -> None:
        count = sum(1 for one in self._judged.values() if one.is_plain)
        words = self.tr("Apply {n} that fit").format(n=f"{count:,}")
        self._apply.set_text(self.tr("Apply 1 that fits") if count == 1 else words)
        self._apply.setEnabled(count > 0)
        self._apply.setVisible(self.grouping == "result")

    def _on_pointed(self, shown: ChangeRow | None) -> None:
        self.detail.show_row(shown)
        if shown is not None and shown.path:
            self.pointed.emit(shown, self.detail.is_compared)

    # -- events ------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < _BOTH_FROM * self._theme.text_px("ui") / 13
        way = QBoxLayout.Direction
        direction = way.TopToBottom if is_narrow else way.LeftToRight
        if direction != self._body.direction():
            self._body.setDirection(direction)
            # Below each other the list has the promise under it, and needs as much room as a diff.
            self._body.setStretch(0, 5 if is_narrow else 3)
            self._head.setDirection(direction)
            self._line.setVisible(not is_narrow)
            self.detail.set_roomy(is_roomy=not is_narrow)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        is_change = event.type() == QEvent.Type.ActivationChange
        if is_change and self.isActiveWindow() and self.isVisible():
            self.returned.emit()

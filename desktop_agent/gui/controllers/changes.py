"""Changes of files in the window: what is known of them, their page, undo and redo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from shiboken6 import isValid

from desktop_agent.core.changes import (
    Choice,
    FolderLook,
    SessionChanges,
    UndoError,
    UndoPlan,
    UndoReport,
    UndoScope,
)
from desktop_agent.core.events import EngineFailed, Event, FilesChanged, TurnEnded, TurnStarted
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.links import open_path
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.kit.widgets import single_timer
from desktop_agent.gui.state.change_sets import MOST_UNHELD
from desktop_agent.gui.state.session_state import NOTHING, AgentPage, Facet

if TYPE_CHECKING:
    from desktop_agent.gui.changes.page import ChangesPage
    from desktop_agent.gui.changes.rows import ChangeRow, Named
    from desktop_agent.gui.changes.undo_dialog import UndoDialog
    from desktop_agent.gui.transcript.view.view import TranscriptView

_NOTICE = "changes"
# Where the engine says that something about the history of files went wrong.
_UNDO_FAILED = "undo"
_REDO, _UNDO = "redo_changes", "undo_changes"
_LOOK, _STOP_LOOK = "first_look", "stop_first_look"
# So long a first look may take before anything is said of it, and how often it is asked for.
_LOOK_MS = 1000
# A busy agent changes files many times a second; each look goes through all of the session.
_REST_MS = 400
_NEWS_MS = 20_000


class ChangesController(Controller):
    """Signals:
    changed(Facet): what is known of the changes of the session that is shown
    looked: what it has changed was asked for once more
    page_made(ChangesPage): it is opened for the first time
    """

    changed = Signal(object)
    looked = Signal()
    page_made = Signal(object)

    def __init__(self, parts: WindowParts, full: FullPages) -> None:
        super().__init__(parts)
        self._full = full
        self._page: ChangesPage | None = None
        self._is_looking = self._is_outdated = self._is_over = False
        self._asked: tuple[UndoScope, bool] | None = None
        # The call that is to be shown once the transcript of its agent is.
        self._wanted: tuple[str, str] | None = None
        # What the notice's button takes back: an undo, or an undo of it.
        self._last: UndoScope | None = None
        self._rest = single_timer(self, _REST_MS, self.look)
        # Whether the first look at the folder of a session that works may go on.
        self._shown_look: SessionId | None = None
        self._may_look: dict[SessionId, bool] = {}
        self._look_timer = single_timer(self, _LOOK_MS, self._ask_first_look)
        parts.bridge.received.connect(self._on_received)
        self._session.shown.connect(self._on_session)
        self._session.agent_shown.connect(self._on_agent_shown)
        self._pages.page_made.connect(self._on_page_made)
        self._frame.notices.acted.connect(self._act)
        self._frame.header.changes_button.clicked.connect(self.open)

    # -- what is known -----------------------------------------------------------------------

    def look(self) -> None:
        """Ask what the session has changed; at most one question at a time."""
        info = self._session.info
        if info is None:
            return
        if self._is_looking:
            self._is_outdated = True
        else:
            self._is_looking = True
            self._queries.run(self._look(info.id), "looking at changes")

    @property
    def is_open(self) -> bool:
        """Whether the page is in front."""
        return self._full.is_shown(self._page)

    def stop(self) -> None:
        """Ask nothing any more: the window closes."""
        self._is_over = True
        self._rest.stop()
        self._look_timer.stop()

    async def _look(self, session_id: SessionId) -> None:
        try:
            changes = await self._queries.changes.session_changes(session_id)
        except UndoError as error:
            # What was known stays.
            changes = replace(self._known.changes_of(session_id), stopped=str(error))
        finally:
            self._is_looking = False
        facet = self._known.know_changes(session_id, changes)
        self._pages.know_changes(session_id, changes)
        self._show(facet)
        self.looked.emit()
        if self._is_outdated:
            self._is_outdated = False
            self._rest.start()

    def _show(self, facet: Facet = NOTHING) -> None:
        known, session_id = self._known.changes, self._known.session_id
        self._frame.header.set_changes(len(known.files), len(known.waiting))
        if self._page is not None and self.is_open and session_id is not None:
            self._page.show_changes(known, session_id, self._named(known))
        if facet:
            self.changed.emit(facet)

    def _named(self, known: SessionChanges) -> Named:
        from desktop_agent.gui.changes.rows import Named
        from desktop_agent.gui.transcript.state.items import UserItem

        view = self._pages.page(self._known.main_agent)
        ids = {one.message_id for one in known.sets if one.message_id is not None}
        said = {one: view.transcript.item(one) for one in ids} if view is not None else {}
        words = {one: item.text for one, item in said.items() if isinstance(item, UserItem)}
        return Named({agent.id: agent.name for agent in self._known.agents}, words)

    def _on_received(self, batch: Sequence[Event]) -> None:
        mine = self._session.current
        changed = (event for event in batch if isinstance(event, FilesChanged))
        is_mine = any(self._known.owner(event) == mine for event in changed)
        # Part of what failed may be done all the same.
        is_mine |= any(isinstance(one, EngineFailed) and one.where == _UNDO_FAILED for one in batch)
        # What a subagent did elsewhere comes before the end of its turn.
        is_mine |= any(isinstance(one, TurnEnded) and self._is_far(one.agent_id) for one in batch)
        if is_mine and not (self._rest.isActive() or self._is_over):
            self._rest.start()
        if any(isinstance(event, TurnStarted) for event in batch):
            self._expect_first_look(batch)

    def _is_far(self, agent_id: AgentId) -> bool:
        agent = self._known.agent(agent_id)
        is_mine = self._known.session_of(agent_id) == self._session.current
        return is_mine and agent is not None and bool(agent.place)

    def _on_session(self, page: AgentPage) -> None:
        self._say("")
        self._frame.notices.remove(_LOOK)
        self._shown_look = None
        self._last = None
        self._look_timer.start()
        self._show(Facet.CHANGES)
        # Who keeps the changes is not woken for a session in which there are none.
        has_any = any(isinstance(event, FilesChanged) for event in page.events)
        if has_any or len(page.agents) > 1 or page.first_seq > 1:
            self.look()

    # -- the first look at a folder ----------------------------------------------------------

    def _expect_first_look(self, batch: Sequence[Event]) -> None:
        for event in batch:
            owner = self._known.owner(event) if isinstance(event, TurnStarted) else None
            if owner is not None:
                self._may_look.setdefault(owner, True)
        if not (self._look_timer.isActive() or self._is_over):
            self._look_timer.start()

    def _ask_first_look(self) -> None:
        session_id = self._session.current
        if session_id is not None and self._may_look.get(session_id) and not self._is_over:
            self._queries.run(self._follow_first_look(session_id), "the first look")

    async def _follow_first_look(self, session_id: SessionId, *, is_stopped: bool = False) -> None:
        changes = self._queries.changes
        try:
            ask = changes.stop_first_look if is_stopped else changes.first_look
            look = await ask(session_id)
        except UndoError:  # that is said where it matters
            look = FolderLook()
        self._may_look[session_id] = look.is_going
        if session_id != self._session.current:
            return
        if is_stopped:
            self._say(self._stopped_look(look))
        elif look.is_going:
            self._show_first_look(look, session_id)
        else:
            self._frame.notices.remove(_LOOK)

    def _show_first_look(self, look: FolderLook, session_id: SessionId) -> None:
        text = self.tr("Keeping what is in this folder, for undo: {held} of {found} files")
        if look.is_listing:
            text = self.tr("Looking at what is in this folder, for undo: {found} files so far")
        notice = Notice(
            text.format(held=f"{look.held:,}", found=f"{look.found:,}"),
            "info",
            _STOP_LOOK,
            self.tr("Skip"),
        )
        if self._frame.notices.has(_LOOK) or self._shown_look != session_id:
            self._frame.notices.put_behind(_LOOK, notice)
        self._shown_look = session_id
        self._look_timer.start()

    def _stopped_look(self, look: FolderLook) -> str:
        text = self.tr(
            "Undo holds {held} of {found} files. What commands change in the others can’t be"
            " undone, until the app starts again."
        )
        if look.is_listing:
            text = self.tr(
                "Undo holds {held} files. What commands change in the others can’t be undone,"
                " until the app starts again."
            )
        return text.format(held=f"{look.held:,}", found=f"{look.found:,}")

    def _on_page_made(self, view: TranscriptView, agent_id: str) -> None:
        view.undo_requested.connect(self.request)
        view.redo_requested.connect(self.request_redo)
        view.changes_requested.connect(self.open)
        if self._known.session_of(AgentId(agent_id)) == self._known.session_id:
            view.know_changes(self._known.changes)

    # -- the page ----------------------------------------------------------------------------

    def open(self) -> ChangesPage | None:
        """Bring the page to the front."""
        if self._known.session_id is None:
            return None
        page = self._page or self._make_page()
        self._full.show(page)
        self._show()
        page.enter()
        self.look()
        return page

    def _make_page(self) -> ChangesPage:
        from desktop_agent.gui.changes.page import ChangesPage  # nobody waits for it at the start

        self._page = page = ChangesPage(self._theme, self._frame.stack)
        self._full.add(page)
        page.returned.connect(self.look)
        page.pointed.connect(self._ask_diff)
        page.undo_requested.connect(self._on_undo_requested)
        page.open_requested.connect(self._open_file)
        page.talk_requested.connect(self._on_talk_requested)
        page.patch_requested.connect(self._copy_patch)
        page.folder_requested.connect(self._open_folder)
        self.page_made.emit(page)
        return page

    def _on_talk_requested(self, row: ChangeRow) -> None:
        """Leave the page for the call that made a change."""
        self._full.leave()
        self._wanted = (row.agent_id, row.call_id)
        if self._session.agent == row.agent_id:
            self._show_call()
        else:
            self._session.show_agent(row.agent_id)

    def _on_agent_shown(self, page: AgentPage) -> None:
        self._show_call()

    def _show_call(self) -> None:
        if self._wanted is None or self._session.agent != self._wanted[0]:
            return
        call_id, self._wanted = self._wanted[1], None
        page = self._pages.page(self._session.agent)
        if page is None or not page.show_call(call_id):
            text = self.tr("That is further up in the conversation than what is loaded.")
            self._frame.notices.hint(text)

    def _ask_diff(self, row: ChangeRow, is_since: bool) -> None:
        """Ask for the diff of the row that is looked at; those passed over are left out."""
        is_under_way, self._asked = self._asked is not None, (row.scope, is_since)
        if not is_under_way:
            self._queries.run(self._find_diff(), "a diff")

    async def _find_diff(self) -> None:
        while (asked := self._asked) is not None:
            scope, is_since = asked
            try:
                display = await self._queries.changes.change_diff(scope, is_since=is_since)
                if self._page is not None:
                    self._page.detail.show_diff(scope, display, is_since=is_since)
            except UndoError as error:
                if self._page is not None and asked == self._asked:
                    self._page.detail.show_problem(str(error))
            except BaseException:
                self._asked = None
                raise
            if asked == self._asked:
                self._asked = None

    def _open_file(self, row: ChangeRow) -> None:
        # What looks like a line number at the end is part of a name here.
        if not open_path(f"{row.path}:1", self._session.workspace):
            text = self.tr("That file is not there any more, or not in this session's folders.")
            self._frame.notices.hint(text)

    def _open_folder(self) -> None:
        if self._session.workspace is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(self._session.workspace.root))

    def _copy_patch(self) -> None:
        session_id = self._known.session_id
        if session_id is not None:
            self._queries.run(self._copy(session_id), "the patch")

    async def _copy(self, session_id: SessionId) -> None:
        try:
            patch = await self._queries.changes.patch(session_id)
        except UndoError as error:
            self._say(str(error), "error")
            return
        QGuiApplication.clipboard().setText(patch)
        lines = patch.count("\n")
        self._frame.notices.hint(with_plural(self.tr("Copied: {n} line(s)").format(n=lines), lines))

    # -- undo --------------------------------------------------------------------------------

    def undo_agent(self, agent_id: str) -> None:
        """Take back all that one agent did, once it was looked at."""
        if self._known.session_id is not None:
            self.request(UndoScope(self._known.session_id, agent_id=AgentId(agent_id)))

    def undo_all(self) -> None:
        self._on_undo_requested(None)

    def _on_undo_requested(self, row: ChangeRow | None) -> None:
        session_id = self._known.session_id
        if row is not None:
            self.request(row.scope)
        elif session_id is not None:
            self.request(UndoScope(session_id))

    def request(self, scope: UndoScope) -> None:
        """Show what an undo would do, and do it when the user agrees."""
        self._queries.run(self._plan(scope), "planning an undo")

    def request_redo(self, scope: UndoScope, is_seen: bool) -> None:
        """Put back what was taken back; at once if it `is_seen` what that is."""
        plan = self._plan(scope, is_redo=True, is_seen=is_seen)
        self._queries.run(plan, "planning a redo")

    async def _plan(
        self, scope: UndoScope, *, is_redo: bool = False, is_seen: bool = False
    ) -> None:
        from desktop_agent.gui.changes.undo_dialog import can_do, needs_asking

        try:
            plan = await self._queries.changes.plan_undo(scope)
        except UndoError as error:
            self._say(str(error), "error")
            return
        if plan.blocked:
            self._say(plan.blocked, "warn")
        elif not can_do(plan):
            said = self.tr("There is nothing to undo: the files are as they were before.")
            gone = self.tr("What was changed is not kept any more, so it can’t be undone.")
            self._say(gone if plan.not_kept else said)
        elif is_seen and not needs_asking(plan):
            await self._undo(plan, {}, is_redo=is_redo)
        else:
            dialog = self._new_dialog(plan, is_redo)
            dialog.decided.connect(partial(self._decide, plan, is_redo))
            dialog.compare_requested.connect(partial(self._on_compare, dialog, scope))
            dialog.open()

    def _new_dialog(self, plan: UndoPlan, is_redo: bool) -> UndoDialog:
        from desktop_agent.gui.changes.undo_dialog import UndoDialog, may_hold_yours, title_of

        agent_id, window = plan.scope.agent_id, self._frame.window()
        info = self._known.agent(agent_id) if agent_id is not None else None
        title = title_of(plan, info.name if info else agent_id or "", is_redo=is_redo)
        return UndoDialog(
            self._theme,
            plan,
            title,
            window,
            is_redo=is_redo,
            unheld=self._unheld(plan),
            may_hold_yours=may_hold_yours(plan, self._known.changes.sets),
        )

    def _on_compare(self, dialog: UndoDialog, scope: UndoScope, path: str) -> None:
        self._queries.run(self._compare(dialog, replace(scope, path=path)), "comparing")

    async def _compare(self, dialog: UndoDialog, scope: UndoScope) -> None:
        """Show in a dialog what was changed since in a file that it asks about."""
        try:
            found = await self._queries.changes.change_diff(scope, is_since=True)
        except UndoError as error:
            found = DiffDisplay(scope.path, str(error), 0, 0)
        if isValid(dialog) and isinstance(found, DiffDisplay):
            dialog.show_difference(scope.path, found)

    def _unheld(self, plan: UndoPlan) -> tuple[str, ...]:
        """Return what can't come back of the sets of a plan beside the files that it names."""
        wanted = set(plan.sets)
        sets = (one for one in self._known.changes.sets if one.id in wanted)
        gone = [self.tr("Some of what was changed is not kept any more, and stays.")]
        words = dict.fromkeys(said for one in sets for said in one.unheld)
        return tuple([*(gone if plan.not_kept else ()), *words][:MOST_UNHELD])

    def _decide(self, plan: UndoPlan, is_redo: bool, choices: Mapping[str, Choice]) -> None:
        self._queries.run(self._undo(plan, choices, is_redo=is_redo), "an undo")

    async def _undo(self, plan: UndoPlan, choices: Mapping[str, Choice], *, is_redo: bool) -> None:
        scope = plan.scope
        try:
            report = await self._queries.changes.undo(scope, choices, plan)
        except UndoError as error:
            self._say(str(error), "error")
            self.look()
            return
        page, action = self._main_page(), ""
        if report.set_id and scope.session_id == self._known.session_id:
            self._last = UndoScope(scope.session_id, set_id=report.set_id)
            action = _UNDO if is_redo else _REDO
        tone = "error" if report.problem else "info"
        if page is None or not report.set_id:
            self._say(self._told(report, is_redo), tone, action)
        else:
            # The line that the undo leaves in the conversation says it, with *Redo*.
            self._say("" if _is_plain(report) else self._told(report, is_redo), tone)
            if not (scope.message_id or scope.call_id or scope.set_id):
                page.show_end()
        self.look()

    def _main_page(self) -> TranscriptView | None:
        """Return the main agent's transcript, if it is on screen."""
        info, page = self._session.info, self._pages.page(self._session.agent)
        is_main = info is not None and info.main_agent == self._session.agent
        return page if is_main and page is not None and page.isVisible() else None

    def _told(self, report: UndoReport, is_redo: bool) -> str:
        restored = self.tr("{n} file(s) put back") if is_redo else self.tr("{n} file(s) restored")
        parts = [
            (restored, len(report.restored)),
            (self.tr("{n} merged"), len(report.merged)),
            (self.tr("{n} left as you have it"), len(report.kept)),
            (self.tr("{n} can’t come back"), len(report.lost)),
        ]
        said = [with_plural(words.format(n=f"{n:,}"), n) for words, n in parts if n]
        told = ", ".join(said) + "." if said else self.tr("Nothing was changed.")
        return f"{report.problem} {told}" if report.problem else told

    def tell_applied(self, report: UndoReport, text: str, tone: str) -> None:
        """Say what was applied; one result is taken back by the button beside it."""
        self._last = None
        if report.set_id and report.session_id is not None:
            self._last = UndoScope(report.session_id, set_id=report.set_id)
        self._say(text, tone, _UNDO if self._last is not None else "")

    def _act(self, action: str) -> None:
        if action == _STOP_LOOK and self._session.current is not None:
            look = self._follow_first_look(self._session.current, is_stopped=True)
            self._queries.run(look, "stopping the first look")
        if action in (_REDO, _UNDO) and self._last is not None:
            self.request_redo(self._last, is_seen=True)

    def _say(self, text: str, tone: str = "info", action: str = "") -> None:
        if not text:
            self._frame.notices.remove(_NOTICE)
            return
        title = {_REDO: self.tr("Redo"), _UNDO: self.tr("Undo")}.get(action, "")
        lasts = _NEWS_MS if tone == "info" else 0
        self._frame.notices.put(_NOTICE, Notice(with_marks(text), tone, action, title, lasts))


def _is_plain(report: UndoReport) -> bool:
    """Whether each file is what it was before, and nothing else is to be said."""
    return bool(report.restored) and not (report.merged or report.kept or report.lost)

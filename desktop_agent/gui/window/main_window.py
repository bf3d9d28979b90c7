"""The window: puts the panels together and connects their signals to the engine's commands."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import QEvent, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QWidget,
)

from desktop_agent.core.events import (
    Event,
    SessionOpened,
    SessionsChanged,
    TurnEnded,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.bridge.bridge import Bridge, Queries
from desktop_agent.gui.bridge.window_bridge import WindowBridge
from desktop_agent.gui.controllers.branches import BranchController
from desktop_agent.gui.controllers.changes import ChangesController
from desktop_agent.gui.controllers.context_meter import ContextController
from desktop_agent.gui.controllers.controller import WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.controllers.popups import PopupController
from desktop_agent.gui.controllers.provider_status import ProviderStatus
from desktop_agent.gui.controllers.results.controller import ResultsController
from desktop_agent.gui.controllers.servers import ServersController
from desktop_agent.gui.controllers.session import BY_FOLDER, SessionController
from desktop_agent.gui.controllers.session_files import SessionFilesController
from desktop_agent.gui.controllers.settings import SettingsController
from desktop_agent.gui.controllers.side_panel import SidePanelController
from desktop_agent.gui.controllers.skills import SkillsController
from desktop_agent.gui.controllers.terminals import TerminalsController
from desktop_agent.gui.controllers.transcript import TranscriptController
from desktop_agent.gui.controllers.transcript_pages import SessionPages
from desktop_agent.gui.controllers.usage import UsageController
from desktop_agent.gui.controllers.welcome import WelcomeController
from desktop_agent.gui.frame.focus import focus_neighbour
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.frame.window_state import WindowState
from desktop_agent.gui.kit.folders import git_branch
from desktop_agent.gui.kit.links import accept_copy, dropped_folder, dropped_paths
from desktop_agent.gui.kit.reading_order import focus_next
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.sessions.empty_page import EmptySession
from desktop_agent.gui.state.session_holds import session_changed_by
from desktop_agent.gui.state.session_state import AgentPage, SessionState
from desktop_agent.gui.window.actions import WindowActions
from desktop_agent.gui.window.host import WindowHost

_STOP = "stop"  # the notice that one more Esc does it


class Start(msgspec.Struct, frozen=True):
    """How a window begins: in this folder, under a number, as a new one beside another."""

    folder: str | None = None
    number: int = 0
    beside: MainWindow | None = None


class MainWindow(QMainWindow):
    """Shows one session at a time.

    Signals:
        painted: once, after the first paint
    """

    painted = Signal()
    _placed: Workspace | None = None
    _branch = ""

    def __init__(
        self, theme: Theme, host: WindowHost, bridge: Bridge, settings: Settings, start: Start
    ) -> None:
        super().__init__()
        self._theme, self._host, self._bridge = theme, host, bridge
        self._is_quitting = self._was_painted = False
        self.setObjectName("mainWindow")
        self.setWindowTitle(self.tr("Desktop Agent"))
        self.setAcceptDrops(True)
        self.setMinimumSize(420, 400)
        self.frame = frame = WindowFrame(theme, self)
        self.setCentralWidget(frame)
        beside = start.beside
        self.known: SessionState = beside.known.copied() if beside else SessionState()
        self.pages = SessionPages(theme, frame.stack, self.known)
        self._state = WindowState(self, start.number)
        line = self._line(bridge)
        self.flow = SessionController(
            line, frame, self.pages, self.known, self._state, settings, start.folder
        )
        self.commands = WindowActions(theme, self)
        self.queries = Queries(line, self)
        parts = WindowParts(theme, frame, line, self.queries, self.known, self.flow)
        self.settings_window, self.first_run = SettingsController(parts), WelcomeController(parts)
        self.popups = PopupController(parts, self.settings_window)
        self._empty = EmptySession(theme, frame.stack, settings.model)
        self.tools = TranscriptController(parts)
        ProviderStatus(parts)
        ContextController(parts, self.commands.usage.trigger)
        self.terminals, self.files = TerminalsController(parts), SessionFilesController(parts)
        self.side = SidePanelController(parts)
        self.full = full = FullPages(parts)
        self.usage, self.changes = UsageController(parts, full), ChangesController(parts, full)
        self.skills = SkillsController(parts, self.popups, full)
        self.results = ResultsController(parts, self.changes)
        self.branches = BranchController(parts, self.changes)
        self.servers = ServersController(parts, full, self.skills.trust)
        self._begin(settings, beside)
        self._connect()
        frame.composer.focus_text()

    @property
    def number(self) -> int:
        """Under which its place is remembered."""
        return self._state.number

    def _line(self, bridge: Bridge) -> WindowBridge:
        """Return the window's own line to the engine, for all but what other windows have."""
        known = self.known
        return WindowBridge(
            bridge, partial(session_changed_by, known), lambda one: one in known.elsewhere, self
        )

    def _begin(self, settings: Settings, beside: MainWindow | None) -> None:
        frame, place = self.frame, self.flow.workspace
        frame.stack.addWidget(self._empty)
        self.menuBar().setVisible(self.menuBar().isNativeMenuBar())
        if beside is None:
            self._state.restore(*self._theme.window_default())
        else:
            self._state.begin_beside(beside, beside.remembered)
            frame.sidebar.sessions.list_sessions(*beside.frame.sidebar.sessions.listed)
        frame.set_sidebar(self._state.is_wanted("sidebar"))
        frame.set_side(has_content=False, is_wanted=self._state.is_wanted("side"))
        frame.composer.set_settings(settings)
        frame.sidebar.workspace.set_workspace(place)
        frame.set_conversing(bool(settings.model))
        if place is not None:
            self._empty.set_folder(place.root)

    # -- the app's behaviour: one line for each signal ---------------------------------------

    def _connect(self) -> None:
        flow, frame = self.flow, self.frame
        flow.followed.connect(self._on_followed)
        flow.shown.connect(self._on_shown)
        flow.setup_needed.connect(self._on_setup_needed)
        flow.settings_changed.connect(self._on_settings_changed)
        flow.settings_shared.connect(partial(self._host.share, self))
        flow.workspace_changed.connect(frame.sidebar.workspace.set_workspace)
        flow.failed.connect(partial(self._put_notice, "folder"))
        self.queries.failed.connect(partial(self._put_notice, "query"))
        self.changes.changed.connect(self.side.show_state)
        self.side.undo_requested.connect(self.changes.undo_agent)
        self.side.review_requested.connect(self.results.review)
        self.side.job_requested.connect(self.terminals.open)
        self.terminals.changed.connect(self.side.show_jobs)
        frame.composer.read_only.taken.connect(self._take_over)
        frame.composer.read_only.writer_wanted.connect(self._show_writer)
        frame.sidebar.sessions.refused.connect(self._refuse_delete)
        frame.sidebar.sessions.window_wanted.connect(partial(self._host.open_beside, self))
        self.popups.folder_found.connect(self._offer_folder)
        self.first_run.browse_requested.connect(self.popups.browse)
        self._empty.prompt_chosen.connect(frame.composer.set_text)
        frame.sidebar.settings.clicked.connect(self.settings_window.open)
        frame.toggled.connect(self._state.remember)
        frame.header.find_button.clicked.connect(frame.find_bar.enter)
        frame.find_bar.closed.connect(frame.composer.focus_text)
        self._connect_actions()
        self._connect_view_actions()

    def _connect_actions(self) -> None:
        keys, frame, popups = self.commands, self.frame, self.popups
        for leaving in (keys.new, keys.find, keys.composer, keys.approval):
            # Before what they do: that is about the conversation.
            leaving.triggered.connect(self.full.leave)
        keys.new.triggered.connect(self.flow.new_session)
        keys.new_window.triggered.connect(lambda: self._host.open_beside(self))
        keys.close_window.triggered.connect(self.close)
        keys.folder.triggered.connect(popups.open_picker)
        keys.switch.triggered.connect(lambda: popups.open_palette((), with_choices=False))
        # The list of all commands is none of them.
        listed = [action for action in keys.all if action is not keys.palette]
        keys.palette.triggered.connect(
            lambda: popups.open_palette((*listed, *self.side.commands()))
        )
        keys.rename.triggered.connect(frame.header.begin_rename)
        keys.export.triggered.connect(self.files.export_current)
        keys.import_session.triggered.connect(self.files.import_session)
        keys.delete.triggered.connect(
            lambda: frame.sidebar.sessions.delete(self.flow.current or "")
        )

    def _connect_view_actions(self) -> None:
        keys, frame, popups = self.commands, self.frame, self.popups
        keys.settings.triggered.connect(self.settings_window.open)
        keys.quit.triggered.connect(self._host.quit)
        keys.find.triggered.connect(frame.find_bar.enter)
        keys.find_next.triggered.connect(lambda: frame.find_bar.search())
        keys.find_previous.triggered.connect(lambda: frame.find_bar.search(backward=True))
        keys.copy_answer.triggered.connect(self.tools.copy_answer)
        keys.stop.triggered.connect(frame.composer.request_stop)
        keys.approval.triggered.connect(self.side.review)
        keys.composer.triggered.connect(frame.composer.focus_text)
        keys.sidebar.triggered.connect(frame.toggle_sidebar)
        keys.model.triggered.connect(self.popups.open_models)
        keys.larger.triggered.connect(lambda: self.flow.scale_text(1))
        keys.smaller.triggered.connect(lambda: self.flow.scale_text(-1))
        keys.normal.triggered.connect(lambda: self.flow.scale_text(0))
        keys.shortcuts.triggered.connect(lambda: popups.open_shortcuts(keys.all))
        keys.next_region.triggered.connect(lambda: focus_neighbour(frame.regions(), 1))
        keys.previous_region.triggered.connect(lambda: focus_neighbour(frame.regions(), -1))
        keys.budget.triggered.connect(lambda: self.side.edit_budget())
        keys.side.triggered.connect(self.side.toggle)
        keys.changes.triggered.connect(self.changes.open)
        keys.undo_all.triggered.connect(self.changes.undo_all)
        keys.skills.triggered.connect(lambda: self.skills.open())
        keys.add_skill.triggered.connect(lambda: self.skills.library.add())
        keys.servers.triggered.connect(lambda: self.servers.open())
        keys.add_server.triggered.connect(self.servers.add)
        keys.usage.triggered.connect(self.usage.open)
        keys.trust.triggered.connect(self.skills.trust.look)
        keys.task.triggered.connect(self.side.add_task)

    def _put_notice(self, key: str, text: str) -> None:
        self.frame.notices.put(key, Notice(text))

    # -- events ------------------------------------------------------------------------------

    def _on_followed(self, events: tuple[Event, ...]) -> None:
        self._host.hear(self, events)
        for event in events:
            if self.known.is_about_shown(event):
                self.frame.notices.apply(event)
                if isinstance(event, TurnEnded):
                    self._look_at_folder()
                    if self.isActiveWindow():
                        self.flow.mark_read()
            self.frame.sidebar.sessions.apply(event)
            if isinstance(event, SessionsChanged | SessionOpened):
                self._show_place()

    def _on_shown(self, page: AgentPage) -> None:
        frame = self.frame
        frame.set_conversing(True)
        frame.notices.remove("drop")
        frame.sidebar.sessions.set_current(page.info.id)
        self._host.show(self, page.info.id)
        self._show_read_only()
        if page.info.is_untouched and not page.events:
            self._empty.set_folder(page.info.workspace.root)
            frame.stack.setCurrentWidget(self._empty)
            # Not on the first prompt: what is typed now is meant for the message box.
            if not frame.sidebar.sessions.list.hasFocus():
                frame.composer.focus_text()
        self.flow.mark_read()

    def _on_setup_needed(self) -> None:
        self.frame.set_conversing(False)
        self.frame.sidebar.sessions.set_current(None)
        self._host.show(self, None)
        self._show_read_only()
        self.first_run.show()
        self._show_place()

    def _on_settings_changed(self, settings: Settings) -> None:
        self._theme.configure(settings.theme, settings.text_scale, settings.reduce_motion)
        self.frame.composer.set_settings(settings)

    def _look_at_folder(self) -> None:
        """Read what the disk says of the folder: not for each event, only when it may differ."""
        self._placed = workspace = self.flow.workspace
        self._branch = git_branch(workspace.root) if workspace is not None else ""
        self.frame.sidebar.workspace.set_workspace(workspace)
        if workspace is not None and self.frame.stack.currentWidget() is self._empty:
            self._empty.set_folder(workspace.root)

    def _show_place(self) -> None:
        info = self.flow.info
        if self.flow.workspace != self._placed:
            self._look_at_folder()
        if info is None:
            settings = self.flow.settings  # which the first session would get
            self.frame.composer.set_mode(settings.mode)
            self.popups.name_model(settings.model, settings.api_base)
            self.frame.header.set_session("", "")
            self.setWindowTitle(self.tr("Desktop Agent"))
            return
        place = " / ".join(part for part in (info.workspace.name, self._branch) if part)
        self.frame.header.set_session(info.title, place)
        self.frame.composer.set_mode(info.mode)
        if self.flow.is_at_main:
            self.popups.name_model(info.model, info.api_base)
            self._empty.set_model(info.model)
        title = self.tr("{title} – {folder} – Desktop Agent")
        self.setWindowTitle(title.format(title=info.title, folder=info.workspace.name))

    def _offer_folder(self, path: str) -> None:
        if not self.first_run.take_folder(path):
            self.popups.offer_folder(path)

    # -- the window itself -------------------------------------------------------------------

    def quit_now(self) -> None:
        """Close without a question; what runs is stopped by the engine's end."""
        self._is_quitting = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not (self._is_quitting or self._host.may_close(self)):
            event.ignore()
            return
        self.frame.sidebar.sessions.finish_deletes()
        self.changes.stop()
        self.servers.stop()
        self.usage.stop()
        self.frame.composer.stay_unsent()
        self.queries.cancel()
        self._state.save()
        event.accept()
        self._host.let_go(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, when nothing nearer to the focus wanted it: close the drawer, then stop."""
        if event.key() != Qt.Key.Key_Escape:
            if not self._take_key(event):
                super().keyPressEvent(event)
        elif self.frame.close_drawer():
            pass
        elif self.frame.find_bar.isVisible():
            self.frame.find_bar.leave()
        elif not self.flow.is_at_main and self.flow.info is not None:
            self.flow.show_agent(self.flow.info.main_agent)
        elif self._can_stop():
            if self.frame.notices.has(_STOP):
                self.frame.notices.remove(_STOP)
                self.frame.composer.request_stop()
            else:
                self.frame.notices.hint(self.tr("Press Esc again to stop the agent"), _STOP)

    def _take_key(self, event: QKeyEvent) -> bool:
        """F2 renames the session; Alt and an arrow go to a message from where nothing moves."""
        page = self.pages.page(self.flow.agent)
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if event.key() == Qt.Key.Key_F2 and self.known.info is not None:
            self.frame.header.begin_rename()
        elif step and event.modifiers() & Qt.KeyboardModifier.AltModifier and page is not None:
            page.step_to_message(step)
        elif (
            event.key() == Qt.Key.Key_F10 and event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        ):
            _open_menu(QApplication.focusWidget())
        else:
            return False
        return True

    def focusNextPrevChild(self, is_next: bool) -> bool:
        # Qt calls this also while the focused widget is hidden or destroyed: no walk then.
        now = QApplication.focusWidget()
        if now is not None and not now.isVisible():
            return super().focusNextPrevChild(is_next)
        return focus_next(self, is_forward=is_next)

    def _can_stop(self) -> bool:
        agent = self.known.agent(self.flow.agent)
        return agent is not None and agent.is_in_turn and agent.status != "stopping"

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a folder, which opens it, and files, which go with the next message."""
        if dropped_paths(event.mimeData()):
            accept_copy(event)
            is_over = not dropped_folder(event.mimeData())
            self.frame.composer.show_held_over(is_over=is_over)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self.frame.composer.show_held_over(is_over=False)

    def dropEvent(self, event: QDropEvent) -> None:
        files, folder = dropped_paths(event.mimeData()), dropped_folder(event.mimeData())
        if not files:
            return
        accept_copy(event)
        self.full.leave()
        if folder:
            self._offer_folder(folder)
        elif self.frame.is_conversing:
            self.frame.composer.attach_files(files)
        else:
            text = self.tr("Files go with a message. Choose a model and a folder first.")
            self.frame.notices.put("drop", Notice(text, "info"))

    def changeEvent(self, event: QEvent) -> None:
        """See what changed on disk, and what ended, when the user comes back."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._host.come_to_front(self)
            self._look_at_folder()
            self._show_place()
            self.flow.mark_read()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self.painted.emit)

    def come_back(self, session_id: str = "", folder: str = "") -> None:
        """Come to the front, with this session, or with the folder of a second start of the app."""
        # As large as it was: one that fills the screen does so again.
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
        if session_id in self.known.sessions:
            self.full.leave()
            self.flow.choose_session(session_id)
        elif folder:
            self.flow.open_folder(folder)

    # -- beside other windows ----------------------------------------------------------------

    @property
    def remembered(self) -> dict[str, bool]:
        """What a window that is opened from this one has in common with it."""
        parts = ("sidebar", "side", BY_FOLDER)
        return {part: self._state.is_wanted(part) for part in parts}

    def know_others(self, sessions: frozenset[SessionId], *, is_last: bool) -> None:
        """Take in which sessions other windows have for writing; `is_last` when there are none."""
        # To close the last one is to quit.
        self.commands.close_window.setEnabled(not is_last)
        changed = self.known.know_elsewhere(sessions)
        self.pages.follow_writers()
        self.frame.sidebar.sessions.set_elsewhere(sessions)
        if changed:
            self.frame.composer.show_state(self.known)
            self.side.show_state(changed)
            self._show_read_only()

    def _show_read_only(self) -> None:
        """Offer nothing that would change a session which another window has for writing."""
        is_read_only = self.known.is_read_only
        self.commands.set_read_only(is_read_only)
        self.frame.header.set_read_only(is_read_only)

    def _refuse_delete(self) -> None:
        text = self.tr("Another window has this session for writing: delete it there.")
        self.frame.notices.put("elsewhere", Notice(text, "info"))

    def _take_over(self) -> None:
        self._host.take_over(self)
        self.frame.composer.focus_text()

    def _show_writer(self) -> None:
        if self.flow.current is not None:
            self._host.raise_writer(self.flow.current)


def _open_menu(focused: QWidget | None) -> None:
    """Open the menu of what has the focus: on Linux, Qt knows a key alone that few boards have."""
    if focused is None:
        return
    at = QRectF(focused.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)).center().toPoint()
    why = QContextMenuEvent.Reason.Keyboard
    QApplication.sendEvent(focused, QContextMenuEvent(why, at, focused.mapToGlobal(at)))

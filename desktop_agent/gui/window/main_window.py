"""The window: puts the panels together and connects their signals to the engine's commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow

from desktop_agent.core.events import (
    CommandRefused,
    Event,
    MessageAdded,
    NoteQueued,
    SessionOpened,
    SessionsChanged,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.changes import ChangesController
from desktop_agent.gui.controllers.controller import WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.controllers.popups import PopupController
from desktop_agent.gui.controllers.provider_status import ProviderStatus
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.controllers.settings import SettingsController
from desktop_agent.gui.controllers.side_panel import SidePanelController
from desktop_agent.gui.controllers.skills import SkillsController
from desktop_agent.gui.controllers.transcript import TranscriptController
from desktop_agent.gui.controllers.transcript_pages import SessionPages, is_untouched
from desktop_agent.gui.controllers.welcome import WelcomeController
from desktop_agent.gui.frame.focus import focus_neighbour
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.frame.window_state import WindowState
from desktop_agent.gui.kit.folders import git_branch
from desktop_agent.gui.kit.links import dropped_folder, open_link, open_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.sessions.empty_page import EmptySession
from desktop_agent.gui.state.session_state import AgentPage, Facet, SessionState
from desktop_agent.gui.window.actions import WindowActions
from desktop_agent.gui.window.tray import Attention

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView


class MainWindow(QMainWindow):
    """Shows one session at a time.

    Signals:
        painted: once, after the first paint
        closed: the app is to end; a window that went into the tray is not closed
    """

    painted = Signal()
    closed = Signal()

    def __init__(
        self, theme: Theme, bridge: Bridge, settings: Settings, folder: str | None = None
    ) -> None:
        super().__init__()
        self._theme = theme
        self._bridge = bridge
        self._is_quitting = False
        self._was_painted = False
        self._has_shown = False
        self._placed: Workspace | None = None
        self._branch = ""
        self.setObjectName("mainWindow")
        self.setWindowTitle(self.tr("Desktop Agent"))
        self.setAcceptDrops(True)
        self.setMinimumSize(420, 400)
        self.frame = frame = WindowFrame(theme, self)
        self.setCentralWidget(frame)
        self.known = SessionState()
        self.pages = SessionPages(frame.stack, self._make_page, self.known)
        self._state = WindowState(self)
        self.flow = SessionController(bridge, self.pages, self.known, self._state, settings, folder)
        self.commands = WindowActions(theme, self)
        self.queries = Queries(bridge, self)
        parts = WindowParts(theme, frame, bridge, self.queries, self.known, self.flow)
        self.settings_window = SettingsController(parts)
        self.popups = PopupController(parts, self.settings_window)
        self.first_run = WelcomeController(parts)
        self._empty = EmptySession(theme, frame.stack, settings.model)
        frame.stack.addWidget(self._empty)
        self.tools = TranscriptController(parts)
        self.side = SidePanelController(parts)
        self.full = FullPages(parts)
        self.skills = SkillsController(parts, self.popups, self.full)
        self.changes = ChangesController(parts, self.full)
        self.attention = Attention(theme, self)
        self._connection = ProviderStatus(frame.sidebar, self.flow)
        self.menuBar().setVisible(self.menuBar().isNativeMenuBar())
        self._begin(settings)
        self._connect()
        frame.composer.focus_text()

    def _begin(self, settings: Settings) -> None:
        frame, place = self.frame, self.flow.workspace
        self._state.restore(*self._theme.window_default())
        frame.set_sidebar(self._state.is_wanted("sidebar"))
        frame.set_side(has_content=False, is_wanted=self._state.is_wanted("side"))
        frame.composer.set_settings(settings)
        frame.sidebar.workspace.set_workspace(place)
        frame.set_conversing(bool(settings.model))
        if place is not None:
            self._empty.set_folder(place.root)

    # -- the app's behaviour: one line for each signal ---------------------------------------

    def _connect(self) -> None:
        self._bridge.received.connect(self._on_received)
        self.flow.shown.connect(self._on_shown)
        self.flow.agent_shown.connect(self._on_agent_shown)
        self.flow.setup_needed.connect(self._on_setup_needed)
        self.flow.settings_changed.connect(self._on_settings_changed)
        self.flow.workspace_changed.connect(self.frame.sidebar.workspace.set_workspace)
        self.flow.failed.connect(partial(self._put_notice, "folder"))
        self.queries.failed.connect(partial(self._put_notice, "query"))
        self.pages.page_made.connect(self._connect_page)
        self.changes.changed.connect(self.side.show_state)
        self.side.undo_requested.connect(self.changes.undo_agent)
        self.attention.opened.connect(self.come_back)
        self.attention.quit_requested.connect(self.quit_now)
        self._connect_sidebar()
        self._connect_composer()
        self._connect_header()
        self._connect_popups()
        self._connect_actions()
        self._connect_view_actions()

    def _connect_sidebar(self) -> None:
        engine, sidebar = self._bridge.engine, self.frame.sidebar
        sidebar.new_session.clicked.connect(self.begin_session)
        sidebar.workspace.clicked.connect(self.open_picker)
        sidebar.settings.clicked.connect(self.settings_window.open)
        sidebar.sessions.session_chosen.connect(self._show_session)
        sidebar.sessions.renamed.connect(engine.rename_session)
        sidebar.sessions.leaving.connect(self.flow.leave)
        sidebar.sessions.returned.connect(self.flow.take_back)
        sidebar.sessions.deleted.connect(engine.delete_session)
        sidebar.sessions.searched.connect(self.tools.search_sessions)
        self.frame.toggled.connect(self._state.remember)

    def _connect_composer(self) -> None:
        composer, tell, engine = self.frame.composer, self.flow.tell, self._bridge.engine
        composer.begun.connect(self.flow.get_ready)
        composer.submitted.connect(self.flow.send)
        composer.main_requested.connect(self.flow.turn_to_main)
        composer.stop_requested.connect(partial(tell, engine.stop))
        composer.stop_and_send_requested.connect(partial(tell, engine.stop_and_send))
        composer.note_edited.connect(partial(tell, engine.edit_note))
        composer.note_withdrawn.connect(partial(tell, engine.withdraw_note))
        composer.resume_requested.connect(partial(tell, engine.resume))
        composer.mode_chosen.connect(partial(self.flow.set, engine.set_mode))
        composer.model_picker_requested.connect(self.open_models)
        composer.box.path_completion_requested.connect(self.tools.complete_path)

    def _connect_header(self) -> None:
        frame, engine = self.frame, self._bridge.engine
        frame.header.renamed.connect(partial(self.flow.set, engine.rename_session))
        frame.header.find_button.clicked.connect(frame.find_bar.enter)
        frame.header.copy_button.clicked.connect(self.tools.copy_answer)
        frame.find_bar.searched.connect(self.tools.find)
        frame.find_bar.closed.connect(frame.composer.focus_text)
        frame.approvals.review_requested.connect(self.side.review)

    def _connect_popups(self) -> None:
        popups = self.popups
        popups.session_chosen.connect(self._show_session)
        popups.folder_found.connect(self._offer_folder)
        self.first_run.browse_requested.connect(popups.browse)
        self._empty.prompt_chosen.connect(self.frame.composer.set_text)
        popups.model_titled.connect(self.frame.composer.set_model)

    def _connect_actions(self) -> None:
        keys, frame, popups = self.commands, self.frame, self.popups
        for leaving in (keys.new, keys.find, keys.composer, keys.approval):
            # Before what they do: that is about the conversation.
            leaving.triggered.connect(self.full.leave)
        keys.new.triggered.connect(self.begin_session)
        keys.folder.triggered.connect(self.open_picker)
        keys.switch.triggered.connect(lambda: popups.open_palette(()))
        # The list of all commands is none of them.
        listed = [action for action in keys.all if action is not keys.palette]
        keys.palette.triggered.connect(
            lambda: popups.open_palette((*listed, *self.side.commands()))
        )
        keys.rename.triggered.connect(frame.header.begin_rename)
        keys.delete.triggered.connect(
            lambda: frame.sidebar.sessions.delete(self.flow.current or "")
        )

    def _connect_view_actions(self) -> None:
        keys, frame, popups = self.commands, self.frame, self.popups
        keys.settings.triggered.connect(self.settings_window.open)
        keys.quit.triggered.connect(self.close)
        keys.find.triggered.connect(frame.find_bar.enter)
        keys.find_next.triggered.connect(lambda: frame.find_bar.search())
        keys.find_previous.triggered.connect(lambda: frame.find_bar.search(backward=True))
        keys.copy_answer.triggered.connect(self.tools.copy_answer)
        keys.stop.triggered.connect(frame.composer.request_stop)
        keys.approval.triggered.connect(self.side.review)
        keys.composer.triggered.connect(frame.composer.focus_text)
        keys.sidebar.triggered.connect(frame.toggle_sidebar)
        keys.model.triggered.connect(self.open_models)
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
        keys.trust.triggered.connect(self.skills.trust.look)
        keys.task.triggered.connect(self.side.add_task)

    def _make_page(self) -> TranscriptView:
        # Markdown and highlighting come with it; the first paint has no transcript yet.
        from desktop_agent.gui.transcript.view.view import TranscriptView

        return TranscriptView(self._theme, self.frame.stack)

    def _connect_page(self, view: TranscriptView, agent_id: str) -> None:
        engine = self._bridge.engine
        view.decided.connect(engine.decide)
        view.answered.connect(engine.answer)
        view.resume_requested.connect(partial(self.flow.tell, engine.resume))
        view.fault_action.connect(self._act)
        view.compose_requested.connect(self.frame.composer.focus_text)
        view.edit_requested.connect(self.frame.composer.set_text)
        view.open_path_requested.connect(self._open_path)
        view.open_link_requested.connect(open_link)
        view.earlier_requested.connect(lambda: self.tools.load_earlier(AgentId(agent_id)))
        view.waiting_changed.connect(self.tools.look)
        self.tools.watch(view)

    def _open_path(self, path: str) -> None:
        if not open_path(path, self.flow.workspace):
            text = self.tr("That file is not there any more, or not in this session's folders.")
            self.frame.notices.hint(text)

    def _put_notice(self, key: str, text: str) -> None:
        self.frame.notices.put(key, Notice(text))

    # -- events ------------------------------------------------------------------------------

    def _on_received(self, batch: Sequence[Event]) -> None:
        events, changed = self.flow.take(batch)
        if changed:
            self.frame.composer.show_state(self.known)
        if Facet.SANDBOX in changed:
            self.settings_window.set_sandbox(self.known.sandbox)
        for event in events:
            if isinstance(event, CommandRefused):
                self.frame.composer.give_back(event)
                self.side.give_back(event)
            owner = self.known.owner(event)
            if owner is None or owner == self.flow.current:
                self._follow_shown(event)
            self.attention.apply(event)
            self.frame.sidebar.sessions.apply(event)
            if isinstance(event, SessionsChanged | SessionOpened):
                self._show_place()
        if changed:
            self.side.show_state(changed)

    def _follow_shown(self, event: Event) -> None:
        if isinstance(event, NoteQueued | MessageAdded | TurnStarted):
            self.pages.bring(self.flow.agent)
        self.frame.composer.apply(event)
        self.frame.notices.apply(event, self.flow.agent)
        self._connection.apply(event)
        if isinstance(event, TurnEnded):
            self._look_at_folder()
            if self.isActiveWindow():
                self.flow.mark_read()

    def _on_shown(self, page: AgentPage) -> None:
        frame = self.frame
        frame.set_conversing(True)
        frame.notices.remove("retry")
        frame.sidebar.sessions.set_current(page.info.id)
        if is_untouched(page.info) and not page.events:
            self._empty.set_folder(page.info.workspace.root)
            frame.stack.setCurrentWidget(self._empty)
            # Not on the first prompt: what is typed now is meant for the message box.
            frame.composer.focus_text()
        self._connection.set_model(page.info.model, page.info.api_base)
        self.tools.look()
        self.flow.mark_read()

    def _on_agent_shown(self, page: AgentPage) -> None:
        """The composer talks to the agent that is shown."""
        composer = self.frame.composer
        # What was typed before the first session was there belongs to that session.
        typed = "" if self._has_shown else composer.draft()
        composer.open(page, self.known)
        if not self._has_shown:
            self._has_shown = True
            composer.set_draft(typed)
        if not self.flow.is_at_main:
            self.popups.name_model(page.model, page.info.api_base)
        self.tools.look()

    def _on_setup_needed(self) -> None:
        self.frame.set_conversing(False)
        self.frame.sidebar.sessions.set_current(None)
        self.first_run.show()
        self.frame.stack.setFocus()
        self._show_place()

    def _on_settings_changed(self, settings: Settings) -> None:
        self._theme.configure(settings.theme, settings.text_scale, settings.reduce_motion)
        self.frame.composer.set_settings(settings)
        self.settings_window.follow(settings)
        self._bridge.settings.save(settings)

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

    # -- requests that need more than a command ----------------------------------------------

    def begin_session(self) -> None:
        self.frame.close_drawer()
        self.flow.begin_session()
        self.frame.composer.focus_text()

    def _show_session(self, session_id: str) -> None:
        self.frame.close_drawer()
        self.flow.show_session(session_id)
        self.frame.composer.focus_text()

    def open_picker(self) -> None:
        self.popups.open_picker(self.frame.sidebar.workspace)

    def open_models(self) -> None:
        self.popups.open_models(self.frame.composer.model_button)

    def _offer_folder(self, path: str) -> None:
        if not self.first_run.take_folder(path):
            self.popups.offer_folder(self.frame.sidebar.workspace, path)

    def _act(self, action: str) -> None:
        if action == "edit_key":
            model = self.flow.info.model if self.flow.info else self.flow.settings.model
            self.settings_window.open_keys(model.partition("/")[0])
        elif action == "switch_model":
            self.open_models()
        elif action == "settings":
            self.settings_window.open()
        else:
            self.flow.tell(self._bridge.engine.resume)

    # -- the window itself -------------------------------------------------------------------

    def quit_now(self) -> None:
        """Close without a question; what runs is stopped by the engine's end."""
        self._is_quitting = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        running = len(self.known.running())
        if running and not self._is_quitting:
            from desktop_agent.gui.window.close_dialog import ask_before_closing  # not at the start

            choice = ask_before_closing(self, running, has_tray=self.attention.has_tray)
            if choice != "quit":
                event.ignore()
                if choice == "tray" and self.attention.enter_tray():
                    self.hide()
                return
        self.frame.sidebar.sessions.finish_deletes()
        self.changes.stop()
        self.queries.cancel()
        self._state.save()
        event.accept()
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc, when nothing nearer to the focus wanted it: close the drawer, then stop."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.frame.close_drawer():
            pass
        elif self.frame.find_bar.isVisible():
            self.frame.find_bar.leave()
        elif not self.flow.is_at_main and self.flow.info is not None:
            self.flow.show_agent(self.flow.info.main_agent)
        elif self._can_stop():
            if self.frame.notices.is_hinting:
                self.frame.notices.remove("hint")
                self.frame.composer.request_stop()
            else:
                self.frame.notices.hint(self.tr("Press Esc again to stop the agent"))

    def _can_stop(self) -> bool:
        agent = self.known.agent(self.flow.agent)
        return agent is not None and agent.is_in_turn and agent.status != "stopping"

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_folder(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        folder = dropped_folder(event.mimeData())
        if folder:
            event.acceptProposedAction()
            self._offer_folder(folder)

    def changeEvent(self, event: QEvent) -> None:
        """See what changed on disk, and what ended, when the user comes back."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._look_at_folder()
            self._show_place()
            self.flow.mark_read()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self.painted.emit)

    def come_back(self, folder: str = "") -> None:
        """Come to the front, with the folder of a second start of the app."""
        self.attention.leave_tray()
        self.showNormal()
        self.raise_()
        self.activateWindow()
        if folder:
            self.flow.open_folder(folder)

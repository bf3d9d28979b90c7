"""Routes events to what is shown; shows sessions and agents, and gives commands about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from desktop_agent.core.events import (
    AgentOpened,
    Event,
    MessageAdded,
    NoteQueued,
    SessionOpened,
    SessionsChanged,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, SessionId, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.bridge.window_bridge import WindowBridge
from desktop_agent.gui.controllers.transcript_pages import (
    MODULES,
    STREAMED,
    SessionPages,
    load_parser,
)
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.frame.window_state import WindowState
from desktop_agent.gui.kit.folders import real_folder
from desktop_agent.gui.kit.preload import Preload
from desktop_agent.gui.state.session_state import NOTHING, AgentPage, Facet, SessionState

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.view import TranscriptView

P = ParamSpec("P")
_MAX_RECENT = 12
BY_FOLDER = "sessions_by_folder"
_TEXT_SCALES = (80, 90, 100, 110, 125, 150, 175, 200)


class SessionController(QObject):
    """Takes in what happens, and turns what the user asks for into the engine's commands.

    Signals:
        followed(tuple[Event], Facet): this was taken in, but for text that streams; what of the
            session that is shown may differ now
        shown(AgentPage): a session is on screen now
        agent_shown(AgentPage): any agent's transcript is
        setup_needed: in place of a session while a model or a folder is missing
        settings_changed(Settings): the settings that hold from now on
        settings_shared(Settings): they were changed in this window, and hold for all
        workspace_changed(Workspace): the session shown works in other folders
        failed(str): a sentence for the user
    """

    followed = Signal(object, object)
    shown = Signal(object)
    agent_shown = Signal(object)
    setup_needed = Signal()
    settings_changed = Signal(object)
    settings_shared = Signal(object)
    workspace_changed = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        bridge: WindowBridge,
        frame: WindowFrame,
        pages: SessionPages,
        known: SessionState,
        state: WindowState,
        settings: Settings,
        folder: str | None,
    ) -> None:
        super().__init__(pages)
        self._bridge = bridge
        self._frame = frame
        self.pages = pages
        self._known = known
        self._state = state
        self._asked_folder = folder
        self._folder = _first_folder(folder, *settings.recent_folders)
        self._wanted: SessionId | None = None
        self._wanted_agent: AgentId | None = None
        self._early: list[Note] = []
        self._leaving: dict[SessionId, bool] = {}  # whether it was the one shown
        self._has_begun = False
        self._last_workspace: Workspace | None = None
        self._preload = Preload(self, MODULES)
        self.settings = settings
        self._connect()
        self._connect_composer()
        bridge.received.connect(self._on_received)

    def _connect(self) -> None:
        engine, sessions = self._bridge.engine, self._frame.sidebar.sessions
        self._frame.sidebar.new_session.clicked.connect(self.new_session)
        sessions.session_chosen.connect(self.choose_session)
        sessions.typed.connect(self._frame.composer.type_text)
        sessions.renamed.connect(engine.rename_session)
        sessions.leaving.connect(self.leave)
        sessions.returned.connect(self.take_back)
        sessions.deleted.connect(engine.delete_session)
        sessions.pinned.connect(engine.pin_session)
        sessions.archived.connect(engine.archive_session)
        sessions.restored.connect(engine.restore_session)
        sessions.erased.connect(engine.erase_session)
        sessions.emptied.connect(engine.empty_deleted)
        sessions.set_by_folder(self._state.is_wanted(BY_FOLDER))
        sessions.grouping_changed.connect(partial(self._state.remember, BY_FOLDER))
        self._frame.header.renamed.connect(partial(self.set, engine.rename_session))
        self.pages.page_made.connect(self._connect_page)

    def _connect_composer(self) -> None:
        composer, tell, engine = self._frame.composer, self.tell, self._bridge.engine
        composer.begun.connect(self.get_ready)
        composer.submitted.connect(self.send)
        composer.main_requested.connect(self.turn_to_main)
        composer.stop_requested.connect(partial(tell, engine.stop))
        composer.stop_and_send_requested.connect(partial(tell, engine.stop_and_send))
        composer.note_edited.connect(partial(tell, engine.edit_note))
        composer.note_withdrawn.connect(partial(tell, engine.withdraw_note))
        composer.resume_requested.connect(partial(tell, engine.resume))
        composer.mode_chosen.connect(partial(self.set, engine.set_mode))

    def _connect_page(self, view: TranscriptView) -> None:
        engine, composer = self._bridge.engine, self._frame.composer
        view.decided.connect(engine.decide)
        view.answered.connect(engine.answer)
        view.form_answered.connect(engine.answer)
        view.resume_requested.connect(partial(self.tell, engine.resume))
        view.compose_requested.connect(composer.focus_text)
        view.edit_requested.connect(composer.set_text)

    # -- what is known -----------------------------------------------------------------------

    @property
    def current(self) -> SessionId | None:
        return self._known.session_id

    @property
    def info(self) -> SessionInfo | None:
        return self._known.info

    @property
    def agent(self) -> AgentId | None:
        return self._known.shown

    @property
    def is_at_main(self) -> bool:
        """Whether the session's main agent is shown, not a subagent."""
        return self.agent == self._known.main_agent

    @property
    def workspace(self) -> Workspace | None:
        if self.info is not None:
            return self.info.workspace
        return Workspace(self._folder) if self._folder else None

    # -- events ------------------------------------------------------------------------------

    def _on_received(self, batch: Sequence[Event]) -> None:
        """Bring a batch to the state, the transcripts and the message box, then to the others."""
        events, changed = self._take(batch)
        composer = self._frame.composer
        if changed:
            composer.show_state(self._known)
        for event in events:
            is_begun = isinstance(event, NoteQueued | MessageAdded | TurnStarted)
            if is_begun and self._known.is_about_shown(event):
                self.pages.bring(self.agent)
            composer.apply(event)
        self.followed.emit(tuple(events), changed)

    def _take(self, batch: Sequence[Event]) -> tuple[list[Event], Facet]:
        """Bring a batch to the state and the pages; a session that was waited for is shown.

        Returns what is for others too (not the words that stream), and what is to be shown anew.
        """
        changed = NOTHING
        share: list[Event] = []
        others: list[Event] = []
        for event in batch:
            if type(event) in STREAMED:
                if self.pages.has_reader(event):
                    share.append(event)
                continue
            others.append(event)
            changed |= self._known.apply(event)
            if isinstance(event, SessionOpened):
                # What came before belongs to the pages as they are; what follows, to this one.
                self.pages.route(share)
                share = []
                changed |= self._on_opened(event)
            elif isinstance(event, AgentOpened):
                self.pages.route(share)
                share = []
                changed |= self._on_agent_opened(event)
            else:
                share.append(self._known.as_whole(event))
        self.pages.route(share)
        for event in others:
            if isinstance(event, SessionsChanged):
                self.pages.drop_gone()
                self._on_sessions(event.sessions)
        if self.info is not None and self.info.workspace != self._last_workspace:
            self._last_workspace = self.info.workspace
            self.workspace_changed.emit(self._last_workspace)
        return others, changed

    def _on_opened(self, opened: SessionOpened) -> Facet:
        page = AgentPage.of_main(opened)
        if opened.info.id != self._wanted:
            # Of the same path it tells another window, which opens it now.
            if self.pages.follow_path(page) and page.agent_id == self.agent:
                self._write_to(page)
            return NOTHING
        self._wanted = self._wanted_agent = None
        self._folder = page.info.workspace.root
        self._state.session = page.info.id
        changed = self._known.show(page.info.id, page.agent_id)
        self.pages.show(page)
        self.shown.emit(page)
        self._write_to(page)
        early, self._early = self._early, []
        for note in early:
            self.send(note)
        return changed

    def _on_agent_opened(self, opened: AgentOpened) -> Facet:
        page = self._known.page(opened)
        if page is None or page.agent_id != self._wanted_agent:
            return NOTHING
        self._wanted_agent = None
        changed = self._known.show(page.info.id, page.agent_id)
        self.pages.show(page)
        self._write_to(page)
        return changed

    def _write_to(self, page: AgentPage) -> None:
        """Let the composer talk to the agent that is shown."""
        self._frame.composer.open(page, self._known)
        self.agent_shown.emit(page)

    def _on_sessions(self, sessions: tuple[SessionInfo, ...]) -> None:
        is_gone = self.current is not None and self.current not in self._known.sessions
        if is_gone:
            self._known.hide()
        if is_gone or not self._has_begun:
            self._has_begun = True
            self._begin(sessions)

    def _begin(self, sessions: tuple[SessionInfo, ...]) -> None:
        """Show what the user most likely wants: the folder asked for, or the last session."""
        asked, self._asked_folder = self._asked_folder, None
        # What other windows have is theirs, but for what this one showed beside them.
        free = [info.id for info in sessions if info.id not in self._known.elsewhere]
        last = SessionId(self._state.session)
        if asked:
            self.open_folder(asked)
        elif last in self._known.sessions:
            self.show_session(last)
        elif free:
            self.show_session(free[0])
        else:
            self.begin_session()

    def start_beside(self, session_id: str) -> None:
        """Be a new window: with this session, or a new one in the folder used last."""
        self._has_begun, self._asked_folder = True, None
        if session_id:
            self.show_session(session_id)
        else:
            self.begin_session()

    # -- requests ----------------------------------------------------------------------------

    def begin_session(self) -> None:
        """Begin a session in the present folder; one that was never used is taken again."""
        workspace = self.workspace
        if workspace is None or not self.settings.model:
            self._known.hide()
            self.setup_needed.emit()
            return
        for info in self._free():
            if info.is_untouched and info.workspace.root == workspace.root:
                self.show_session(info.id)
                return
        self._wanted = new_session_id()
        self._bridge.engine.new_session(self._wanted, workspace)

    def show_session(self, session_id: str) -> None:
        # The last request counts: what was asked for before and has not come is not shown.
        self._wanted = self._wanted_agent = None
        if session_id != self.current:
            self._wanted = SessionId(session_id)
            self._bridge.engine.open_session(self._wanted)

    def choose_session(self, session_id: str) -> None:
        """Show a session that the user picked from a list."""
        self._frame.close_drawer()
        self.show_session(session_id)
        self._frame.composer.focus_text()

    def new_session(self) -> None:
        """Begin a session, as the user asked for."""
        self._frame.close_drawer()
        self.begin_session()
        if self.workspace is not None and self.settings.model:  # else these are to be chosen first
            self._frame.composer.focus_text()

    def show_agent(self, agent_id: str) -> None:
        """Show the transcript of an agent of this session; the composer then talks to it."""
        self._wanted = self._wanted_agent = None
        if self.info is None or agent_id == self.agent:
            return
        if agent_id == self.info.main_agent:
            self._wanted = self.info.id
            self._bridge.engine.open_session(self._wanted)
        else:
            self._wanted_agent = AgentId(agent_id)
            self._bridge.engine.open_agent(self._wanted_agent)

    def turn_to_main(self, note: Note | None = None) -> None:
        """Send the session's main agent a note, or else show it to be written to."""
        if self.info is None:
            return
        if note is None:
            self.show_agent(self.info.main_agent)
        else:
            self._bridge.engine.send(self.info.main_agent, note)

    def leave(self, session_id: str) -> None:
        """Show something else than a session that is about to be deleted."""
        was_shown = session_id == self.current
        self._leaving[SessionId(session_id)] = was_shown
        if was_shown:
            staying = self._free()
            if staying:
                self.show_session(staying[0].id)
            else:
                self.begin_session()

    def take_back(self, session_id: str) -> None:
        """Show a session whose deletion was undone, if it was shown before."""
        if self._leaving.pop(SessionId(session_id), False):
            self.show_session(session_id)

    def _free(self) -> list[SessionInfo]:
        """Return what this window may show and change, the newest first."""
        taken = self._known.elsewhere | self._leaving.keys()
        found = (i for i in self._known.sessions.values() if i.id not in taken)
        return sorted(found, key=lambda info: info.updated_at, reverse=True)

    def open_folder(self, path: str) -> None:
        """Work in this folder: in the present session if it is unused, else in a new one."""
        real = real_folder(path)
        if real is None:
            self.failed.emit(self.tr("There is no folder “{path}”.").format(path=path))
            return
        if not self._has_begun:  # at the start it is handed over by another, or by macOS
            self._asked_folder = self._folder = real
            self.workspace_changed.emit(self.workspace)
            return
        others = tuple(one for one in self.settings.recent_folders if one != real)
        recent = (real, *others)[:_MAX_RECENT]
        self.apply_settings(replace(self.settings, recent_folders=recent))
        info = self.info
        if info is not None and info.workspace.root == real:
            return
        if info is not None and info.is_untouched:
            self.set_workspace(Workspace(real))
            return
        self._folder, self._last_workspace = real, None
        self._known.hide()
        self.workspace_changed.emit(self.workspace)
        self.begin_session()

    def set_workspace(self, workspace: Workspace) -> None:
        self.set(self._bridge.engine.set_workspace, workspace)

    def forget_folder(self, path: str) -> None:
        kept = tuple(one for one in self.settings.recent_folders if one != path)
        self.apply_settings(replace(self.settings, recent_folders=kept))

    def choose_model(self, name: str, api_base: str) -> None:
        """Use this model here and for new sessions."""
        self.apply_settings(replace(self.settings, model=name, api_base=api_base))
        if self.current is not None:
            self.set(self._bridge.engine.set_model, name, api_base)
        elif self.workspace is not None:
            self.begin_session()

    def apply_settings(self, settings: Settings) -> None:
        """Use these settings from now on, in all windows."""
        if settings != self.settings:
            self._bridge.engine.apply_settings(settings)
            self._bridge.settings.save(settings)
            self.take_settings(settings)
            self.settings_shared.emit(settings)

    def take_settings(self, settings: Settings) -> None:
        """Use settings that were changed here or in another window."""
        self.settings = settings
        self.settings_changed.emit(settings)

    def scale_text(self, step: int) -> None:
        """Make text one step larger (1) or smaller (-1), or normal (0)."""
        settings = self.settings
        nearest = min(_TEXT_SCALES, key=lambda scale: abs(scale - settings.text_scale))
        place = max(0, min(_TEXT_SCALES.index(nearest) + step, len(_TEXT_SCALES) - 1))
        scale = _TEXT_SCALES[place] if step else 100
        self.apply_settings(replace(settings, text_scale=scale))

    def mark_read(self) -> None:
        """The user sees the session's end."""
        if self.info is not None and self.info.is_unread:
            self.set(self._bridge.engine.mark_read)

    def get_ready(self) -> None:
        """Load what a message and its answer need, while the user writes."""
        self._bridge.engine.get_ready()
        self._preload.start()
        load_parser()

    def send(self, note: Note) -> None:
        """Give the agent that is shown a note; while the app starts, keep it until one is."""
        if self.agent is None:
            self._early.append(note)
            return
        page = self.pages.page(self.agent)
        if page is not None:
            page.follow_sent()
        self.tell(self._bridge.engine.send, note)

    def tell(
        self, command: Callable[Concatenate[AgentId, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        if self.agent is not None:
            command(self.agent, *args, **kwargs)

    def set(
        self, command: Callable[Concatenate[SessionId, P], None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        if self.current is not None:
            command(self.current, *args, **kwargs)


def _first_folder(*paths: str | None) -> str | None:
    """Return the first that is there, as its real path."""
    for path in paths:
        real = real_folder(path) if path and Path(path).is_absolute() else None
        if real is not None:
            return real
    return None

"""All windows of the app: opened, closed and remembered here; one tray, one writer of a session."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import Event
from desktop_agent.core.ids import RequestId, SessionId
from desktop_agent.core.settings import Settings
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.frame.window_state import open_windows, remember_windows
from desktop_agent.gui.kit.folders import real_folder
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.session_holds import SessionHolds
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.window.main_window import MainWindow, Start
from desktop_agent.gui.window.tray import Attention, make_question

if TYPE_CHECKING:
    import asyncio

    from desktop_agent.gui.kit.dialogs.question import Question


class AppWindows(QObject):
    """The WindowHost of its windows. They share theme, bridge, settings and the tray.

    Signals:
        closed: the last window was closed, and the app is to end
    """

    closed = Signal()

    def __init__(
        self, theme: Theme, bridge: Bridge, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._bridge, self._settings = theme, bridge, settings
        self._holds: SessionHolds[QWidget] = SessionHolds()
        self._is_ending = False
        # Whether the app may end while agents work is asked once.
        self._question: Question | None = None
        # The first tells what happens to all.
        self.windows: list[MainWindow] = []
        # What they asked is still being given up.
        self._closed: list[MainWindow] = []
        self._ending: set[asyncio.Future[None]] = set()
        # The user works in it, or did last.
        self._active: MainWindow | None = None
        self.attention = Attention(theme, self, SessionState(), self)
        self.attention.opened.connect(self._come_back_to)
        self.attention.allowed.connect(self._allow)
        self.attention.quit_requested.connect(self.quit_now)

    # -- opening -----------------------------------------------------------------------------

    def open_first(self, folder: str | None = None) -> MainWindow:
        """Open the first of the windows that were open last; it starts in this folder, if any."""
        return self._add(self._settings, Start(folder, open_windows()[0]))

    def open_others(self) -> None:
        """Open the other windows that were open last, behind the first."""
        others = open_windows()[1:]
        # It may have been closed already, before the app's loop began.
        if not (self.windows and others):
            return
        for number in others:
            self._add(self._settings, Start(number=number)).show()
        self.front.raise_()
        self.front.activateWindow()

    def open_beside(self, window: QWidget, session_id: str = "") -> None:
        beside = next(one for one in self.windows if one is window)
        place = beside.flow.workspace
        taken = {one.number for one in self.windows}
        number = next(one for one in itertools.count() if one not in taken)
        folder = place.root if place is not None else None
        new = self._add(beside.flow.settings, Start(folder, number, beside))
        self._remember()
        new.show()
        new.activateWindow()
        new.flow.start_beside(session_id)

    def _add(self, settings: Settings, start: Start) -> MainWindow:
        window = MainWindow(self._theme, self, self._bridge, settings, start)
        if not self.windows:
            self.attention.known = window.known
            self._active = window
        self.windows.append(window)
        self._tell_holds()
        return window

    # -- who is in front ---------------------------------------------------------------------

    @property
    def front(self) -> MainWindow:
        """The window in which the user works, or did last."""
        return self._active or self.windows[0]

    def is_active(self) -> bool:
        return any(window.isActiveWindow() for window in self.windows)

    def window_for(self, session_id: str) -> MainWindow:
        writer = self._holds.writer(SessionId(session_id))
        return next((one for one in self.windows if one is writer), self.front)

    def come_to_front(self, window: QWidget) -> None:
        self._active = next((one for one in self.windows if one is window), self._active)
        self.attention.come_back()

    def come_back(self, folder: str = "") -> None:
        """Bring the app to the front, with the folder of a second start of it."""
        real = real_folder(folder) if folder else None
        places = ((one, one.flow.workspace) for one in self.windows)
        there = (one for one, place in places if place is not None and place.root == real)
        self._leave_tray()
        next(there, self.front).come_back(folder=folder)

    def come_from_tray(self, state: Qt.ApplicationState) -> None:
        """Come back once the app is active without a window: its icon in the Dock was clicked."""
        is_active = state == Qt.ApplicationState.ApplicationActive
        if is_active and self.windows and all(window.isHidden() for window in self.windows):
            self.come_back()

    def raise_writer(self, session_id: SessionId) -> None:
        self.window_for(session_id).come_back()

    def _come_back_to(self, session_id: str) -> None:
        self._leave_tray()
        self.window_for(session_id).come_back(session_id)

    def _leave_tray(self) -> None:
        self.attention.leave_tray()
        for window in self.windows:
            if window.isHidden():
                window.show()

    def _allow(self, request_id: str) -> None:
        self._bridge.engine.decide(RequestId(request_id), AllowOnce())

    # -- what they have in common ------------------------------------------------------------

    def hear(self, window: QWidget, events: Sequence[Event]) -> None:
        if self.windows[:1] == [window]:
            for event in events:
                self.attention.apply(event)

    def share(self, window: QWidget, settings: Settings) -> None:
        for other in self.windows:
            if other is not window:
                other.flow.take_settings(settings)

    def show(self, window: QWidget, session_id: SessionId | None) -> None:
        # One that was closed still hears what was under way.
        if window in self.windows:
            self._holds.show(window, session_id)
            self._tell_holds()

    def take_over(self, window: QWidget) -> None:
        self._holds.take(window)
        self._tell_holds()

    def _tell_holds(self) -> None:
        is_last = len(self.windows) == 1
        for window in self.windows:
            window.know_others(self._holds.held_by_others(window), is_last=is_last)

    # -- closing -----------------------------------------------------------------------------

    def may_close(self, window: QWidget) -> bool:
        # Behind another window all agents go on.
        return len(self.windows) > 1 or self._may_end()

    def quit(self) -> None:
        if self._may_end():
            self.quit_now()

    def quit_open(self) -> bool:
        """Quit, as the system asks; False where no window is open any more."""
        if not self.windows:
            return False
        if self.front.known.running():
            self._leave_tray()  # what is asked is asked in a window
        self.quit()
        return True

    def quit_now(self) -> None:
        """End the app without a question; all windows come back at the next start."""
        self._is_ending = True
        for window in list(self.windows):
            window.quit_now()

    def let_go(self, window: QWidget) -> None:
        closed = next((one for one in self.windows if one is window), None)
        if closed is None:
            return
        self.windows.remove(closed)
        self._closed.append(closed)
        self._holds.show(closed, None)
        if self._active is closed:
            self._active = None
        if not self.windows:
            self.attention.notices.close()
            self.closed.emit()
        elif not self._is_ending:
            self.attention.known = self.windows[0].known
            self._tell_holds()
            self._remember()
            self._end(closed)

    def _end(self, closed: MainWindow) -> None:
        """Delete a window once nothing waits for an answer in it."""
        import asyncio  # loaded long before; not before the first paint

        job = asyncio.ensure_future(closed.queries.drain())
        self._ending.add(job)

        def delete(_: object) -> None:
            self._ending.discard(job)
            self._closed.remove(closed)
            closed.deleteLater()

        job.add_done_callback(delete)

    def hide(self) -> None:
        """Hide all windows, while the engine ends behind them."""
        for window in self.windows:
            window.hide()

    async def drain(self) -> None:
        """Give up what any window still asks."""
        for window in (*self.windows, *self._closed):
            await window.queries.drain()

    def _may_end(self) -> bool:
        """Whether nothing works. Else ask what becomes of it; the answer ends the app, or not."""
        running = len(self.front.known.running())
        if not running:
            return True
        if self._question is None:
            has_tray = self.attention.has_tray
            has_places = bool(self.front.flow.settings.places)
            self._question = make_question(
                self._theme, self.front, running, has_tray=has_tray, has_places=has_places
            )
            self._question.finished.connect(self._on_answered)
            self._question.open()
        self._question.activateWindow()
        return False

    def _on_answered(self) -> None:
        question, self._question = self._question, None
        choice = question.choice if question is not None else ""
        if choice == "quit":
            self.quit_now()
        elif choice == "tray" and self.attention.enter_tray():
            self.hide()

    def _remember(self) -> None:
        remember_windows(one.number for one in self.windows)

"""Calls the user when no window is in front; keeps the app in the tray; asks on quitting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    QuestionAsked,
    SessionsChanged,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.gui.kit.text import plain, with_plural
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import named
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.window.approval_notice import approval_notice
from desktop_agent.gui.window.desktop_notices import DesktopNotice, DesktopNotices

if TYPE_CHECKING:
    from PySide6.QtWidgets import QSystemTrayIcon

    from desktop_agent.gui.kit.dialogs.question import Question

_LONG_S = 30.0
_MOST_LISTED = 12
_LONGEST, _LONGEST_TITLE = 300, 60


class Front(Protocol):
    """What of the app is on the screen."""

    def is_active(self) -> bool:
        """Return whether one of the windows is the one the user works in."""
        ...

    def window_for(self, session_id: str) -> QWidget:
        """Return where a session is shown, or would be."""
        ...


class Attention(QObject):
    """Alerts for an approval, a question, a failure, and the end of a long turn.

    One for all windows. Where the desktop has a tray, the icon is there while they are in it,
    and from a notification on until one is active again. Its menu lists what runs.

    Signals:
        opened(session): a window is to come back, with this session if it is one
        allowed(request): *Allow once* was pressed in a notification
        quit_requested: from the menu
    """

    opened = Signal(str)
    allowed = Signal(str)
    quit_requested = Signal()

    def __init__(
        self, theme: Theme, front: Front, known: SessionState, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._front = front
        self.known = known  # of the window whose events are applied
        self._tray: Any = None  # a QSystemTrayIcon, imported when first needed
        self._menu: QMenu | None = None
        self._is_in_tray = False
        # The session that the last notification was about.
        self._about = ""
        self._since: dict[AgentId, float] = {}
        self.notices = notices = DesktopNotices(self)
        notices.allowed.connect(self.allowed)
        notices.opened.connect(self.opened)
        notices.unavailable.connect(self._tell_plainly)

    @property
    def has_tray(self) -> bool:
        """Whether this desktop shows tray icons."""
        from PySide6.QtWidgets import QSystemTrayIcon  # most runs never need one

        return QSystemTrayIcon.isSystemTrayAvailable()

    def apply(self, event: Event) -> None:
        """Call the user, if they are elsewhere and the event is worth it."""
        if isinstance(event, SessionsChanged) and self._tray is not None:
            self._tray.setToolTip(self.summary())
        if isinstance(event, ApprovalResolved):
            self.notices.withdraw(event.request_id)
        text = self._event_text(event)
        if text and not self._front.is_active():
            QApplication.alert(self._front.window_for(self.known.owner(event) or ""))
            if isinstance(event, ApprovalRequested) and self.notices.is_possible():
                self.notices.show(approval_notice(event.request, self.known))
            else:
                self._tell(self.known.owner(event) or "", text)

    def _tell_plainly(self, notice: DesktopNotice) -> None:
        if not self._front.is_active():
            self._tell(notice.session, notice.short)

    def _tell(self, session_id: str, text: str) -> None:
        self._about = session_id
        if self._show_icon():
            self.notify(self._title(), text)

    def notify(self, title: str, text: str) -> None:
        """Show a notification of the desktop."""
        self._tray.showMessage(title, plain(text)[:_LONGEST])

    def enter_tray(self) -> bool:
        """Put an icon into the tray; False where there is no tray."""
        self._is_in_tray = self._show_icon()
        return self._is_in_tray

    def leave_tray(self) -> None:
        self._is_in_tray = False
        self.come_back()

    def come_back(self) -> None:
        """A window is active: the icon is for windows that are in the tray."""
        if self._tray is not None and not self._is_in_tray:
            self._tray.hide()

    def summary(self) -> str:
        """Return how much runs, in a few words."""
        running = self.known.running()
        waiting = sum(info.status == "needs_you" for info in running)
        words = [self.tr("Desktop Agent")]
        if running:
            words.append(
                with_plural(self.tr("%n session(s) at work", "", len(running)), len(running))
            )
        if waiting:
            one, more = self.tr("1 needs you"), self.tr("{count} need you")
            words.append(one if waiting == 1 else more.format(count=waiting))
        return " · ".join(words)

    def menu(self) -> QMenu:
        """Return the icon's menu, with what runs now."""
        if self._menu is None:
            self._menu = named(QMenu(), "trayMenu", self.tr("Desktop Agent"))
            self._menu.aboutToShow.connect(self._fill)
        self._fill()
        return self._menu

    def _fill(self) -> None:
        menu = self._menu
        assert menu is not None
        menu.clear()
        for info in self.known.running()[:_MOST_LISTED]:
            title = plain(info.title)[:_LONGEST_TITLE]
            words = {
                "needs_you": self.tr("{title} – needs you"),
                "paused": self.tr("{title} – paused"),
            }.get(info.status, self.tr("{title} – working"))
            action = menu.addAction(words.format(title=title).replace("&", "&&"))
            action.triggered.connect(partial(self.opened.emit, info.id))
        if not menu.isEmpty():
            menu.addSeparator()
        menu.addAction(self.tr("Show the window")).triggered.connect(lambda: self.opened.emit(""))
        menu.addAction(self.tr("Stop and quit")).triggered.connect(self.quit_requested)

    def _show_icon(self) -> bool:
        if not self.has_tray:
            return False
        if self._tray is None:
            from PySide6.QtWidgets import QSystemTrayIcon

            self._tray = QSystemTrayIcon(self._theme.icon("bot", "accent", 22), self)
            self._tray.setToolTip(self.summary())
            self._tray.setContextMenu(self.menu())
            self._tray.activated.connect(self._on_icon)
            self._tray.messageClicked.connect(lambda: self.opened.emit(self._about))
        self._tray.show()
        return True

    def _on_icon(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        # Windows tells of the menu too, which would go with the icon as soon as a window opens.
        if reason != reason.Context:
            self.opened.emit("")

    def _title(self) -> str:
        info = self.known.sessions.get(SessionId(self._about))
        return plain(info.title)[:_LONGEST_TITLE] if info is not None else self.tr("Desktop Agent")

    def _event_text(self, event: Event) -> str:
        match event:
            case TurnStarted():
                self._since[event.agent_id] = event.at
            case ApprovalRequested():
                return event.request.title
            case QuestionAsked():
                return event.question.text
            case TurnEnded():
                began = self._since.pop(event.agent_id, event.at)
                if event.fault is not None:
                    return event.fault.message
                # Of a subagent its parent hears, who goes on.
                is_main = any(
                    info.main_agent == event.agent_id for info in self.known.sessions.values()
                )
                if event.reason == "finished" and is_main and event.at - began > _LONG_S:
                    return self.tr("The work is finished.")
            case _:
                pass
        return ""


def make_question(
    theme: Theme, parent: QWidget, running: int, *, has_tray: bool, has_places: bool
) -> Question:
    """Return the question; its `choice` is `tray`, `quit`, or nothing for *Cancel*.

    `running` counts sessions, in each of which several agents may work. What works at a place is
    not stopped with the app.
    """
    from desktop_agent.gui.kit.dialogs.question import Question  # not at the start

    words = _tr("A session is still at work.")
    if running != 1:
        words = _tr("{n} sessions are still at work.").format(n=running)
    detail = _tr("If you stop now, what is done so far is kept and you can continue later.")
    if has_places:
        goes_on = _tr("Subagents at other places go on there, until they need you or a model.")
        detail = f"{detail} {goes_on}"
    box = Question(
        theme,
        parent,
        name="closeQuestion",
        title=_tr("Quit?"),
        text=words,
        detail=detail,
    )
    box.add(_tr("Stop and quit"), "quit", name="stopAndQuit")
    if has_tray:
        box.add(_tr("Keep working in the tray"), "tray", name="keepInTray")
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("Closing", text)

"""Calls the user when the window is not in front, and keeps the app in the tray on request."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from desktop_agent.core.events import (
    ApprovalRequested,
    Event,
    QuestionAsked,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.kit.theme import Theme

_LONG_S = 30.0


class Attention(QObject):
    """Alerts for an approval, a question, a failure, and the end of a long turn.

    `opened` asks for the window to come back, `quit_requested` comes from the tray's menu.
    """

    opened = Signal()
    quit_requested = Signal()

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._tray: Any = None
        self._since: dict[AgentId, float] = {}

    @property
    def has_tray(self) -> bool:
        """Whether this desktop shows tray icons."""
        from PySide6.QtWidgets import QSystemTrayIcon  # most runs never need one

        return QSystemTrayIcon.isSystemTrayAvailable()

    def apply(self, event: Event) -> None:
        """Call the user, if they are elsewhere and the event is worth it."""
        text = self._event_text(event)
        if text and not self._window.isActiveWindow():
            QApplication.alert(self._window)
            if self._tray is not None:
                self._tray.showMessage(self.tr("Desktop Agent"), text)

    def enter_tray(self) -> bool:
        """Put an icon into the tray; False where there is no tray."""
        if not self.has_tray:
            return False
        if self._tray is None:
            from PySide6.QtWidgets import QSystemTrayIcon

            self._tray = QSystemTrayIcon(self._theme.icon("bot", "accent", 22), self)
            self._tray.setToolTip(self.tr("Desktop Agent"))
            menu = QMenu(self._window)
            menu.addAction(self.tr("Show the window"), self.opened.emit)
            menu.addAction(self.tr("Stop and quit"), self.quit_requested.emit)
            self._tray.setContextMenu(menu)
            self._tray.activated.connect(lambda: self.opened.emit())
            self._tray.messageClicked.connect(self.opened)
        self._tray.show()
        return True

    def leave_tray(self) -> None:
        if self._tray is not None:
            self._tray.hide()

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
                if event.reason == "finished" and event.at - began > _LONG_S:
                    return self.tr("The work is finished.")
            case _:
                pass
        return ""

"""Calls the user when the window is not in front; keeps the app in the tray; asks on quitting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QCoreApplication, QObject, Signal
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
from desktop_agent.gui.kit.widgets import named

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMessageBox

_LONG_S = 30.0
Choice = Literal["tray", "quit", "cancel"]


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


def ask_before_closing(parent: QWidget, running: int, *, has_tray: bool) -> Choice:
    """Ask what to do with the work that goes on. Closing the question is *Cancel*."""
    box = make_question(parent, running, has_tray=has_tray)
    box.exec()
    clicked = box.clickedButton() or box.escapeButton()
    return clicked.property("choice")


def make_question(parent: QWidget, running: int, *, has_tray: bool) -> QMessageBox:
    """Return the question; each button's property `choice` says what it means."""
    from PySide6.QtWidgets import QMessageBox  # not at the start

    box = named(QMessageBox(parent), "closeQuestion")
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(_tr("Quit?"))
    if running == 1:
        box.setText(_tr("An agent is still working."))
    else:
        box.setText(_tr("{n} agents are still working.").format(n=running))
    box.setInformativeText(
        _tr("If you stop now, what is done so far is kept and you can continue later.")
    )
    role = QMessageBox.ButtonRole
    if has_tray:
        tray = box.addButton(_tr("Keep working in the tray"), role.AcceptRole)
        tray.setProperty("choice", "tray")
    stop = box.addButton(_tr("Stop and quit"), role.DestructiveRole)
    stop.setProperty("choice", "quit")
    cancel = box.addButton(_tr("Cancel"), role.RejectRole)
    cancel.setProperty("choice", "cancel")
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("Closing", text)

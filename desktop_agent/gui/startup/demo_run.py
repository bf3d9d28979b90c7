"""The demo's job done in the real window without a user: sent, allowed, and pictured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    CommandRefused,
    EngineFailed,
    Event,
    QuestionAsked,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.questions import Question
from desktop_agent.core.settings import Settings
from desktop_agent.gui.bridge.backend import Compose
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import single_timer, ticker
from desktop_agent.gui.startup.run import make_application, run_loop, show_defects, wait_for_paint
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow

_REQUEST = "Look around in this folder and write an overview of it."
# Without a sign of life; only a hang takes that long, however slow the computer is.
_LIMIT_MS = 600_000
_LOOK_MS = 250
_SETTLE_MS = 600


class DemoRun(QObject):
    """Plays the user. `exit_code` is 0 once the turn has finished well."""

    def __init__(
        self, window: MainWindow, picture: Path | None, say: Callable[[str], None]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._picture = picture
        self._say = say
        self.exit_code = 1
        window.flow.shown.connect(self._send)
        self._looking = ticker(self, _LOOK_MS, self._allow)
        self._waiting = single_timer(self, _LIMIT_MS, self._give_up)
        self._waiting.start()

    def take(self, batch: Sequence[Event]) -> None:
        self._waiting.start()
        for event in batch:
            match event:
                case ToolStarted():
                    self._say(f"  {event.doing or event.call.name}")
                case ApprovalRequested():
                    self._say(f"  asks: {event.request.title}")
                    self._looking.start()
                case ApprovalResolved():
                    self._looking.stop()
                    self._say(f"  decided: {type(event.decision).__name__}")
                case QuestionAsked():
                    self._say(f"  asks: {event.question.text}")
                    if event.agent_id == self._window.flow.agent:
                        self._answer(event.question)
                case TurnEnded() if event.agent_id == self._window.flow.agent:
                    self._say(f"The turn ended: {event.reason}")
                    self.exit_code = 0 if event.reason == "finished" else 1
                    QTimer.singleShot(_SETTLE_MS, self, self._finish)
                case EngineFailed() | CommandRefused():
                    self._say(f"Problem: {event.message}")
                    QTimer.singleShot(_SETTLE_MS, self, self._finish)
                case _:
                    pass

    def _send(self, _: object) -> None:
        # Once the composer has heard of the session as well.
        QTimer.singleShot(0, self, self._type)

    def _type(self) -> None:
        composer = self._window.frame.composer
        composer.set_text(_REQUEST)
        self._say(f"You: {_REQUEST}")
        field = self._window.focusWidget()
        QTest.keyClick(field, Qt.Key.Key_Return)

    def _answer(self, question: Question) -> None:
        # What a subagent asks, the agent that started it answers.
        answer = question.options[0] if question.options else "Go on"
        page = self._window.pages.page(self._window.flow.agent)
        if page is not None:
            page.answered.emit(question.id, answer)

    def _allow(self) -> None:
        """Press the card's own button; it counts only some time after the card appeared."""
        page = self._window.pages.page(self._window.flow.agent)
        if page is None:
            return
        page.focus_oldest_approval()
        for button in page.findChildren(QPushButton, "allowOnce"):
            if button.isVisible() and button.isEnabled():
                button.click()
                return

    def _give_up(self) -> None:
        self._say("The demo hangs: nothing has happened for ten minutes.")
        self._finish()

    def _finish(self) -> None:
        if self._picture is not None:
            self._window.grab().save(str(self._picture))
        self._window.quit_now()


def run_demo(
    compose: Compose, folder: Path, picture: Path | None, say: Callable[[str], None]
) -> int:
    """Run the job and return an exit code; `say` gets a line for each thing that happens."""
    app = make_application()
    theme = Theme(app)
    theme.configure("light", 100, True)
    bridge = Bridge(app)
    windows = AppWindows(theme, bridge, Settings(model=DEMO_MODEL, theme="light"), app)
    window = windows.open_first(str(folder))
    show_defects(windows)
    player = DemoRun(window, picture, say)
    bridge.received.connect(player.take)
    window.show()
    wait_for_paint(window)
    run_loop(app, windows, bridge, compose)
    return player.exit_code

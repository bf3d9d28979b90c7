"""The real window as a program: sends a note, answers what is asked, prints all it was shown.

`python -m tests.e2e.window_run NOTE FOLDER MODEL API_BASE`; the lines are those of
`desktop-agent run --output jsonl`, written when the window has taken the events.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import msgspec

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.app import _compose
from desktop_agent.core.approvals import AllowOnce, Deny
from desktop_agent.core.events import (
    ApprovalRequested,
    Event,
    QuestionAsked,
    SessionOpened,
    SessionsChanged,
    SkillsChanged,
)
from desktop_agent.core.settings import Settings
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.startup.run import make_application, run_loop, wait_for_paint
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow


class Person:
    """Types one note when the session is there, and answers whatever is asked."""

    def __init__(self, window: MainWindow, bridge: Bridge, note: str) -> None:
        self._window, self._bridge, self._note = window, bridge, note
        self._answers = 0

    def take(self, batch: Sequence[Event]) -> None:
        """Write the events out, as the window has them now, and react."""
        lines = [msgspec.json.encode(event) for event in batch if not _is_state(event)]
        if lines:
            os.write(sys.stdout.fileno(), b"\n".join(lines) + b"\n")
        for event in batch:
            match event:
                case SessionOpened() if self._note:
                    QTimer.singleShot(0, self._send)
                case ApprovalRequested(request=request):
                    self._answers += 1
                    answer = AllowOnce() if self._answers % 2 else Deny("Not now.")
                    self._bridge.engine.decide(request.id, answer)
                case QuestionAsked(question=question):
                    self._bridge.engine.answer(question.id, "The first one.")
                case _:
                    pass

    def _send(self) -> None:
        note, self._note = self._note, ""
        box = self._window.findChild(QPlainTextEdit, "composerText")
        if note and box is not None:
            box.setPlainText(note)
            QTest.keyClick(box, Qt.Key.Key_Return)


def _is_state(event: Event) -> bool:
    return isinstance(event, SessionOpened | SessionsChanged | SkillsChanged)


def run_window(
    folder: str, settings: Settings, hearer: Callable[[MainWindow, Bridge], Callable[..., None]]
) -> int:
    """Run the app; what `hearer` returns gets every batch of events."""
    app = make_application()
    bridge = Bridge(app)
    windows = AppWindows(Theme(app), bridge, settings, app)
    window = windows.open_first(folder or None)
    # A connection does not keep the object of a bound method.
    hear = hearer(window, bridge)
    bridge.received.connect(hear)
    window.show()
    wait_for_paint(window)
    return run_loop(app, windows, bridge, _compose)


def main() -> int:
    note, folder, model, api_base = sys.argv[1:5]
    settings = Settings(model=model, api_base=api_base, mode="ask", reduce_motion=True)
    return run_window(folder, settings, lambda *parts: Person(*parts, note).take)


if __name__ == "__main__":
    sys.exit(main())

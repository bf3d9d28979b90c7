"""The real window as a program in which somebody takes back what was changed, or puts it back.

`python -m tests.undo.window_undo NOTE FOLDER MODEL API_BASE IS_CUT_OFF` with a note sends it and
prints `worked`. Without one the window opens its last session; `settled` is printed once nothing
of an undo is left to be done, and if one was cut off, once that is told. When a line comes back
it clicks, and prints `over` when what was asked for is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from desktop_agent import paths
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested, Event, TurnEnded
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.window.main_window import MainWindow
from tests.e2e.window_run import run_window
from tests.helpers.windows import part, words_in

_LOOK_MS = 10
_LOOKS_ON_A_PAGE = 50
_LEFT = Qt.MouseButton.LeftButton


class Person:
    """Does one step after the other; each waits for what it needs to see."""

    def __init__(self, window: MainWindow, bridge: Bridge, note: str, *, is_cut_off: bool) -> None:
        self._window, self._bridge, self._note = window, bridge, note
        self._is_cut_off = is_cut_off
        self._marker = paths.data_dir() / "undo" / "undoing"
        self._has_worked = False
        steps = self._work() if note else self._undo()
        self._timer = QTimer(window, interval=_LOOK_MS)
        self._timer.timeout.connect(lambda: next(steps))
        self._timer.start()

    def take(self, batch: Sequence[Event]) -> None:
        """Allow what is asked."""
        for event in batch:
            if isinstance(event, ApprovalRequested):
                self._bridge.engine.decide(event.request.id, AllowOnce())
            self._has_worked |= isinstance(event, TurnEnded)

    def _work(self) -> Iterator[None]:
        while not self._window.flow.agent:
            yield
        self._bridge.engine.send(self._window.flow.agent, Note(new_note_id(), self._note))
        while not self._has_worked:
            yield
        _say("worked")
        while True:
            yield

    def _undo(self) -> Iterator[None]:
        notices = self._window.frame.notices
        while self._marker.exists() or not self._window.known.changes.sets:
            yield
        while self._is_cut_off and "cut off is finished" not in words_in(notices):
            yield
        looks = 0
        while self._button() is None:
            looks += 1
            if looks % _LOOKS_ON_A_PAGE == 0:  # it is further up, at the end of the message
                page = self._window.pages.page(self._window.flow.agent)
                QTest.keyClick(page.browser, Qt.Key.Key_PageUp)
            yield
        _say("settled")
        os.read(sys.stdin.fileno(), 64)
        known = len(self._window.known.changes.sets)
        QTest.mouseClick(self._button(), _LEFT)
        while len(self._window.known.changes.sets) == known:
            dialog = part(self._window, "undoDialog")
            if dialog is not None and dialog.isVisible():
                QTest.mouseClick(dialog.findChild(QPushButton, "takeUndo"), _LEFT)
            yield
        _say("over")
        while True:
            yield

    def _button(self) -> QPushButton | None:
        """Return the lowest button that takes something back, or puts it back."""
        page = self._window.pages.page(self._window.flow.agent)
        names = ("undoChanges", "redoChanges")
        found = (
            [] if page is None else [b for n in names for b in page.findChildren(QPushButton, n)]
        )
        seen = [one for one in found if one.isVisible()]
        return max(seen, key=lambda one: one.mapToGlobal(one.rect().topLeft()).y(), default=None)


def _say(words: str) -> None:
    os.write(sys.stdout.fileno(), f"{words}\n".encode())


def main() -> int:
    note, folder, model, api_base, is_cut_off = sys.argv[1:6]
    settings = Settings(model=model, api_base=api_base, mode="free", reduce_motion=True)

    def hearer(window: MainWindow, bridge: Bridge):
        return Person(window, bridge, note, is_cut_off=bool(is_cut_off)).take

    return run_window(folder, settings, hearer)


if __name__ == "__main__":
    sys.exit(main())

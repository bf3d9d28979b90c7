"""Random keys, clicks, drops, resizes and looks in the real window while the demo works.

python -m tests.monkey [--seed N] [--steps N]

The same seed gives the same choices; what they meet depends on how far the work is by then.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import logging
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPlainTextEdit, QPushButton, QWidget

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.window.main_window import MainWindow
from tests.helpers.wrappers import misplaced

# What the demo works on: a survey with tasks, subagents, questions and approvals.
_WORDS = (
    "Look around in this folder and write an overview of it.",
    "list files",
    "run touch x.txt",
    "/",
    "@no",
    "**bold** `code` ünïcödé 漢字 \u202e",
    "x" * 400,
)
_K = Qt.Key
_KEYS = (
    *(_K.Key_Tab, _K.Key_Backtab, _K.Key_Return, _K.Key_Space, _K.Key_Escape, _K.Key_Delete),
    *(_K.Key_Up, _K.Key_Down, _K.Key_Left, _K.Key_Right, _K.Key_Home, _K.Key_End),
    *(_K.Key_PageUp, _K.Key_PageDown, _K.Key_F2, _K.Key_F3, _K.Key_F6, _K.Key_Menu),
    *(_K.Key_A, _K.Key_S, _K.Key_P, _K.Key_R, _K.Key_X, _K.Key_Slash, _K.Key_At),
)
_MODIFIERS = (
    *[Qt.KeyboardModifier.NoModifier] * 6,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
)
# With Ctrl: what begins, finds, folds, jumps, copies, pastes and takes back; not what quits.
_CONTROL_KEYS = (
    *[getattr(_K, f"Key_{one}") for one in "NKPFLBJACVXZYDWO"],
    *(_K.Key_Comma, _K.Key_Period, _K.Key_Plus, _K.Key_Minus, _K.Key_0, _K.Key_Return),
)
# What would ask the network, or end the app.
_LEFT_ALONE = frozenset({"checkUpdates", "updateCheck", "quitApp"})
_SCHEMES = ("http", "https", "mailto", "file")


class Defects(logging.Handler):
    """Hears what nobody caught: errors that were logged, and what Qt or a thread complains of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))

    def hook(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        logging.getLogger("monkey").error("not caught", exc_info=(kind, error, trace))

    def listen(self) -> None:
        """Hear the whole process from now on."""
        logging.getLogger().addHandler(self)
        sys.excepthook = self.hook
        sys.unraisablehook = lambda one: self.hook(
            one.exc_type, one.exc_value or Exception(one.err_msg), one.exc_traceback
        )
        threading.excepthook = lambda one: self.hook(
            one.exc_type, one.exc_value or Exception(), one.exc_traceback
        )


class Monkey(QObject):
    """Plays steps, one each time Qt's loop turns, also while a dialog has a loop of its own.

    `done` is emitted once, after the last.
    """

    done = Signal()

    def __init__(self, window: MainWindow, theme: Theme, folder: Path, seed: int) -> None:
        super().__init__(window)
        self._window, self._theme, self._folder = window, theme, folder
        self._random = random.Random(seed)
        self._left = 0
        self.trail: list[str] = []
        self._acts: Sequence[tuple[int, Callable[[], str]]] = (
            (40, self._press_key),
            (12, self._press_control),
            (30, self._click_control),
            (12, self._click_anywhere),
            (4, self._drag),
            (4, self._wheel),
            (3, self._drop),
            (3, self._resize),
            (1, self._change_look),
            (8, self._type_words),
            (5, self._approve),
            (2, self._collect),
        )
        for scheme in _SCHEMES:
            QDesktopServices.setUrlHandler(scheme, self, b"swallow")

    @Slot(QUrl)
    def swallow(self, url: QUrl) -> None:
        """Open nothing outside of the window."""

    def start(self, steps: int) -> None:
        self._left = steps
        QTimer.singleShot(0, self, self._step)

    def _step(self) -> None:
        if self._left <= 0:
            for scheme in _SCHEMES:
                QDesktopServices.unsetUrlHandler(scheme)
            self.done.emit()
            return
        self._left -= 1
        # Before the act: it may open a dialog, whose loop goes on with the next.
        QTimer.singleShot(0, self, self._step)
        if not self._window.isVisible():
            self._window.show()
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, QFileDialog):
            dialog.reject()
            self.trail.append("leave a file dialog")
            return
        weights = [weight for weight, _ in self._acts]
        _, act = self._random.choices(self._acts, weights)[0]
        self.trail.append(act())
        if os.environ.get("MONKEY_TRAIL"):
            sys.stderr.write(f"{len(self.trail)} {self.trail[-1]}\n")

    # -- what it does ----------------------------------------------------------------------

    @property
    def _top(self) -> QWidget:
        """What the person could click now."""
        popup = QApplication.activePopupWidget()
        return popup or QApplication.activeModalWidget() or self._window

    def _press_key(self) -> str:
        key, modifiers = self._random.choice(_KEYS), self._random.choice(_MODIFIERS)
        return self._press(key, modifiers)

    def _press_control(self) -> str:
        modifiers = Qt.KeyboardModifier.ControlModifier
        if self._random.random() < 0.2:
            modifiers |= Qt.KeyboardModifier.ShiftModifier
        return self._press(self._random.choice(_CONTROL_KEYS), modifiers)

    def _press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> str:
        target = QApplication.activePopupWidget() or QApplication.focusWidget() or self._top
        said = f"key {key.name} {modifiers.value} at {_name(target)}"
        QTest.keyClick(target, key, modifiers)
        return said

    def _click_control(self) -> str:
        shown = [one for one in self._top.findChildren(QPushButton) if one.isVisible()]
        shown = [one for one in shown if one.isEnabled() and one.objectName() not in _LEFT_ALONE]
        if not shown:
            return "nothing to click"
        button = self._random.choice(shown)
        said = f"click {_name(button)} “{button.accessibleName() or button.text()}”"
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        return said

    def _place(self) -> tuple[QWidget, QPoint]:
        top = self._top
        width, height = max(1, top.width()), max(1, top.height())
        return top, QPoint(self._random.randrange(width), self._random.randrange(height))

    def _click_anywhere(self) -> str:
        top, where = self._place()
        target = top.childAt(where) or top
        if target.objectName() in _LEFT_ALONE:
            return "left alone"
        button = self._random.choice((*[Qt.MouseButton.LeftButton] * 3, Qt.MouseButton.RightButton))
        click = QTest.mouseDClick if self._random.random() < 0.2 else QTest.mouseClick
        said = f"click at {_name(target)}"
        within = target.mapFrom(top, where)
        QTest.mouseMove(target, within)
        click(target, button, Qt.KeyboardModifier.NoModifier, within)
        return said

    def _drag(self) -> str:
        top, where = self._place()
        target = top.childAt(where) or top
        within = target.mapFrom(top, where)
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        said = f"drag at {_name(target)}"
        QTest.mousePress(target, left, none, within)
        if shiboken6.isValid(target):
            QTest.mouseRelease(target, left, none, within + QPoint(40, 60))
        return said

    def _wheel(self) -> str:
        top, where = self._place()
        target = top.childAt(where) or top
        turned, within = self._random.choice((-1200, 240)), QPointF(target.mapFrom(top, where))
        none, still = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
        over = QPointF(top.mapToGlobal(where))
        modifiers = Qt.KeyboardModifier.NoModifier
        turn = QPoint(0, turned)
        event = QWheelEvent(within, over, QPoint(), turn, none, modifiers, still, False)
        QApplication.sendEvent(target, event)
        return "wheel"

    def _drop(self) -> str:
        data = QMimeData()
        kind = self._random.choice(("file", "folder", "text", "none"))
        if kind == "text":
            data.setText("dropped words")
        elif kind != "none":
            path = self._folder if kind == "folder" else self._folder / "notes.txt"
            data.setUrls([QUrl.fromLocalFile(str(path))])
        where, copy = QPoint(200, 200), Qt.DropAction.CopyAction
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        entered = QDragEnterEvent(where, copy, data, left, none)
        QApplication.sendEvent(self._window, entered)
        if entered.isAccepted():
            dropped = QDropEvent(QPointF(where), copy, data, left, none)
            QApplication.sendEvent(self._window, dropped)
        return f"drop {kind}"

    def _resize(self) -> str:
        size = self._random.randrange(420, 1900), self._random.randrange(400, 1200)
        self._window.resize(*size)
        return f"resize {size}"

    def _change_look(self) -> str:
        look = self._random.choice(("light", "dark", "system"))
        text = self._random.choice((80, 100, 150, 200))
        self._theme.configure(look, text, self._random.random() < 0.5)
        return f"look {look} {text}"

    def _type_words(self) -> str:
        box = self._window.findChild(QPlainTextEdit, "composerText")
        if box is None or not box.isVisible() or self._top is not self._window:
            return "no message box"
        box.setFocus()
        words = self._random.choice(_WORDS)
        box.insertPlainText(words)
        if self._random.random() < 0.7:
            QTest.keyClick(box, Qt.Key.Key_Return)
        return f"type {words[:20]!r}"

    def _approve(self) -> str:
        for card in self._window.findChildren(ApprovalCard):
            if card.isVisible() and card.is_armed:
                card.setFocus()
                QTest.keyClick(card, Qt.Key.Key_Return)
                return "approve"
        return "nothing to approve"

    def _collect(self) -> str:
        gc.collect()
        return "collect"


def _name(widget: QObject) -> str:
    return f"{type(widget).__name__} {widget.objectName()}"


async def leave_dialogs(window: MainWindow, turn: Callable[[], Any]) -> None:
    """Close what is open over the window, as Esc does."""
    while (top := QApplication.activePopupWidget() or QApplication.activeModalWidget()) is not None:
        top.close()
        await turn()
    window.full.leave()


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20_000)
    return parser.parse_args()


def main() -> int:
    given = _given()
    faulthandler.enable()
    os.environ["DESKTOP_AGENT_DEMO_PACE"] = "quick"
    logging.basicConfig(level=logging.ERROR)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        os.environ["DESKTOP_AGENT_HOME"] = f"{home}/app"
        Path(home, "app").mkdir()
        os.chdir(home)
        return _play(given)


def _play(given: argparse.Namespace) -> int:
    from desktop_agent.core.settings import Settings
    from tests.bench.stage import Stage, pause, run

    defects = Defects()

    async def play(stage: Stage) -> None:
        defects.listen()
        (stage.folder / "notes.txt").write_text("milk\n")
        await stage.until(lambda: bool(stage.agents))
        monkey = Monkey(stage.window, stage.theme, stage.folder, given.seed)
        over = asyncio.Event()
        monkey.done.connect(over.set)
        monkey.start(given.steps)
        await over.wait()
        await leave_dialogs(stage.window, lambda: pause(0.05))
        gc.collect()
        sys.stdout.write("".join(f"misplaced: {one}\n" for one in misplaced()))
        sys.stdout.write(f"sessions: {len(stage.agents)}\n")

    run(play, Settings(model="demo", theme="light"))
    for text in defects.found:
        sys.stdout.write(f"defect: {text}\n")
    return 1 if defects.found else 0


if __name__ == "__main__":
    sys.exit(main())

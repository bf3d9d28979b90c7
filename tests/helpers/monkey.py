"""Random keys, clicks, drops, resizes and looks in the real window while the demo works.

python -m tests.helpers.monkey [--seed N] [--steps N]

The same seed gives the same choices; what they meet depends on how far the work is by then. Each
thousand steps, and at the end, it looks whether all still holds (`monkey_checks.py`). The error
stream has the trail when MONKEY_TRAIL is set, and where all threads stand when nothing moves. An
interrupt (Ctrl+C) ends the play, and what holds at the end is looked at all the same.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import logging
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import shiboken6
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import (
    QDesktopServices,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QInputMethodEvent,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from desktop_agent.core.ids import SessionId
from desktop_agent.core.settings import Settings
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.window.main_window import MainWindow
from tests.bench.stage import Stage, run
from tests.helpers import monkey_checks as checks
from tests.helpers.monkey_checks import focused, name, seen
from tests.helpers.wrappers import misplaced

_CHECK_EACH = 1000
# Of one step, on a busy machine; a dump of all threads then, and the end.
_HANG_S = 300
# What the demo works on: a survey with tasks, subagents, questions and approvals.
_WORDS = (
    "Look around in this folder and write an overview of it.",
    "list files",
    "run touch x.txt",
    "/",
    "@no",
    "**bold** `code` ünïcödé 漢字 \u202e",
    "x" * 400,
    "read notes.txt",
    "ask me something",
    "/compact",
)
# What no keyboard has: joined pictures, right to left, half a pair, controls, what begins markup.
_ODD = (
    "👩‍👩‍👧‍👦",
    "שלום",
    "\ud83d",
    "\x00\x07\x1b[31m",
    "e\u0301" * 40,
    "<b>&amp;",
    "\u2028\u2029",
    "漢" * 80,
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
_FIELDS = (QAbstractButton, QComboBox, QLineEdit)
_SCHEMES = ("http", "https", "mailto", "file")


class Monkey(QObject):
    """Plays steps, one each time Qt's loop turns, also while a dialog has a loop of its own.

    `done` is emitted once, after the last.
    """

    done = Signal()

    def __init__(self, stage: Stage, seed: int) -> None:
        super().__init__()  # a window that it closes must not take it along
        self._stage, self._theme, self._folder = stage, stage.theme, stage.folder
        self._random = random.Random(seed)
        self._left = 0
        self.is_over = False
        self.trail: list[str] = []
        # What was open over the window, and which page lay in it, how many steps long.
        self.reached: Counter[str] = Counter()
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
            (4, self._type_odd),
            (6, self._choose_row),
            (4, self._command),
            (5, self._approve),
            (2, self._collect),
        )
        for scheme in _SCHEMES:
            # The stub wants bytes; only a name as text is taken.
            QDesktopServices.setUrlHandler(scheme, self, "swallow")  # pyright: ignore[reportArgumentType]

    @property
    def _window(self) -> MainWindow:
        """The window it plays in: the one in front, as long as there is any."""
        windows = self._stage.windows
        return windows.front if windows.windows else self._stage.window

    @Slot(QUrl)
    def swallow(self, url: QUrl) -> None:
        """Open nothing outside of the window."""

    def start(self, steps: int) -> None:
        self._left = 0 if self.is_over else steps
        QTimer.singleShot(0, self, self._step)

    def end(self) -> None:
        """Take no step any more."""
        self.is_over = True
        self._left = 0

    def _step(self) -> None:
        if self._left <= 0:
            self.done.emit()
            return
        self._left -= 1
        faulthandler.dump_traceback_later(_HANG_S, exit=True)
        # Before the act: it may open a dialog, whose loop goes on with the next.
        QTimer.singleShot(0, self, self._step)
        if not self._window.isVisible():
            self._window.show()
        dialog = QApplication.activeModalWidget()
        self._note(dialog)
        if isinstance(dialog, QFileDialog):
            self.trail.append(self._leave_files(dialog))
            return
        weights = [weight for weight, _ in self._acts]
        _, act = self._random.choices(self._acts, weights)[0]
        self.trail.append(act())
        if os.environ.get("MONKEY_TRAIL"):
            sys.stderr.write(f"{len(self.trail)} {self.trail[-1]}\n")

    def _note(self, dialog: QWidget | None) -> None:
        over = (
            QApplication.activePopupWidget() or dialog or self._window.frame.stack.currentWidget()
        )
        if over is not None:
            self.reached[name(over)] += 1

    def _leave_files(self, dialog: QFileDialog) -> str:
        """Name a file there, now and then; nothing is to be found outside of the folder."""
        if self._random.random() < 0.5:
            dialog.reject()
            return "leave a file dialog"
        name_of = self._random.choice(("notes.txt", "out.json", "out.html", ""))
        dialog.selectFile(str(self._folder / name_of))
        dialog.accept()
        if shiboken6.isValid(dialog) and dialog.isVisible():
            dialog.reject()
        return f"choose {name_of!r} in a file dialog"

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
        target = focused(self._top)
        said = f"key {key.name} {modifiers.value} at {name(target)}"
        QTest.keyClick(target, key, modifiers)
        return said

    def _click_control(self) -> str:
        shown = [one for one in seen(QWidget, self._top) if isinstance(one, _FIELDS)]
        shown = [one for one in shown if one.isEnabled() and one.objectName() not in _LEFT_ALONE]
        if not shown:
            return "nothing to click"
        control = self._random.choice(shown)
        said = f"click {name(control)} “{control.accessibleName()}”"
        # Where a button's own place is: a check box is as wide as its row.
        QTest.mouseClick(control, Qt.MouseButton.LeftButton, pos=QPoint(10, control.height() // 2))
        return said

    def _choose_row(self) -> str:
        """Click a row of a list: sessions, tasks, subagents, changes, skills, commands."""
        shown = [one for one in seen(QAbstractItemView, self._top) if one.isEnabled()]
        if not shown:
            return "no list"
        view = self._random.choice(shown)
        count = view.model().rowCount() if view.model() is not None else 0
        if not count:
            return f"an empty {name(view)}"
        row = self._random.randrange(count)
        view.scrollTo(view.model().index(row, 0), QAbstractItemView.ScrollHint.EnsureVisible)
        where = view.visualRect(view.model().index(row, 0))
        at = QPoint(
            where.left() + self._random.randrange(max(1, where.width())), where.center().y()
        )
        button = self._random.choice((*[Qt.MouseButton.LeftButton] * 3, Qt.MouseButton.RightButton))
        click = QTest.mouseDClick if self._random.random() < 0.2 else QTest.mouseClick
        said = f"row {row} of {name(view)}"
        click(view.viewport(), button, Qt.KeyboardModifier.NoModifier, at)
        return said

    def _command(self) -> str:
        """Give one of the window's commands, as its menus do."""
        if self._top is not self._window:
            return "no menu"
        commands = self._window.commands
        given = [one for one in commands.all if one is not commands.quit and one.isEnabled()]
        action = self._random.choice(given)
        said = f"command {action.text()}"
        action.trigger()
        return said

    def _type_odd(self) -> str:
        target = focused(self._top)
        words = self._random.choice(_ODD)
        said = f"type {words[:8]!a} at {name(target)}"
        event = QInputMethodEvent()
        event.setCommitString(words)
        QApplication.sendEvent(target, event)
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
        said = f"click at {name(target)}"
        within = target.mapFrom(top, where)
        QTest.mouseMove(target, within)
        click(target, button, Qt.KeyboardModifier.NoModifier, within)
        return said

    def _drag(self) -> str:
        top, where = self._place()
        target = top.childAt(where) or top
        within = target.mapFrom(top, where)
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        said = f"drag at {name(target)}"
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
        kind = self._random.choice(("file", "folder", "text", "none", "missing"))
        if kind == "text":
            data.setText("dropped words")
        elif kind != "none":
            names = {"folder": "", "missing": "gone.txt"}
            path = self._folder / names.get(kind, "notes.txt")
            data.setUrls([QUrl.fromLocalFile(str(path))])
        top, where = self._place()
        target = top.childAt(where) or top
        while not target.acceptDrops() and target is not top:
            target = target.parentWidget() or top
        within, said = target.mapFrom(top, where), f"drop {kind} at {name(target)}"
        copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        none = Qt.KeyboardModifier.NoModifier
        entered = QDragEnterEvent(within, copy, data, left, none)
        QApplication.sendEvent(target, entered)
        if not entered.isAccepted():
            return f"{said}: refused"
        QApplication.sendEvent(target, QDragMoveEvent(within, copy, data, left, none))
        if self._random.random() < 0.2:
            QApplication.sendEvent(target, QDragLeaveEvent())
        else:
            QApplication.sendEvent(target, QDropEvent(QPointF(within), copy, data, left, none))
        return said

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
        if self._top is not self._window:
            return "no card that could be reached"
        for card in seen(ApprovalCard, self._window):
            if card.is_armed:
                card.setFocus()
                QTest.keyClick(card, Qt.Key.Key_Return)
                return "approve"
        return "nothing to approve"

    def _collect(self) -> str:
        gc.collect()
        return "collect"


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
    defects = checks.Defects()
    shown: dict[SessionId, checks.Said] = {}

    async def play(stage: Stage) -> None:
        defects.listen()
        (stage.folder / "notes.txt").write_text("milk\n")
        await stage.until(lambda: bool(stage.agents))
        monkey = Monkey(stage, given.seed)
        signal.signal(signal.SIGINT, lambda *_: monkey.end())
        for _ in range(0, given.steps, _CHECK_EACH):
            if monkey.is_over:
                break
            over = asyncio.Event()
            monkey.done.connect(over.set)
            monkey.start(min(_CHECK_EACH, given.steps))
            await over.wait()
            monkey.done.disconnect(over.set)
            found = await _look(stage)
            defects.found += [f"after {len(monkey.trail)}: {one}" for one in found]
            sys.stdout.write(f"{len(monkey.trail)} steps\n")
            defects.tell()
        await checks.at_rest(stage)
        defects.found += await checks.differences(stage)
        shown.update(checks.said_by_window(stage.window))
        for what, steps in monkey.reached.most_common():
            sys.stdout.write(f"reached: {steps} {what}\n")

    run(play, Settings(model="demo", theme="light"))
    faulthandler.cancel_dump_traceback_later()
    stored = checks.said_by_disk(Path(os.environ["DESKTOP_AGENT_HOME"]), shown)
    for session, said in shown.items():
        wrong = checks.compare(said, stored.get(session, {}))
        defects.found += [f"{session} is not as the disk has it: {one}" for one in wrong]
    sys.stdout.write(f"sessions compared: {len(shown)}\n")
    return defects.tell()


async def _look(stage: Stage) -> list[str]:
    """Return what does not hold in between."""
    found = await checks.escape_all(stage.window)
    found += [f"nobody hears {one}" for one in checks.dead_buttons(stage.window)]
    gc.collect()
    return found + [f"misplaced: {one}" for one in misplaced()]


if __name__ == "__main__":
    sys.exit(main())

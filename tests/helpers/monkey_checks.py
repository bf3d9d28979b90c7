"""What must hold while, and after, a window was played with by chance."""

from __future__ import annotations

import asyncio
import difflib
import itertools
import logging
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QToolButton, QWidget

from desktop_agent.compose import compose
from desktop_agent.core.events import Event, SessionOpened
from desktop_agent.core.ids import SessionId
from desktop_agent.gui.state.session_state import AgentPage
from desktop_agent.gui.transcript.state import items
from desktop_agent.gui.transcript.state.transcript import Transcript
from desktop_agent.gui.window.main_window import MainWindow
from tests.bench.stage import Stage, pause

W = TypeVar("W", bound=QWidget)
Said = dict[str, tuple[object, ...]]
# Each layer of a dialog may take one: a list that is open, a search, what was not saved.
_ESCAPES = 6
_SIGNALS = ("clicked()", "clicked(bool)", "pressed()", "released()", "toggled(bool)")
# What a restart has nothing of: what was refused or failed in the app itself, and a countdown.
_PASSING = (items.FailureItem, items.RetryItem, items.BudgetItem)
# What is asked for beside the events.
_ASKED = (items.ChangesItem, items.UndoItem)


class Defects(logging.Handler):
    """Hears what nobody caught: errors that were logged, and what Qt or a thread complains of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []
        self._told = 0
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))

    def hook(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        logging.getLogger("monkey").error("not caught", exc_info=(kind, error, trace))

    def tell(self) -> int:
        """Write out what is new of it; return how many there are in all."""
        for text in self.found[self._told :]:
            sys.stdout.write(f"defect: {text}\n")
        sys.stdout.flush()
        self._told = len(self.found)
        return self._told

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


def seen(kind: type[W], above: QWidget) -> list[W]:
    """Return what is seen of a kind. `findChildren` would tie what it returns to the window."""
    found = [one for one in QApplication.allWidgets() if isinstance(one, kind)]
    return [one for one in found if one.isVisible() and above.isAncestorOf(one)]


def name(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.objectName()}"


def focused(top: QWidget) -> QWidget:
    """Return where keys go: QTest would give them to a window that a dialog blocks, too."""
    now = QApplication.focusWidget()
    return now if now is not None and (now is top or top.isAncestorOf(now)) else top


def dead_buttons(above: QWidget) -> list[str]:
    """Return the buttons that can be pressed and that nobody hears."""
    return [name(one) for one in seen(QAbstractButton, above) if one.isEnabled() and _is_deaf(one)]


def _is_deaf(button: QAbstractButton) -> bool:
    # Of another thread's or Python's connections, Qt counts both.
    if any(button.receivers("2" + signal) for signal in _SIGNALS):
        return False
    if isinstance(button, QToolButton) and button.receivers("2triggered(QAction*)"):
        return False
    own = [one for one in type(button).__mro__ if one.__module__.startswith("desktop_agent")]
    handles = ("mousePressEvent", "mouseReleaseEvent", "nextCheckState")
    return not any(handle in vars(one) for one in own for handle in handles)


async def escape_all(window: MainWindow) -> list[str]:
    """Leave what is open over the window by Esc; return what would not go, and was closed."""
    stuck: list[str] = []
    pressed = 0
    while (top := QApplication.activePopupWidget() or QApplication.activeModalWidget()) is not None:
        pressed += 1
        if pressed > _ESCAPES:
            stuck.append(f"Esc does not close {name(top)}")
            top.close()
            pressed = 0
        else:
            QTest.keyClick(focused(top), Qt.Key.Key_Escape)
        del top
        await pause(0.02)
    window.full.leave()
    return stuck


async def at_rest(stage: Stage) -> None:
    """Stop whatever works, and wait until it stands."""

    def is_resting() -> bool:
        works = [
            agent.id
            for session in stage.window.known.sessions
            for agent in stage.window.known.agents_of(session)
            if agent.is_in_turn
        ]
        return not works and not stage.window.known.running()

    for session in stage.window.known.running():
        stage.bridge.engine.stop(session.main_agent)
    await stage.until(is_resting)
    await pause(0.3)


async def differences(stage: Stage) -> list[str]:
    """Compare each kept transcript with one that is made anew of what the engine holds."""
    found: list[str] = []
    for session, info in list(stage.window.known.sessions.items()):
        kept = stage.window.pages.page(info.main_agent)
        if kept is None:
            continue
        opened = await _reopened(stage, session)
        if kept is not stage.window.pages.page(info.main_agent):
            continue
        page, first = AgentPage.of_main(opened), stage.window.pages.first_seq(info.main_agent)
        # Of as much as the window has loaded.
        page = replace(page, events=page.events[max(0, first - page.first_seq) :])
        anew = Transcript.of_page(page)
        anew.know_changes(stage.window.known.changes_of(session))
        wrong = compare(said_of(kept.transcript, has_changes=True), said_of(anew, has_changes=True))
        found += [f"{session} is not as the engine has it: {one}" for one in wrong]
    return found


async def _reopened(stage: Stage, session: SessionId) -> SessionOpened:
    told: list[SessionOpened] = []

    def hear(event: Event) -> None:
        if isinstance(event, SessionOpened) and event.info.id == session:
            told.append(event)

    stage.heard.append(hear)
    stage.bridge.engine.open_session(session)
    await stage.until(lambda: bool(told))
    stage.heard.remove(hear)
    await pause(0.1)
    return told[-1]


def said_of(transcript: Transcript, *, has_changes: bool = False) -> Said:
    """Return what each item says, by its key; without what only a run that goes on has."""
    left_out = _PASSING if has_changes else _PASSING + _ASKED
    return {one.key: _said(one) for one in transcript.items if not isinstance(one, left_out)}


def _said(item: items.Item) -> tuple[object, ...]:
    match item:
        case items.UserItem():
            return (item.text, item.attachments, item.state, item.speaker, item.skills)
        case items.ToolItem():
            return (item.call, item.state, item.result)
        case items.ApprovalItem() | items.QuestionItem():
            return (item.request if isinstance(item, items.ApprovalItem) else item.question,)
        case items.TurnItem():
            return (item.reason, item.fault, item.report, item.is_current)
        case items.AgentMessageItem():
            return (item.kind, item.agent_id, item.name, item.text, item.state)
        case _:
            return (getattr(item, "text", ""), getattr(item, "is_live", False))


def compare(window: Said, anew: Said) -> list[str]:
    """Return in what a window's items differ from those made anew, which may begin later."""
    keys = list(window)
    start = next((keys.index(key) for key in anew if key in window), 0)
    keys = keys[start:]
    wrong = [f"- {key} {window[key]}" for key in keys if key not in anew]
    wrong += [f"+ {key} {anew[key]}" for key in anew if key not in window]
    both = [key for key in anew if key in window]
    wrong += [f"{k}: {_apart(window[k], anew[k])}" for k in both if window[k] != anew[k]]
    if not wrong and keys != list(anew):
        wrong = list(difflib.unified_diff(keys, list(anew), lineterm=""))
    return wrong


def _apart(one: object, other: object) -> str:
    """Return two values from a little before where they differ."""
    first, second = repr(one), repr(other)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    start = max(0, sum(1 for _ in alike) - 60)
    return f"{first[start : start + 200]} <> {second[start : start + 200]}"


def said_by_window(window: MainWindow) -> dict[SessionId, Said]:
    """Return what the window shows of each session whose transcript it keeps."""
    found: dict[SessionId, Said] = {}
    for info in window.known.sessions.values():
        view = window.pages.page(info.main_agent)
        if view is not None:
            found[info.id] = said_of(view.transcript)
    return found


def said_by_disk(home: Path, sessions: Iterable[SessionId]) -> dict[SessionId, Said]:
    """Return what another start of the app finds of the same sessions."""
    opened: dict[SessionId, Said] = {}

    def hear(event: Event) -> None:
        if isinstance(event, SessionOpened):
            opened[event.info.id] = said_of(Transcript.of_page(AgentPage.of_main(event)))

    async def read() -> None:
        data, config = home / "data", home / "config"
        backend = await compose(hear, data_dir=data, config_dir=config, is_warmed=False)
        for session in sessions:
            backend.engine.open_session(session)
        await backend.close()

    asyncio.run(read())
    return opened

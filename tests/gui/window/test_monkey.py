"""Whatever is pressed, clicked, dropped and resized while the demo works, the window lives on."""

import gc
import logging

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from desktop_agent.core.events import MessageAdded, SessionOpened
from tests.helpers.windows import bridge_of
from tests.helpers.wrappers import misplaced
from tests.monkey import Defects, Monkey

STEPS = 300


@pytest.fixture
def defects():
    found = Defects()
    logging.getLogger().addHandler(found)
    yield found.found
    logging.getLogger().removeHandler(found)


def leave_all(qtbot, window):
    """Close what is open over the window, as Esc does."""
    while top := QApplication.activePopupWidget() or QApplication.activeModalWidget():
        top.close()
        qtbot.waitUntil(lambda top=top: not top.isVisible())
    window.full.leave()


def test_the_window_and_its_sessions_survive_a_monkey(open_window, project, theme, qtbot, defects):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    monkey = Monkey(window, theme, project, seed=7)
    with qtbot.waitSignal(monkey.done):
        monkey.start(STEPS)
    leave_all(qtbot, window)
    theme.configure("light", 100, True)
    gc.collect()
    assert (defects, misplaced()) == ([], []), "\n".join(monkey.trail[-40:])
    # A new session takes a message, and each of them opens again as it was left.
    before = window.flow.current
    window.commands.new.trigger()
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.current != before)
    box = window.findChild(QPlainTextEdit, "composerText")
    heard = []
    bridge_of(window).received.connect(heard.extend)
    box.setFocus()
    box.setPlainText("list files")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: any(isinstance(one, MessageAdded) for one in heard))
    for session in tuple(window.known.sessions):
        bridge_of(window).engine.open_session(session)
    wanted = set(window.known.sessions)

    def opened():
        return {one.info.id for one in heard if isinstance(one, SessionOpened)}

    qtbot.waitUntil(lambda: wanted <= opened())
    assert defects == []

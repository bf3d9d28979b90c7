"""A command that failed in the sandbox can be let out of it from its card, after a second look."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QWidget

from desktop_agent.core.events import ToolEnded
from desktop_agent.core.messages import OutputDisplay, ToolResult
from desktop_agent.core.parts.facts import FailedInside
from tests.gui.transcript.story import AGENT, begins, call, opened, runs, says
from tests.helpers.panels import open_page

LEFT = Qt.MouseButton.LeftButton
COMMAND = "touch /etc/\u202ex && id"
HINT = '[Sandbox: /etc is read-only. If needed, call again with outside="why".]'


@pytest.fixture
def card(view, qtbot):
    """Open a session with a command that failed; return its card, unfolded."""

    def make(facts: FailedInside | None):
        one = call(1, command=COMMAND)
        display = OutputDisplay(HINT, 1, 0.1)
        ended = ToolEnded(AGENT, ToolResult(one.id, HINT, display=display, facts=facts), "ok", 0.1)
        open_page(view, opened(begins(), says(1, "", one), runs(one), ended))
        made = view.cards.cards[one.id]
        qtbot.keyClick(made.header, Qt.Key.Key_Space)
        return made

    return make


def popover(view) -> QWidget | None:
    return view.window().findChild(QWidget, "outsidePopover")


def test_the_button_stands_by_what_the_engine_knows_and_not_by_what_was_printed(card):
    assert card(None).findChild(QPushButton, "runOutside") is None
    assert card(FailedInside(COMMAND, "f")).findChild(QPushButton, "runOutside") is not None


def test_the_whole_command_and_what_it_could_do_are_shown_before_it_is_let_out(view, card, qtbot):
    one = card(FailedInside(COMMAND, "f"))
    qtbot.mouseClick(one.findChild(QPushButton, "runOutside"), LEFT)
    asked = popover(view)
    shown = asked.findChild(QPlainTextEdit).toPlainText()
    assert shown == "$ touch /etc/⟨U+202E⟩x && id"
    assert "can change any of your files" in asked.accessibleDescription()
    with qtbot.waitSignal(view.command_requested) as hit:
        qtbot.mouseClick(asked.findChild(QPushButton, "runOutsideOnce"), LEFT)
    assert hit.args == ["", "allow_outside", "call_1"]
    assert asked.isHidden()


def test_enter_and_escape_let_nothing_out(view, card, qtbot):
    one = card(FailedInside(COMMAND, "f"))
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Escape):
        qtbot.mouseClick(one.findChild(QPushButton, "runOutside"), LEFT)
        asked = popover(view)
        with qtbot.assertNotEmitted(view.command_requested):
            qtbot.keyClick(asked.window().focusWidget() or asked, key)
            qtbot.keyClick(asked, key)
        asked.close()

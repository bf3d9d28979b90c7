"""After a click on a session its keys are for it; what is typed is a message to it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from tests.gui.window.test_window import session_titles, shown, write
from tests.helpers.providers import LoopbackProvider, Say
from tests.helpers.windows import bridge_of, part


@pytest.fixture
def window(open_window, project, monkeypatch, qtbot):
    """Two sessions, of which the first is clicked on."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    with LoopbackProvider("openai", [Say("Answered.") for _ in range(20)]) as server:
        one = open_window(project, model=server.model, api_base=server.api_base)
        for text in ("First", "Second"):
            write(qtbot, one, text)
            qtbot.waitState(bridge_of(one).received, lambda: "Answered." in shown(one))
            if text == "First":
                one.commands.new.trigger()
                qtbot.waitState(one.flow.agent_shown, lambda: "Answered." not in shown(one))
        qtbot.waitState(bridge_of(one).received, lambda: session_titles(one) == ["Second", "First"])
        yield one


def click(qtbot, window, title):
    sessions = window.frame.sidebar.sessions.list
    rows = [one.title for one in sessions.model().rows()]
    box = sessions.visualRect(sessions.model().index(rows.index(title), 0))
    window.activateWindow()
    qtbot.mouseClick(sessions.viewport(), Qt.MouseButton.LeftButton, pos=box.center())
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info.title == title)


def press(qtbot, key):
    qtbot.keyClick(QApplication.focusWidget(), key)


def test_f2_after_a_click_renames_the_session_and_sends_nothing(window, qtbot):
    click(qtbot, window, "First")
    sent = []
    window.frame.composer.submitted.connect(sent.append)
    press(qtbot, Qt.Key.Key_F2)
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit)
    qtbot.keyClicks(field, "Shopping")
    press(qtbot, Qt.Key.Key_Return)
    qtbot.waitState(bridge_of(window).received, lambda: "Shopping" in session_titles(window))
    assert session_titles(window).count("Second") == 1
    assert not sent


def test_del_after_a_click_deletes_the_session_that_was_clicked(window, qtbot):
    click(qtbot, window, "First")
    press(qtbot, Qt.Key.Key_Delete)
    assert session_titles(window)[0] == "Second"
    assert part(window, "undoDeleteButton").isVisible()


def test_what_is_typed_after_a_click_is_a_message_to_that_session(window, qtbot):
    click(qtbot, window, "First")
    for letter in "look around":
        qtbot.keyClicks(QApplication.focusWidget(), letter)
    box = part(window, "composerText")
    assert box.hasFocus()
    assert box.toPlainText() == "look around"


def test_the_menu_opens_by_the_key_that_every_keyboard_has(window, qtbot):
    click(qtbot, window, "First")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert "Pin" in [action.text() for action in menu.actions()]
    sessions = window.frame.sidebar.sessions.list
    row = sessions.visualRect(sessions.currentIndex())
    assert row.contains(sessions.viewport().mapFromGlobal(menu.pos())), "it is not at the row"
    menu.close()

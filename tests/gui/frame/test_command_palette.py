"""Every command and session, reached by typing."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QScrollArea, QWidget

from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.frame.command_palette import CommandPalette, action_name
from desktop_agent.gui.frame.shortcuts_dialog import ShortcutsDialog, key_names, other_keys
from tests.helpers.windows import words_in


def make_actions(window):
    found = []
    for text, keys in (
        ("&New session", "Ctrl+N"),
        ("Find in &session", "Ctrl+F"),
        ("Save && quit…", ""),
        ("", "F9"),
    ):
        action = QAction(text, window)
        action.setShortcut(QKeySequence(keys))
        found.append(action)
    disabled = QAction("Not now", window)
    disabled.setEnabled(False)
    return [*found, disabled]


@pytest.fixture
def window(qtbot):
    one = QWidget()
    qtbot.addWidget(one)
    one.resize(900, 700)
    one.show()
    qtbot.waitExposed(one)
    one.activateWindow()
    return one


@pytest.fixture
def palette(qtbot, theme, window):
    one = CommandPalette(theme, window)
    sessions = (SessionInfo("se_1", "ag_1", "Fix flaky test", Workspace("/tmp/api"), "demo"),)
    one.open_over(window, make_actions(window), sessions)
    qtbot.waitFocus(one.search)
    return one


def titles(palette):
    return [row.title for row in palette.list.rows()]


def test_it_lists_what_can_be_done_now_with_its_keys(palette):
    assert titles(palette) == [
        *("Commands", "New session", "Find in session", "Save & quit"),
        *("Sessions", "Fix flaky test"),
    ]
    assert palette.list.rows()[1].tag == "Ctrl+N"


def test_typing_finds_and_enter_runs_the_command(qtbot, palette, window):
    qtbot.keyClicks(palette.search, "fis")
    action = palette.list.current.value
    assert action_name(action) == "Find in session"
    with qtbot.waitSignal(action.triggered):
        qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_a_session_is_opened_from_here(qtbot, palette):
    qtbot.keyClicks(palette.search, "flaky")
    with qtbot.waitSignal(palette.session_chosen) as hit:
        qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert hit.args == ["se_1"]


def test_nothing_that_matches_is_said_and_enter_is_harmless(qtbot, palette):
    qtbot.keyClicks(palette.search, "qqqq")
    assert "Nothing matches" in words_in(palette)
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_opened_twice_it_still_gives_the_focus_back(qtbot, palette, window):
    palette.close()
    field = QLineEdit(window)
    field.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitFocus(field)
    palette.open_over(window, [], [])
    qtbot.waitFocus(palette.search)
    palette.open_over(window, [], [])
    palette.close()
    qtbot.waitFocus(field)
    qtbot.keyClicks(QApplication.focusWidget(), "written on")
    assert field.text() == "written on"
    assert not palette.isVisible()


def test_it_stays_in_the_middle_of_a_narrow_window(palette, window):
    window.resize(420, 500)
    palette.place()
    assert palette.x() >= -16
    assert palette.geometry().right() <= window.width() + 16


def test_the_first_esc_closes_it_whatever_is_typed(qtbot, palette):
    qtbot.keyClicks(palette.search, "find")
    qtbot.keyClick(palette.search, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_only_keys_that_a_usual_keyboard_has_are_named(window):
    action = QAction("Open", window)
    keys = [QKeySequence("Ctrl+O"), QKeySequence(Qt.Key.Key_Open), QKeySequence("F3")]
    action.setShortcuts(keys)
    assert key_names(action) == ["Ctrl+O", "F3"]
    action.setShortcuts([QKeySequence(Qt.Key.Key_ZoomIn), QKeySequence(Qt.Key.Key_Find)])
    assert key_names(action) == []


@pytest.mark.parametrize("high", [400, 517, 640])
def test_the_sheet_of_shortcuts_ends_with_a_whole_row(qtbot, theme, window, high):
    groups = other_keys(send="Enter", other="Ctrl+Enter")
    sheet = ShortcutsDialog(theme, make_actions(window), groups, window)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitExposed(sheet)
    sheet.resize(sheet.width(), high)
    area = sheet.findChild(QScrollArea)
    QApplication.processEvents()
    bottom = area.viewport().height()
    assert area.widget().width() <= area.viewport().width(), "keys are cut off"
    for label in area.widget().findChildren(QLabel):
        assert not (label.y() < bottom < label.geometry().bottom()), label.text()


def test_the_sheet_of_shortcuts_lists_each_action_that_has_keys(qtbot, theme, window):
    groups = (("Message box", (("Send", "Enter"),)),)
    sheet = ShortcutsDialog(theme, make_actions(window), groups, window)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    words = [label.text() for label in sheet.findChildren(QLabel)]
    for expected in ("New session", "Ctrl+N", "Find in session", "Send", "Enter"):
        assert expected in words
    assert "Save & quit" not in words

"""Enter presses the button that has the focus, wherever it is; Space is no secret to know."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QVBoxLayout

from desktop_agent.gui.kit.widgets import GhostButton, IconButton, TextButton
from desktop_agent.gui.transcript.cards.card import CardHeader
from tests import gallery
from tests import gallery_story as story
from tests.helpers.windows import part

ENTER = [Qt.Key.Key_Return, Qt.Key.Key_Enter]


@pytest.mark.parametrize("key", ENTER)
@pytest.mark.parametrize("kind", [TextButton, GhostButton])
def test_enter_presses_the_focused_button_of_a_dialog_and_not_its_default(qtbot, theme, key, kind):
    dialog = QDialog()
    qtbot.addWidget(dialog)
    buttons = [kind(theme, "One"), IconButton(theme, "plus", "Two"), TextButton(theme, "Three")]
    pressed = []
    layout = QVBoxLayout(dialog)
    for button in buttons:
        layout.addWidget(button)
        button.clicked.connect(lambda _=False, one=button: pressed.append(one))
    buttons[2].setDefault(True)
    dialog.show()
    for button in buttons:
        button.setFocus()
        qtbot.keyClick(button, key)
    assert pressed == buttons


def test_a_key_that_is_held_down_presses_once(qtbot, theme):
    button = TextButton(theme, "Allow")
    qtbot.addWidget(button)
    button.show()
    pressed = []
    button.clicked.connect(lambda: pressed.append(1))
    none = Qt.KeyboardModifier.NoModifier
    for is_repeat in (False, True, True):
        held = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, none, "\r", is_repeat)
        QApplication.sendEvent(button, held)
    assert pressed == [1]


def enter_on(qtbot, one):
    one.setFocus()
    assert one.hasFocus()
    qtbot.keyClick(one, Qt.Key.Key_Return)


def test_enter_presses_every_kind_of_button_in_the_window(stage, qtbot):
    async def step(shown, window):
        shown.show(story.empty())
        await gallery.pause(0)
        prompt = part(window, "examplePrompt")
        enter_on(qtbot, prompt)
        assert part(window, "composerText").toPlainText()
        shown.show(story.edited())
        await gallery.pause(0)
        for name in ("taskGraphTab", "taskListTab", "toggleSide", "find"):
            clicked = []
            button = part(window, name)
            button.clicked.connect(lambda _=False, seen=clicked: seen.append(1))
            enter_on(qtbot, button)
            assert clicked == [1], name
        header = next(one for one in window.findChildren(CardHeader) if one.isVisible())
        was_open = header.is_open
        enter_on(qtbot, header)
        assert header.is_open != was_open

    stage(step)


def test_enter_that_ends_a_name_or_a_note_presses_nothing_besides(stage, qtbot):
    """The focus goes on to a button, which the same key must not press."""

    async def step(shown, window):
        shown.show(story.team())
        shown.hear(*story.notes())
        await gallery.pause(0)
        window.frame.header.begin_rename()
        name = part(window, "renameTitle")
        qtbot.keyClicks(name, "Shopping")
        qtbot.keyClick(name, Qt.Key.Key_Return)
        assert not name.isVisible()
        assert not window.frame.find_bar.isVisible()
        shown.agents.select(story.EXPLORER)
        await gallery.pause(0)
        edit = part(window, "steerNoteEdit")
        enter_on(qtbot, edit)
        editor = part(window, "noteEditor")
        editor.setText("Skip them all")
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        await gallery.pause(0)
        assert not [one for one in window.findChildren(QLineEdit, "noteEditor") if one.isVisible()]

    stage(step)


def test_who_clicks_a_button_on_a_card_goes_on_writing(stage, qtbot):
    async def step(shown, window):
        shown.show(story.edited())
        window.activateWindow()
        field = part(window, "composerText")
        field.setFocus()
        await gallery.pause(0)
        shown_ones = part(window, "transcript").findChildren(GhostButton)
        copy = next(one for one in shown_ones if one.isVisible() and "Copy" in one.text())
        qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
        assert field.hasFocus()
        qtbot.mouseClick(part(window, "transcript").viewport(), Qt.MouseButton.LeftButton)
        assert part(window, "transcript").hasFocus()

    stage(step)

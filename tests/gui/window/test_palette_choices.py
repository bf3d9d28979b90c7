"""Mode, theme, model and every setting are reached by typing, in the list of all commands."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

from tests.helpers.windows import bridge_of, part


@pytest.fixture
def window(qtbot, open_window, project):
    one = open_window(project, model="demo")
    qtbot.waitState(one.flow.agent_shown, lambda: one.flow.info is not None)
    return one


def find(qtbot, window, words):
    """Open the list, type, and return the palette with that row current."""
    window.commands.palette.trigger()
    palette = part(window, "commandPalette")
    qtbot.waitFocus(palette.search)
    palette.search.setText(words)

    def is_found():
        return palette.list.current is not None and palette.list.current.title == words

    qtbot.waitUntil(is_found)
    return palette


def pick(qtbot, window, words):
    palette = find(qtbot, window, words)
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_the_mode_is_changed_by_typing_and_the_free_one_is_confirmed(window, qtbot):
    pick(qtbot, window, "Mode: Look only")
    received = bridge_of(window).received
    qtbot.waitState(received, lambda: window.flow.info.mode == "look")
    assert find(qtbot, window, "Mode: Look only").list.current.is_current
    part(window, "commandPalette").close()
    pick(qtbot, window, "Mode: Work without asking in this folder")
    question = window.findChild(QWidget, "confirmFree")
    assert window.flow.info.mode == "look"
    question.findChild(QAbstractButton, "confirmFreeYes").click()
    qtbot.waitState(received, lambda: window.flow.info.mode == "free")


def test_the_theme_is_changed_by_typing(window, qtbot):
    pick(qtbot, window, "Theme: Dark")
    assert window.flow.settings.theme == "dark"
    pick(qtbot, window, "Theme: Light")
    assert window.flow.settings.theme == "light"


def test_a_model_that_can_be_used_is_chosen_by_typing(window, qtbot):
    pick(qtbot, window, "Model: Demo")
    assert window.flow.settings.model == "demo"


def test_a_setting_is_found_by_typing_and_opens_where_it_is_changed(window, qtbot):
    pick(qtbot, window, "Waiting for a model: Total retry time")
    dialog = part(window, "settingsDialog")
    control = dialog.findChild(QWidget, "retryTime")
    qtbot.waitUntil(lambda: not control.visibleRegion().isEmpty())
    qtbot.waitFocus(control)
    assert control.accessibleName() == "Total retry time"
    dialog.close()


def test_the_list_of_sessions_offers_sessions_only(window, qtbot):
    window.commands.switch.trigger()
    palette = part(window, "commandPalette")
    qtbot.waitFocus(palette.search)
    assert [row.title for row in palette.list.rows() if row.is_heading] == ["Sessions"]
    palette.close()

"""A model is checked from the list of models; what to change is said, with the command for it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from desktop_agent.core.faults import Fault
from desktop_agent.core.models import ModelCheckup, ModelInfo
from desktop_agent.core.settings import Settings
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.language_models.checkup_popover import CheckupPopover
from desktop_agent.gui.language_models.checkup_text import GOOD_CONTEXT
from desktop_agent.gui.language_models.picker import ModelPicker
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.settings.models_page import ModelsPage
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Calls, Say

QWEN = ModelInfo("ollama_chat/qwen3:8b", "qwen3:8b", "ollama", "http://127.0.0.1:11434")


@pytest.fixture
def popover(qtbot, theme):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(900, 700)
    window.show()
    qtbot.waitExposed(window)
    anchor = QPushButton("model", window)
    anchor.move(300, 640)
    one = CheckupPopover(theme, QWEN, window)
    one.open_below(anchor, above=True)
    yield one
    window.close()


def lines(popover):
    return [one.text() for one in popover.findChildren(CheckLine) if not one.isHidden()]


def labels(popover, name):
    return [label.text() for label in popover.findChildren(QLabel, name)]


def test_it_says_that_it_asks_until_the_answer_is_there(popover):
    assert lines(popover) == ["Making two small requests to it…"]
    popover.show_checkup(ModelCheckup("ollama", 65_536, True, 41.7))
    assert len(lines(popover)) == 3
    assert lines(popover)[1] == "Tools: it calls them"
    assert lines(popover)[2] == "Speed: about 42 tokens a second"
    assert labels(popover, "remedy") == []
    assert "it calls them" in popover.accessibleDescription()


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("ollama", f"OLLAMA_CONTEXT_LENGTH={GOOD_CONTEXT} ollama serve"),
        ("lmstudio", f"lms load qwen3:8b --context-length {GOOD_CONTEXT}"),
        ("llamacpp", f"llama-server -m MODEL.gguf -c {GOOD_CONTEXT} --jinja"),
    ],
)
def test_a_small_context_comes_with_the_command_that_makes_it_larger(popover, qtbot, kind, command):
    popover.show_checkup(ModelCheckup(kind, 4_096, True, 5.0))
    assert "which is little for work" in lines(popover)[0]
    assert labels(popover, "remedyCommand") == [command]
    qtbot.mouseClick(popover.findChild(QAbstractButton, "copyRemedy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == command


def test_a_server_that_does_not_tell_and_gives_little_comes_with_the_command_too(popover):
    popover.show_checkup(ModelCheckup("llamacpp_python", None, True, 5.0))
    command = f"python3 -m llama_cpp.server --model MODEL.gguf --n_ctx {GOOD_CONTEXT}"
    assert labels(popover, "remedyCommand") == [command]


@pytest.mark.parametrize("kind", ["ollama", "lmstudio", "llamacpp", "llamacpp_python"])
def test_a_model_without_tools_is_told_what_to_do_about_it(popover, kind):
    popover.show_checkup(ModelCheckup(kind, GOOD_CONTEXT, has_tools=False))
    assert "it can only talk" in lines(popover)[1]
    assert len(labels(popover, "remedy")) == 1


def test_a_model_that_does_not_answer_is_said_in_its_servers_words(popover):
    fault = Fault("server", "The provider had an error: out of memory.")
    popover.show_checkup(ModelCheckup("ollama", 65_536, fault=fault))
    assert lines(popover)[1:] == ["The provider had an error: out of memory."]


def test_the_list_of_models_offers_the_check_of_the_one_that_is_marked(qtbot, theme):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(900, 700)
    anchor = QPushButton("model", window)
    window.show()
    picker = ModelPicker(theme, window)
    picker.set_models((QWEN,))
    picker.open_at(anchor)
    button = picker.findChild(QAbstractButton, "checkModel")
    assert button.accessibleName() == "Check this model: context, tools, speed"
    with qtbot.waitSignal(picker.check_requested) as asked:
        button.click()
    assert asked.args == [QWEN]
    assert not picker.isVisible()
    window.close()


def test_the_settings_offer_the_check_too(qtbot, theme):
    page = ModelsPage(theme, Settings())
    qtbot.addWidget(page)
    page.resize(900, 700)
    page.show()
    page.set_models((QWEN,))
    button = page.findChild(QAbstractButton, "defaultModel")
    button.click()
    picker = page.window().findChild(ModelPicker)
    with qtbot.waitSignal(page.check_requested) as asked:
        picker.findChild(QAbstractButton, "checkModel").click()
    assert asked.args == [QWEN, button]


def test_the_check_asks_the_model_and_shows_what_came(window, provider, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    provider.push(Calls(("ping", {})), Say("1 2 3"))
    model = ModelInfo(provider.model, api_base=provider.api_base)
    window.popups.open_models()
    picker = window.findChild(ModelPicker)
    picker.check_requested.emit(model)
    popover = window.findChild(CheckupPopover)
    qtbot.waitUntil(lambda: "Tools: it calls them" in lines(popover), timeout=WAIT)
    assert len(provider.requests) == 2, "a check costs two requests, no more"


def test_adding_a_key_or_a_server_leads_to_where_they_are_added(window, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    window.popups.open_models()
    add = window.findChild(ModelPicker).findChild(QAbstractButton, "addModelSource")
    qtbot.mouseClick(add, Qt.MouseButton.LeftButton)
    dialog = window.findChild(SettingsDialog)
    field = dialog.findChild(QLineEdit, "keyField")
    qtbot.waitUntil(field.isVisible, timeout=WAIT)
    qtbot.waitUntil(lambda: dialog.focusWidget() is field, timeout=WAIT)
    # The provider is told from the key, since none was named.
    qtbot.keyClicks(field, "sk-ant-something")
    assert dialog.models.key_form.findChild(QComboBox).currentData() == "anthropic"


def test_a_request_that_failed_leads_to_the_settings_of_models(window, provider, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    provider.push(Say("Hello."))
    window.frame.composer.set_text("hello")
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    page = window.pages.page
    qtbot.waitUntil(lambda: page(window.flow.agent) is not None, timeout=WAIT)
    page(window.flow.agent).fault_action.emit("settings")
    dialog = window.findChild(SettingsDialog)
    address = dialog.findChild(QLineEdit, "serverAddress")
    qtbot.waitUntil(address.isVisible, timeout=WAIT)
    # A provider's key goes to no other address: this one has its own.
    page(window.flow.agent).fault_action.emit("edit_key")
    key = dialog.findChild(QLineEdit, "serverKey")
    qtbot.waitUntil(lambda: dialog.focusWidget() is key, timeout=WAIT)
    assert address.text() == provider.api_base

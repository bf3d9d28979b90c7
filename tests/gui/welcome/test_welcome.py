"""First run: the best that was found comes first, and no key is kept that does not work."""

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.faults import Fault
from desktop_agent.core.models import KeyInfo, ModelInfo, ServerInfo
from desktop_agent.core.providers import guess_provider
from desktop_agent.core.settings import CustomServer
from desktop_agent.gui.kit.example_prompts import (
    demo_prompts,
    example_prompts,
    first_folder,
    folder_names,
)
from desktop_agent.gui.language_models.server_form import tidy_address
from desktop_agent.gui.sessions.empty_page import EmptySession, PromptButton
from desktop_agent.gui.welcome.model_step import ModelCard
from desktop_agent.gui.welcome.page import Welcome
from tests.helpers.windows import words_in

BASE = "http://127.0.0.1:11434"
SMALL = ModelInfo("ollama/gemma", "gemma", "Ollama", BASE, 8192, False)
LOCAL = ModelInfo("ollama/qwen", "qwen", "Ollama", BASE, 32768, True)
SONNET = ModelInfo("anthropic/sonnet", "Sonnet", "anthropic", "", 200_000, True, True, 3.0, 15.0)
TYPED = ModelInfo("openai/llama", "llama", "10.0.0.4:8000", "http://10.0.0.4:8000/v1")


@pytest.fixture
def welcome(qtbot, theme):
    one = Welcome(theme)
    qtbot.addWidget(one)
    one.resize(900, 900)
    with qtbot.waitSignal(one.probe_requested):
        one.show()
    return one


def child(welcome, name, kind=QAbstractButton):
    # What was just put into a layout is shown when the window's loop runs next.
    QCoreApplication.processEvents()
    return next(one for one in welcome.findChildren(kind, name) if one.isVisible())


def kept(welcome):
    """Return a list that each key and server goes into, in the order they come."""
    seen = []
    welcome.models.key_entered.connect(lambda *key: seen.append(key))
    welcome.models.server_added.connect(seen.append)
    return seen


def cards(welcome):
    for layout in welcome.models.findChildren(QVBoxLayout):
        placed = [layout.itemAt(number).widget() for number in range(layout.count())]
        if any(isinstance(one, ModelCard) for one in placed):
            return [one.objectName() for one in placed]
    return []


def said(welcome):
    return [one.text() for one in welcome.findChildren(QLabel, "checkWords") if one.isVisible()]


def paste(qtbot, welcome, key):
    field = child(welcome, "keyField", QLineEdit)
    field.setText(key)
    with qtbot.waitSignal(welcome.models.key_form.check_requested) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    return hit.args


def test_with_nothing_found_the_demo_is_one_click_away(qtbot, welcome):
    welcome.models.set_servers(())
    welcome.models.set_keys(())
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        child(welcome, "useDemo").click()
    assert hit.args == ["demo", ""]


def test_looking_around_is_said_until_the_answer_is_there(welcome):
    line = welcome.findChild(QWidget, "probeLine")
    assert line.isVisible()
    welcome.models.set_servers(())
    assert not line.isVisible()


def test_a_model_on_this_computer_is_one_click_away(qtbot, welcome):
    welcome.models.set_servers((ServerInfo("ollama", "Ollama", BASE, (SMALL, LOCAL)),))
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        child(welcome, "useModel").click()
    assert hit.args == ["ollama/qwen", BASE]


def test_what_is_on_this_computer_stands_before_found_keys(welcome):
    welcome.models.set_keys((KeyInfo("anthropic", "environment", "ANTHROPIC_API_KEY"),))
    welcome.models.set_servers((ServerInfo("ollama", "Ollama", BASE, (LOCAL,)),))
    assert cards(welcome) == ["cardLocal", "cardKey"]
    best = welcome.findChild(QWidget, "cardLocal").findChild(QAbstractButton, "useModel")
    filled = [b for b in welcome.findChildren(QAbstractButton) if b.property("kind") == "primary"]
    assert best in filled
    assert [b for b in filled if b.objectName() == "useModel"] == [best]


def test_a_key_of_the_environment_is_used_after_its_models_are_known(qtbot, welcome):
    welcome.models.set_servers(())
    welcome.models.set_keys((KeyInfo("anthropic", "environment", "ANTHROPIC_API_KEY"),))
    with qtbot.waitSignal(welcome.models.models_requested):
        child(welcome, "useModel").click()
    welcome.models.set_models((LOCAL, SONNET))
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        child(welcome, "useModel").click()
    assert hit.args == ["anthropic/sonnet", ""]


def test_probing_again_doubles_no_card(welcome):
    for _ in range(2):
        welcome.models.set_servers((ServerInfo("ollama", "Ollama", BASE, (LOCAL,)),))
        welcome.models.set_keys((KeyInfo("anthropic", "keyring"),))
        welcome.models.set_models((LOCAL, SONNET))
    assert cards(welcome) == ["cardLocal", "cardKey"]


def test_a_provider_that_offers_nothing_says_so_and_can_be_asked_again(qtbot, welcome):
    welcome.models.set_keys((KeyInfo("groq", "environment", "GROQ_API_KEY"),))
    asked = []
    welcome.findChild(ModelCard).opened.connect(lambda: asked.append(1))
    child(welcome, "useModel").click()
    child(welcome, "useModel").click()
    assert len(asked) == 1
    welcome.models.set_models(())
    words = [one.text() for one in welcome.findChildren(QLabel) if one.isVisible()]
    assert "It offered no model just now." in words
    with qtbot.waitSignal(welcome.models.models_requested):
        child(welcome, "useModel").click()


def test_the_key_of_a_typed_server_makes_no_second_card(welcome):
    welcome.models.set_keys((KeyInfo("10.0.0.4:8000", "keyring"),))
    welcome.models.set_models((TYPED,))
    assert cards(welcome) == ["cardTyped"]


def test_a_wrong_key_shows_the_providers_words_and_is_not_kept(qtbot, welcome):
    with qtbot.assertNotEmitted(welcome.models.key_entered):
        assert paste(qtbot, welcome, "sk-ant-wrong") == ["anthropic", "", "sk-ant-wrong"]
        assert said(welcome) == ["Testing the key…"]
        welcome.models.key_form.set_result(Fault("auth", "invalid x-api-key"))
    assert said(welcome) == ["invalid x-api-key"]
    assert child(welcome, "keyField", QLineEdit).text() == "sk-ant-wrong"


def test_a_key_that_works_is_kept_forgotten_here_and_leads_to_its_models(qtbot, welcome):
    paste(qtbot, welcome, "sk-ant-right")
    seen = kept(welcome)
    with qtbot.waitSignal(welcome.models.models_requested):
        welcome.models.key_form.set_result(None)
    assert seen == [("anthropic", "sk-ant-right", "keyring")]
    assert child(welcome, "keyField", QLineEdit).text() == ""
    welcome.models.set_models((SONNET,))
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        child(welcome, "useModel").click()
    assert hit.args == ["anthropic/sonnet", ""]


def test_a_key_that_could_not_be_tested_can_be_saved_all_the_same(qtbot, welcome):
    paste(qtbot, welcome, "gsk_offline")
    welcome.models.key_form.set_result(Fault("refused", "No connection."))
    with qtbot.waitSignal(welcome.models.key_entered) as hit:
        child(welcome, "saveAnyway").click()
    assert hit.args == ["groq", "gsk_offline", "keyring"]


def test_an_answer_that_comes_without_a_question_keeps_nothing(qtbot, welcome):
    child(welcome, "keyField", QLineEdit).setText("sk-ant-untested")
    with qtbot.assertNotEmitted(welcome.models.key_entered):
        welcome.models.key_form.set_result(None)


def test_nothing_is_said_of_a_keyring_before_it_is_known_that_there_is_one(welcome):
    assert "keyring" not in words_in(welcome)
    welcome.models.key_form.set_places(has_keyring=True, keeps_in_file=False)
    assert "Kept in this computer's keyring" in words_in(welcome)


def test_without_a_keyring_the_page_says_how_long_a_key_is_kept(qtbot, welcome):
    welcome.models.key_form.set_places(has_keyring=False, keeps_in_file=False)
    assert "kept until you quit" in words_in(welcome)
    child(welcome, "keepInFile").click()
    paste(qtbot, welcome, "AIzaKey")
    with qtbot.waitSignal(welcome.models.key_entered) as hit:
        welcome.models.key_form.set_result(None)
    assert hit.args == ["gemini", "AIzaKey", "file"]


def test_the_providers_guess_can_be_corrected_and_stays_corrected(qtbot, welcome):
    combo = child(welcome, "keyProvider", QComboBox)
    field = child(welcome, "keyField", QLineEdit)
    field.setText("sk-abc")
    assert combo.currentData() == "openai"
    combo.setCurrentIndex(combo.findData("deepseek"))
    combo.activated.emit(combo.currentIndex())
    field.setText("sk-abcd")
    assert combo.currentData() == "deepseek"


def test_a_key_nobody_knows_asks_for_its_provider_first(qtbot, welcome):
    field = child(welcome, "keyField", QLineEdit)
    field.setText("mystery")
    with qtbot.assertNotEmitted(welcome.models.key_form.check_requested):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert said(welcome) == ["Choose the provider this key is from."]


def test_another_address_is_tested_added_and_offered(qtbot, welcome):
    child(welcome, "showServer").click()
    address = child(welcome, "serverAddress", QLineEdit)
    address.setText("http://10.0.0.4:8000/v1/")
    child(welcome, "serverKey", QLineEdit).setText("secret")
    with qtbot.waitSignal(welcome.models.server_form.check_requested) as hit:
        qtbot.keyClick(address, Qt.Key.Key_Return)
    assert hit.args == ["openai", "http://10.0.0.4:8000/v1", "secret"]
    seen = kept(welcome)
    welcome.models.server_form.set_result(None)
    base = "http://10.0.0.4:8000/v1"
    assert seen == [(base, "secret", "keyring"), CustomServer("10.0.0.4:8000", base)]
    welcome.models.set_models((TYPED,))
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        child(welcome, "useModel").click()
    assert hit.args == ["openai/llama", "http://10.0.0.4:8000/v1"]


@pytest.mark.parametrize(
    ("typed", "full"),
    [
        ("localhost:1234/v1", "http://localhost:1234/v1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("models.example.com/v1/", "https://models.example.com/v1"),
        ("http://10.0.0.4:8000/v1", "http://10.0.0.4:8000/v1"),
        ("ftp://x", ""),
        ("http://", ""),
        ("http://host:99999999", ""),
        ("not an address", ""),
    ],
)
def test_an_address_is_completed_and_a_key_never_goes_out_unprotected_by_guess(typed, full):
    assert tidy_address(typed) == full


@pytest.mark.parametrize(
    ("key", "provider"),
    [
        ("sk-ant-api03-x", "anthropic"),
        ("sk-or-v1-x", "openrouter"),
        ("sk-proj-x", "openai"),
        ("AIzaSy", "gemini"),
        (" gsk_x ", "groq"),
        ("xai-x", "xai"),
        (" hf_x\n", "huggingface"),
        ("sk-x", "openai"),
        ("whatever", ""),
    ],
)
def test_the_provider_is_guessed_by_how_a_key_begins(key, provider):
    assert guess_provider(key) == provider


def test_after_the_model_comes_the_folder_and_a_doubtful_one_is_asked_about(
    qtbot, welcome, own_home
):
    welcome.set_progress("Sonnet")
    assert welcome.is_choosing_folder
    with qtbot.waitSignal(welcome.folder.folder_requested):
        child(welcome, "chooseFolder").click()
    with qtbot.assertNotEmitted(welcome.folder.folder_chosen):
        welcome.folder.set_folder(str(own_home))
    with qtbot.waitSignal(welcome.folder.folder_chosen) as hit:
        child(welcome, "useAnyway").click()
    assert hit.args == [str(own_home)]


def test_a_good_folder_needs_no_second_click(qtbot, welcome, tmp_path):
    welcome.set_progress("Sonnet")
    with qtbot.waitSignal(welcome.folder.folder_chosen) as hit:
        welcome.folder.set_folder(str(tmp_path))
    assert hit.args == [str(tmp_path)]


def test_a_new_empty_folder_is_one_click_away(qtbot, welcome, own_home):
    welcome.set_progress("Sonnet")
    with qtbot.waitSignal(welcome.folder.folder_chosen) as hit:
        child(welcome, "useNewFolder").click()
    assert hit.args[0].endswith("first")
    assert first_folder(own_home) == own_home / "desktop_agent" / "first"


def test_one_can_go_back_to_the_models(qtbot, welcome):
    welcome.set_progress("Sonnet")
    with qtbot.waitSignal(welcome.probe_requested):
        child(welcome, "changeModel").click()
    assert not welcome.is_choosing_folder


def focused(welcome):
    QCoreApplication.processEvents()
    now = QApplication.focusWidget()
    return now.objectName() if now is not None else ""


def enter(qtbot):
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)


def test_the_first_run_goes_on_by_enter_from_a_key_to_its_model(qtbot, welcome):
    welcome.set_progress("")
    assert focused(welcome) == "keyField"
    paste(qtbot, welcome, "sk-ant-api03-good")
    assert focused(welcome) == "keyField"
    welcome.models.key_form.set_result(None)
    assert focused(welcome) == "useModel"
    enter(qtbot)  # before its models are known
    assert focused(welcome) == "useModel"
    welcome.models.set_models((SONNET,))
    assert focused(welcome) == "useModel"
    with qtbot.waitSignal(welcome.models.model_chosen) as hit:
        enter(qtbot)
    assert hit.args == ["anthropic/sonnet", ""]


@pytest.mark.parametrize("is_by_mouse", [False, True])
def test_the_first_run_goes_on_by_enter_from_an_address_to_its_model(qtbot, welcome, is_by_mouse):
    child(welcome, "showServer").setFocus()
    enter(qtbot)
    assert focused(welcome) == "serverAddress"
    qtbot.keyClicks(QApplication.focusWidget(), "http://10.0.0.4:8000/v1")
    if is_by_mouse:
        qtbot.mouseClick(child(welcome, "testServer"), Qt.MouseButton.LeftButton)
    else:
        child(welcome, "testServer").setFocus()
        enter(qtbot)
    assert focused(welcome) == "serverAddress"
    welcome.models.server_form.set_result(None)
    assert focused(welcome) == "useModel"
    welcome.models.set_models((TYPED,))
    with qtbot.waitSignal(welcome.models.model_chosen):
        enter(qtbot)


def test_a_key_saved_untested_leads_to_its_model_as_well(qtbot, welcome):
    paste(qtbot, welcome, "sk-ant-api03-x")
    welcome.models.key_form.set_result(Fault("refused", "No route"))
    assert focused(welcome) == "keyField"
    child(welcome, "saveAnyway").setFocus()
    enter(qtbot)
    assert focused(welcome) == "useModel"


def test_what_was_found_has_the_focus_when_one_goes_back_to_the_models(qtbot, welcome):
    welcome.models.set_servers((ServerInfo("Ollama", BASE, (LOCAL,)),))
    welcome.set_progress("qwen")
    assert focused(welcome) == "chooseFolder"
    child(welcome, "changeModel").setFocus()
    enter(qtbot)
    assert focused(welcome) == "useModel"


def test_a_doubtful_folder_leaves_the_focus_on_the_careful_answer(qtbot, welcome, own_home):
    welcome.set_progress("Sonnet")
    welcome.folder.set_folder(str(own_home))
    assert focused(welcome) == "chooseAnother"


def test_every_control_of_the_page_has_a_name(welcome):
    welcome.models.set_servers((ServerInfo("ollama", "Ollama", BASE, (LOCAL,)),))
    fields = [*welcome.findChildren(QAbstractButton), *welcome.findChildren(QLineEdit)]
    fields += welcome.findChildren(QComboBox)
    nameless = [f.objectName() for f in fields if f.isVisible() and not f.accessibleName()]
    assert [name for name in nameless if name not in ("keepInFile", "qt_spinbox_lineedit")] == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), "packing list"),
        (("a.py", "b.py", "x.csv"), "Explain how this project works"),
        (("pyproject.toml", "docs.md", "src"), "Explain how this project works"),
        (("sales.csv", "old.csv"), "Summarise sales.csv"),
        (("thesis.docx", "README.md"), "Summarise thesis.docx"),
        (("IMG_1.JPG", "IMG_2.jpg"), "clear names"),
        (("strange.xyz",), "Survey this folder"),
    ],
)
def test_the_examples_fit_the_folder(names, expected):
    prompts = example_prompts(names)
    assert expected in prompts[0]
    assert len(set(prompts)) == 3


def test_a_folder_that_can_not_be_listed_still_gets_examples(tmp_path):
    assert folder_names(str(tmp_path / "gone")) == ()
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "seen.csv").write_text("")
    assert folder_names(str(tmp_path)) == ("seen.csv",)


def test_an_example_goes_into_the_box_by_a_click(qtbot, theme, tmp_path):
    (tmp_path / "sales.csv").write_text("")
    page = EmptySession(theme)
    qtbot.addWidget(page)
    page.resize(700, 500)
    page.show()
    page.set_folder(str(tmp_path))
    first = page.findChildren(PromptButton)[0]
    qtbot.waitUntil(lambda: "sales.csv" in first.accessibleName())
    with qtbot.waitSignal(page.prompt_chosen) as hit:
        qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert hit.args == [first.accessibleName()]


def test_the_demo_model_is_offered_only_what_it_does(qtbot, theme, tmp_path):
    (tmp_path / "sales.csv").write_text("")
    page = EmptySession(theme)
    qtbot.addWidget(page)
    page.set_model("demo")
    page.set_folder(str(tmp_path))
    words = lambda: tuple(b.accessibleName() for b in page.findChildren(PromptButton))  # noqa: E731
    qtbot.waitUntil(lambda: words() == demo_prompts())
    assert "The demo model is a script." in words_in(page)
    page.set_model("openai/some-model")
    assert "sales.csv" in words()[0]
    assert "Ask for anything" in words_in(page)
    page.set_model("demo")
    assert words() == demo_prompts()

"""Choosing a model: found by typing, told apart, and never chosen blindly."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from desktop_agent.core.models import ModelInfo
from desktop_agent.gui.kit.lists.fuzzy import match_score, ranked
from desktop_agent.gui.language_models.picker import ModelPicker
from desktop_agent.gui.language_models.text import best_model, model_hints, short_count
from tests.helpers.windows import words_in

DEMO = ModelInfo("demo", "Demo", "demo", has_tools=True, note="Works offline.")
SMALL = ModelInfo("ollama/gemma", "gemma", "Ollama", "http://127.0.0.1:11434", 8192, False)
LOCAL = ModelInfo("ollama/qwen", "qwen", "Ollama", "http://127.0.0.1:11434", 32768, True)
SONNET = ModelInfo("anthropic/sonnet", "Sonnet", "anthropic", "", 200_000, True, True, 3.0, 15.0)
OPUS = ModelInfo("anthropic/opus", "Opus", "anthropic", "", 200_000, True, True, 15.0, 75.0)
KEYLESS = ModelInfo("openai/o9", "o9", "openai", is_ready=False)
MODELS = (DEMO, LOCAL, SMALL, SONNET, OPUS, KEYLESS)


@pytest.fixture
def picker(qtbot, theme):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(900, 700)
    anchor = QPushButton("model", window)
    anchor.move(300, 640)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    one = ModelPicker(theme, window)
    one.set_models(MODELS)
    one.open_at(anchor)
    qtbot.waitFocus(one.search)
    yield one
    window.close()


def titles(picker):
    return [row.title for row in picker.list.rows()]


def tag(picker, title):
    return next(row.tag for row in picker.list.rows() if row.title == title)


def test_models_stand_under_their_server_or_provider(picker):
    assert titles(picker) == [
        *("Demo", "Demo"),
        *("Ollama", "qwen", "gemma"),
        *("Anthropic", "Sonnet", "Opus"),
        *("OpenAI", "o9"),
    ]


def test_favourites_come_first_and_are_remembered(qtbot, picker):
    qtbot.keyClicks(picker.search, "opus")
    with qtbot.waitSignal(picker.favourites_changed) as hit:
        qtbot.keyClick(picker.search, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert hit.args == [("anthropic/opus",)]
    picker.search.clear()
    assert titles(picker)[:2] == ["Favourites", "Opus"]
    assert titles(picker).count("Opus") == 1


def test_typing_and_enter_choose_without_the_mouse(qtbot, picker):
    qtbot.keyClicks(picker.search, "anth")
    assert titles(picker) == ["Opus", "Sonnet"]
    qtbot.keyClick(picker.search, Qt.Key.Key_Down)
    with qtbot.waitSignal(picker.chosen) as hit:
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert hit.args == ["anthropic/sonnet", ""]
    assert not picker.isVisible()


def test_the_server_of_a_local_model_goes_with_it(qtbot, picker):
    qtbot.keyClicks(picker.search, "qwen")
    with qtbot.waitSignal(picker.chosen) as hit:
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert hit.args == ["ollama/qwen", "http://127.0.0.1:11434"]


def test_a_model_without_tools_says_so_before_it_is_chosen(picker):
    assert tag(picker, "gemma") == "no tools"
    assert tag(picker, "qwen") == ""


def test_a_model_without_a_key_leads_to_the_key_and_is_not_chosen(qtbot, picker):
    assert tag(picker, "o9") == "Add key…"
    qtbot.keyClicks(picker.search, "o9")
    with qtbot.waitSignal(picker.key_requested) as hit, qtbot.assertNotEmitted(picker.chosen):
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert hit.args == ["openai"]


def test_arrows_skip_the_headings(qtbot, picker):
    seen = []
    for _ in range(len(MODELS)):
        seen.append(picker.list.current.title)
        qtbot.keyClick(picker.search, Qt.Key.Key_Down)
    assert seen == ["Demo", "qwen", "gemma", "Sonnet", "Opus", "o9"]
    assert picker.list.current.title == "Demo"


def test_no_match_is_said_and_escape_clears_then_closes(qtbot, picker):
    qtbot.keyClicks(picker.search, "zzz")
    assert "No model matches “zzz”" in words_in(picker)
    qtbot.keyClick(picker.search, Qt.Key.Key_Escape)
    assert picker.isVisible()
    qtbot.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()


def test_the_present_model_is_ticked_and_ready(picker):
    picker.set_current("anthropic/sonnet")
    assert picker.list.current.title == "Sonnet"
    assert picker.list.current.is_current


def test_two_thousand_models_open_and_filter(qtbot, picker):
    many = tuple(ModelInfo(f"p{n % 20}/model-{n}", f"model {n}", f"p{n % 20}") for n in range(2000))
    picker.set_models(many)
    assert len(picker.list.rows()) == 2020
    qtbot.keyClicks(picker.search, "1999")
    assert titles(picker)[0] == "model 1999"


def test_sources_can_be_added_from_here(qtbot, picker):
    with qtbot.waitSignal(picker.settings_requested):
        picker.findChild(QAbstractButton, "addModelSource").click()
    assert not picker.isVisible(), "it covers the settings that it opened"


def test_what_is_unknown_is_left_out_of_the_hints():
    assert model_hints(SONNET) == "200k context · $3 in, $15 out per million tokens"
    assert model_hints(KEYLESS) == ""
    cheap = ModelInfo("x", context_limit=1_048_576, input_price=0.075, output_price=0.3)
    assert model_hints(cheap) == "1M context · $0.075 in, $0.3 out per million tokens"


def test_the_best_model_calls_tools_and_is_not_the_dearest():
    assert best_model(MODELS[1:5]) == SONNET
    assert best_model((SMALL, LOCAL)) == LOCAL
    embedding = ModelInfo("openai/text-embedding-9", input_price=1.0)
    assert best_model((SMALL, embedding)) is None


@pytest.mark.parametrize(("count", "text"), [(900, "900"), (32_768, "33k"), (2_000_000, "2M")])
def test_counts_are_short(count, text):
    assert short_count(count) == text


def test_letters_in_order_match_and_the_best_comes_first():
    assert match_score("zz", "New session") is None
    assert ranked("ns", ("Find in session", "New session"), str)[0] == "New session"
    assert ranked("set", ("Reset zoom", "Settings"), str)[0] == "Settings"
    assert ranked("", ("b", "a"), str) == ("b", "a")

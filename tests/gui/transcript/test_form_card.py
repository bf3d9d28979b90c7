"""What a server asks for, as a card: only what fits is sent, and of the kind that was asked for."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

from desktop_agent.core.parts.forms import FormAnswer, FormField, ServerForm
from desktop_agent.gui.transcript.cards.form_card import FormCard
from tests.helpers.windows import all_is_seen, hidden_part, part


@pytest.fixture
def card_of(qtbot, theme):
    def make(*fields: FormField) -> FormCard:
        card = FormCard(theme, ServerForm("What?", fields, server="tracker"))
        qtbot.addWidget(card)
        card.resize(600, 400)
        card.show()
        return card

    return make


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (FormField("x", is_required=True), ""),
        (FormField("x", kind="integer"), "1.5"),
        (FormField("x", kind="number"), "inf"),
        (FormField("x", kind="number", least=1, most=9), "10"),
        (FormField("x", least=3), "ab"),
        (FormField("x", form="email"), "nobody"),
        (FormField("x", form="uri"), "no address"),
        (FormField("x", form="date"), "tomorrow"),
        (FormField("x", form="date-time"), "9 o'clock"),
    ],
)
def test_what_does_not_fit_is_named_and_not_sent(card_of, qtbot, field, text) -> None:
    card = card_of(field)
    part(card, "formLine").setText(text)
    with qtbot.assertNotEmitted(card.answered):
        part(card, "sendForm").click()
    assert part(card, "formProblem").text()[:2] in ("x ", "x:")


def test_each_kind_of_field_gives_a_value_of_its_kind(card_of, qtbot) -> None:
    pairs = (("a", "First"), ("b", "Second"))
    card = card_of(
        FormField("text", form="email"),
        FormField("count", kind="integer", default=3),
        FormField("share", kind="number"),
        FormField("is_on", kind="boolean", default=True),
        FormField("one", kind="choice", choices=pairs),
        FormField("some", kind="choices", choices=pairs, default=("a",)),
        FormField("left_out"),
    )
    lines = card.findChildren(QLineEdit, "formLine")
    lines[0].setText("me@example.com")
    lines[2].setText("0.5")
    card.findChild(QComboBox, "formChoice").setCurrentText("Second")
    assert card.has_draft
    boxes = {box.text(): box for box in card.findChildren(QCheckBox, "formCheck")}
    boxes["Second"].click()
    with qtbot.waitSignal(card.answered) as hit:
        part(card, "sendForm").click()
    assert hit.args[1] == FormAnswer(
        "accept",
        {
            "text": "me@example.com",
            "count": 3,
            "share": 0.5,
            "is_on": True,
            "one": "b",
            "some": ("a", "b"),
        },
    )


def test_what_is_named_like_a_secret_is_not_told_in_the_session(card_of, qtbot) -> None:
    card = card_of(FormField("api_key"))
    part(card, "formLine").setText("hush-hush")
    with qtbot.waitSignal(card.answered) as hit:
        part(card, "sendForm").click()
    assert hit.args[0] == "api_key: •••"


def test_all_of_an_address_is_seen_before_it_is_opened(qtbot, theme) -> None:
    url = f"https://{'a' * 60}.{'b' * 60}.example/?state={'Xy8kQmZ0' * 60}&end=of-it"
    card = FormCard(theme, ServerForm("Pay?", url=url, server="tracker"))
    qtbot.addWidget(card)
    card.resize(420, card.height_for(420))
    with qtbot.waitExposed(card):
        card.show()
    for name, words in (("formHost", QUrl(url).host()), ("formAddress", url)):
        assert all_is_seen(part(card, name), words)
    assert not hidden_part(part(card, "cancelForm"))

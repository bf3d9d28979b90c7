"""A card of one line shows a part of all it says, however long each part is."""

import pytest
from PySide6.QtWidgets import QWidget

from desktop_agent.gui.transcript.cards.card import CardHeader
from desktop_agent.gui.transcript.cards.factory import LineCard

LONG = "Which colour do you want? " + "Each has its own price and time. " * 8


@pytest.fixture
def picture(qtbot, theme):
    """Returns what a card of this width looks like."""
    ground = QWidget()
    qtbot.addWidget(ground)

    def taken(text, more, width=700, state=""):
        card = LineCard(theme, ground, "circle", text, more)
        card.findChild(CardHeader).state = state
        card.resize(width, card.sizeHint().height())
        return card.grab().toImage()

    return taken


@pytest.mark.parametrize("width", [320, 700])
def test_the_answer_to_a_long_question_can_be_seen(picture, width):
    red = picture(LONG, "You answered: red", width)
    assert red != picture(LONG, "You skipped this.", width)


def test_a_long_sentence_leaves_the_state_at_the_end_alone(picture):
    width, box = 700, 22
    one, other = (picture(text, "", width, "ok") for text in (LONG, "Short"))
    end = (width - box, 0, box, one.height())
    assert one.copy(*end) == other.copy(*end)


def test_a_line_that_may_be_cut_is_told_whole_when_it_is_pointed_at(theme, qtbot):
    ground = QWidget()
    qtbot.addWidget(ground)
    assert "price and time" in LineCard(theme, ground, "circle", LONG).toolTip()
    assert LineCard(theme, ground, "circle", "Short").toolTip() == ""

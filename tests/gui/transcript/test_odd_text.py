"""Whatever characters come, and wherever a stream is cut: it is shown, and so is what follows."""

import logging

import pytest
from PySide6.QtGui import Qt, QTextCursor
from PySide6.QtWidgets import QLabel

from desktop_agent.gui.kit.safe_text import clean, plain_tip, utf16_slice
from desktop_agent.gui.kit.widgets import ElidedLabel
from desktop_agent.gui.transcript.cards.factory import CardFactory, LineCard
from desktop_agent.gui.transcript.document import document as page_module
from desktop_agent.gui.transcript.document import markdown_writer as writer_module
from desktop_agent.gui.transcript.document.copy_selection import selection_text
from desktop_agent.gui.transcript.state.transcript import Transcript
from desktop_agent.gui.transcript.view.scroll_anchor import Scrolling
from tests.gui.transcript.conftest import wait_until_written
from tests.gui.transcript.odd_text import ODD, OddTexts
from tests.gui.transcript.story import (
    asks,
    begins,
    call,
    delta,
    ends,
    gives,
    needs,
    opened,
    runs,
    says,
    starts_to_say,
)
from tests.helpers.panels import open_page

TABLE = "before\n\n| a | b |\n|---|---|\n| secret | 2 |\n\nafter"


def text(view):
    return view.browser.toPlainText()


def stream(view, *pieces, number=1):
    view.apply([begins(), starts_to_say(number)])
    for piece in pieces:
        view.apply([delta(number, piece)])


@pytest.mark.parametrize("odd", [*ODD, "\ufeffa", "\ufffea"], ids=ascii)
def test_an_odd_character_at_any_place_ends_no_answer_and_no_next_one(view, odd):
    open_page(view, opened())
    stream(view, odd, "Hello", odd, "there", odd)
    assert "Hello" in text(view)
    assert "there" in text(view)
    view.apply([says(1, f"{odd}Hello{odd}there{odd}"), ends()])
    stream(view, "The next ", "answer", number=2)
    assert "The next answer" in text(view)
    assert not view.findChild(Scrolling).is_ours


def test_streams_of_odd_texts_cut_anywhere_are_all_shown(view):
    texts = OddTexts(view, seed=20)
    texts.run(120)
    assert texts.problems == []


def test_half_characters_that_come_apart_are_joined(view):
    open_page(view, opened())
    stream(view, "a \ud83d", "\ude00 b \ud83d")
    assert "a 😀 b \ufffd" in text(view)


@pytest.mark.parametrize("odd", ["\ufeff", "\ufffe"], ids=ascii)
def test_a_mark_of_the_byte_order_swaps_no_bytes_of_what_follows(view, odd):
    open_page(view, opened())
    view.apply([*asks(1, f"{odd}Buy milk"), says(1, f"{odd}Done — ✓")])
    assert "Buy milk" in text(view)
    assert "Done — ✓" in text(view)


def test_what_a_document_can_not_hold_is_left_out_and_nothing_else():
    assert clean("a\ufeffb\0c\ufdd0d\ufdefe\ufffcf\uffffg") == "abcdefg"
    assert clean("1\r\n2\r3\u20284\u20295\n") == "1\n2\n3\n4\n5\n"
    assert clean("\ud83d\ude00\ud800") == "😀\ufffd"
    kept = "é e\u0301 👩\u200d💻 \u00ad\u200b\x85\x0b\x0c\t\U0001fffe שלום"
    assert clean(kept) == kept


def test_a_selection_behind_rare_characters_is_copied_as_it_is_marked(view):
    open_page(view, opened(says(1, "😀😀 **bold 𝕏 words** end"), ends()))
    document = view.browser.document()
    cursor = document.find("words")
    assert selection_text(cursor) == ("words", "**words**")
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    assert selection_text(cursor)[0] == "words end"
    assert utf16_slice("😀a", 2, 3) == "a"


def test_a_question_of_several_lines_stands_in_its_place_once(view, qtbot):
    asked = call(1, "shell", command="ls")
    open_page(view, opened(status="running"))
    view.apply([begins(), says(1, "", asked), needs(asked, title="One\nTwo")])
    for width in (700, 760, 640):
        view.resize(width, 600)
        wait_until_written(qtbot, view)
    assert text(view).count("One Two") == 1


LEAK = "a secret of the text"


def fail(*_):
    raise ValueError(LEAK)


def test_a_block_that_can_not_be_laid_out_is_shown_as_written_and_the_rest_as_ever(
    view, monkeypatch, caplog
):
    monkeypatch.setattr(writer_module, "write_table", fail)
    open_page(view, opened())
    stream(view, TABLE[:30], TABLE[30:])
    assert "secret" in text(view)
    with caplog.at_level(logging.ERROR):
        view.apply([says(1, TABLE), ends()])
    shown = text(view)
    assert "could not be laid out" in shown
    assert "| secret | 2 |" in shown
    assert shown.index("before") < shown.index("secret") < shown.index("after")
    assert "|---" not in shown.split("after")[1]
    assert "secret" not in caplog.text
    assert "ValueError" in caplog.text
    stream(view, "It goes ", "on", number=2)
    assert "It goes on" in text(view)
    assert not view.findChild(Scrolling).is_ours


def test_a_message_that_can_not_be_laid_out_is_shown_as_written(view, monkeypatch):
    monkeypatch.setattr(page_module, "write_user_text", fail)
    open_page(view, opened(*asks(1, "first line\nsecond line")))
    assert "could not be laid out" in text(view)
    assert "second line" in text(view)
    view.apply([says(1, "An answer")])
    assert "An answer" in text(view)


def test_a_card_that_can_not_be_made_says_so_and_the_others_stand(view, monkeypatch, qtbot):
    make = CardFactory.make
    bad, good = call(1), call(2)

    def make_or_fail(factory, row):
        return fail() if row.key == "call_1" else make(factory, row)

    monkeypatch.setattr(CardFactory, "make", make_or_fail)
    open_page(
        view, opened(says(1, "Look", bad, good), runs(bad), gives(bad), runs(good), gives(good))
    )
    qtbot.waitUntil(lambda: {"call_1", "call_2"} <= set(view.cards.cards))
    assert isinstance(view.cards.cards["call_1"], LineCard)
    assert "could not be shown" in view.cards.cards["call_1"].accessibleName()
    assert view.cards.cards["call_2"].isVisible()


def test_an_event_that_can_not_be_taken_in_costs_none_of_those_behind_it(view, monkeypatch):
    monkeypatch.setattr(Transcript, "_on_tool_ended", fail)
    one = call(1)
    open_page(view, opened(says(1, "Look", one), runs(one), gives(one), says(2, "Seen")))
    assert "Seen" in text(view)
    view.apply([gives(one), says(3, "And on")])
    assert "And on" in text(view)


def test_a_change_that_fails_leaves_the_place_of_the_person_and_the_view_alone(view):
    open_page(view, opened(says(1, "word " * 2_000), ends()))
    scrolling = view.findChild(Scrolling)
    with pytest.raises(ValueError, match=LEAK), scrolling.kept():
        fail()
    assert not scrolling.is_ours
    view.apply([says(2, "Still here")])
    assert "Still here" in text(view)
    assert scrolling.is_at_end


def test_code_behind_rare_characters_has_its_own_colours(view, theme, qtbot):
    open_page(view, opened(says(1, "```py\n'😀e\u0301' # note\n```"), ends()))
    document = view.browser.document()
    wait_until_written(qtbot, view)
    note, quoted = document.find("note"), document.find("😀")
    assert note.charFormat().foreground().color() == theme.color("c_com")
    assert quoted.charFormat().foreground().color() == theme.color("c_str")


@pytest.mark.parametrize("odd", ["\ufffe", "\ufeff"], ids=ascii)
def test_a_name_that_begins_with_a_mark_of_the_byte_order_stays_what_it_is(qtbot, theme, odd):
    label = ElidedLabel(f"{odd}Pay the invoice ✓")
    qtbot.addWidget(label)
    assert label.accessibleName() == label.whole_text() == "Pay the invoice ✓"
    assert plain_tip(f"{odd}Pay ✓") == "Pay ✓"


@pytest.mark.parametrize("text", ["x" * 10_000, "word " * 3_000, "line\n" * 3_000])
def test_the_tip_of_a_long_text_leaves_room_on_the_screen(qtbot, text):
    label = QLabel(plain_tip(text))
    qtbot.addWidget(label)
    label.setWordWrap(Qt.mightBeRichText(label.text()))  # as Qt's own
    assert label.sizeHint().width() < 1_000
    assert label.sizeHint().height() < 1_000


def test_what_the_parser_takes_for_half_an_address_is_shown_with_its_marks(view):
    open_page(view, opened())
    stream(view, "**bold** three[//a.b:", "// and on")
    view.apply([says(1, "**bold** three[//a.b:// and on"), ends()])
    assert "bold three[//a.b:// and on" in text(view)
    assert "laid out" not in text(view)

"""Skills in the message box: found behind a slash, shown as chips, sent by name."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QListWidget, QToolButton, QWidget

from desktop_agent.core.events import CommandRefused
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.parts.origins import PickedSkill, Spoken
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.frame import ComposerFrame
from desktop_agent.gui.composer.text_edit import ComposerText
from desktop_agent.gui.transcript.state.message_items import user_items
from tests.gui.skills.samples import SKILLS, untrusted
from tests.helpers.events import opened
from tests.helpers.panels import follow

ENTER, SHIFT = Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def composer(qtbot, theme):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.resize(800, 600)
    one.show()
    qtbot.waitExposed(one)
    one.activateWindow()
    follow(one, opened())
    one.box.set_skills(SKILLS)
    one.focus_text()
    qtbot.waitFocus(text_of(one))
    return one


def text_of(composer):
    return composer.findChild(ComposerText)


def offered(composer):
    for listed in composer.window().findChildren(QListWidget):
        if listed.isVisible() and "kills" in listed.accessibleName():
            return [listed.item(n).text() for n in range(listed.count())]
    return None


def chips(composer):
    return [one for one in composer.findChildren(QWidget, "skillChip") if one.isVisible()]


def sent(qtbot, composer):
    with qtbot.waitSignal(composer.submitted) as told:
        qtbot.keyClick(text_of(composer), ENTER)
    return told.args[0]


def test_a_slash_at_the_beginning_offers_the_skills_that_can_be_used(composer, qtbot):
    qtbot.keyClicks(text_of(composer), "/")
    assert offered(composer) == [
        "review",
        "invoice",
        "pdf",
        "design",
        "/compact",
        "/clear",
        "/remember",
    ]
    qtbot.keyClicks(text_of(composer), "inv")
    assert offered(composer)[0] == "invoice"


def test_a_slash_elsewhere_and_a_path_are_just_text(composer, qtbot):
    qtbot.keyClicks(text_of(composer), "look at /")
    assert offered(composer) is None
    text_of(composer).clear()
    qtbot.keyClicks(text_of(composer), "/usr/bin")
    assert offered(composer) is None


def test_what_is_chosen_becomes_a_chip_and_goes_out_by_name(composer, qtbot):
    box = text_of(composer)
    qtbot.keyClicks(box, "/")
    qtbot.keyClick(box, Qt.Key.Key_Down)
    qtbot.keyClick(box, ENTER)
    assert box.toPlainText() == ""
    assert offered(composer) is None
    assert [chip.accessibleName() for chip in chips(composer)] == [
        "Skill invoice goes with this message"
    ]
    qtbot.keyClicks(box, "for March")
    note = sent(qtbot, composer)
    assert (note.text, note.skills) == ("for March", ("invoice",))
    assert chips(composer) == []


def test_escape_leaves_the_slash_as_it_is_typed(composer, qtbot):
    box = text_of(composer)
    qtbot.keyClicks(box, "/inv")
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert offered(composer) is None
    assert box.toPlainText() == "/inv"
    assert sent(qtbot, composer).text == "/inv"


def test_a_chip_alone_can_be_sent_and_twice_is_once(composer, qtbot):
    for _ in range(2):
        composer.box.add_skill("review")
    note = sent(qtbot, composer)
    assert (note.text, note.skills) == ("", ("review",))


def test_a_chip_goes_by_its_cross_and_by_delete(composer, qtbot):
    composer.box.add_skill("review")
    composer.box.add_skill("invoice")
    first, second = chips(composer)
    qtbot.mouseClick(first.findChild(QToolButton), Qt.MouseButton.LeftButton)
    second.setFocus()
    qtbot.keyClick(second, Qt.Key.Key_Delete)
    assert chips(composer) == []
    assert text_of(composer).hasFocus()


def test_a_skill_that_is_switched_off_meanwhile_stays_behind_and_says_so(composer, qtbot):
    composer.box.add_skill("invoice")
    composer.box.set_skills([replace(one, is_enabled=False) for one in SKILLS])
    (chip,) = chips(composer)
    assert "switched off" in chip.accessibleName()
    qtbot.keyClicks(text_of(composer), "hello")
    assert sent(qtbot, composer).skills == ()


def test_untrusted_and_vanished_skills_are_not_offered_and_never_sent(composer, qtbot):
    composer.box.set_skills((untrusted("deploy"),))
    qtbot.keyClicks(text_of(composer), "/")
    assert offered(composer) == ["/compact", "/clear", "/remember"]
    text_of(composer).clear()
    composer.box.add_skill("deploy")
    composer.box.add_skill("gone")
    spoken = " ".join(chip.accessibleName() for chip in chips(composer))
    assert "Trust this folder" in spoken
    assert "not there any more" in spoken
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(text_of(composer), ENTER)


def test_chips_belong_to_their_session(composer, qtbot):
    composer.box.add_skill("review")
    follow(composer, opened("se_2", agent="ag_2"))
    assert chips(composer) == []
    follow(composer, opened())
    assert len(chips(composer)) == 1


def shown(*parts):
    message = Message("m1", "user", (TextPart("do it", Spoken()), *parts), note_ids=("n1",))
    (item,) = user_items(message, lambda _: None)
    return item


def test_the_transcript_names_the_skill_and_hides_its_text():
    item = shown(TextPart("long text", PickedSkill("pdf")))
    assert (item.text, item.skills) == ("do it", ("pdf",))


def test_the_transcript_tells_a_skill_that_was_loaded_before_or_could_not_be():
    item = shown(
        TextPart("its text above is unchanged.", PickedSkill("pdf", "known")),
        TextPart("skill 'x' is disabled.", PickedSkill("x", "failed")),
    )
    assert item.text == "do it"
    assert item.skill_labels == ("pdf", "x: skill 'x' is disabled.")
    # What is sent again is the name.
    assert item.skills == ("pdf", "x")


def test_a_click_beside_the_buttons_of_the_box_begins_to_write(composer, qtbot):
    frame = composer.findChild(ComposerFrame)
    composer.findChild(QToolButton).setFocus()
    assert not text_of(composer).hasFocus()
    qtbot.mouseClick(
        frame, Qt.MouseButton.LeftButton, pos=frame.rect().bottomLeft() + QPoint(2, -2)
    )
    assert text_of(composer).hasFocus()


def test_a_message_that_is_sent_again_takes_its_skills_along(composer, qtbot):
    composer.set_text("Do it again", ("review", "invoice"))
    note = sent(qtbot, composer)
    assert (note.text, note.skills) == ("Do it again", ("review", "invoice"))


def test_a_message_that_never_reached_the_disk_comes_back_with_its_skills(composer, qtbot):
    composer.set_text("Do it", ("review",))
    note = sent(qtbot, composer)
    composer.apply(CommandRefused("send", "The disk is full.", "ag_1", note.id))
    assert composer.draft() == "Do it"
    assert len(chips(composer)) == 1


def test_compact_is_chosen_behind_a_slash_and_given_with_what_must_be_kept(composer, qtbot):
    box = text_of(composer)
    qtbot.keyClicks(box, "/comp")
    assert offered(composer) == ["/compact"]
    qtbot.keyClick(box, ENTER)
    assert box.toPlainText() == "/compact "
    assert offered(composer) is None
    qtbot.keyClicks(box, "the  price list")
    with (
        qtbot.waitSignal(composer.command_given) as given,
        qtbot.assertNotEmitted(composer.submitted),
    ):
        qtbot.keyClick(box, ENTER)
    assert given.args == ["compact", "the  price list"]
    assert box.toPlainText() == ""


def test_a_message_that_only_begins_like_a_command_is_sent(composer, qtbot):
    for words in ("/clearly wrong", "/clear the table", "compact"):
        qtbot.keyClicks(text_of(composer), words)
        assert sent(qtbot, composer).text == words

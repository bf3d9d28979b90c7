"""An earlier message is edited in the message box, and what was begun there is not lost by it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.core.events import CommandRefused
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.text_edit import ComposerText
from desktop_agent.gui.state.branch_draft import BranchDraft
from tests.helpers.events import opened
from tests.helpers.panels import follow

PAINT = BranchDraft(MessageId("me_1"), "Paint it red", is_edit=True)
COUNT = BranchDraft(MessageId("me_2"), "Count to ten", is_edit=True)


@pytest.fixture
def composer(qtbot, theme):
    """A message box that holds a draft with a file."""
    one = Composer(theme)
    qtbot.addWidget(one)
    follow(one, opened())
    one.set_text("half a thought")
    text(one).long_text_given.emit("a,b\n1,2\n")
    return one


def text(composer) -> ComposerText:
    return composer.findChild(ComposerText)


def send(qtbot, composer, signal="branch_submitted"):
    with qtbot.waitSignal(getattr(composer, signal)) as hit:
        qtbot.keyClick(text(composer), Qt.Key.Key_Return)
    return hit.args[0]


def cancel(composer):
    composer.findChild(QAbstractButton, "cancelBranch").click()


def test_a_draft_comes_back_when_an_edited_message_was_sent(qtbot, composer):
    composer.begin_branch(PAINT)
    assert (composer.draft(), composer.box.parts) == ("Paint it red", ())
    composer.set_text("Paint it blue")
    note = send(qtbot, composer)
    assert (note.text, note.attachments) == ("Paint it blue", ())
    assert composer.draft() == "half a thought"
    assert send(qtbot, composer, "submitted").attachments


@pytest.mark.parametrize(
    ("written", "kept"),
    [("Paint it red", ""), ("Paint it blue", "Paint it blue\n\n"), ("", "")],
)
def test_a_draft_comes_back_when_a_message_is_not_edited_after_all(composer, written, kept):
    composer.begin_branch(PAINT)
    composer.set_text(written)
    cancel(composer)
    assert composer.draft() == f"{kept}half a thought"
    assert composer.box.parts


def test_esc_in_the_box_makes_an_ordinary_message_of_it(qtbot, composer):
    composer.begin_branch(PAINT)
    qtbot.keyClick(text(composer), Qt.Key.Key_Escape)
    assert composer.branch_draft is None
    assert composer.draft() == "half a thought"


def test_an_edited_message_that_takes_the_place_of_no_draft_stays_as_an_ordinary_one(composer):
    composer.box.clear()
    composer.begin_branch(PAINT)
    cancel(composer)
    assert composer.draft() == "Paint it red"


@pytest.mark.parametrize(
    ("written", "kept"), [("Paint it red", ""), ("Paint it blue", "Paint it blue\n\n")]
)
def test_a_second_message_that_is_edited_takes_no_draft_with_it(qtbot, composer, written, kept):
    composer.begin_branch(PAINT)
    composer.set_text(written)
    composer.begin_branch(COUNT)
    assert composer.draft() == "Count to ten"
    send(qtbot, composer)
    assert composer.draft() == f"{kept}half a thought"


def test_an_edited_message_that_is_refused_stands_in_place_of_the_draft_again(qtbot, composer):
    composer.begin_branch(PAINT)
    note = send(qtbot, composer)
    refused = CommandRefused("begin_branch", "Agents work.", AgentId("ag_1"), note.id)
    composer.apply(refused)
    assert (composer.draft(), composer.branch_draft) == ("Paint it red", PAINT)
    send(qtbot, composer)
    assert composer.draft() == "half a thought"

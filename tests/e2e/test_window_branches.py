"""A person at the real window goes back in a conversation, and loses nothing by it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QWidget

from desktop_agent.core.requests import Limits
from desktop_agent.gui.transcript.state.items import UserItem
from tests.e2e.test_window import KEYS, Person
from tests.helpers.providers import Calls, Fail, Say
from tests.helpers.windows import app_of

UP, DOWN = Qt.Key.Key_Up, Qt.Key.Key_Down
ALT = Qt.KeyboardModifier.AltModifier


@pytest.fixture
def person(qtbot, open_window, tmp_path, monkeypatch):
    """A person in front of the window, in an empty folder."""
    for name in KEYS:
        monkeypatch.setenv(name, "sk-test-loopback")
    folder = tmp_path / "folder"
    folder.mkdir()

    def sit_down(provider, **changes):
        chosen = {"model": provider.model, "api_base": provider.api_base}
        return Person(qtbot, open_window(folder, **chosen, **changes))

    return sit_down


def place(me):
    """Which branch is said to be shown, under each message that has others beside it."""
    return [label.text() for label in me.find(QLabel, "branchPlace")]


def act(me, text, words):
    """Choose from the menu of a message."""
    page = me.page.page
    shown = next(s for s in page.rows if isinstance(s.row, UserItem) and s.row.text == text)
    y = me.page.browser.verticalScrollBar().value()
    at = page.rect(shown).center().toPoint() - QPoint(0, y)
    next(a for a in me.page.menu_at(at).actions() if a.text() == words).trigger()


def said(me, *texts):
    """Wait until the answers are there and nothing runs."""
    for text in texts:
        me.sees(text)
    me.idle()


def test_an_edited_message_begins_a_branch_and_the_old_one_is_a_key_away(person, provide):
    provider = provide("openai", [Say("First."), Say("Red it is."), Say("Blue it is.")])
    me = person(provider)
    me.send("Hello")
    said(me, "First.")
    me.send("Paint it red")
    said(me, "Red it is.")
    act(me, "Paint it red", "Edit and send again")
    bar = me.until(lambda: me.find(QWidget, "branchBar"))[0]
    assert "Paint it red" in bar.accessibleName()
    assert me.find(QLabel, "branchWords")[0].text().startswith("Your message begins")
    assert me.box.toPlainText() == "Paint it red"
    me.press(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    me.qtbot.keyClicks(me.box, "Paint it blue")
    me.press(Qt.Key.Key_Return)
    said(me, "Blue it is.")
    assert "Red it is." not in me.text
    # It stands in the conversation: the strip over the message box does not tell it again.
    assert not me.find(QWidget, "noteRow")
    assert "".join(provider.requests[-1].user_texts).count("Paint") == 1
    me.until(lambda: place(me) == ["2/2"])
    assert not bar.isVisible()
    back = me.button("previousBranch", QToolButton)
    assert QAccessible.queryAccessibleInterface(back).text(QAccessible.Text.Name)
    me.click("previousBranch", QToolButton)
    said(me, "Red it is.")
    me.until(lambda: place(me) == ["1/2"])
    me.until(lambda: me.button("nextBranch", QToolButton).hasFocus())
    me.press(Qt.Key.Key_Right)
    said(me, "Blue it is.")
    assert "First." in me.text


def test_an_edited_message_is_still_one_in_the_window_that_takes_over(person, provide):
    made = Calls(("write", {"path": "red.txt", "content": "red"}))
    provider = provide("openai", [made, Say("It is red."), Say("It is blue.")])
    me = person(provider, mode="free")
    me.send("Paint it red")
    said(me, "It is red.")
    act(me, "Paint it red", "Edit and send again")
    me.until(lambda: me.find(QWidget, "branchBar"))
    app_of(me.window).open_beside(me.window, me.window.flow.current)
    other = Person(me.qtbot, app_of(me.window).windows[-1])
    other.until(lambda: other.find(QWidget, "readOnlyBar"))
    other.click("writeHere")
    assert not me.find(QWidget, "branchBar")
    bar = other.until(lambda: other.find(QWidget, "branchBar"))[0]
    assert "Paint it red" in bar.accessibleName()
    other.until(lambda: other.find(QPushButton, "restoreFiles"))
    assert "1 file changed" in other.find(QLabel, "branchFiles")[0].text()
    other.press(Qt.Key.Key_Return)
    said(other, "It is blue.")
    other.until(lambda: place(other) == ["2/2"])


def test_an_answer_is_tried_again_beside_the_first_one(person, provide):
    provider = provide("openai", [Say("One."), Say("Two.")])
    me = person(provider)
    me.send("Count")
    said(me, "One.")
    act(me, "Count", "Try again")
    said(me, "Two.")
    assert "One." not in me.text
    me.until(lambda: place(me) == ["2/2"])
    me.click("previousBranch", QToolButton)
    said(me, "One.")


@pytest.mark.parametrize("start", ["box", "transcript"])
def test_by_keys_one_goes_to_a_message_and_what_can_be_done_with_it(person, provide, start):
    provider = provide("openai", [Say("One."), Say("Two."), Say("Three.")])
    me = person(provider)
    me.send("First words")
    said(me, "One.")
    me.send("Second words")
    said(me, "Two.")
    (me.box if start == "box" else me.page.browser).setFocus()
    me.press(UP, ALT)
    copy = me.until(lambda: me.find(QToolButton, "copyMessage"))[0]
    me.until(copy.hasFocus)
    assert copy.accessibleDescription() == "Second words"
    me.press(UP, ALT)
    me.until(lambda: copy.accessibleDescription() == "First words")
    for _ in range(2):
        me.press(Qt.Key.Key_Right)
    branch = me.button("branchMessage", QToolButton)
    assert branch.hasFocus()
    assert branch.accessibleName() == "Branch from here"
    me.press(Qt.Key.Key_Space)
    me.until(lambda: me.find(QWidget, "branchBar"))
    assert me.box.toPlainText() == ""
    me.send("Other words")
    said(me, "Three.")
    assert "Two." not in me.text
    me.until(lambda: place(me) == ["2/2"])


def test_a_branch_that_is_not_wanted_after_all_is_an_ordinary_message(person, provide):
    provider = provide("openai", [Say("One."), Say("Two.")])
    me = person(provider)
    me.send("Count")
    said(me, "One.")
    act(me, "Count", "Branch from here")
    me.click("cancelBranch", QToolButton)
    me.until(lambda: not me.find(QWidget, "branchBar"))
    me.send("Go on")
    said(me, "One.", "Two.")
    assert place(me) == []


def test_a_fault_of_the_key_can_be_tried_again_from_its_card(person, provide):
    provider = provide("openai", [Fail(401, message="No such key"), Say("Here I am.")])
    me = person(provider, limits=Limits(max_retries=0))
    me.send("Hello")
    me.until(lambda: me.find(QWidget, "faultCard"))
    me.idle()
    assert "Not delivered" in me.text
    me.click("tryAgain")
    said(me, "Here I am.")
    assert "Not delivered" not in me.text
    assert not me.find(QPushButton, "tryAgain")

"""A folder that brings skills or instructions: seen first, decided by the person, undone again."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QListView, QPlainTextEdit, QWidget

from desktop_agent.gui.skills.text import banner_text, is_asking, joined, state_text
from desktop_agent.gui.skills.trust_banner import TrustBanner, TrustLine
from desktop_agent.gui.skills.trust_dialog import ProvidedItem, TrustSheet
from tests.gui.skills.samples import detail, trust, untrusted

BROUGHT = "This folder brings 2 skills and AGENTS.md. The agent follows them if you trust it."
DEPLOY = untrusted("deploy", scripts=("3 shell",))


@pytest.fixture
def sheet(qtbot, theme):
    widget = TrustSheet(theme, trust())
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def items():
    return (
        ProvidedItem(DEPLOY.directory, "deploy", DEPLOY.description, "terminal", skill=DEPLOY),
        ProvidedItem("AGENTS.md", "AGENTS.md", "Instructions", "file-text", is_changed=True),
    )


def named(widget, name):
    return widget.findChild(QWidget, name)


def test_the_banner_asks_only_while_there_is_something_to_decide(qapp):
    assert is_asking(trust())
    assert not is_asking(trust(brings=()))
    assert not is_asking(trust(is_ignored=True))
    assert not is_asking(trust(is_trusted=True))
    assert is_asking(trust(is_trusted=True, changed=("AGENTS.md",)))


def test_the_banner_says_what_the_folder_brings_and_what_changed(qapp):
    assert banner_text(trust()) == BROUGHT
    one = banner_text(trust(is_trusted=True, changed=("AGENTS.md",)))
    assert one == "AGENTS.md changed since you trusted this folder."
    two = banner_text(trust(is_trusted=True, changed=("AGENTS.md", ".agents/skills/a")))
    assert two == "2 things changed since you trusted this folder."
    assert joined(("a", "b", "c")) == "a, b and c"


def test_each_button_of_the_banner_does_what_it_says(qtbot, theme):
    banner = TrustBanner(theme)
    qtbot.addWidget(banner)
    banner.show_trust(trust())
    banner.show()
    assert banner.accessibleName() == BROUGHT
    with qtbot.waitSignal(banner.look_requested):
        qtbot.mouseClick(named(banner, "trustReview"), Qt.MouseButton.LeftButton)
    for name, decision in (("trustFolder", "trust"), ("ignoreFolder", "ignore")):
        with qtbot.waitSignal(banner.decided) as told:
            qtbot.mouseClick(named(banner, name), Qt.MouseButton.LeftButton)
        assert told.args == [decision, "d1"]


def test_the_banner_trusts_what_it_came_up_with_until_it_says_that_this_changed(qtbot, theme):
    banner = TrustBanner(theme)
    qtbot.addWidget(banner)

    def pressed():
        with qtbot.waitSignal(banner.decided) as told:
            qtbot.mouseClick(named(banner, "trustFolder"), Qt.MouseButton.LeftButton)
        return told.args[1]

    banner.show_trust(trust())
    banner.show()
    banner.show_trust(trust(digest="d2"))
    assert pressed() == "d1"
    banner.show_trust(trust(digest="d2", is_refused=True))
    assert banner.accessibleName() == "This folder changed meanwhile; review it again."
    assert pressed() == "d2"
    banner.show_trust(trust(digest="d3", root="/home/ada/other"))
    assert pressed() == "d3"


def test_the_sheet_shows_each_text_before_anything_is_decided(sheet, qtbot):
    asked = []
    sheet.preview.wanted.connect(lambda directory, path: asked.append((directory, path)))
    with qtbot.waitSignal(sheet.files_wanted) as wanted:
        sheet.show_items(items())
    assert wanted.args == [DEPLOY]
    assert asked == [(DEPLOY.directory, "SKILL.md")]
    sheet.preview.show_text(DEPLOY.directory, "SKILL.md", "Deploy \u202eit")
    text = sheet.findChild(QPlainTextEdit)
    assert "Deploy" in text.toPlainText()
    sheet.show_files(DEPLOY, detail(DEPLOY).files)
    qtbot.keyClick(named(sheet, "providedList"), Qt.Key.Key_Down)
    assert asked[-1] == ("", "AGENTS.md")
    sheet.preview.show_text(DEPLOY.directory, "SKILL.md", "late")
    assert "late" not in text.toPlainText()
    sheet.preview.show_text("", "AGENTS.md", "Use tabs.")
    assert text.toPlainText() == "Use tabs."


def test_each_file_of_a_skill_can_be_read_in_the_sheet(sheet, qtbot):
    sheet.show_items(items())
    sheet.show_files(DEPLOY, detail(DEPLOY).files)
    files = named(sheet, "skillFiles")
    assert files.isVisible()
    with qtbot.waitSignal(sheet.preview.wanted) as wanted:
        files.chosen.emit("scripts/run.py")
    assert wanted.args == [DEPLOY.directory, "scripts/run.py"]


def test_a_folder_that_changes_under_the_sheet_is_not_trusted_before_it_is_looked_at_again(
    sheet, qtbot
):
    asked = []
    sheet.preview.wanted.connect(lambda directory, path: asked.append((directory, path)))
    sheet.show_items(items())
    again, trusts = named(sheet, "trustSheetAgain"), named(sheet, "trustSheetTrust")
    assert (again.isVisible(), trusts.isVisible()) == (False, True)
    qtbot.keyClick(named(sheet, "providedList"), Qt.Key.Key_Down)
    sheet.show_trust(trust(digest="d2"))
    sheet.show_items(items())
    assert named(sheet, "trustMeanwhile").isVisible()
    assert (again.isVisible(), trusts.isVisible()) == (True, False)
    listed = named(sheet, "providedList")
    assert [row.tag for row in listed.rows()] == ["review again", "review again"]
    assert listed.current.key == "AGENTS.md"
    del asked[:]
    with qtbot.assertNotEmitted(sheet.decided):
        qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
    assert asked == [(DEPLOY.directory, "SKILL.md")]
    assert [row.tag for row in listed.rows()] == ["", "changed"]
    assert not named(sheet, "trustMeanwhile").isVisible()
    with qtbot.waitSignal(sheet.decided) as told:
        qtbot.mouseClick(trusts, Qt.MouseButton.LeftButton)
    assert told.args == ["trust", "d2"]


def test_a_stray_enter_trusts_nothing(sheet, qtbot):
    sheet.show_items(items())
    with qtbot.assertNotEmitted(sheet.decided):
        for widget in (sheet, named(sheet, "providedList")):
            qtbot.keyClick(widget, Qt.Key.Key_Return)


def test_trust_ignore_and_later_are_three_different_things(sheet, qtbot, theme):
    with qtbot.waitSignal(sheet.decided) as told:
        qtbot.mouseClick(named(sheet, "trustSheetTrust"), Qt.MouseButton.LeftButton)
    assert told.args == ["trust", "d1"]
    assert not sheet.isVisible()
    sheet.show()
    with qtbot.waitSignal(sheet.decided) as told:
        qtbot.mouseClick(named(sheet, "trustSheetIgnore"), Qt.MouseButton.LeftButton)
    assert told.args == ["ignore", "d1"]
    sheet.show()
    with qtbot.assertNotEmitted(sheet.decided):
        qtbot.mouseClick(named(sheet, "trustSheetLater"), Qt.MouseButton.LeftButton)


def test_the_folder_picker_says_how_the_folder_stands_and_can_forget_it(qtbot, theme):
    line = TrustLine(theme)
    qtbot.addWidget(line)
    line.show_trust(trust(brings=()))
    assert not line.isVisible()
    line.show_trust(trust())
    assert line.isVisible()
    assert not named(line, "forgetTrust").isVisible()
    line.show_trust(trust(is_trusted=True))
    shown = line.findChild(QLabel, "trustState").text()
    assert shown == "2 skills and AGENTS.md\nTrusted: what it brings is used."
    assert not named(line, "trustReviewHere").isVisible()
    with qtbot.waitSignal(line.decided) as told:
        qtbot.mouseClick(named(line, "forgetTrust"), Qt.MouseButton.LeftButton)
    assert told.args == ["forget"]


def test_every_state_of_a_folder_has_its_words(qapp):
    states = [
        trust(brings=()),
        trust(),
        trust(is_ignored=True),
        trust(is_trusted=True),
        trust(is_trusted=True, changed=("AGENTS.md",)),
    ]
    words = [state_text(one) for one in states]
    assert words[0] == ""
    assert len(set(words)) == 5


def test_every_control_of_the_sheet_has_a_name(sheet):
    sheet.show_items(items())
    controls = [
        *sheet.findChildren(QAbstractButton),
        *sheet.findChildren(QListView),
        *sheet.findChildren(QPlainTextEdit),
    ]
    nameless = [
        one
        for one in controls
        if one.focusPolicy() != Qt.FocusPolicy.NoFocus
        and not (one.accessibleName() or getattr(one, "text", str)())
    ]
    assert not nameless, [one.objectName() or type(one).__name__ for one in nameless]

"""Adding, updating and removing skills: what is seen before, and that nothing happens unasked."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from desktop_agent import paths
from desktop_agent.core.skill_install import SkillUpdate
from desktop_agent.gui.skills.add_dialog import AddSkillSheet
from desktop_agent.gui.skills.icons import ICONS, skill_icon
from desktop_agent.gui.skills.update_dialog import UpdateSheet, ask_before_removing, split_diff
from tests.gui.skills.samples import SKILLS, fetched, found, skill

DIFF = """--- a/SKILL.md
+++ b/SKILL.md
@@ -1,3 +1,3 @@
 # Invoice
--- a rule
+++ another
 end
--- a/scripts/old.py
+++ /dev/null
@@ -1 +0,0 @@
-print(1)
--- /dev/null
+++ b/notes/new.md
@@ -0,0 +1 @@
+hello
"""


@pytest.fixture
def sheet(qtbot, theme):
    widget = AddSkillSheet(theme, folder_name="shop")
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    widget.activateWindow()
    return widget


def named(sheet, name):
    return sheet.findChild(QWidget, name)


def press(qtbot, sheet, name):
    button = named(sheet, name)
    assert button.isVisible()
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def fetch(qtbot, sheet, *skills, **changes):
    named(sheet, "skillAddress").setText("https://example.com/skills")
    press(qtbot, sheet, "fetchSkill")
    sheet.show_fetched(fetched(*skills, **changes))


def chosen(qtbot, sheet):
    with qtbot.waitSignal(sheet.install_requested) as requested:
        press(qtbot, sheet, "installSkills")
    return requested.args


def test_an_address_is_looked_at_on_enter_and_never_installed_by_itself(sheet, qtbot):
    field = named(sheet, "skillAddress")
    assert not named(sheet, "fetchSkill").isEnabled()
    qtbot.keyClicks(field, " https://example.com/skills ")
    with (
        qtbot.assertNotEmitted(sheet.install_requested),
        qtbot.waitSignal(sheet.fetch_requested) as asked,
    ):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert asked.args == ["https://example.com/skills"]
    assert "https://example.com/skills" in named(sheet, "addSkillDoing").text()


def test_what_is_fetched_can_be_given_up_with_one_key(sheet, qtbot):
    named(sheet, "skillAddress").setText("https://example.com/skills")
    press(qtbot, sheet, "fetchSkill")
    assert named(sheet, "addSkillCancel").hasFocus()
    with qtbot.waitSignal(sheet.cancelled):
        qtbot.keyClick(named(sheet, "addSkillCancel"), Qt.Key.Key_Space)
    assert sheet.isVisible()
    assert named(sheet, "skillAddress").text() == "https://example.com/skills"


def test_a_failure_is_said_in_the_sheet_and_the_address_stays_to_be_mended(sheet, qtbot):
    named(sheet, "skillAddress").setText("https://exmple.com")
    press(qtbot, sheet, "fetchSkill")
    sheet.show_error("There is no server called exmple.com.")
    assert named(sheet, "addSkillError").text() == "There is no server called exmple.com."
    assert named(sheet, "addSkillError").isVisible()
    assert named(sheet, "skillAddress").hasFocus()
    press(qtbot, sheet, "fetchSkill")
    assert not named(sheet, "addSkillError").isVisible()


def test_what_was_found_says_what_is_in_it_and_where_it_is_from(sheet, qtbot):
    fetch(
        qtbot,
        sheet,
        found("pdf", scripts=("2 Python",), allowed_tools="Bash", license="MIT"),
        found("notes"),
        skipped=("huge/: larger than 20 MB",),
    )
    items = [sheet.checklist.list.item(n) for n in range(2)]
    spoken = [item.data(Qt.ItemDataRole.AccessibleTextRole) for item in items]
    assert spoken == [
        "notes, Does notes things, text only",
        "pdf, Does pdf things, has scripts: 2 Python · asks for tools: Bash",
    ]
    assert named(sheet, "fetchedSource").text() == "https://example.com/skills @ 4f1c2a9"
    assert named(sheet, "fetchedSkipped").text() == "huge/: larger than 20 MB"
    sheet.checklist.list.setCurrentRow(1)
    assert "Licence: MIT" in named(sheet, "foundAbout").text()


def test_only_what_is_ticked_is_installed_for_whom_it_was_said(sheet, qtbot):
    fetch(qtbot, sheet, found("pdf"), found("notes"), found("plan"))
    assert named(sheet, "installSkills").text() == "Install 3 skills"
    sheet.checklist.list.setCurrentRow(0)
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    assert named(sheet, "installSkills").text() == "Install 2 skills"
    assert chosen(qtbot, sheet) == [("skills/pdf", "skills/plan"), "mine", False]


def test_nothing_ticked_is_nothing_to_install(sheet, qtbot):
    fetch(qtbot, sheet, found("pdf"))
    assert named(sheet, "installSkills").text() == "Install 1 skill"
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    assert not named(sheet, "installSkills").isEnabled()


def test_a_click_on_the_box_ticks_and_one_beside_it_only_shows(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"), found("pdf"))
    listed = sheet.checklist.list
    box = listed.visualItemRect(listed.item(1))
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=box.center())
    assert len(sheet.checklist.chosen()) == 2
    qtbot.mouseClick(
        listed.viewport(), Qt.MouseButton.LeftButton, pos=box.topLeft() + _inside(18, 17)
    )
    assert sheet.checklist.chosen() == ("skills/notes",)


def test_after_a_click_on_a_box_space_is_for_that_skill(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"), found("pdf"))
    listed = sheet.checklist.list
    second = listed.visualItemRect(listed.item(1)).topLeft() + _inside(18, 17)
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=second)
    qtbot.keyClick(listed, Qt.Key.Key_Space)
    assert sheet.checklist.chosen() == ("skills/notes", "skills/pdf")


def _inside(x, y):
    return QPointF(x, y).toPoint()


def test_what_is_there_already_is_left_alone_unless_it_is_said(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"), found("pdf", clash="Replaces your skill pdf."))
    assert chosen(qtbot, sheet) == [("skills/notes",), "mine", False]
    sheet.show_error("Try again.")
    named(sheet, "replaceThere").click()
    named(sheet, "installHere").click()
    assert chosen(qtbot, sheet) == [("skills/notes", "skills/pdf"), "folder", True]


def test_what_is_there_already_depends_on_where_it_shall_go(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"), found("pdf", clash="Replaces your skill pdf."), found("x"))
    assert [sheet.checklist.list.item(n).text() for n in range(3)] == ["notes", "x", "pdf"]
    sheet.checklist.list.setCurrentRow(1)
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    with qtbot.waitSignal(sheet.target_chosen) as target:
        named(sheet, "installHere").click()
    assert target.args == ["folder"]
    sheet.show_clashes({"skills/notes": "Replaces the skill notes of this folder."})
    assert chosen(qtbot, sheet) == [("skills/pdf",), "folder", False]
    sheet.show_error("Try again.")
    sheet.show_clashes({})
    assert not named(sheet, "replaceThere").isVisible()
    assert chosen(qtbot, sheet) == [("skills/notes", "skills/pdf"), "folder", False]


def test_where_nothing_clashes_nothing_is_asked(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"))
    assert not named(sheet, "replaceThere").isVisible()


def twins():
    other = found("pdf", twin="Has the name of the one in skills/pdf.")
    return found("notes"), found("pdf"), replace(other, folder="translated/pdf")


def test_of_those_of_one_name_only_one_can_be_ticked(sheet, qtbot):
    fetch(qtbot, sheet, *twins())
    listed = sheet.checklist.list
    assert sheet.checklist.chosen() == ("skills/notes", "skills/pdf")
    spoken = listed.item(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Same name as another; from translated" in spoken
    listed.setCurrentRow(2)
    for words in ("Has the name of the one in skills/pdf.", "From the folder translated/pdf"):
        assert words in named(sheet, "foundAbout").text()
    qtbot.keyClick(listed, Qt.Key.Key_Space)
    assert sheet.checklist.chosen() == ("skills/notes", "translated/pdf")
    assert named(sheet, "installSkills").text() == "Install 2 skills"


def test_a_whole_collection_is_ticked_or_not_with_one_press(sheet, qtbot):
    fetch(qtbot, sheet, *(replace(one, tokens=617) for one in twins()))
    counted, every = named(sheet, "chosenCount"), named(sheet, "chooseEvery")
    assert counted.text() == "2 of 3 chosen · about 1,200 tokens in each request"
    assert every.text() == "Choose none"
    qtbot.mouseClick(every, Qt.MouseButton.LeftButton)
    assert (sheet.checklist.chosen(), counted.text()) == ((), "0 of 3 chosen")
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    assert every.text() == "Choose all"
    qtbot.mouseClick(every, Qt.MouseButton.LeftButton)
    assert sheet.checklist.chosen() == ("skills/notes", "skills/pdf")


def test_a_tick_that_was_taken_away_stays_away_whatever_is_said_of_the_rest(sheet, qtbot):
    fetch(qtbot, sheet, found("notes"), found("pdf", clash="Replaces your skill pdf."))
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    named(sheet, "replaceThere").click()
    assert sheet.checklist.chosen() == ("skills/pdf",)
    named(sheet, "skipThere").click()
    assert sheet.checklist.chosen() == ()


def test_what_cannot_be_installed_cannot_be_ticked_and_says_why(sheet, qtbot):
    fetch(qtbot, sheet, found("broken", problem="The description is missing."), found("pdf"))
    last = sheet.checklist.list.item(1)
    assert "The description is missing." in last.data(Qt.ItemDataRole.AccessibleTextRole)
    sheet.checklist.list.setCurrentRow(1)
    qtbot.keyClick(sheet.checklist.list, Qt.Key.Key_Space)
    assert sheet.checklist.chosen() == ("skills/pdf",)


def test_each_file_can_be_read_before_anything_is_installed(sheet, qtbot):
    with qtbot.waitSignal(sheet.checklist.preview.wanted) as asked:
        fetch(qtbot, sheet, found("pdf"))
    assert asked.args == ["skills/pdf", "SKILL.md"]
    files = sheet.checklist.findChild(QListView, "skillFiles")
    files.setFocus()
    qtbot.keyClick(files, Qt.Key.Key_Down)
    with qtbot.waitSignal(sheet.checklist.preview.wanted) as asked:
        qtbot.keyClick(files, Qt.Key.Key_Return)
    assert asked.args == ["skills/pdf", "scripts/a.py"]
    sheet.checklist.preview.show_text("skills/pdf", "SKILL.md", "late")
    text = sheet.checklist.findChild(QPlainTextEdit)
    assert "late" not in text.toPlainText()
    sheet.checklist.preview.show_text("skills/pdf", "scripts/a.py", "print(1)\x1b[31m\n")
    assert text.toPlainText() == "print(1)\n"


def test_an_installation_is_not_left_half_way(sheet, qtbot):
    fetch(qtbot, sheet, found("pdf"))
    chosen(qtbot, sheet)
    with qtbot.assertNotEmitted(sheet.cancelled):
        qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert sheet.isVisible()
    sheet.show_error("The disk is full.")
    assert named(sheet, "addSkillError").text() == "The disk is full."
    assert named(sheet, "installSkills").isVisible()


def test_closing_the_sheet_gives_up_what_was_fetched(sheet, qtbot):
    fetch(qtbot, sheet, found("pdf"))
    with qtbot.waitSignal(sheet.cancelled):
        qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()


def test_without_a_folder_there_is_only_mine(qtbot, theme):
    widget = AddSkillSheet(theme)
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    fetch(qtbot, widget, found("pdf"))
    assert not named(widget, "installHere").isVisible()


def test_an_error_takes_no_room_from_what_stands_over_it(sheet, qtbot):
    zone = named(sheet, "dropZone")
    qtbot.waitUntil(lambda: zone.height() > 0)
    before = zone.height()
    for _ in range(2):
        sheet.show_error("The skills there are larger than 20 MB, which is the limit. " * 2)
        qtbot.waitUntil(lambda: named(sheet, "addSkillError").height() > 20)
        qtbot.waitUntil(lambda: zone.height() >= before)


def test_a_file_dropped_on_the_sheet_is_looked_at(sheet, qtbot, tmp_path):
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction | Qt.DropAction.MoveAction,
        dragged,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.ShiftModifier,
    )
    with qtbot.waitSignal(sheet.fetch_requested) as asked:
        named(sheet, "dropZone").dropEvent(event)
    assert asked.args == [str(tmp_path)]
    assert event.dropAction() == Qt.DropAction.CopyAction


def test_every_control_of_the_sheet_has_a_name(sheet, qtbot):
    fetch(qtbot, sheet, found("pdf", clash="Replaces your skill pdf."))
    controls = [
        *sheet.findChildren(QAbstractButton),
        *sheet.findChildren(QLineEdit),
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


def test_an_update_shows_each_file_that_changes_and_waits_for_the_person(qtbot, theme):
    update = SkillUpdate(
        "u1",
        "/home/ada/skills/invoice",
        "invoice",
        "99aa88bb77",
        DIFF,
        3,
        ("You changed SKILL.md.",),
    )
    widget = UpdateSheet(theme, SKILLS[1], update)
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    shown = [label.text() for label in widget.findChildren(QLabel)]
    for part in ("SKILL.md", "scripts/old.py", "notes/new.md", "You changed SKILL.md."):
        assert part in shown
    about = named(widget, "updateAbout").text()
    assert "3 files change. From 4f1c2a9 to 99aa88b." in about
    with qtbot.assertNotEmitted(widget.accepted):
        qtbot.keyClick(widget, Qt.Key.Key_Return)
    with qtbot.waitSignal(widget.accepted):
        press(qtbot, widget, "takeUpdate")


def test_a_diff_is_split_by_file_and_removed_dashes_are_no_file(qapp):
    parts = list(split_diff(DIFF))
    assert [path for path, _ in parts] == ["SKILL.md", "scripts/old.py", "notes/new.md"]
    assert "--- a rule" in parts[0][1]
    assert list(split_diff("")) == []


def test_removing_is_asked_first_and_enter_keeps_the_skill(qtbot, theme):
    for one in (skill("mine"), skill("here", "folder")):
        parent = QWidget()
        qtbot.addWidget(parent)
        box = ask_before_removing(theme, one, parent)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        assert one.name in box.text
        assert ("others who work in it" in box.detail) == (one.origin == "folder")
        box.open()
        with qtbot.assertNotEmitted(box.accepted):
            qtbot.waitFocus(box.cancel)
            qtbot.keyClick(box.cancel, Qt.Key.Key_Return)
        again = ask_before_removing(theme, one, parent)
        again.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        again.open()
        with qtbot.waitSignal(again.accepted):
            remove = next(
                b for b in again.findChildren(QPushButton) if b.text().strip() == "Remove"
            )
            qtbot.mouseClick(remove, Qt.MouseButton.LeftButton)


def test_the_sheet_with_one_field_is_small_and_grows_for_what_was_found(qtbot, theme):
    window = QWidget()
    window.resize(1400, 900)
    qtbot.addWidget(window)
    sheet = AddSkillSheet(theme, window)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    sheet.open()
    small = sheet.size()
    assert small.height() < 360
    sheet.show_fetched(fetched(found("pdf"), found("docs")))
    qtbot.waitUntil(lambda: sheet.height() > small.height() and sheet.width() > small.width())


def test_the_icons_of_the_skills_that_come_with_the_app_tell_them_apart():
    names = ("code-review", "document", "pdf", "release-notes", "skill-creator", "spreadsheet")
    icons = [skill_icon(skill(name)) for name in names]
    assert len(set(icons)) == len(names)
    folder = paths.resource("icons")
    assert all((folder / f"{icon}.svg").is_file() for icon in (*ICONS, *icons))

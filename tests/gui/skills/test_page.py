"""The page of skills, as a person reads, searches and uses it by mouse and by keys."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QListView,
    QWidget,
)

from desktop_agent.core.events import SkillsChanged
from desktop_agent.core.skills import SkillFile
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.skills.file_list import read_shown
from desktop_agent.gui.skills.page import SkillsPage
from desktop_agent.gui.skills.sidebar_section import SkillsSection
from tests import gallery_story as story
from tests.gui.skills.samples import SKILLS, detail, many, skill, trust, untrusted
from tests.helpers.windows import bridge_of
from tests.helpers.windows import part as shown_part

REVIEW, INVOICE, MINUTES, BROKEN = SKILLS[:4]


@pytest.fixture
def page(qtbot, theme):
    widget = SkillsPage(theme)
    qtbot.addWidget(widget)
    widget.resize(1180, 800)
    widget.show()
    qtbot.waitExposed(widget)
    widget.activateWindow()
    widget.pointed.connect(lambda one: widget.detail.show_detail(detail(one)))
    widget.set_skills(SKILLS, has_folder=True)
    widget.enter()
    return widget


def listed(page):
    model = page.list.model()
    rows = [model.index(number).data(ROW_ROLE) for number in range(model.rowCount())]
    return [row.title for row in rows if not row.is_heading]


def named(page, name):
    return page.findChild(QWidget, name)


def words(page):
    labels = page.detail.findChildren(QLabel)
    return "\n".join(label.text() for label in labels if label.isVisible())


def place_of(page, one):
    index = page.list.rows.index_of(one.directory)
    return index, page.list.visualRect(index)


def test_all_skills_are_listed_with_the_first_in_detail(page):
    assert listed(page) == ["review", "invoice", "minutes", "broken", "pdf", "design", "pdf"]
    assert page.detail.skill == REVIEW
    assert page.detail.isVisible()
    assert "Valid" in words(page)
    assert page.detail.findChild(QWidget, "markdownText").toPlainText().strip().startswith("How")


def test_typing_filters_and_escape_clears_then_leaves(page, qtbot):
    qtbot.keyClicks(page.search, "mistakes")
    assert listed(page) == ["review"]
    qtbot.keyClick(page.search, Qt.Key.Key_Escape)
    assert len(listed(page)) == 7
    with qtbot.waitSignal(page.left):
        qtbot.keyClick(page.search, Qt.Key.Key_Escape)


def test_a_search_without_a_match_says_so_and_offers_the_way_back(page, qtbot):
    qtbot.keyClicks(page.search, "zebra")
    assert "No skill matches “zebra”." in [label.text() for label in page.findChildren(QLabel)]
    assert not page.detail.isVisible() or page.detail.skill is None
    qtbot.mouseClick(named(page, "clearSkillFilter"), Qt.MouseButton.LeftButton)
    assert len(listed(page)) == 7


def test_tabs_show_one_origin_by_click_and_by_arrow(page, qtbot):
    mine = named(page, "skillTab_mine")
    assert mine.text() == "Mine  3"
    qtbot.mouseClick(mine, Qt.MouseButton.LeftButton)
    assert listed(page) == ["invoice", "minutes", "broken"]
    mine.setFocus()
    qtbot.keyClick(mine, Qt.Key.Key_Right)
    assert listed(page) == ["pdf"]


def test_without_skills_the_page_says_what_one_is_and_offers_to_add_one(page, qtbot):
    page.set_skills((), has_folder=True)
    assert named(page, "noSkills").isVisible()
    assert not named(page, "filterSkills").isVisible()
    with qtbot.waitSignal(page.add_requested):
        qtbot.mouseClick(named(page, "addFirstSkill"), Qt.MouseButton.LeftButton)


def test_the_box_of_a_row_switches_that_skill_and_nothing_else(page, qtbot):
    _, box = place_of(page, MINUTES)
    right = QPoint(box.right() - 20, box.center().y())
    with qtbot.waitSignal(page.requests.switched) as requested:
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=right)
    assert requested.args == [MINUTES, True, False]
    assert not page.list.rows.rows()[4].skill.is_enabled
    assert page.detail.skill == MINUTES, "what is removed or switched next is of the same skill"


def test_space_switches_delete_removes_and_enter_uses_by_keys_alone(page, qtbot):
    page.list.choose(INVOICE.directory)
    page.list.setFocus()
    with qtbot.waitSignal(page.requests.switched) as requested:
        qtbot.keyClick(page.list, Qt.Key.Key_Space)
    assert requested.args == [INVOICE, False, False]
    with qtbot.waitSignal(page.requests.remove_requested):
        qtbot.keyClick(page.list, Qt.Key.Key_Delete)
    with qtbot.waitSignal(page.requests.used):
        qtbot.keyClick(page.list, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_a_word_typed_in_the_list_is_looked_for_and_its_space_switches_nothing(page, qtbot):
    page.list.choose(INVOICE.directory)
    page.list.setFocus()
    switched = []
    page.requests.switched.connect(lambda *wish: switched.append(wish))
    for letter in "new invoice":
        qtbot.keyClicks(QApplication.focusWidget(), letter)
    assert switched == []
    assert page.search.text() == "new invoice"
    assert page.search.hasFocus()


def test_what_other_apps_bring_can_neither_be_removed_nor_updated(page, qtbot):
    design = SKILLS[5]
    page.choose(design.directory)
    with qtbot.assertNotEmitted(page.requests.remove_requested):
        qtbot.keyClick(page.list, Qt.Key.Key_Delete)
    for name in ("removeSkill", "updateSkill"):
        assert not named(page, name).isVisible()


def test_the_menu_offers_the_switch_for_this_folder_alone(page, qtbot):
    menu = page.list.menu_for(INVOICE)
    texts = {action.text(): action for action in menu.actions()}
    with qtbot.waitSignal(page.requests.switched) as requested:
        texts["Switch off only in this folder"].trigger()
    assert requested.args == [INVOICE, False, True]
    assert texts["Update…"].isEnabled()
    assert not page.list.menu_for(BROKEN).actions()[0].isEnabled()
    menu.deleteLater()


def test_a_skill_that_cannot_be_used_is_shown_with_its_reason(page):
    page.choose(BROKEN.directory)
    assert "The description is missing." in words(page)
    assert not named(page, "useSkill").isEnabled()
    assert not named(page, "skillSwitch").isVisible()
    assert named(page, "removeSkill").isVisible()


def test_detail_says_what_it_needs_where_it_is_from_and_how_often_it_was_used(page, qtbot):
    one = replace(
        INVOICE, allowed_tools="Read", license="MIT", times_used=4, needs=("Install pypdf.",)
    )
    page.set_skills((one,), has_folder=True)
    qtbot.waitUntil(lambda: "It asks for: Read" in words(page))
    for part in ("Install pypdf.", "Licence: MIT", "@ 4f1c2a9", "4 times"):
        assert part in words(page)


def test_a_skill_that_lacks_something_asks_for_it_in_the_message_box(stage, qtbot):
    """Nobody has to know what to type into a terminal; what was typed before stays."""

    async def step(shown, window):
        shown.show(story.empty())
        lacking = next(one for one in SKILLS if one.needs)
        known = SkillsChanged(window.skills.root, SKILLS, trust())
        bridge_of(window).received.emit((known,))
        shown_part(window, "composerText").insertPlainText("Merge them.")
        window.skills.open()
        page = shown_part(window, "skillsPage")
        page.choose(INVOICE.directory)
        assert not shown_part(page, "setUpSkill").isVisible()
        page.choose(lacking.directory)
        qtbot.mouseClick(shown_part(page, "setUpSkill"), Qt.MouseButton.LeftButton)
        asked = shown_part(window, "composerText").toPlainText()
        assert asked.startswith("Merge them.")
        assert lacking.needs[0] in asked
        assert not page.isVisible()

    stage(step)


def test_an_untrusted_skill_is_marked_and_offers_the_look_first(page, qtbot):
    page.set_skills((untrusted("deploy"),), has_folder=True)
    assert "It is not used before you trust this folder." in words(page)
    assert not named(page, "useSkill").isEnabled()
    with qtbot.waitSignal(page.detail.trust_requested):
        qtbot.mouseClick(named(page, "trustSkill"), Qt.MouseButton.LeftButton)


def test_buttons_of_the_detail_are_about_the_skill_that_is_shown(page, qtbot):
    page.choose(INVOICE.directory)
    for name, signal in (
        ("useSkill", page.requests.used),
        ("openSkillFolder", page.requests.folder_opened),
        ("updateSkill", page.requests.update_requested),
        ("removeSkill", page.requests.remove_requested),
    ):
        with qtbot.waitSignal(signal) as requested:
            qtbot.mouseClick(named(page, name), Qt.MouseButton.LeftButton)
        assert requested.args == [INVOICE]
    with qtbot.waitSignal(page.requests.switched) as requested:
        qtbot.mouseClick(named(page, "skillSwitchHere"), Qt.MouseButton.LeftButton)
    assert requested.args == [INVOICE, False, True]


def test_a_file_is_shown_by_click_and_by_enter(page, qtbot):
    files = page.detail.findChild(QListView, "skillFiles")
    files.setFocus()
    with qtbot.waitSignal(page.detail.file_chosen) as requested:
        qtbot.keyClick(files, Qt.Key.Key_Return)
    assert requested.args == [REVIEW, "SKILL.md"]


def test_the_choice_and_the_place_stay_when_the_catalog_changes(page):
    page.choose(MINUTES.directory)
    changed = tuple(replace(one, times_used=one.times_used + 1) for one in SKILLS)
    page.set_skills((skill("aaa", "folder"), *changed), has_folder=True)
    assert page.detail.skill == changed[2]
    assert page.list.current == changed[2]


def test_a_late_answer_about_another_skill_is_passed_over(page):
    page.choose(INVOICE.directory)
    page.detail.show_detail(detail(REVIEW, "# Something else"))
    assert "Something else" not in page.detail.findChild(QWidget, "markdownText").toPlainText()


def test_where_it_is_narrow_a_click_on_a_box_stays_in_the_list(page, qtbot):
    page.resize(600, 700)
    _, row = place_of(page, MINUTES)
    box, words = (QPoint(row.right() - 20, row.center().y()), row.center())
    with qtbot.waitSignal(page.requests.switched):
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=box)
    assert page.list.isVisible(), "several are to be switched, one after the other"
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=words)
    assert page.detail.isVisible()


def test_where_it_is_narrow_list_and_detail_take_turns(page, qtbot):
    page.resize(600, 700)
    assert page.list.isVisible()
    assert not page.detail.isVisible()
    page.list.choose(INVOICE.directory)
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Return)
    assert page.detail.isVisible()
    assert not page.list.isVisible()
    assert page.detail.findChild(QWidget, "markdownText").toPlainText().strip().startswith("How")
    qtbot.keyClick(page.detail, Qt.Key.Key_Escape)
    assert page.list.isVisible()
    with qtbot.waitSignal(page.left):
        qtbot.keyClick(page.list, Qt.Key.Key_Escape)


def test_after_a_skill_was_removed_the_next_key_is_for_the_list(page, qtbot):
    """Space would switch off the one that is shown in its place."""
    page.activateWindow()
    page.choose(INVOICE.directory)
    remove = named(page, "removeSkill")
    remove.setFocus()
    qtbot.waitFocus(remove)
    page.set_skills(tuple(one for one in SKILLS if one is not INVOICE), has_folder=True)
    qtbot.waitFocus(page.list)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
    assert page.list.hasFocus()
    assert page.detail.skill is not INVOICE


def test_a_folder_or_archive_that_is_dropped_is_to_be_added(page, qtbot, tmp_path):
    archive = tmp_path / "pdf.skill"
    archive.write_bytes(b"x")
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(archive))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction | Qt.DropAction.MoveAction,
        dragged,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.ShiftModifier,
    )
    with qtbot.waitSignal(page.dropped) as told:
        page.dropEvent(event)
    assert told.args == [str(archive)]
    assert event.dropAction() == Qt.DropAction.CopyAction


def test_every_control_of_the_page_has_a_name_for_screen_readers(page):
    page.choose(INVOICE.directory)
    controls = [
        *page.findChildren(QAbstractButton),
        *page.findChildren(QListView),
        *page.findChildren(QLineEdit),
    ]
    nameless = [one for one in controls if one.isVisible() and not _name(one)]
    assert not nameless, [one.objectName() or type(one).__name__ for one in nameless]


def _name(widget):
    text = widget.text() if hasattr(widget, "text") else ""
    return widget.accessibleName() or text


def test_tab_goes_from_the_filter_through_tabs_and_list_into_the_detail(page, qtbot):
    page.search.setFocus()
    seen = []
    for _ in range(16):
        qtbot.keyClick(QGuiApplication.focusWindow(), Qt.Key.Key_Tab)
        focused = page.focusWidget()
        if focused is not None and focused.objectName() not in seen:
            seen.append(focused.objectName())
    places = [seen.index(name) for name in ("skillTab_all", "skillList", "useSkill")]
    assert places == sorted(places), seen


def test_the_sidebar_shows_four_skills_those_in_use_first(qtbot, theme):
    section = SkillsSection(theme)
    qtbot.addWidget(section)
    section.set_skills((*SKILLS, skill("often", times_used=9), untrusted("deploy")))
    rows = [section.list.model().index(number) for number in range(4)]
    assert [row.data() for row in rows] == ["often", "review", "invoice", "pdf"]
    assert section.findChild(QLabel, "skillCount").text() == "5 of 8"
    with qtbot.waitSignal(section.opened) as told:
        section.list.clicked.emit(rows[1])
    assert told.args == [REVIEW.directory]


def test_the_sidebars_list_folds_to_its_heading_where_there_is_little_room(qtbot, theme):
    sidebar = QWidget()
    qtbot.addWidget(sidebar)
    section = SkillsSection(theme, sidebar)
    sidebar.resize(260, 900)
    sidebar.show()
    section.set_skills(SKILLS)
    assert section.list.isVisible()
    sidebar.resize(260, 500)
    assert not section.list.isVisible()
    sidebar.resize(260, 900)
    assert section.list.isVisible()
    section.set_skills(())
    assert section.findChild(QLabel, "skillCount").text() == ""


def test_with_large_text_the_sidebars_list_is_there_while_there_is_room(qtbot, theme):
    sidebar = QWidget()
    qtbot.addWidget(sidebar)
    section = SkillsSection(theme, sidebar)
    sidebar.resize(396, 868)
    sidebar.show()
    section.set_skills(SKILLS)
    try:
        theme.configure("light", 150, True)
        assert section.list.isVisible()
    finally:
        theme.configure("light", 100, True)


def test_a_thousand_skills_are_listed_and_searched_like_seven(page, qtbot):
    page.set_skills(many(1000), has_folder=True)
    assert len(listed(page)) == 1000
    page.search.setText("number 77")
    assert set(listed(page)) == {f"skill-{n}" for n in range(1000) if "77" in str(n)}


def test_reading_a_file_never_leaves_the_skill_nor_waits_nor_shows_binaries(tmp_path, qapp):
    import os

    inside = tmp_path / "skill"
    inside.mkdir()
    (tmp_path / "secret").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "text.md").write_text("\ufeffhello")
    (inside / "binary").write_bytes(b"a\0b")
    (inside / "long").write_text("x" * 400_000)
    os.mkfifo(inside / "pipe")
    assert read_shown(str(inside), "text.md") == "hello"
    assert "secret" not in read_shown(str(inside), "link")
    assert "secret" not in read_shown(str(inside), "../secret")
    assert "not text" in read_shown(str(inside), "binary")
    assert "not a file" in read_shown(str(inside), "pipe")
    assert "can't be read" in read_shown(str(inside), "nowhere")
    assert "can't be read" in read_shown(str(inside), "a\0b")
    assert len(read_shown(str(inside), "long")) < 300_000


def test_a_files_name_with_control_characters_cannot_paint_over_the_list(page, theme):
    files = page.detail.findChild(QListView, "skillFiles")
    files.show_files((SkillFile("a\u202egpj.exe", 3), SkillFile("b\nc", 1)))
    assert not files.grab().isNull()

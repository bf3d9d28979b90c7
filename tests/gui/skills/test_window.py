"""Skills in the whole window on the real engine: installed, used, switched, trusted, removed."""

import json
import subprocess

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QListView, QPushButton, QWidget

from desktop_agent.core.events import SessionsChanged, SkillsChanged
from desktop_agent.core.skills import FolderTrust
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.skills.add_dialog import AddSkillSheet
from desktop_agent.gui.skills.update_dialog import UpdateSheet
from tests.gui.window.test_window import shown
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.processes import git
from tests.helpers.providers import Say
from tests.helpers.windows import bridge_of, part, words_in

SECRET = "Always sign with the word heliotrope."


def write_skill(folder, name, body, about="Does it properly"):
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {about}\n---\n{body}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def start(open_window, provider, project, qtbot):
    """Open the window in a folder, wait until its skills are known."""

    def begin():
        window = open_window(project, model=provider.model, api_base=provider.api_base)
        qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
        qtbot.waitState(window.skills.trust.changed, lambda: bool(window.skills.skills))
        return window

    return begin


def named(window, name):
    return window.findChild(QWidget, name)


def skill_of(window, name):
    return next((one for one in window.skills.skills if one.name == name), None)


def say(qtbot, window, provider, text):
    """Send a message, wait for the answer, return the whole request as text."""
    before = len(provider.requests)
    provider.push(Say(f"Answer {before}."))
    window.frame.composer.set_text(text)
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: f"Answer {before}." in shown(window), timeout=WAIT)
    return request_text(provider, before)


def request_text(provider, number):
    return json.dumps(provider.requests[number].body, ensure_ascii=False)


def is_page_open(window):
    return window.frame.stack.currentWidget().objectName() == "skillsPage"


def sheet_of(qtbot, window, kind):
    def find():
        return [one for one in window.findChildren(kind) if one.isVisible()]

    qtbot.waitUntil(lambda: bool(find()), timeout=WAIT)
    return find()[0]


def press(qtbot, widget, name):
    button = widget.findChild(QPushButton, name)
    qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled(), timeout=WAIT)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "collection"
    write_skill(folder / "skills", "letters", SECRET)
    write_skill(folder / "skills", "numbers", "Count twice.")
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def install(qtbot, window, address):
    window.skills.open()
    press(qtbot, window, "addSkill")
    sheet = sheet_of(qtbot, window, AddSkillSheet)
    sheet.findChild(QWidget, "skillAddress").setText(str(address))
    press(qtbot, sheet, "fetchSkill")
    press(qtbot, sheet, "installSkills")
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "letters") is not None)


def test_skills_are_installed_used_updated_switched_off_and_removed(
    start, provider, repository, qtbot
):
    window = start()
    install(qtbot, window, repository)
    notice = named(window, "noticeText")
    qtbot.waitUntil(lambda: "2 skills added" in notice.text(), timeout=WAIT)
    press(qtbot, window, "noticeAction")
    assert not is_page_open(window)
    window.frame.composer.box.remove_skill("numbers")
    sent = say(qtbot, window, provider, "Write to Grace")
    assert "heliotrope" in sent
    assert "Count twice" not in sent
    assert "letters" in shown(window)
    assert "heliotrope" not in shown(window)
    update(qtbot, window, repository)
    window.frame.composer.box.add_skill("letters")
    assert "vermilion" in say(qtbot, window, provider, "Write to Joan")
    switch_off(qtbot, window)
    last = json.dumps(provider.requests[-1].body)
    assert "<name>letters</name>" in last
    assert "<name>letters</name>" not in say(qtbot, window, provider, "And to Mary")
    remove(qtbot, window)


def update(qtbot, window, repository):
    write_skill(repository / "skills", "letters", "Sign with vermilion.")
    git(repository, "commit", "-q", "-a", "-m", "two")
    window.skills.open(skill_of(window, "letters").directory)
    press(qtbot, window, "updateSkill")
    sheet = sheet_of(qtbot, window, UpdateSheet)
    old = skill_of(window, "letters").commit
    press(qtbot, sheet, "takeUpdate")
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "letters").commit != old)
    window.full.leave()


def switch_off(qtbot, window):
    window.skills.open(skill_of(window, "letters").directory)
    named(window, "skillSwitch").click()
    qtbot.waitState(window.skills.trust.changed, lambda: not skill_of(window, "letters").is_enabled)
    window.full.leave()


def remove(qtbot, window):
    window.skills.open(skill_of(window, "letters").directory)
    press(qtbot, window, "removeSkill")

    # A dialog that was there before may not be gone yet.
    def find():
        dialogs = [one for one in window.findChildren(QDialog) if one.isVisible()]
        buttons = [button for one in dialogs for button in one.findChildren(QPushButton)]
        return [button for button in buttons if button.text().strip() == "Remove"]

    qtbot.waitUntil(lambda: bool(find()), timeout=WAIT)
    qtbot.mouseClick(find()[0], Qt.MouseButton.LeftButton)
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "letters") is None)
    assert skill_of(window, "numbers") is not None


def test_a_removed_skill_is_brought_back_by_the_word_that_it_is_gone(start, repository, qtbot):
    window = start()
    install(qtbot, window, repository)
    before = skill_of(window, "letters")
    window.skills.open(before.directory)
    remove(qtbot, window)
    notice = named(window, "noticeText")
    qtbot.waitUntil(lambda: notice.text() == "letters was removed.", timeout=WAIT)
    assert named(window, "noticeAction").text() == "Undo"
    press(qtbot, window, "noticeAction")
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "letters") == before)
    qtbot.waitUntil(lambda: notice.text() == "letters is back.", timeout=WAIT)
    assert not named(window, "noticeAction").isVisible()


def test_a_whole_collection_is_named_in_short_and_not_put_into_one_message(start, qtbot):
    window = start()
    window.skills.library.installed.emit(tuple(f"skill-{number}" for number in range(200)))
    notice = named(window, "noticeText")
    assert notice.text() == "200 skills added: skill-0, skill-1, skill-2 and 197 more."
    assert not named(window, "noticeAction").isVisible()


def test_nothing_of_an_untrusted_folder_reaches_a_request_before_the_person_trusts_it(
    start, provider, project, qtbot
):
    write_skill(project / ".agents" / "skills", "own-ways", SECRET, "Knows the ways here")
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    first = say(qtbot, window, provider, "Hello")
    for word in ("own-ways", "Knows the ways", "marmalade"):
        assert word not in first
    press(qtbot, window, "trustReview")
    sheet = part(window, "trustSheet")
    listed = sheet.findChild(QListView, "providedList").model()
    qtbot.waitUntil(lambda: listed.rowCount() == 2, timeout=WAIT)
    text = sheet.findChild(QWidget, "outputView")
    qtbot.waitUntil(lambda: "heliotrope" in text.toPlainText(), timeout=WAIT)
    press(qtbot, sheet, "trustSheetTrust")
    qtbot.waitState(window.skills.trust.changed, lambda: not banner.isVisible())
    second = say(qtbot, window, provider, "Again")
    assert "Knows the ways" in second
    assert "marmalade" in second
    (project / "AGENTS.md").write_text("Speak of custard.")
    bridge_of(window).engine.rescan_skills()
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    third = say(qtbot, window, provider, "And again")
    assert "custard" not in third


def test_what_changed_after_it_was_shown_is_not_trusted_by_the_same_click(start, project, qtbot):
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    trust = window.skills.trust
    seen = trust.trust.digest
    (project / "AGENTS.md").write_text("Speak of custard.")
    bridge_of(window).engine.rescan_skills()
    qtbot.waitState(window.skills.trust.changed, lambda: trust.trust.digest != seen)
    press(qtbot, window, "trustFolder")
    meanwhile = "This folder changed meanwhile; review it again."
    qtbot.waitState(window.skills.trust.changed, lambda: banner.accessibleName() == meanwhile)
    assert not trust.trust.is_trusted
    press(qtbot, window, "trustReview")
    press(qtbot, part(window, "trustSheet"), "trustSheetTrust")
    qtbot.waitState(window.skills.trust.changed, lambda: trust.trust.is_trusted)
    qtbot.waitState(window.skills.trust.changed, lambda: not banner.isVisible())


def test_what_changes_under_the_open_sheet_is_looked_at_again(start, project, qtbot):
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    qtbot.waitState(window.skills.trust.changed, named(window, "trustBanner").isVisible)
    press(qtbot, window, "trustReview")
    sheet = part(window, "trustSheet")
    text = sheet.findChild(QWidget, "outputView")
    qtbot.waitUntil(lambda: "marmalade" in text.toPlainText(), timeout=WAIT)
    (project / "AGENTS.md").write_text("Speak of custard.")
    bridge_of(window).engine.rescan_skills()
    press(qtbot, sheet, "trustSheetAgain")
    qtbot.waitUntil(lambda: "custard" in text.toPlainText(), timeout=WAIT)
    assert "marmalade" not in text.toPlainText(), "what is trusted is not what is shown"
    press(qtbot, sheet, "trustSheetTrust")
    qtbot.waitState(window.skills.trust.changed, lambda: window.skills.trust.trust.is_trusted)


@pytest.mark.parametrize("moves", [False, True])
def test_the_word_that_a_skill_was_added_goes_by_itself_or_with_another_folder(
    start, tmp_path, qtbot, moves
):
    window = start()
    notice = named(window, "noticeText")
    window.skills.library.installed.emit(("letters",))
    assert notice.isVisible()
    if moves:
        window.flow.open_folder(str(tmp_path))
    else:
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        clocks = window.frame.notices.findChildren(QTimer, options=direct)
        (news,) = [one for one in clocks if one.isActive()]
        news.timeout.emit()
    qtbot.waitUntil(lambda: not notice.isVisible(), timeout=WAIT)


@pytest.mark.parametrize("name", ["trustFolder", "ignoreFolder"])
def test_what_is_typed_after_the_banner_was_answered_goes_to_the_message_box(
    start, project, qtbot, name
):
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    named(window, name).setFocus()
    qtbot.keyClick(named(window, name), Qt.Key.Key_Space)
    qtbot.waitState(window.skills.trust.changed, lambda: not banner.isVisible())
    assert window.frame.composer.isAncestorOf(QApplication.focusWidget())


def test_a_skill_opened_from_the_sidebar_puts_the_focus_into_the_filter(start, qtbot):
    window = start()
    window.skills.open(window.skills.skills[0].directory)
    assert QApplication.focusWidget() is named(window, "filterSkills")


def test_ignoring_a_folder_can_be_taken_back_in_the_folder_picker(start, project, qtbot):
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    press(qtbot, window, "ignoreFolder")
    qtbot.waitState(window.skills.trust.changed, lambda: not banner.isVisible())
    window.popups.open_picker()
    press(qtbot, window, "forgetTrust")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    assert "AGENTS.md" in words_in(banner)
    assert named(window, "ignoreFolder").isEnabled()


def test_the_page_stays_while_the_agent_answers_and_leads_back_to_the_answer(
    start, provider, qtbot
):
    window = start()
    say(qtbot, window, provider, "Hello")
    provider.push(Say("Late words."))
    window.frame.composer.set_text("More")
    window.skills.open()
    window.flow.tell(bridge_of(window).engine.resume)
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    part(window, "sendButton").click()
    qtbot.waitUntil(lambda: "Late words." in shown(window), timeout=WAIT)
    assert is_page_open(window)
    assert not window.frame.header.isVisible()
    assert not window.frame.composer.isVisible()
    window.full.leave()
    assert window.frame.stack.currentWidget() is window.pages.page(window.flow.agent)
    assert window.frame.header.isVisible()
    assert window.frame.composer.isVisible()


def test_the_page_opens_and_closes_by_keys_and_choosing_a_session_leaves_it(start, provider, qtbot):
    window = start()
    say(qtbot, window, provider, "Hello")
    window.commands.skills.trigger()
    assert is_page_open(window)
    assert QApplication.focusWidget() is named(window, "filterSkills")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert not is_page_open(window)
    for leave in (
        lambda: window.frame.sidebar.sessions.session_chosen.emit(window.flow.current),
        lambda: window.commands.composer.trigger(),
        lambda: window.commands.find.trigger(),
        lambda: window.commands.new.trigger(),
    ):
        window.skills.open()
        leave()
        qtbot.waitUntil(lambda: not is_page_open(window), timeout=WAIT)


def test_a_failure_of_the_library_is_said_where_the_person_looks(start, qtbot, tmp_path):
    window = start()
    window.skills.library.add(str(tmp_path / "nowhere"))
    sheet = sheet_of(qtbot, window, AddSkillSheet)
    error = sheet.findChild(QWidget, "addSkillError")
    qtbot.waitUntil(error.isVisible, timeout=WAIT)
    assert "nowhere" in error.text()
    (tmp_path / "empty").mkdir()
    sheet.begin(str(tmp_path / "empty"))
    qtbot.waitUntil(lambda: error.isVisible() and "nowhere" not in error.text(), timeout=WAIT)
    sheet.reject()


def test_the_folders_own_skills_follow_the_session_that_is_shown(start, project, tmp_path, qtbot):
    write_skill(project / ".agents" / "skills", "own-ways", SECRET)
    window = start()
    assert skill_of(window, "own-ways") is not None
    other = tmp_path / "other"
    other.mkdir()
    window.flow.open_folder(str(other))
    qtbot.waitState(window.skills.trust.changed, lambda: window.skills.root == str(other.resolve()))
    qtbot.waitState(window.skills.trust.changed, lambda: bool(window.skills.skills))
    assert skill_of(window, "own-ways") is None
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, lambda: banner is None or not banner.isVisible())


def test_an_unused_session_that_moves_asks_about_its_new_folder_whatever_is_heard_first(
    start, tmp_path, qtbot
):
    window = start()
    other = str(tmp_path / "other")
    asking = FolderTrust(other, brings=("1 skill",))
    bridge_of(window).received.emit((SkillsChanged(other, (), asking),))
    assert named(window, "trustBanner") is None
    moved = replace(window.flow.info, workspace=Workspace(other))
    bridge_of(window).received.emit((SessionsChanged((moved,)),))
    assert named(window, "trustBanner").isVisible()
    assert window.skills.trust.trust == asking


def test_trust_is_given_to_the_folder_that_is_shown_and_to_no_other(
    start, project, tmp_path, qtbot
):
    (project / "AGENTS.md").write_text("Speak of marmalade.")
    window = start()
    banner = named(window, "trustBanner")
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    other = tmp_path / "other"
    write_skill(other / ".agents" / "skills", "other-ways", SECRET)
    window.flow.open_folder(str(other))
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "other-ways") is not None)
    # The banner speaks of this folder now, and no more of the last one.
    qtbot.waitState(window.skills.trust.changed, lambda: "1 skill" in banner.accessibleName())
    press(qtbot, window, "trustFolder")
    qtbot.waitState(window.skills.trust.changed, lambda: skill_of(window, "other-ways").is_trusted)
    notice = named(window, "noticeText")
    qtbot.waitUntil(notice.isVisible, timeout=WAIT)
    assert notice.text() == "other is trusted. You can take it back in the folder list."
    window.flow.open_folder(str(project))
    qtbot.waitState(window.skills.trust.changed, lambda: window.skills.root == str(project))
    qtbot.waitState(window.skills.trust.changed, banner.isVisible)
    assert "AGENTS.md" in banner.accessibleName()

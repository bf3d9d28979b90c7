"""Places: the person alone adds them, hears what a test found, and takes them away."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit

from desktop_agent import __version__
from desktop_agent.core.network.places import Place, PlaceCheck
from desktop_agent.core.settings import Settings
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.settings.rows import ChoiceBox

BOX = Place("box", "ssh", "me@box")
POD = Place("trainer", "pod", "trainer-0")
FINE = PlaceCheck(version=__version__, system="Linux x86_64", cpus=32, git="2.43")


@pytest.fixture
def dialog(qtbot, theme):
    one = SettingsDialog(theme, Settings(places=(POD,)))
    qtbot.addWidget(one)
    one.open_page("places")
    qtbot.waitExposed(one)
    return one


def said(dialog):
    """Return what lines of results say, those that are shown."""
    labels = dialog.findChildren(QLabel, "checkWords")
    return [label.text() for label in labels if label.isVisible()]


def fill(qtbot, dialog, name, kind, target):
    box = dialog.findChild(ChoiceBox, "placeKind")
    box.setCurrentIndex(box.findData(kind))
    dialog.findChild(QLineEdit, "placeName").setText(name)
    field = dialog.findChild(QLineEdit, "placeTarget")
    field.setText(target)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def press(dialog, name):
    dialog.findChild(QAbstractButton, name).click()


def shown(dialog, name):
    """Return the button of this name that is shown, or None."""
    found = dialog.findChildren(QAbstractButton, name)
    return next((one for one in found if one.isVisible()), None)


def test_a_place_is_tested_before_it_is_added(qtbot, dialog):
    with qtbot.waitSignal(dialog.places.check_requested) as hit:
        fill(qtbot, dialog, "box", "ssh", "me@box")
    assert hit.args == [BOX]
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.places.set_result(BOX, FINE)
    assert hit.args[0].places == (POD, BOX)
    assert "box was saved." in said(dialog)


def test_what_can_not_be_reached_is_added_only_if_the_person_insists(qtbot, dialog):
    fill(qtbot, dialog, "box", "ssh", "me@box")
    refused = PlaceCheck("refused", "me@box: Permission denied (publickey).")
    with qtbot.assertNotEmitted(dialog.settings_changed):
        dialog.places.set_result(BOX, refused)
    assert "refused your key" in said(dialog)[0]
    assert "Permission denied (publickey)." in said(dialog)[0]
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        press(dialog.findChild(QLineEdit, "placeName").parentWidget().parentWidget(), "saveAnyway")
    assert hit.args[0].places == (POD, BOX)


@pytest.mark.parametrize(
    ("name", "kind", "target", "words"),
    [
        ("two words", "ssh", "box", "one word"),
        ("Trainer", "ssh", "box", "called Trainer already"),
        ("box", "ssh", "-oProxyCommand=evil", "can't be read"),
        ("box", "command", "ssh 'box", "can't be read"),
        ("box", "pod", "", "missing"),
    ],
)
def test_what_can_be_no_place_is_said_at_once(qtbot, dialog, name, kind, target, words):
    with qtbot.assertNotEmitted(dialog.places.check_requested):
        fill(qtbot, dialog, name, kind, target)
    assert words in said(dialog)[0]


def test_another_name_needs_no_test_and_another_target_does(qtbot, dialog):
    press(dialog, "editPlace")
    with (
        qtbot.assertNotEmitted(dialog.places.check_requested),
        qtbot.waitSignal(dialog.settings_changed) as hit,
    ):
        fill(qtbot, dialog, "gpu", "pod", "trainer-0")
    assert hit.args[0].places == (Place("gpu", "pod", "trainer-0"),)
    press(dialog, "editPlace")
    with qtbot.waitSignal(dialog.places.check_requested) as hit:
        fill(qtbot, dialog, "gpu", "pod", "trainer-1")
    assert hit.args == [Place("gpu", "pod", "trainer-1")]


def test_a_node_of_a_cluster_is_tested_as_one_and_shown_as_one(qtbot, dialog):
    box = dialog.findChild(QAbstractButton, "placeHasRay")
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Space)
    with qtbot.waitSignal(dialog.places.check_requested) as hit:
        fill(qtbot, dialog, "head", "ssh", "me@head")
    head = Place("head", "ssh", "me@head", has_ray=True)
    assert hit.args == [head]
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.places.set_result(head, FINE)
    assert hit.args[0].places == (POD, head)
    assert not box.isChecked(), "the next place is a new one"
    assert [one.text() for one in dialog.findChildren(QLabel) if one.text().endswith(" · Ray")]
    edit = next(
        one for one in dialog.findChildren(QAbstractButton, "editPlace")
        if "head" in one.accessibleName()
    )  # fmt: skip
    edit.click()
    assert box.isChecked()
    box.click()
    with qtbot.waitSignal(dialog.places.check_requested) as hit:
        fill(qtbot, dialog, "head", "ssh", "me@head")
    assert hit.args == [Place("head", "ssh", "me@head")]


def test_a_change_that_is_given_up_leaves_the_place_and_the_form_empty(qtbot, dialog):
    press(dialog, "editPlace")
    assert dialog.findChild(QLineEdit, "placeTarget").text() == "trainer-0"
    with qtbot.assertNotEmitted(dialog.settings_changed):
        press(dialog, "cancelPlace")
    assert dialog.findChild(QLineEdit, "placeTarget").text() == ""
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        fill(qtbot, dialog, "box", "ssh", "me@box")
        dialog.places.set_result(BOX, FINE)
    assert hit.args[0].places == (POD, BOX)


def test_a_place_is_removed(qtbot, dialog):
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        press(dialog, "removePlace")
    assert hit.args[0].places == ()
    qtbot.waitUntil(lambda: dialog.findChild(QAbstractButton, "testPlace") is None)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (FINE, "32 processors"),
        (PlaceCheck(version="1", cpus=1), "Git is not installed there"),
        (PlaceCheck(git="2", no_sandbox="bubblewrap is missing."), "are not contained there"),
        (PlaceCheck("unreachable", "no route to host"), "can't be reached: no route to host"),
        (PlaceCheck("unknown_key"), "host key"),
        (PlaceCheck("missing", "not found"), f"“Install” puts this version, {__version__},"),
        (PlaceCheck("not_installed", "no pip"), "could not be installed there: no pip"),
        (PlaceCheck("version", version="0.1"), f"(0.1). Install this one there: {__version__}"),
        (PlaceCheck("version", "usage: …"), f"Install this one there: {__version__}"),
        (PlaceCheck("absent", "No such container"), "does not run: No such container"),
        (PlaceCheck("no_program", "docker"), "“docker” is not installed on this computer"),
        (PlaceCheck("no_cluster", "its token is another"), "cluster: its token is another"),
        (PlaceCheck(git="2", cpus=4, cluster="Ray 2.60.0, 3 nodes"), "Ray 2.60.0, 3 nodes"),
        (PlaceCheck("silent"), "did not answer"),
        (PlaceCheck("other", "much else " * 28 + "and why"), "else and why"),
        (PlaceCheck("other", "<b>{version}</b> {said}"), "<b>{version}</b> {said}"),
    ],
)
def test_a_test_says_what_is_there_or_what_to_do(qtbot, dialog, check, words):
    with qtbot.waitSignal(dialog.places.check_requested) as hit:
        press(dialog, "testPlace")
    assert hit.args == [POD]
    assert said(dialog) == ["Reaching trainer…"]
    dialog.places.set_result(POD, check)
    assert words in said(dialog)[0]
    label = next(one for one in dialog.findChildren(QLabel, "checkWords") if one.isVisible())
    assert label.accessibleName() == label.text()


@pytest.mark.parametrize("problem", ["missing", "version", "not_installed"])
def test_a_place_without_this_app_gets_it_by_a_button(qtbot, dialog, problem):
    press(dialog, "testPlace")
    dialog.places.set_result(POD, PlaceCheck(problem))
    install = shown(dialog, "mendWhatFailed")
    assert install.text() == "Install"
    with qtbot.waitSignal(dialog.places.install_requested) as hit:
        qtbot.keyClick(install, Qt.Key.Key_Return)
    assert hit.args == [POD]
    assert said(dialog)[0].startswith(f"Installing Desktop Agent {__version__} on trainer.")
    assert shown(dialog, "mendWhatFailed") is None, "it is under way"
    dialog.places.set_result(POD, FINE)
    assert "32 processors" in said(dialog)[0]


def test_a_new_place_is_added_once_the_app_is_installed_there(qtbot, dialog):
    fill(qtbot, dialog, "box", "ssh", "me@box")
    dialog.places.set_result(BOX, PlaceCheck("missing"))
    with qtbot.waitSignal(dialog.places.install_requested) as hit:
        shown(dialog, "mendWhatFailed").click()
    assert hit.args == [BOX]
    with qtbot.waitSignal(dialog.settings_changed) as hit:
        dialog.places.set_result(BOX, FINE)
    assert hit.args[0].places == (POD, BOX)


def test_nothing_is_installed_where_that_does_not_help(qtbot, dialog):
    fill(qtbot, dialog, "box", "ssh", "me@box")
    dialog.places.set_result(BOX, PlaceCheck("refused"))
    assert shown(dialog, "mendWhatFailed") is None
    fill(qtbot, dialog, "box", "command", "ssh box /opt/agent")
    dialog.places.set_result(Place("box", "command", "ssh box /opt/agent"), PlaceCheck("missing"))
    assert "give its full path" in said(dialog)[0]
    assert shown(dialog, "mendWhatFailed") is None


def test_an_answer_about_a_place_that_was_removed_meanwhile_is_dropped(dialog):
    press(dialog, "testPlace")
    press(dialog, "removePlace")
    dialog.places.set_result(POD, FINE)
    assert not [words for words in said(dialog) if "processors" in words]


def test_what_is_to_be_changed_is_in_sight_below_a_long_list(qtbot, dialog):
    many = tuple(Place(f"box-{number}", "ssh", "box") for number in range(30))
    dialog.set_settings(Settings(places=many))
    save = dialog.findChild(QAbstractButton, "testPlaceForm")
    qtbot.waitUntil(lambda: save.visibleRegion().isEmpty())
    press(dialog, "editPlace")
    qtbot.waitUntil(lambda: not save.visibleRegion().isEmpty())

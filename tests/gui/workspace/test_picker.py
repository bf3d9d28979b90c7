"""A person sees which folder is open, and is warned before giving away too much."""

import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QMenu,
    QPushButton,
    QToolButton,
    QWidget,
)

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.frame.sidebar import WorkspaceButton
from desktop_agent.gui.kit.folders import (
    folder_warning,
    git_branch,
    is_cloud_synced,
    reads_as_path,
    real_folder,
    short_path,
)
from desktop_agent.gui.workspace.picker import WorkspacePicker
from tests.helpers.windows import words_in


@pytest.fixture
def window(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(900, 700)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget


@pytest.fixture
def picker(window, theme):
    anchor = QWidget(window)
    anchor.setGeometry(10, 10, 200, 40)
    anchor.show()
    widget = WorkspacePicker(theme, window)
    widget.open_below(anchor)
    return widget


def rows(picker):
    model = picker.list.model()
    return [
        model.index(n, 0).data(Qt.ItemDataRole.AccessibleTextRole) for n in range(model.rowCount())
    ]


def test_paths_of_windows_are_known_as_such_so_that_no_window_scrambles_them():
    for path in ("~\\עברית\\x", "C:\\x", "\\\\server\\share\\עברית", "~/עברית", "/x"):
        assert reads_as_path(path)
    for name in ("עברית", "notes", "a\\b"):
        assert not reads_as_path(name)


def test_the_branch_of_a_repository_is_read_without_git(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "feature/x", str(tmp_path)], check=True)
    assert git_branch(str(tmp_path)) == "feature/x"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert git_branch(str(tmp_path)) == "01234567"
    assert git_branch(str(tmp_path / "nowhere")) == ""


def test_the_branch_of_a_worktree_is_found_by_its_pointer(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path / 'real'}\n")
    assert git_branch(str(tmp_path / "tree")) == "side"


def test_home_disk_and_desktop_are_warned_about_and_a_project_is_not(own_home):
    for risky in (Path("/"), own_home, own_home.parent, own_home / "Desktop"):
        assert folder_warning(str(risky))
    assert folder_warning(str(own_home / "code" / "project")) == ""


@pytest.mark.parametrize("name", ["Dropbox", "OneDrive - Work", "Google Drive", "Nextcloud"])
def test_a_folder_in_the_cloud_is_known(name):
    assert is_cloud_synced(Path("/home/ada") / name / "project")
    assert not is_cloud_synced(Path("/home/ada/boxes/project"))


def test_the_home_folder_is_written_as_a_tilde(own_home):
    assert short_path(str(own_home / "a")) == "~/a"
    assert short_path("/srv/a") == "/srv/a"


def test_the_button_names_folder_place_and_branch(qtbot, theme, tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    button = WorkspaceButton(theme)
    qtbot.addWidget(button)
    button.set_workspace(Workspace(str(tmp_path)))
    assert tmp_path.name in button.accessibleName()
    assert "main" in button.accessibleName()


def test_recent_folders_show_running_and_missing_ones(picker, tmp_path):
    picker.set_state(Workspace(str(tmp_path)), (str(tmp_path), "/gone/away"), {str(tmp_path): 1})
    assert rows(picker)[0].endswith("1 running")
    assert rows(picker)[1].endswith("missing")


def test_choosing_a_plain_folder_takes_it_at_once(picker, qtbot, tmp_path):
    picker.set_state(None, (str(tmp_path),), {})
    with qtbot.waitSignal(picker.folder_chosen) as chosen:
        picker.search.setText(tmp_path.name)
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert chosen.args == [real_folder(str(tmp_path))]
    assert not picker.isVisible()


def test_the_home_folder_is_taken_only_after_a_second_yes(picker, qtbot, own_home):
    picker.set_state(None, (), {})
    with qtbot.assertNotEmitted(picker.folder_chosen):
        assert not picker.offer(str(own_home))
    accept = picker.findChild(QPushButton, "folderWarningAccept")
    assert accept.isVisible()
    with qtbot.waitSignal(picker.folder_chosen) as chosen:
        qtbot.mouseClick(accept, Qt.MouseButton.LeftButton)
    assert chosen.args == [str(own_home.resolve())]


def test_a_missing_folder_can_be_removed_from_the_list(picker, qtbot):
    picker.set_state(None, ("/gone/away",), {})
    picker.offer("/gone/away")
    with qtbot.waitSignal(picker.recent_removed) as removed:
        qtbot.mouseClick(
            picker.findChild(QPushButton, "folderWarningOther"), Qt.MouseButton.LeftButton
        )
    assert removed.args == ["/gone/away"]


def test_the_menu_of_a_folder_concerns_it_when_the_list_has_changed_below_it(picker, qtbot):
    picker.set_state(None, ("/gone/one", "/gone/two"), {})
    place = picker.list.visualRect(picker.list.model().index_of("/gone/two")).center()
    picker.list.customContextMenuRequested.emit(place)
    menu = picker.findChild(QMenu)
    picker.set_state(None, ("/new", "/gone/one", "/gone/two"), {})
    with qtbot.waitSignal(picker.recent_removed) as removed:
        menu.actions()[1].trigger()
    assert removed.args == ["/gone/two"]
    menu.close()


def test_an_extra_folder_starts_readable_and_can_be_made_writable(picker, qtbot, tmp_path):
    extra = tmp_path / "extra"
    extra.mkdir()
    picker.set_state(Workspace(str(tmp_path / "work")), (), {})
    with qtbot.waitSignal(picker.extra.workspace_changed) as changed:
        picker.extra.add(str(extra))
    assert changed.args[0].readable == (str(extra),)
    right = picker.findChild(QComboBox, "extraFolderRight")
    with qtbot.waitSignal(picker.extra.workspace_changed) as changed:
        right.setCurrentIndex(1)
        right.activated.emit(1)
    assert changed.args[0].writable == (str(extra),)
    assert changed.args[0].readable == ()

    def buttons():
        found = picker.findChildren(QToolButton, "removeExtraFolder")
        return [button for button in found if button.isVisible()]

    qtbot.waitUntil(lambda: len(buttons()) == 1)
    with qtbot.waitSignal(picker.extra.workspace_changed) as changed:
        buttons()[0].click()
    assert changed.args[0].writable == ()


def test_esc_closes_the_picker_and_gives_the_focus_back(window, theme, qtbot):
    window.activateWindow()
    before = QPushButton("Before", window)
    before.show()
    before.setFocus()
    picker = WorkspacePicker(theme, window)
    picker.open_below(before)
    picker.search.setFocus()
    qtbot.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()
    assert window.focusWidget() is before


def test_a_click_beside_the_picker_closes_it(window, picker, qtbot):
    assert picker.isVisible()
    qtbot.mouseClick(window, Qt.MouseButton.LeftButton, pos=window.rect().bottomRight() / 1.02)
    assert not picker.isVisible()


def test_a_typed_path_of_a_folder_says_what_enter_does(picker, qtbot, tmp_path):
    (tmp_path / "deep").mkdir()
    picker.set_state(None, ("/gone/away",), {})
    picker.search.setText(str(tmp_path / "dee"))
    assert "No recent folder" in words_in(picker)
    picker.search.setText(str(tmp_path / "deep"))
    assert "Enter opens this folder" in words_in(picker)
    with qtbot.waitSignal(picker.folder_chosen) as chosen:
        qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert chosen.args == [real_folder(str(tmp_path / "deep"))]
    assert picker.search.text() == ""
    assert "Recent" in words_in(picker).splitlines()


def test_the_rows_have_room_again_when_the_filter_is_cleared(picker, qtbot, tmp_path):
    folders = [tmp_path / name for name in ("trusty", "shop", "garden")]
    for folder in folders:
        folder.mkdir()
    picker.set_state(Workspace(str(folders[1])), tuple(map(str, folders)), {})
    picker.search.setText("trusty")
    QApplication.processEvents()
    small = picker.height()
    picker.search.clear()
    grown = picker.height()
    QApplication.processEvents()
    assert picker.height() == grown > small
    assert picker.list.height() > 2 * picker.list.sizeHintForRow(0)
    browse = picker.findChild(QPushButton, "openFolder")
    assert picker.list.geometry().bottom() < browse.y()
    assert picker.extra.geometry().bottom() <= picker.extra.parentWidget().rect().bottom()


def test_a_machine_that_is_the_sandbox_is_switched_by_keys_for_an_open_session_alone(picker, qtbot):
    box = picker.findChild(QCheckBox, "machineSandbox")
    assert not box.isVisible()
    picker.machine.set_state(False)
    assert box.isVisible()
    assert not box.isChecked()
    assert "may change everything" in box.accessibleDescription()
    with qtbot.waitSignal(picker.machine.toggled) as hit:
        qtbot.keyClick(box, Qt.Key.Key_Space)
    assert hit.args == [True]
    picker.machine.set_state(None)
    assert not box.isVisible()

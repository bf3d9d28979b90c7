"""What is opened with the person's own programs: what is theirs to see, and nothing else."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from desktop_agent import paths
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.links import dropped_folder, open_path


class _Programs(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(Path(url.toLocalFile()))


@pytest.fixture
def programs(qapp):
    """The person's programs, which only note what they were given."""
    one = _Programs()
    QDesktopServices.setUrlHandler("file", one, "open")
    yield one
    QDesktopServices.unsetUrlHandler("file")


def test_the_whole_output_of_a_command_opens_and_nothing_else_of_the_app(programs, tmp_path):
    output = paths.data_dir().resolve() / "outputs" / "se_1" / "output-0123456789abcdef.txt"
    output.parent.mkdir(parents=True)
    output.write_text("all of it")
    (paths.data_dir() / "sessions.db").write_text("everything")
    workspace = Workspace(str(tmp_path / "work"))
    assert open_path(str(output), workspace)
    assert not open_path(str(paths.data_dir() / "sessions.db"), workspace)
    assert not open_path(str(output.parent / ".." / ".." / "sessions.db"), workspace)
    output.unlink()
    assert not open_path(str(output), workspace)
    assert programs.opened == [output]


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere they open in an editor")
@pytest.mark.parametrize("name", ["a.py", "b.PYZ", "setup.sh", "c.rb", "d.xll", "e.msix", "f.sh. "])
def test_what_windows_starts_by_its_kind_is_shown_in_its_folder(programs, tmp_path, name):
    (tmp_path / name).write_text("x")
    assert open_path(name, Workspace(str(tmp_path.resolve())))
    assert programs.opened == [tmp_path.resolve()]


@pytest.mark.parametrize("name", ["a.desktop", "A.Command", "b.EXE", "c.jar", "README.md", "d.url"])
def test_what_a_desktop_would_start_is_shown_in_its_folder(programs, tmp_path, name):
    """Also when it is a link that has the name of a text."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "run.desktop").write_text("[Desktop Entry]\nExec=true\n")
    if name == "README.md":
        (tmp_path / name).symlink_to("tools/run.desktop")
    else:
        (tmp_path / name).symlink_to(f"tools/{name}")
        (folder / name).write_text("x")
    (folder / "plain.md").write_text("x")
    assert open_path(name, Workspace(str(tmp_path)))
    assert open_path("tools/plain.md:12", Workspace(str(tmp_path)))
    assert programs.opened == [folder, folder / "plain.md"]


def test_a_path_that_can_not_be_is_not_there_instead_of_an_error(tmp_path):
    workspace = Workspace(str(tmp_path))
    (tmp_path / "loop").symlink_to("loop")
    for path in ("x" * 5000, "notes.txt" + "x" * 400, "a\0b", "loop/x", "\ud83d"):
        assert not open_path(path, workspace)
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / ("x" * 400)))])
    assert dropped_folder(mime) == ""

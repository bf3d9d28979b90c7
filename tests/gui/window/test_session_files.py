"""Sessions go to a file and come back, from their menu and from the palette."""

from contextlib import closing

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QProgressDialog

from desktop_agent import paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.workspace import Workspace
from tests.adapters.store.turns import SESSION, info, turn
from tests.helpers.patience import HANG_MS
from tests.helpers.windows import bridge_of, part, words_in

ALL = "Session with all branches (*.json)"


@pytest.fixture
def session(project):
    path = paths.data_dir()
    path.mkdir(parents=True, exist_ok=True)
    with closing(SqliteStore(path / SESSIONS_FILE)) as store:
        told = info(title="Prices: all/of them?", updated_at=5.0)
        store.save_session(replace(told, workspace=Workspace(str(project))))
        store.record(SESSION, *turn(1))
    return SESSION


def shown(window, qtbot):
    qtbot.waitUntil(lambda: window.flow.current is not None, timeout=HANG_MS)
    return window.flow.current


def choose(window, qtbot, name, path, form=""):
    """Take a file in the dialog that is open."""
    qtbot.waitUntil(lambda: part(window, name) is not None, timeout=HANG_MS)
    dialog = window.findChild(QFileDialog, name)
    if form:
        dialog.selectNameFilter(form)
        dialog.filterSelected.emit(form)
    suggested = "".join(dialog.selectedFiles())
    dialog.selectFile(str(path))
    dialog.accept()
    return suggested


def notice(window):
    return words_in(window.frame.notices)


def menu_of(window, title):
    panel = window.frame.sidebar.sessions
    model = panel.list.model()
    rows = (model.index(number, 0) for number in range(model.rowCount()))
    row = next(index for index in rows if index.data() == title)
    panel.list.customContextMenuRequested.emit(panel.list.visualRect(row).center())
    return panel.findChildren(QMenu, "sessionMenu")[-1]


def test_the_menu_of_a_session_writes_it_to_a_file_and_says_where(
    open_window, qtbot, session, tmp_path
):
    window = open_window()
    shown(window, qtbot)
    menu = menu_of(window, "Prices: all/of them?")
    export = next(one for one in menu.actions() if one.text() == "Export…")
    export.trigger()
    menu.close()
    suggested = choose(window, qtbot, "exportSession", tmp_path / "prices")
    assert "Prices all of them" in suggested
    qtbot.waitUntil(lambda: "Exported to “prices.html”" in notice(window), timeout=HANG_MS)
    page = (tmp_path / "prices.html").read_text("utf-8")
    assert "question 1" in page
    assert part(window, "noticeAction").isVisible()


@pytest.mark.parametrize("title", ["Read prices.json", "Go to Python 3.12"])
def test_a_title_with_a_dot_does_not_decide_what_kind_of_file_is_written(
    open_window, qtbot, session, tmp_path, title
):
    window = open_window()
    shown(window, qtbot)
    bridge_of(window).engine.rename_session(session, title)
    qtbot.waitUntil(lambda: window.flow.info.title == title, timeout=HANG_MS)
    window.commands.export.trigger()
    qtbot.waitUntil(lambda: part(window, "exportSession") is not None, timeout=HANG_MS)
    dialog = window.findChild(QFileDialog, "exportSession")
    dialog.setDirectory(str(tmp_path))
    # As it is suggested, with the kind that is chosen.
    dialog.accept()
    qtbot.waitUntil(lambda: "Exported to" in notice(window), timeout=HANG_MS)
    (page,) = tmp_path.glob("*.html")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_session_comes_back_from_its_file_and_goes_on_like_any_other(
    open_window, qtbot, session, tmp_path
):
    window = open_window()
    old = shown(window, qtbot)
    window.commands.export.trigger()
    choose(
        window, qtbot, "exportSession", tmp_path / "prices", "Session with all branches (*.json)"
    )
    qtbot.waitUntil(lambda: (tmp_path / "prices.json").exists(), timeout=HANG_MS)
    window.commands.import_session.trigger()
    choose(window, qtbot, "importSession", tmp_path / "prices.json")
    qtbot.waitUntil(lambda: window.flow.current not in (None, old), timeout=HANG_MS)
    assert window.flow.info.title == "Prices: all/of them?"
    assert window.flow.info.workspace == window.known.sessions[old].workspace
    assert window.flow.agent != window.known.sessions[old].main_agent
    view = window.pages.page(window.flow.agent)
    assert "It is 1." in view.browser.toPlainText()
    window.frame.composer.set_text("hello")
    qtbot.keyClick(part(window, "composerText"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.flow.info.updated_at > 5.0, timeout=HANG_MS)


def test_a_file_that_is_no_session_is_refused_in_words_and_nothing_is_opened(
    open_window, qtbot, session, tmp_path
):
    window = open_window()
    old = shown(window, qtbot)
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    window.commands.import_session.trigger()
    choose(window, qtbot, "importSession", bad)
    qtbot.waitUntil(lambda: "no session that Desktop Agent" in notice(window), timeout=HANG_MS)
    assert window.flow.current == old
    assert len(window.known.sessions) == 1


def test_an_export_that_is_cancelled_leaves_no_file(open_window, qtbot, session, tmp_path):
    window = open_window()
    shown(window, qtbot)
    window.commands.export.trigger()
    choose(window, qtbot, "exportSession", tmp_path / "prices")
    box = window.findChild(QProgressDialog, "sessionFileProgress")
    box.canceled.emit()
    qtbot.waitUntil(lambda: not window.queries.is_busy, timeout=HANG_MS)
    qtbot.waitUntil(lambda: not list(tmp_path.glob(".export-*")), timeout=HANG_MS)
    assert not (tmp_path / "prices.html").exists()
    assert "Exported" not in notice(window)


def test_a_folder_that_takes_no_file_is_said(open_window, qtbot, session, tmp_path):
    window = open_window()
    shown(window, qtbot)
    window.commands.export.trigger()
    dialog = window.findChild(QFileDialog, "exportSession")
    dialog.fileSelected.emit(str(tmp_path / "gone" / "x.md"))
    dialog.close()
    qtbot.waitUntil(lambda: "can’t be written" in notice(window), timeout=HANG_MS)
    assert not (tmp_path / "gone").exists(), "a folder was made that nobody asked for"

"""A file of rows, or a long table in an answer, opens as a table that searches and sorts."""

import os

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTableView

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.transcript.view.table_data import (
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_ROWS,
    arranged,
    parse_table,
    pipe_table,
    read_table,
)
from desktop_agent.gui.transcript.view.table_viewer import TableViewer
from tests.gui.changes.samples import made, told, undo
from tests.gui.transcript.conftest import wait_until_written
from tests.gui.transcript.story import asks, begins, ends, opened, reads, says
from tests.helpers import events as made_up
from tests.helpers.panels import open_page

FILE = "name,count,note\nbeta,10,\nAlpha,9,=1+1\ngamma,100,x\ndelta,n/a,x\n"


def viewer_of(view, qtbot):
    viewer = view.findChild(TableViewer)
    qtbot.waitUntil(lambda: "columns" in state_of(viewer) or "not there" in state_of(viewer))
    return viewer


def state_of(viewer):
    return viewer.findChild(QLabel, "tableState").text()


def grid(viewer):
    return viewer.findChild(QTableView)


def column(viewer, number=0):
    model = grid(viewer).model()
    return [model.index(line, number).data() for line in range(model.rowCount())]


def open_file(view, qtbot, folder, text=FILE, name="data.csv"):
    (folder / name).write_text(text, "utf-8")
    page = [begins(), *asks(1), told(made("cs_1", name)), ends()]
    open_page(view, made_up.opened(folder=str(folder), events=page))
    view.findChild(QPushButton, "openTable").click()
    return viewer_of(view, qtbot)


def test_a_table_that_the_agent_made_opens_from_the_end_of_its_turn(view, qtbot, tmp_path):
    viewer = open_file(view, qtbot, tmp_path)
    assert state_of(viewer) == "4 rows · 3 columns"
    names = [grid(viewer).model().headerData(at, Qt.Orientation.Horizontal) for at in range(3)]
    assert names == ["name", "count", "note"]
    assert column(viewer) == ["beta", "Alpha", "gamma", "delta"]
    assert column(viewer, 2)[1] == "=1+1", "a formula is text like any other"
    assert grid(viewer).accessibleName() == "data.csv"
    view.apply([told(undo("un_1", "cs_1", files=("data.csv",)))])
    qtbot.waitUntil(lambda: view.findChild(QPushButton, "openTable") is None)


def test_a_table_that_was_read_opens_from_its_card(view, qtbot, tmp_path):
    (tmp_path / "a.tsv").write_text("x;y\tz\n1;2\t3\n", "utf-8")
    page = [begins(), *reads(1, "a.tsv"), ends()]
    open_page(view, made_up.opened(folder=str(tmp_path), events=page))
    activity = view.page.rows[0].row
    view.cards.cards[activity.key].header.click()
    # Of a line with a single call, what came of it is seen at once.
    button = view.findChild(QPushButton, "openTable")
    assert button.isVisible()
    button.click()
    viewer = viewer_of(view, qtbot)
    assert column(viewer) == ["1;2"]


def test_a_column_sorts_by_numbers_then_text_and_back_to_the_files_order(view, qtbot, tmp_path):
    viewer = open_file(view, qtbot, tmp_path)
    table = grid(viewer)
    table.setCurrentIndex(table.model().index(0, 1))
    qtbot.keyClick(table, Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: column(viewer, 1) == ["9", "10", "100", "n/a"])
    table.setCurrentIndex(table.model().index(0, 0))
    # macOS counts the arrows to the keypad.
    on_mac = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.KeypadModifier
    qtbot.keyClick(table, Qt.Key.Key_Down, on_mac)
    qtbot.waitUntil(lambda: column(viewer) == ["gamma", "delta", "beta", "Alpha"])
    header = table.horizontalHeader()
    press(qtbot, header, 2)
    qtbot.waitUntil(lambda: column(viewer, 2) == ["=1+1", "x", "x", ""])
    press(qtbot, header, 2)
    qtbot.waitUntil(lambda: column(viewer, 2) == ["x", "x", "=1+1", ""])
    press(qtbot, header, 2)
    qtbot.waitUntil(lambda: column(viewer) == ["beta", "Alpha", "gamma", "delta"])
    assert (tmp_path / "data.csv").read_text("utf-8") == FILE, "looking at it changed the file"


def press(qtbot, header, section):
    at = QPoint(header.sectionViewportPosition(section) + 10, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_typing_shows_only_rows_with_the_words(view, qtbot, tmp_path):
    viewer = open_file(view, qtbot, tmp_path)
    field = viewer.findChild(QLineEdit, "tableSearch")
    qtbot.keyClicks(field, "ALPH")
    qtbot.waitUntil(lambda: column(viewer) == ["Alpha"])
    assert state_of(viewer) == "4 rows · 3 columns · 1 found"
    assert grid(viewer).model().headerData(0, Qt.Orientation.Vertical) == "2"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(column(viewer)) == 4)
    with qtbot.waitSignal(viewer.destroyed):
        qtbot.keyClick(field, Qt.Key.Key_Escape)


def test_what_is_selected_is_copied_with_tabs(view, qtbot, tmp_path):
    viewer = open_file(view, qtbot, tmp_path)
    table = grid(viewer)
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().split("\n")[1] == "Alpha\t9\t=1+1"


def test_a_table_in_an_answer_opens_from_its_menu(view, qtbot):
    wide = "| a | b |\n|---|:-:|\n" + "".join(f"| {n} | x\\|{n % 7} |\n" for n in range(300))
    open_page(view, opened(begins(), says(1, "| c | d |\n|---|---|\n| 1 | 2 |\n"), ends()))
    wait_until_written(qtbot, view)
    choose(view, "1")
    assert column(viewer_of(view, qtbot), 1) == ["2"]
    view.findChild(TableViewer).setParent(None)
    open_page(view, opened(begins(), says(1, wide), ends()))
    wait_until_written(qtbot, view)
    choose(view, "| 299 |")
    viewer = viewer_of(view, qtbot)
    assert state_of(viewer) == "300 rows · 2 columns"
    assert column(viewer, 1)[299] == "x|5"


def choose(view, text):
    cursor = view.browser.document().find(text)
    view.browser.setTextCursor(cursor)
    menu = view.menu_at(view.browser.cursorRect(cursor).center())
    next(one for one in menu.actions() if one.text() == "Open as table").trigger()


def test_what_is_no_table_is_not_offered_as_one(view):
    open_page(view, opened(begins(), says(1, "```text\na | b\n1 | 2\n```\n"), ends()))
    cursor = view.browser.document().find("a | b")
    menu = view.menu_at(view.browser.cursorRect(cursor).center())
    assert "Open as table" not in [one.text() for one in menu.actions()]
    assert "Copy code" in [one.text() for one in menu.actions()]


def test_a_file_that_went_away_is_said_to_be_gone(view, qtbot, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}.csv"
    outside.write_text(FILE)
    (tmp_path / "link.csv").symlink_to(outside)
    os.mkfifo(tmp_path / "pipe.csv")
    where = Workspace(str(tmp_path))
    for name in ("link.csv", "pipe.csv", "none.csv", "../x.csv", str(outside)):
        assert read_table(name, where).cut == "gone"
    (tmp_path / "link.csv").unlink()
    viewer = open_file(view, qtbot, tmp_path, name="link.csv")
    assert state_of(viewer).endswith("columns")


def test_reading_is_bounded_and_says_what_it_left_out():
    many = b"a\n" + b"1\n" * (MOST_ROWS + 5)
    assert (len(parse_table(many).rows), parse_table(many).cut) == (MOST_ROWS, "rows")
    wide = b",".join([b"x"] * (MOST_COLUMNS + 1)) + b"\n1\n"
    assert (len(parse_table(wide).names), parse_table(wide).cut) == (MOST_COLUMNS, "wide")
    cells = b",".join([b"1"] * MOST_COLUMNS) + b"\n"
    full = parse_table(cells * (MOST_CELLS // MOST_COLUMNS + 50))
    assert len(full.rows) * MOST_COLUMNS <= MOST_CELLS + MOST_COLUMNS
    assert full.cut == "rows"
    assert parse_table(b'a,b\n1,2\n"' + b"q" * 200_000).cut == "broken"


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", ()),
        (b"\n\n", ()),
        (b"a;b\n1;2,5\n", (("1", "2,5"),)),
        (b'a,b\r\n"x\r\ny",2\r\n', (("x\r\ny", "2"),)),
        ("\ufeffa,b\nä,ö\n".encode(), (("ä", "ö"),)),
        ("a,b\nä,ö\n".encode("cp1252"), (("ä", "ö"),)),
        ("a,b\nä,ö\n".encode("utf-16"), (("ä", "ö"),)),
        (b"a,b\n1\n1,2,3\n", (("1", "", ""), ("1", "2", "3"))),
        (b"a\n\0\n", (("\0",),)),
    ],
)
def test_files_of_all_kinds_are_read(data, rows):
    assert parse_table(data).rows == rows


def test_odd_numbers_sort_without_a_fault():
    table = parse_table(b"n\n10\nnan\n-inf\n1e3\n-2\n\n x \n1e999\n")
    order = [table.rows[at][0] for at in arranged(table, "", 0)]
    assert order == ["-2", "10", "1e3", " x ", "-inf", "1e999", "nan"]
    assert arranged(table, "zzz", 0) == ()


def test_a_table_in_markdown_is_told_from_other_text():
    assert pipe_table("a | b\n--- | ---\n1 | 2").rows == (("1", "2"),)
    for text in ("", "a", "a | b", "a | b\n1 | 2", "a | b\n\n1 | 2"):
        assert pipe_table(text) is None

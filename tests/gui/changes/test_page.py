"""The page of all changes: lists, diffs, and what is asked for on it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPushButton

from desktop_agent.core.changes import (
    ChangedFile,
    JudgedResult,
    PlannedFile,
    Result,
    SessionChanges,
    UndoScope,
)
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.changes.page import ChangesPage
from desktop_agent.gui.changes.rows import Named
from desktop_agent.gui.transcript.cards.card import CardHeader
from tests.gui.changes.samples import CHILD, MAIN, MESSAGE, file, made, session_of, undo
from tests.helpers.windows import words_in

SESSION = "se_1"
NAMED = Named({MAIN: "Main", CHILD: "explorer"}, {MESSAGE: "Make the **jitter** testable"})
PATCH = "--- a/src/retry.py\n+++ b/src/retry.py\n@@ -1,1 +1,1 @@\n-old\n+new\n"
SETS = (
    made(
        "cs_1", file("src/retry.py", added=40, removed=12), file("src/clock.py", "created", 22, 0)
    ),
    made("cs_2", file("src/retry.py", added=2, removed=1), agent=CHILD, message="me_u2"),
    made("cs_3", file("trace.bin", "deleted", -1, -1, is_held=False), agent=CHILD),
)
HOSTILE = (
    "a\nb.txt",
    "\u202egnp.exe",
    "caf\\xE9.txt",
    "<img src=x onerror=y>.md",
    "x" * 4000,
    "deep/" * 200 + "name.py",
)


@pytest.fixture
def page(theme, qtbot):
    one = ChangesPage(theme)
    qtbot.addWidget(one)
    one.resize(1100, 700)
    one.show()
    qtbot.waitExposed(one)
    one.activateWindow()
    return one


@pytest.fixture
def pointed(page):
    found = []
    page.pointed.connect(lambda row: found.append(row.scope))
    return found


@pytest.fixture
def undone(page):
    found = []
    page.undo_requested.connect(lambda row: found.append(row.scope if row else None))
    return found


def show(page, *sets, **more):
    page.show_changes(session_of(*(sets or SETS), **more), SESSION, NAMED)


def rows(page):
    return page.list.model().rows()


def spoken(page):
    role = Qt.ItemDataRole.AccessibleTextRole
    model = page.list.model()
    return [model.index(n).data(role) for n in range(model.rowCount())]


def press(page, name):
    page.findChild(QAbstractButton, name).click()


def test_without_changes_the_page_says_so(page):
    page.show_changes(session_of(), SESSION, NAMED)
    assert "Nothing has been changed in this session." in words_in(page)
    assert not page.findChild(QPushButton, "undoAll").isEnabled()
    page.show_changes(SessionChanges(not_kept=2), SESSION, NAMED)
    assert "What was changed in this session is not kept any more." in words_in(page)


def test_when_all_is_taken_back_the_page_says_that(page):
    show(page, *SETS, undone=("cs_1", "cs_2", "cs_3"))
    assert "What was changed in this session is taken back." in words_in(page)


def test_files_are_listed_with_counts_and_who_changed_them_last(page):
    show(page)
    first = spoken(page)[0]
    assert first.startswith("src/retry.py, changed, explorer · ")
    assert first.endswith("40 lines added, 12 removed")
    assert "src/clock.py, new, Main" in spoken(page)[1]
    assert "3 files\n+62\n−12\nsince " in words_in(page)


def test_marks_tell_what_was_changed_since_and_what_cannot_come_back(page):
    moved = file("dist/app.js", "created", is_held=False)
    show(page, *SETS, made("cs_4", moved), since=("src/clock.py",))
    marks = {one.path: one.mark for one in rows(page)}
    assert marks["src/clock.py"] == "changed by you since"
    assert marks["trace.bin"] == "can’t come back"
    assert marks["dist/app.js"] == "stays after an undo"
    assert marks["src/retry.py"] == ""


def test_the_diff_of_the_row_that_is_looked_at_is_asked_for_and_shown(page, pointed):
    show(page)
    assert pointed[-1] == UndoScope(SESSION, path="src/retry.py")
    page.detail.show_diff(pointed[-1], DiffDisplay("src/retry.py", PATCH, 1, 1))
    diff = page.findChild(object, "changeDiff")
    assert "added: new" in diff.accessibleDescription()


def test_a_diff_that_comes_late_is_not_shown_for_another_row(page, qtbot, pointed):
    show(page)
    late = pointed[-1]
    qtbot.keyClick(page.list, Qt.Key.Key_Down)
    assert pointed[-1].path == "src/clock.py"
    page.detail.show_diff(late, DiffDisplay("src/retry.py", PATCH, 1, 1))
    assert page.findChild(object, "changeDiff") is None


def test_what_is_no_text_is_told_in_words(page, pointed):
    show(page)
    note = "[Too large or not text: 5 bytes become 7.]"
    page.detail.show_diff(pointed[-1], DiffDisplay("src/retry.py", note, 0, 0))
    assert page.findChild(QLabel, "changeWords").text() == note


def test_a_very_long_diff_shows_its_beginning_and_says_so(page, pointed):
    show(page)
    patch = PATCH + "+more\n" * 200_000
    page.detail.show_diff(pointed[-1], DiffDisplay("src/retry.py", patch, 1, 1))
    assert "Only the beginning" in page.findChild(QLabel, "changeWords").text()


def test_by_message_each_message_can_be_undone_with_its_subagents(page, undone):
    show(page)
    press(page, "changesBy_message")
    assert rows(page)[0].title == "Make the jitter testable"
    assert [one.path for one in rows(page)] == [
        *("", "src/retry.py", "src/clock.py", "trace.bin"),
        *("", "src/retry.py"),
    ]
    press(page, "undoChanged")
    assert undone == [UndoScope(SESSION, message_id=MESSAGE)]


def test_by_agent_each_agent_can_be_undone_and_each_of_its_files(page, qtbot, undone):
    show(page)
    press(page, "changesBy_agent")
    titles = [one.title for one in rows(page) if not one.path]
    assert titles == ["Main", "explorer"]
    page.list.setCurrentIndex(page.list.model().index_of(f"{CHILD} src/retry.py"))
    qtbot.keyClick(page.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert undone == [UndoScope(SESSION, agent_id=CHILD, path="src/retry.py")]


def test_what_is_taken_back_is_not_listed(page):
    taken = undo("un_1", "cs_1", files=("src/clock.py",))
    for way, count in (("file", 2), ("message", 4), ("agent", 3)):
        show(page, *SETS, taken, undone=("cs_1",))
        press(page, f"changesBy_{way}")
        assert len(rows(page)) == count, way


def test_files_that_a_set_does_not_name_are_told_of_in_a_row(page):
    show(page, made("cs_1", "a.py", count=500))
    press(page, "changesBy_message")
    assert rows(page)[0].detail.startswith("500 files")
    assert rows(page)[-1].title == "and 499 files more"


def test_the_whole_session_is_undone_by_the_button_on_top(page, undone):
    show(page)
    press(page, "undoAll")
    assert undone == [None]


def test_enter_opens_a_file_and_nothing_opens_one_that_was_deleted(page, qtbot):
    opened = []
    page.open_requested.connect(lambda row: opened.append(row.path))
    show(page)
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Return)
    page.list.setCurrentIndex(page.list.model().index_of("trace.bin"))
    qtbot.keyClick(page.list, Qt.Key.Key_Return)
    assert opened == ["src/retry.py"]
    assert not page.findChild(QPushButton, "openChanged").isEnabled()


def test_the_menu_of_a_row_copies_its_path_as_it_is(page):
    show(page, made("cs_1", "a\nb.txt"))
    actions = {one.text(): one for one in page.list.menu().actions() if isinstance(one, QAction)}
    assert list(actions) == ["Undo…", "Show in the conversation", "Open in editor", "Copy path"]
    actions["Copy path"].trigger()
    assert QGuiApplication.clipboard().text() == "a\nb.txt"


def test_the_menu_of_a_row_opens_its_file_when_the_row_has_gone_meanwhile(page):
    opened = []
    page.open_requested.connect(lambda row: opened.append(row.path))
    show(page)
    page.list.setCurrentIndex(page.list.model().index_of("src/clock.py"))
    menu = page.list.menu()
    show(page, SETS[1])
    next(one for one in menu.actions() if one.text() == "Open in editor").trigger()
    assert opened == ["src/clock.py"]


def test_a_renamed_file_is_one_row_with_both_names(page, pointed):
    moved = ChangedFile("lib/a.py", "created", 2, 1, was="src/a.py")
    show(page, made("cs_1", file("src/a.py", added=1, removed=0)), made("cs_2", moved))
    page.list.setCurrentIndex(page.list.model().index_of("lib/a.py"))
    assert page.list.current.title == "src/a.py → lib/a.py"
    assert page.list.current.icon == "file-symlink"
    assert "src/a.py → lib/a.py, renamed" in page.list.current.spoken
    assert pointed[-1] == UndoScope(SESSION, path="lib/a.py", was="src/a.py")
    press(page, "changesBy_message")
    assert [one.title for one in rows(page)][1:] == ["src/a.py → lib/a.py"]


def test_what_was_changed_since_can_be_compared_and_looked_at_again_as_it_was(page):
    asked = []
    page.pointed.connect(lambda row, is_since: asked.append((row.path, is_since)))
    show(page, since=("src/clock.py",))
    assert not page.findChild(QPushButton, "compareChanged").isVisible()
    page.list.setCurrentIndex(page.list.model().index_of("src/clock.py"))
    press(page, "compareChanged")
    assert asked[-1] == ("src/clock.py", True)
    scope = page.list.current.scope
    page.detail.show_diff(scope, DiffDisplay("src/clock.py", PATCH, 1, 1))
    assert page.findChild(object, "changeDiff") is None, "that is the other one"
    page.detail.show_diff(scope, DiffDisplay("src/clock.py", PATCH, 1, 1), is_since=True)
    assert page.findChild(object, "changeDiff") is not None
    press(page, "compareChanged")
    assert asked[-1] == ("src/clock.py", False)
    press(page, "compareChanged")
    page.list.setCurrentIndex(page.list.model().index_of("src/retry.py"))
    assert asked[-1] == ("src/retry.py", False)


def test_a_row_leads_to_the_call_that_made_the_change(page):
    asked = []
    page.talk_requested.connect(lambda row: asked.append((row.agent_id, row.call_id)))
    show(page)
    press(page, "showInConversation")
    page.list.setCurrentIndex(page.list.model().index_of("src/clock.py"))
    actions = {one.text(): one for one in page.list.menu().actions() if isinstance(one, QAction)}
    actions["Show in the conversation"].trigger()
    assert asked == [(CHILD, "call_1"), (MAIN, "call_1")]


def test_escape_leads_back_from_everywhere_on_the_page(page, qtbot):
    show(page)
    left = []
    page.left.connect(lambda: left.append(True))
    for widget in (page.list, page.findChild(QPushButton, "undoAll"), page):
        qtbot.keyClick(widget, Qt.Key.Key_Escape)
    assert len(left) == 3


def test_the_chosen_file_stays_while_others_come(page):
    show(page)
    page.list.setCurrentIndex(page.list.model().index_of("src/clock.py"))
    show(page, *SETS, made("cs_4", "a-new-one.py"))
    assert page.list.current.path == "src/clock.py"


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_are_one_line_without_hidden_characters(page, path):
    show(page, made("cs_1", path))
    for way in ("file", "message", "agent"):
        press(page, f"changesBy_{way}")
        title = rows(page)[-1].title
        assert "\n" not in title
        assert "\u202e" not in title
        assert rows(page)[-1].path == path
        page.list.setCurrentIndex(page.list.model().index(page.list.model().rowCount() - 1))
        page.grab()
    assert page.width() == 1100


def test_the_keys_go_to_the_list_once_there_is_one(page, qtbot):
    page.enter()
    show(page)
    qtbot.waitFocus(page.list)
    page.findChild(QAbstractButton, "leaveChanges").setFocus()
    show(page, SETS[0])
    assert not page.list.hasFocus(), "who went elsewhere stays there"


def test_that_nothing_is_kept_any_more_is_said_on_top(page):
    show(page, stopped="The disk is full.")
    assert "The disk is full." in words_in(page)


def test_ten_thousand_files_are_listed_and_only_those_in_sight_are_drawn(page, qtbot, monkeypatch):
    files = tuple(ChangedFile(f"src/part_{n:05}.py", "changed", 1, 1) for n in range(10_000))
    show(page, made("cs_1", *files))
    assert len(rows(page)) == 10_000
    drawn = []
    paint = type(page.list.itemDelegate()).paint
    monkeypatch.setattr(
        type(page.list.itemDelegate()),
        "paint",
        lambda self, *given: (drawn.append(1), paint(self, *given))[1],
    )
    page.list.viewport().grab()
    assert 0 < len(drawn) < 40
    show(page, made("cs_1", *files[1:]))
    assert len(rows(page)) == 9_999


@pytest.mark.parametrize("scale", [100, 200])
def test_in_a_narrow_window_everything_has_its_place(page, theme, scale):
    theme.configure("light", scale, True)
    page.resize(500, 800)
    show(page)
    for name in ("undoAll", "copyPatch", "openChangesFolder", "leaveChanges", "undoChanged"):
        one = page.findChild(QAbstractButton, name)
        inside = page.rect().contains(one.rect().translated(one.mapTo(page, one.rect().topLeft())))
        assert inside, name
    assert page.minimumSizeHint().width() <= 500


def test_in_a_narrow_window_what_is_done_with_an_overlapping_result_is_whole(page, theme):
    theme.configure("light", 200, True)
    page.resize(640, 800)
    result = made("re_1", file("src/retry.py", added=6, removed=2), agent=CHILD, kind="result")
    named = Named({**NAMED.agents, MAIN: "plot the delays of all attempts"}, NAMED.messages)
    page.show_changes(SessionChanges(results=(Result(result),)), SESSION, named)
    overlaps = PlannedFile("src/retry.py", "conflict", by=MAIN)
    page.show_judged((JudgedResult("re_1", (overlaps,)),))
    page.show_results_of(CHILD)
    page.list.setCurrentIndex(page.list.model().index(1))
    for name in ("compareChanged", "openChanged", "applyResult"):
        assert page.findChild(QAbstractButton, name).isVisible(), name
    assert page.minimumSizeHint().width() <= 640, "a window does not give it more"


def test_with_large_text_in_a_window_of_900_pixels_two_files_are_seen_whole(page, theme):
    theme.configure("light", 200, True)
    page.resize(900, 900)
    show(page, made("cs_1", *(file(f"src/{number}.py") for number in range(9))))
    assert page.detail.geometry().top() > page.list.geometry().bottom(), "not below each other"
    assert page.list.viewport().height() >= 2 * page.list.sizeHintForRow(0)


def first_sign(image, room):
    """Return how wide the first thing in red is, from left to right."""
    lines = range(room.top(), room.bottom())

    def is_red(x):
        colours = [image.pixelColor(x, y) for y in lines]
        return any(one.red() > one.green() + 40 for one in colours)

    columns = [is_red(x) for x in range(image.width())]
    begin = columns.index(True)
    return columns.index(False, begin) - begin


def test_the_minus_before_a_count_is_one_sign_in_the_head_the_rows_and_the_cards(page, theme):
    theme.configure("light", 200)
    show(page, made("cs_1", file("src/retry.py", added=40, removed=12)))
    QApplication.processEvents()
    view = page.list.viewport()
    row = page.list.visualRect(page.list.model().index(0))
    signs = [first_sign(view.grab().toImage(), row)]
    label = next(one for one in page.findChildren(QLabel) if one.text() == "−12")
    signs.append(first_sign(label.grab().toImage(), label.rect()))
    header = CardHeader(theme, page)
    header.verb, header.counts = "Edit", (40, 12)
    header.resize(400, 60)
    signs.append(first_sign(header.grab().toImage(), header.rect()))
    theme.configure("light", 100)
    assert max(signs) - min(signs) <= 3, "one is a hyphen"

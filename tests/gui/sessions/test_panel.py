"""The list of sessions tells what is going on, and a slip of the finger costs nothing."""

import time

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMenu, QPushButton

from desktop_agent.core.events import SessionsChanged
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.sessions import SearchFound, SearchHit, SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.kit.text import with_plural
from desktop_agent.gui.sessions import panel as session_panel
from desktop_agent.gui.sessions import rows as session_rows
from desktop_agent.gui.sessions.panel import SessionPanel
from tests.helpers.windows import words_in

DAY = 86_400.0
NOON = time.mktime((2026, 11, 21, 12, 0, 0, 0, 0, -1))


def info(number, title, status="idle", age=0.0, unread=False):
    return SessionInfo(
        SessionId(f"se_{number}"),
        AgentId(f"ag_{number}"),
        title,
        Workspace("/tmp/project"),
        "demo",
        status=status,
        is_unread=unread,
        created_at=1.0,
        updated_at=time.time() - age,
    )


@pytest.fixture
def panel(qtbot, theme):
    widget = SessionPanel(theme)
    qtbot.addWidget(widget)
    widget.resize(264, 500)
    with qtbot.waitExposed(widget):
        widget.show()
    return widget


def show(panel, *sessions):
    panel.apply(SessionsChanged(tuple(sessions)))


def titles(panel):
    model = panel.list.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def spoken(panel, title):
    model = panel.list.model()
    for row in range(model.rowCount()):
        if model.index(row, 0).data() == title:
            return model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    raise AssertionError(title)


def press(qtbot, panel, title):
    model = panel.list.model()
    row = titles(panel).index(title)
    where = panel.list.visualRect(model.index(row, 0)).center()
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_sessions_stand_under_the_day_they_were_last_used(panel, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOON)
    show(panel, info(1, "Fresh"), info(2, "Older", age=DAY), info(3, "Oldest", age=9 * DAY))
    assert titles(panel) == ["Today", "Fresh", "Yesterday", "Older", "Earlier", "Oldest"]


def test_a_screen_reader_hears_title_state_and_age(panel):
    show(
        panel,
        info(1, "Fix", "running", 240),
        info(2, "Plan", "needs_you", 3700),
        info(3, "Read", unread=True),
    )
    assert spoken(panel, "Fix") == "Fix, running, 4 minutes ago"
    assert spoken(panel, "Plan") == "Plan, needs you, 1 hour ago"
    assert spoken(panel, "Read") == "Read, unread, just now"


def test_a_click_opens_the_session_and_a_heading_does_nothing(panel, qtbot):
    show(panel, info(1, "One"), info(2, "Two"))
    with qtbot.waitSignal(panel.session_chosen) as chosen:
        press(qtbot, panel, "Two")
    assert chosen.args == ["se_2"]
    with qtbot.assertNotEmitted(panel.session_chosen):
        press(qtbot, panel, "Today")


def test_f2_renames_in_place_and_esc_changes_nothing(panel, qtbot):
    show(panel, info(1, "Old name"))
    panel.set_current("se_1")
    panel.list.setFocus()
    panel.rename("se_1")
    editor = panel.list.findChild(QLineEdit, "renameSession")
    qtbot.keyClicks(editor, "New name")
    with qtbot.waitSignal(panel.renamed) as renamed:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert renamed.args == ["se_1", "New name"]
    panel.rename("se_1")
    editor = panel.list.findChildren(QLineEdit, "renameSession")[-1]
    qtbot.keyClicks(editor, "Nothing")
    with qtbot.assertNotEmitted(panel.renamed):
        qtbot.keyClick(editor, Qt.Key.Key_Escape)


def test_a_list_that_changes_while_a_name_is_typed_keeps_the_field(panel, qtbot):
    show(panel, info(1, "Mine"))
    panel.set_current("se_1")
    panel.list.setFocus()
    panel.rename("se_1")
    show(panel, info(2, "Newer"), info(1, "Mine"))
    editor = panel.list.findChild(QLineEdit, "renameSession")
    qtbot.keyClicks(editor, "Still typing")
    shown = qtbot.waitSignal(panel.list.model().rowsInserted)
    with shown, qtbot.waitSignal(panel.renamed) as renamed:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert renamed.args == ["se_1", "Still typing"]
    assert "Newer" in titles(panel)


def test_a_deleted_session_can_be_brought_back(panel, qtbot):
    show(panel, info(1, "Keep"), info(2, "Slip"))
    with qtbot.assertNotEmitted(panel.deleted):
        panel.delete("se_2")
        assert "Slip" not in titles(panel)
        undo = panel.findChild(QPushButton, "undoDeleteButton")
        assert undo.isVisible()
        qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert "Slip" in titles(panel)
    assert not undo.isVisible()


def marked(panel):
    return [index.data() for index in panel.list.selectionModel().selectedIndexes()]


def test_the_marked_session_is_the_one_shown_whatever_is_deleted(panel, qtbot):
    show(panel, info(1, "Shown"), info(2, "Slip"), info(3, "Next"))
    panel.set_current("se_1")
    panel.activateWindow()
    panel.list.setFocus()
    panel.list.setCurrentIndex(panel.list.model().index(titles(panel).index("Slip"), 0))
    assert marked(panel) == ["Shown"]
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    assert "Slip" not in titles(panel)
    assert marked(panel) == ["Shown"]
    panel.undo_delete()
    assert marked(panel) == ["Shown"]
    panel.set_current("se_3")
    assert marked(panel) == ["Next"]


@pytest.mark.parametrize(("gone", "next_one"), [("A", "B"), ("B", "C"), ("C", "B")])
def test_the_keys_are_for_what_takes_the_place_of_a_deleted_session(panel, qtbot, gone, next_one):
    show(panel, info(1, "A"), info(2, "B"), info(3, "C"))
    panel.activateWindow()
    panel.list.setFocus()
    panel.list.setCurrentIndex(at(panel, gone))
    qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    assert panel.list.currentIndex().data() == next_one


def test_a_deleted_session_is_recently_deleted_when_the_time_for_undo_is_over(
    panel, qtbot, monkeypatch
):
    monkeypatch.setattr(session_panel, "UNDO_MS", 1)
    keep, away = info(1, "Keep"), info(2, "Away")
    show(panel, keep, away)
    with qtbot.waitSignal(panel.deleted) as deleted:
        panel.delete("se_2")
    assert deleted.args == ["se_2"]
    panel.apply(SessionsChanged((keep,), (replace(away, deleted_at=time.time()),)))
    assert titles(panel) == ["Today", "Keep", "Recently deleted"]


def at(panel, title):
    return panel.list.model().index(titles(panel).index(title), 0)


def menu_of(qtbot, panel, title):
    """Open the menu of a row; return its texts and what triggers them, by their words."""
    panel.list.customContextMenuRequested.emit(panel.list.visualRect(at(panel, title)).center())
    menu = panel.findChildren(QMenu, "sessionMenu")[-1]
    qtbot.waitUntil(menu.isVisible)
    actions = {one.text().partition("\t")[0]: one for one in menu.actions() if one.text()}
    menu.close()
    return actions


def test_recently_deleted_opens_by_key_and_gives_a_session_back(panel, qtbot):
    gone = replace(info(2, "Gone"), deleted_at=time.time() - 5 * DAY)
    panel.apply(SessionsChanged((info(1, "Keep"),), (gone,)))
    assert spoken(panel, "Recently deleted") == "Recently deleted, 1, collapsed"
    panel.list.setFocus()
    panel.list.setCurrentIndex(at(panel, "Recently deleted"))
    qtbot.keyClick(panel.list, Qt.Key.Key_Right)
    assert spoken(panel, "Gone") == "Gone, erased in 25 days"
    with qtbot.assertNotEmitted(panel.session_chosen):
        press(qtbot, panel, "Gone")
    with qtbot.waitSignal(panel.restored) as restored:
        menu_of(qtbot, panel, "Gone")["Restore"].trigger()
    assert restored.args == ["se_2"]
    panel.list.setCurrentIndex(at(panel, "Recently deleted"))
    qtbot.keyClick(panel.list, Qt.Key.Key_Left)
    assert "Gone" not in titles(panel)


def test_nothing_is_deleted_for_good_without_a_question(panel, qtbot):
    gone = replace(info(2, "Gone"), deleted_at=time.time())
    panel.apply(SessionsChanged((), (gone,)))
    press(qtbot, panel, "Recently deleted")
    panel.list.setCurrentIndex(at(panel, "Gone"))
    panel.list.setFocus()
    with qtbot.assertNotEmitted(panel.erased):
        qtbot.keyClick(panel.list, Qt.Key.Key_Delete)
    box = panel.window().findChild(Question, "eraseQuestion")
    assert "Gone" in box.text
    with qtbot.assertNotEmitted(panel.erased):
        qtbot.keyClick(box, Qt.Key.Key_Escape)
    menu_of(qtbot, panel, "Recently deleted")["Empty…"].trigger()
    box = panel.window().findChildren(Question, "eraseQuestion")[-1]
    yes = next(b for b in box.buttons() if b.text().strip() == "Delete permanently")
    with qtbot.waitSignal(panel.emptied):
        qtbot.mouseClick(yes, Qt.MouseButton.LeftButton)


def test_what_was_deleted_a_moment_ago_is_among_the_recently_deleted_already(panel, qtbot):
    show(panel, info(1, "Keep"), info(2, "Slip"))
    panel.delete("se_2")
    press(qtbot, panel, "Recently deleted")
    with qtbot.waitSignal(panel.returned) as returned, qtbot.assertNotEmitted(panel.restored):
        menu_of(qtbot, panel, "Slip")["Restore"].trigger()
    assert returned.args == ["se_2"]
    assert titles(panel) == ["Today", "Keep", "Slip"]


def test_pinned_sessions_stand_on_top_and_archived_ones_at_the_end(panel, qtbot):
    pinned = replace(info(1, "Pinned one", age=9 * DAY), is_pinned=True)
    archived = replace(info(2, "Put away"), is_archived=True)
    show(panel, archived, info(3, "Fresh"), pinned)
    assert titles(panel) == ["Pinned", "Pinned one", "Today", "Fresh", "Archived"]
    assert "pinned" in spoken(panel, "Pinned one")
    press(qtbot, panel, "Archived")
    assert titles(panel)[-1] == "Put away"
    for title, words, signal, args in (
        ("Fresh", "Pin", panel.pinned, ["se_3", True]),
        ("Pinned one", "Unpin", panel.pinned, ["se_1", False]),
        ("Fresh", "Archive", panel.archived, ["se_3", True]),
        ("Put away", "Unarchive", panel.archived, ["se_2", False]),
    ):
        with qtbot.waitSignal(signal) as told:
            menu_of(qtbot, panel, title)[words].trigger()
        assert told.args == args


def test_a_search_finds_archived_sessions_without_opening_their_group(panel):
    show(panel, replace(info(2, "Put away"), is_archived=True))
    panel.search.setText("put")
    assert "Put away" in titles(panel)


def test_sessions_stand_under_their_folder_and_the_switch_goes_back_to_dates(panel, qtbot):
    def of(number, title, folder, **more):
        return replace(info(number, title, **more), workspace=Workspace(folder))

    show(
        panel,
        of(1, "One", "/tmp/shop", status="running"),
        of(2, "Two", "/tmp/bank", age=60),
        of(3, "Three", "/tmp/shop", status="running", age=90),
        of(4, "Four", "/tmp/old/bank", age=99),
    )
    switch = panel.findChild(QAbstractButton, "groupSessions")
    assert switch.accessibleName() == "Group by folder"
    with qtbot.waitSignal(panel.grouping_changed) as changed:
        qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert changed.args == [True]
    assert titles(panel) == ["shop", "One", "Three", "bank", "Two", "bank", "Four"]
    assert spoken(panel, "shop") == "shop, 2 running"
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert titles(panel)[0] == "Today"


def test_deleting_is_finished_when_the_app_closes_before(panel, qtbot):
    show(panel, info(1, "Away"))
    panel.delete("se_1")
    with qtbot.waitSignal(panel.deleted) as deleted:
        panel.finish_deletes()
    assert deleted.args == ["se_1"]


def test_an_empty_list_and_a_search_without_a_match_say_so(panel, qtbot):
    show(panel)
    assert "No sessions yet" in words_in(panel)
    show(panel, info(1, "Budget"))
    panel.search.setText("zebra")
    assert "zebra" in words_in(panel)
    clear = panel.findChild(QPushButton, "clearSearch")
    qtbot.mouseClick(clear, Qt.MouseButton.LeftButton)
    assert titles(panel) == ["Today", "Budget"]


def test_one_sign_of_a_script_in_which_it_is_a_word_is_searched_for(panel, qtbot):
    show(panel, info(1, "Budget"))
    with qtbot.waitSignal(panel.searched) as searched:
        panel.search.setText("雨")
    assert searched.args == ["雨"]


def test_a_search_also_finds_words_said_in_a_session(panel, qtbot):
    show(panel, info(1, "Budget"), info(2, "Letters"))
    with qtbot.waitSignal(panel.searched) as searched:
        panel.search.setText("rainfall")
    hit = SearchHit(
        SessionId("se_2"), AgentId("ag_2"), MessageId("m"), 7, "no rainfall", ((3, 11),)
    )
    panel.set_matches(searched.args[0], SearchFound((), (hit,)))
    assert titles(panel) == ["In messages", "Letters"]
    assert spoken(panel, "Letters").startswith("no rainfall, Letters")
    bare = panel.grab().toImage()
    with qtbot.waitSignal(panel.hit_chosen) as chosen:
        qtbot.keyClick(panel.search, Qt.Key.Key_Return)
    assert chosen.args == [hit]
    panel.set_matches("rainfall", SearchFound((), (replace(hit, marks=()),), indexed=0.25))
    assert panel.grab().toImage() != bare
    assert spoken(panel, "In messages") == "In messages, indexing: 25 %"
    further = SearchFound((), (hit,), is_complete=False, more=(replace(hit, seq=3),))
    panel.set_matches("rainfall", further)
    assert titles(panel) == ["In messages", "Letters", "More in the same sessions", "Letters"]
    assert spoken(panel, "More in the same sessions") == "More in the same sessions, 1"


def test_down_goes_from_the_search_to_what_was_found(panel, qtbot):
    show(panel, info(1, "Budget"), info(2, "Letters"))
    qtbot.keyClicks(panel.search, "letters")
    qtbot.keyClick(panel.search, Qt.Key.Key_Down)
    qtbot.waitUntil(panel.list.hasFocus)
    with qtbot.waitSignal(panel.session_chosen) as chosen:
        qtbot.keyClick(panel.list, Qt.Key.Key_Return)
    assert chosen.args == ["se_2"]


def test_the_spinner_clock_rests_unless_a_session_runs(panel, theme):
    show(panel, info(1, "Quiet"))
    assert not theme.pulse.is_running
    show(panel, info(1, "Busy", "running"))
    assert theme.pulse.is_running
    panel.hide()
    assert not theme.pulse.is_running


def test_every_state_is_drawn_in_both_directions(panel, qtbot):
    states = ("running", "needs_you", "failed", "interrupted", "idle")
    show(panel, *(info(n, f"Session {n}", state) for n, state in enumerate(states)))
    left = panel.grab().toImage()
    panel.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert panel.grab().toImage() != left


def test_sessions_of_the_same_name_in_two_folders_say_which_is_which(panel):
    shop = replace(info(1, "look around"), workspace=Workspace("/tmp/shop"))
    bank = replace(info(2, "look around"), workspace=Workspace("/tmp/bank"))
    show(panel, shop, bank, info(3, "another"))
    rows = {row.session_id: row for row in panel.list.model().rows() if row.session_id}
    assert [rows[one.id].is_ambiguous for one in (shop, bank)] == [True, True]
    assert "look around, bank" in rows_spoken(panel)[1]
    assert "project" not in spoken(panel, "another")
    narrow = panel.grab().toImage()
    show(panel, shop, replace(bank, workspace=Workspace("/tmp/other")), info(3, "another"))
    assert panel.grab().toImage() != narrow


def rows_spoken(panel):
    return [session_rows.spoken(row) for row in panel.list.model().rows() if row.session_id]


def test_a_number_of_things_is_said_in_plain_words():
    assert with_plural("Copied: 1 character(s)", 1) == "Copied: 1 character"
    assert with_plural("Copied: 68 character(s)", 68) == "Copied: 68 characters"

"""The strip of notes: honest words for each state, and what can be done about it."""

import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    SessionOpened,
    StepStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.notes import strip
from desktop_agent.gui.notes.strip import NoteRowView
from tests.helpers.panels import follow
from tests.helpers.patience import HANG_MS
from tests.helpers.windows import has_running_timer

AGENT = "ag_1"


@pytest.fixture
def composer(qtbot, theme):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.resize(800, 500)
    one.show()
    qtbot.waitExposed(one)
    info = SessionInfo("se_1", AGENT, "Title", Workspace("/tmp"), "demo")
    follow(one, SessionOpened(info, (AgentInfo(AGENT, "se_1", "Main"),)))
    follow(one, TurnStarted(AGENT))
    return one


def put(composer, text="Use euros", note_id="no_1", **changes):
    note = Note(note_id, text, **changes)
    follow(composer, NoteQueued(AGENT, note))
    return note


def strip_of(composer):
    return composer.findChild(QWidget, "noteStrip")


def rows(composer):
    return [row for row in composer.findChildren(NoteRowView) if row.isVisible()]


def state(composer, number=0):
    return rows(composer)[number].findChild(QLabel, "noteState").accessibleName()


def button(composer, name) -> QAbstractButton:
    return rows(composer)[0].findChild(QAbstractButton, name)


def status(composer, what):
    follow(composer, AgentsChanged("se_1", (AgentInfo(AGENT, "se_1", "Main", status=what),)))


def test_a_queued_note_says_that_it_is_read_after_this_turn(composer):
    put(composer, delivery="turn")
    assert state(composer) == "Queued – after this turn"


def test_a_steer_says_which_tool_it_waits_for_and_since_when(composer):
    put(composer, delivery="step")
    assert state(composer) == "Queued – reads it at the next step"
    started = ToolStarted(AGENT, ToolCall("c1", "shell"), "running pytest -q", time.time() - 12)
    follow(composer, started)
    assert state(composer) == "Waiting – reads it after running pytest -q (12 s)"
    follow(composer, ToolStarted(AGENT, ToolCall("c2", "read"), "reading a", time.time()))
    assert "running pytest -q and others" in state(composer)


def test_a_steer_says_when_it_waits_for_the_person(composer):
    put(composer, delivery="step")
    status(composer, "waiting_approval")
    assert state(composer) == "Waiting – reads it after your decision"
    status(composer, "waiting_answer")
    assert state(composer) == "Waiting – reads it after the answer"


def test_delivered_tells_step_and_time_and_then_folds_away(qtbot, composer, monkeypatch):
    monkeypatch.setattr(strip, "DELIVERED_MS", 1)
    put(composer)
    follow(composer, StepStarted(AGENT, 14))
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    assert state(composer) == "Sending with step 14"
    at = time.time()
    follow(composer, NoteDelivered(AGENT, "no_1", 14, at))
    assert state(composer) == "Delivered at step 14 · " + time.strftime(
        "%H:%M:%S", time.localtime(at)
    )
    qtbot.waitUntil(lambda: not rows(composer))
    assert not strip_of(composer).isVisible()


def test_a_note_that_came_too_late_can_be_sent_as_a_new_message(qtbot, composer):
    note = put(composer, attachments=(TextPart("file"),))
    follow(composer, NoteReturned(AGENT, "no_1", "finished"))
    follow(composer, TurnEnded(AGENT, "finished"))
    assert state(composer) == "Not delivered: it finished first"
    with qtbot.waitSignal(composer.submitted) as hit:
        button(composer, "noteResend").click()
    again = hit.args[0]
    assert again.id != note.id
    assert (again.text, again.attachments) == (note.text, note.attachments)
    # Until the new one is on disk the old one stands there.
    assert state(composer) == "Not delivered: it finished first"
    follow(composer, NoteQueued(AGENT, again))
    assert not rows(composer)


def test_a_note_that_came_back_can_be_discarded(qtbot, composer):
    put(composer)
    follow(composer, NoteReturned(AGENT, "no_1", "stopped"))
    assert state(composer) == "Not delivered: it was stopped"
    with qtbot.assertNotEmitted(composer.submitted):
        button(composer, "noteDiscard").click()
    assert rows(composer) == []


def test_a_failed_note_shows_the_providers_words_and_retries_with_the_same_id(qtbot, composer):
    note = put(composer)
    follow(composer, NoteReturned(AGENT, "no_1", "failed"))
    follow(composer, TurnEnded(AGENT, "error", fault=Fault("auth", "Incorrect API key.")))
    assert state(composer) == "Not delivered: Incorrect API key."
    with qtbot.waitSignal(composer.submitted) as hit:
        button(composer, "noteRetry").click()
    assert hit.args[0] == note


def test_a_failed_note_that_is_in_the_history_is_not_sent_twice(qtbot, composer):
    put(composer)
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    follow(composer, TurnEnded(AGENT, "error", fault=Fault("server", "Bad gateway.")))
    with qtbot.waitSignal(composer.resume_requested), qtbot.assertNotEmitted(composer.submitted):
        button(composer, "noteRetry").click()
    assert not button(composer, "noteDiscard").isVisible()


def test_a_waiting_note_is_edited_in_place(qtbot, composer):
    put(composer, "Use euros\nplease")
    button(composer, "noteEdit").click()
    editor = rows(composer)[0].findChild(QLineEdit, "noteEditor")
    assert editor.text() == "Use euros\nplease"
    editor.setText("Use pounds")
    with qtbot.waitSignal(composer.note_edited) as hit:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert hit.args == ["no_1", "Use pounds"]


def test_a_long_text_that_is_put_into_a_note_keeps_its_end(qtbot, composer):
    put(composer)
    button(composer, "noteEdit").click()
    editor = rows(composer)[0].findChild(QLineEdit, "noteEditor")
    editor.insert(", as here: " * 4_000 + "all of them")
    with qtbot.waitSignal(composer.note_edited) as hit:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert hit.args[1].endswith("all of them")


def test_leaving_an_edit_with_escape_changes_nothing(qtbot, composer):
    put(composer)
    button(composer, "noteEdit").click()
    editor = rows(composer)[0].findChild(QLineEdit, "noteEditor")
    editor.setText("other")
    with qtbot.assertNotEmitted(composer.note_edited):
        qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert "Use euros" in rows(composer)[0].accessibleName()


def test_words_typed_into_a_note_that_left_meanwhile_are_not_lost(composer):
    put(composer)
    button(composer, "noteEdit").click()
    rows(composer)[0].findChild(QLineEdit, "noteEditor").setText("Use pounds after all")
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    assert composer.draft() == "Use pounds after all"


def test_words_for_a_note_that_left_stand_behind_what_is_in_the_message_box(qtbot, composer):
    put(composer)
    composer.set_text("And the dates")
    composer.activateWindow()
    button(composer, "noteEdit").click()
    editor = rows(composer)[0].findChild(QLineEdit, "noteEditor")
    qtbot.waitFocus(editor)
    editor.setText("Use pounds after all")
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    qtbot.waitUntil(lambda: composer.box.edit.hasFocus())
    qtbot.keyClicks(composer.box.edit, ", please")
    assert composer.draft() == "And the dates\n\nUse pounds after all, please"


def test_who_writes_in_a_note_that_leaves_goes_on_in_the_message_box(qtbot, composer):
    put(composer)
    composer.activateWindow()
    button(composer, "noteEdit").click()
    qtbot.waitFocus(rows(composer)[0].findChild(QLineEdit, "noteEditor"))
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    qtbot.waitUntil(lambda: composer.box.edit.hasFocus())
    qtbot.keyClicks(composer.box.edit, ", please")
    assert composer.draft() == ", please", "what is typed on goes nowhere"


def test_a_waiting_note_can_be_withdrawn_and_a_taken_one_can_not(qtbot, composer):
    put(composer)
    with qtbot.waitSignal(composer.note_withdrawn) as hit:
        button(composer, "noteWithdraw").click()
    assert hit.args == ["no_1"]
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    for name in ("noteWithdraw", "noteEdit", "noteInterrupt"):
        assert not button(composer, name).isVisible()


def test_stopping_for_a_note_names_what_it_cuts_and_sends_it_once(composer):
    note = put(composer)
    follow(composer, ToolStarted(AGENT, ToolCall("c1", "shell"), "running pytest -q", time.time()))
    interrupt = button(composer, "noteInterrupt")
    assert interrupt.accessibleName() == "Stop and send this now: cuts running pytest -q"
    order = []
    composer.note_withdrawn.connect(order.append)
    composer.stop_and_send_requested.connect(order.append)
    interrupt.click()
    withdrawn, sent = order
    assert withdrawn == note.id
    assert (sent.text, sent.id != note.id) == (note.text, True)


def test_after_a_stop_what_still_waits_says_how_it_goes_on(composer):
    put(composer, delivery="turn")
    follow(composer, TurnEnded(AGENT, "cancelled"))
    assert state(composer) == "Queued – goes out with your next message"
    assert not button(composer, "noteInterrupt").isVisible()


def test_after_a_stop_what_was_being_sent_says_that_it_goes_out_again(composer):
    put(composer)
    follow(composer, NoteTaken(AGENT, "no_1", "me_1"))
    assert state(composer).startswith("Sending")
    follow(composer, TurnEnded(AGENT, "cancelled"))
    assert state(composer) == "Queued – goes out with your next message"
    assert not button(composer, "noteEdit").isVisible()


def test_what_waits_after_a_stop_can_be_sent_without_writing_anything_more(qtbot, composer):
    put(composer, delivery="turn")
    assert not button(composer, "noteRetry").isVisible()
    follow(composer, TurnEnded(AGENT, "cancelled"))
    assert button(composer, "noteRetry").accessibleName() == "Send now"
    with qtbot.waitSignal(composer.resume_requested), qtbot.assertNotEmitted(composer.submitted):
        button(composer, "noteRetry").click()


def test_edits_of_the_task_list_wait_visibly_but_are_not_edited_as_text(composer):
    put(composer, "internal words", kind="task_edit")
    assert "Your changes to the task list" in rows(composer)[0].accessibleName()
    assert not button(composer, "noteEdit").isVisible()


def test_the_echo_of_a_note_to_a_subagent_is_not_taken_for_an_edit_of_the_tasks(composer):
    put(composer, "[The user told Prices (sa_1): hurry]", kind="notice")
    assert "What you told a subagent" in rows(composer)[0].accessibleName()
    assert not button(composer, "noteEdit").isVisible()


def test_many_notes_leave_room_for_the_conversation(composer):
    for number in range(12):
        put(composer, note_id=f"no_{number}")
    QApplication.processEvents()
    assert len(rows(composer)) == 12
    assert strip_of(composer).height() < 200


def test_the_seconds_are_counted_only_while_a_tool_runs_and_a_note_waits(composer):
    notes = strip_of(composer).notes
    put(composer)
    assert not has_running_timer(notes)
    follow(composer, ToolStarted(AGENT, ToolCall("c1", "shell"), "running", time.time()))
    assert has_running_timer(notes)
    follow(composer, TurnEnded(AGENT, "cancelled"))
    assert not has_running_timer(notes)


def test_what_a_stopped_subagent_did_not_read_goes_to_main_and_not_to_it_again(qtbot, composer):
    note = put(composer)
    follow(composer, NoteReturned(AGENT, "no_1", "stopped"))
    ended = AgentInfo(AGENT, "se_1", "Alpha", status="stopped", parent_id="ag_0")
    follow(composer, AgentsChanged("se_1", (ended,)))
    assert state(composer) == "Not delivered: it was stopped"
    resend = button(composer, "noteResend")
    assert resend.text() == "Send as new task"
    with (
        qtbot.waitSignal(composer.main_requested) as hit,
        qtbot.waitSignal(composer.note_withdrawn),
        qtbot.assertNotEmitted(composer.submitted),
    ):
        resend.click()
    assert hit.args[0].text == note.text
    follow(composer, NoteQueued("ag_0", hit.args[0]))
    assert rows(composer) == []


def test_a_note_sent_on_from_the_card_is_not_offered_again_over_the_message_box(composer):
    put(composer)
    follow(composer, NoteReturned(AGENT, "no_1", "stopped"))
    assert len(rows(composer)) == 1
    follow(composer, NoteReturned(AGENT, "no_1", "withdrawn"))
    assert rows(composer) == []


def test_a_note_to_a_paused_agent_says_that_it_waits_for_it_to_go_on(composer):
    put(composer)
    paused = AgentInfo(AGENT, "se_1", "Alpha", status="paused", parent_id="ag_0")
    follow(composer, AgentsChanged("se_1", (paused,)))
    assert state(composer) == "Queued – reads it when it goes on"


def test_many_notes_at_once_are_shown_some_at_a_time(qtbot, composer, monkeypatch):
    monkeypatch.setattr(strip, "_STEP_S", -1.0)
    for number in range(30):
        put(composer, f"Note {number}", f"no_{number}")
    assert len(composer.findChildren(NoteRowView)) == 5
    qtbot.waitUntil(lambda: len(rows(composer)) == 30, timeout=HANG_MS)
    texts = [one.accessibleName().partition(".")[0] for one in rows(composer)]
    assert texts == [f"Note {number}" for number in range(30)]

"""The composer as a person uses it: keys, buttons, drafts, files, and what it says before."""

import itertools

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QImage,
    QInputMethodEvent,
)
from PySide6.QtWidgets import QAbstractButton, QApplication, QPlainTextEdit, QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    CommandRefused,
    NoteQueued,
    PartDelta,
    SessionOpened,
    SessionsChanged,
    StepEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.messages import ImagePart, TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.frame import ComposerFrame
from desktop_agent.gui.composer.text_edit import LONG_TEXT, ComposerText
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.kit.widgets import ElidedLabel
from tests.helpers.events import opened
from tests.helpers.panels import follow
from tests.helpers.windows import Painted

AGENT = "ag_1"
ENTER, CTRL, SHIFT = (
    Qt.Key.Key_Return,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


@pytest.fixture
def composer(qtbot, theme):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.resize(800, 300)
    one.show()
    qtbot.waitExposed(one)
    one.activateWindow()
    follow(one, opened())
    one.focus_text()
    qtbot.waitFocus(box(one))
    return one


@pytest.fixture
def running(composer):
    follow(composer, TurnStarted(AGENT))
    return composer


def box(composer) -> ComposerText:
    return composer.findChild(ComposerText)


def button(composer, name) -> QAbstractButton:
    found = composer.findChild(QAbstractButton, name)
    assert found is not None, name
    return found


def sent(qtbot, composer, act, signal="submitted") -> Note:
    with qtbot.waitSignal(getattr(composer, signal)) as hit:
        act()
    return hit.args[0]


def test_enter_sends_what_was_typed_and_empties_the_box(qtbot, composer):
    qtbot.keyClicks(box(composer), "Fix the test")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    assert (note.text, note.kind, note.delivery, note.sender) == (
        "Fix the test",
        "message",
        "turn",
        "user",
    )
    assert composer.draft() == ""


def test_shift_enter_makes_a_real_new_line(qtbot, composer):
    qtbot.keyClicks(box(composer), "one")
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(box(composer), ENTER, SHIFT)
    qtbot.keyClicks(box(composer), "two")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    assert note.text == "one\ntwo"


@pytest.mark.parametrize("typed", ["", "See "])
def test_the_button_sends_what_an_input_method_still_composes(qtbot, composer, typed):
    qtbot.keyClicks(box(composer), typed)
    QApplication.sendEvent(box(composer), QInputMethodEvent("にほん", []))
    send = button(composer, "sendButton")
    note = sent(qtbot, composer, lambda: qtbot.mouseClick(send, Qt.MouseButton.LeftButton))
    assert note.text == f"{typed}にほん"
    assert (composer.draft(), box(composer).unfinished) == ("", "")


def test_enter_ends_what_an_input_method_composes_and_sends_only_the_next_time(qtbot, composer):
    composer.activateWindow()
    box(composer).setFocus()
    qtbot.waitFocus(box(composer))
    QApplication.sendEvent(box(composer), QInputMethodEvent("にほん", []))
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(box(composer), Qt.Key.Key_Up)
        qtbot.keyClick(box(composer), ENTER)
    assert (composer.draft(), box(composer).unfinished) == ("にほん", "")
    assert sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER)).text == "にほん"


def test_what_is_pasted_is_sent_letter_by_letter(qtbot, composer):
    data = QMimeData()
    data.setText("x\u00a0= 1\u2028\ny")  # a space that no compiler takes, and a line's soft end
    box(composer).insertFromMimeData(data)
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    assert note.text == "x\u00a0= 1\n\ny"


def test_nothing_but_blanks_is_not_sent(qtbot, composer):
    composer.set_text("  \n ")
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(box(composer), ENTER)
    assert not button(composer, "sendButton").isEnabled()


def test_with_the_setting_ctrl_enter_sends_and_enter_is_a_new_line(qtbot, composer):
    composer.set_settings(Settings(send_with_ctrl_enter=True))
    qtbot.keyClicks(box(composer), "a")
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(box(composer), ENTER)
    assert composer.draft() == "a\n"
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER, CTRL))
    assert note.text == "a"


@pytest.mark.parametrize(
    ("settings", "modifier", "delivery"),
    [
        (Settings(), Qt.KeyboardModifier.NoModifier, "turn"),
        (Settings(), CTRL, "step"),
        (Settings(steer_on_enter=True), Qt.KeyboardModifier.NoModifier, "step"),
        (Settings(steer_on_enter=True), CTRL, "turn"),
        (Settings(send_with_ctrl_enter=True), CTRL, "turn"),
        (Settings(send_with_ctrl_enter=True), CTRL | SHIFT, "step"),
    ],
)
def test_while_it_runs_the_keys_queue_or_steer_as_the_person_chose(
    qtbot, running, settings, modifier, delivery
):
    running.set_settings(settings)
    running.set_text("Use euros")
    note = sent(qtbot, running, lambda: qtbot.keyClick(box(running), ENTER, modifier))
    assert note.delivery == delivery


def test_the_box_says_what_the_keys_will_do_before_anything_is_sent(running):
    assert box(running).placeholderText() == (
        "Enter queues for after this turn, Ctrl+Enter steers at the next step"
    )
    running.set_settings(Settings(steer_on_enter=True))
    assert box(running).placeholderText().startswith("Ctrl+Enter queues")


def test_with_an_empty_box_stop_stands_where_send_was(running):
    assert button(running, "stopButton").isVisible()
    assert not button(running, "sendButton").isVisible()
    assert not button(running, "firstButton").isVisible()


def test_with_text_the_buttons_are_queue_and_steer_now(qtbot, running):
    running.set_text("Use euros")
    assert not button(running, "stopButton").isVisible()
    first, second = button(running, "firstButton"), button(running, "secondButton")
    assert (first.accessibleName(), second.accessibleName()) == ("Queue", "Steer now")
    assert sent(qtbot, running, second.click).delivery == "step"
    running.set_text("And pounds")
    assert sent(qtbot, running, first.click).delivery == "turn"


def test_stop_says_stopping_at_once_and_asks_only_once(qtbot, running):
    with qtbot.waitSignal(running.stop_requested):
        button(running, "stopButton").click()
    assert button(running, "stopButton").accessibleName() == "Stopping…"
    assert not button(running, "stopButton").isEnabled()
    with qtbot.assertNotEmitted(running.stop_requested):
        running.request_stop()
    follow(running, TurnEnded(AGENT, "cancelled"))
    assert button(running, "sendButton").isVisible()
    follow(running, TurnStarted(AGENT))
    assert button(running, "stopButton").accessibleName() == "Stop"


def test_stop_and_send_now_names_the_tool_that_it_cuts(qtbot, running):
    follow(running, ToolStarted(AGENT, ToolCall("c1", "shell"), "running pytest -q"))
    running.set_text("Never mind")
    cut = running.findChild(QAction, "stopAndSend")
    assert cut.text() == "Stop and send now – cuts running pytest -q"
    note = sent(qtbot, running, cut.trigger, "stop_and_send_requested")
    assert note.text == "Never mind"
    assert button(running, "stopButton").accessibleName() == "Stopping…"


def test_stopping_from_elsewhere_is_shown_too(running):
    agent = AgentInfo(AGENT, "se_1", "Main", status="stopping")
    follow(running, AgentsChanged("se_1", (agent,)))
    assert button(running, "stopButton").accessibleName() == "Stopping…"


def test_up_in_an_empty_box_brings_back_what_was_sent(qtbot, composer):
    for text in ("first", "second"):
        composer.set_text(text)
        qtbot.keyClick(box(composer), ENTER)
    keys = Qt.Key
    seen = []
    for key in (keys.Key_Up, keys.Key_Up, keys.Key_Up, keys.Key_Down, keys.Key_Down):
        qtbot.keyClick(box(composer), key)
        seen.append(composer.draft())
    assert seen == ["second", "first", "first", "second", ""]


def test_up_in_a_text_moves_the_cursor_and_replaces_nothing(qtbot, composer):
    composer.set_text("sent")
    qtbot.keyClick(box(composer), ENTER)
    composer.set_text("being typed")
    qtbot.keyClick(box(composer), Qt.Key.Key_Up)
    assert composer.draft() == "being typed"


def test_messages_of_a_restored_session_can_be_recalled(qtbot, composer):
    follow(composer, opened(events=(NoteQueued(AGENT, Note("no_1", "from yesterday")),)))
    qtbot.keyClick(box(composer), Qt.Key.Key_Up)
    assert composer.draft() == "from yesterday"


def test_each_session_keeps_its_own_draft_and_attachments(qtbot, composer, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("x")
    composer.set_text("half a thought")
    composer.box.attach_files([file])
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    follow(composer, opened("se_2"))
    assert composer.draft() == ""
    assert composer.box.parts == ()
    composer.set_text("another")
    follow(composer, opened("se_1"))
    assert composer.draft() == "half a thought"
    assert len(composer.box.parts) == 1


def test_what_is_typed_while_the_app_starts_stays_in_the_box(qtbot, theme):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.set_text("typed at once")
    follow(one, opened())
    assert one.draft() == "typed at once"
    follow(one, opened("se_2"))
    assert one.draft() == ""


def test_undo_does_not_bring_back_the_draft_of_another_session(composer):
    composer.set_text("secret of the first")
    follow(composer, opened("se_2"))
    box(composer).undo()
    assert composer.draft() == ""


@pytest.mark.parametrize("second", ["se_2", "se_3"])
def test_undo_in_an_empty_box_does_not_bring_back_what_another_session_sent(
    composer, qtbot, second
):
    composer.set_text("secret of the first")
    qtbot.keyClick(box(composer), Qt.Key.Key_Return)
    assert composer.draft() == ""
    follow(composer, opened(second))
    qtbot.keyClick(box(composer), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert composer.draft() == ""
    follow(composer, opened())
    qtbot.keyClick(box(composer), Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(box(composer), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert composer.draft() == ""


def test_undo_in_the_same_session_brings_back_what_was_sent(composer, qtbot):
    composer.set_text("not yet")
    qtbot.keyClick(box(composer), Qt.Key.Key_Return)
    qtbot.keyClick(box(composer), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert composer.draft() == "not yet"


def test_streamed_text_costs_the_composer_nothing(composer):
    follow(composer, TurnStarted(AGENT))
    box(composer).clearFocus()  # its caret blinks
    QApplication.processEvents()
    painted = [Painted(one) for one in (composer, *composer.findChildren(QWidget))]
    follow(composer, PartDelta(AGENT, "me_1", "text", "word "))
    QApplication.processEvents()
    assert sum(one.count for one in painted) == 0
    follow(composer, TurnEnded(AGENT, "finished"))
    QApplication.processEvents()
    assert sum(one.count for one in painted) > 0


def test_a_message_that_never_reached_the_disk_comes_back_into_the_box(qtbot, composer):
    composer.set_text("precious words")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    composer.apply(CommandRefused("send", "The disk is full.", AGENT, note.id))
    assert composer.draft() == "precious words"


def test_what_was_attached_to_a_lost_message_comes_back_before_what_was_written_since(
    qtbot, composer
):
    composer.set_text("precious words")
    box(composer).long_text_given.emit("a,b\n1,2\n")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    composer.set_text("the next")
    composer.apply(CommandRefused("send", "The disk is full.", AGENT, note.id))
    assert composer.draft() == "precious words\n\nthe next"
    again = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    assert again.attachments == note.attachments != ()


def test_a_lost_message_comes_back_into_its_own_session(qtbot, composer):
    composer.set_text("precious words")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    follow(composer, opened("se_2", agent="ag_2"))
    composer.apply(CommandRefused("send", "The disk is full.", AGENT, note.id))
    assert composer.draft() == ""
    follow(composer, opened("se_1"))
    assert composer.draft() == "precious words"


def test_stopping_one_session_does_not_stop_the_look_of_another(running):
    button(running, "stopButton").click()
    follow(running, opened("se_2", agent="ag_2", status="running"))
    assert button(running, "stopButton").accessibleName() == "Stop"


def test_a_message_that_reached_the_disk_does_not_come_back(qtbot, composer):
    composer.set_text("sent")
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    follow(composer, NoteQueued(AGENT, note))
    composer.apply(CommandRefused("send", "Something.", AGENT, note.id))
    assert composer.draft() == ""


def test_the_box_grows_with_its_text_to_ten_lines_and_then_scrolls(composer):
    text = box(composer)
    heights = []
    for lines in (1, 2, 10, 11, 40):
        composer.set_text("\n".join("x" for _ in range(lines)))
        heights.append(text.height())
    assert heights[0] < heights[1] < heights[2]
    assert heights[2] == heights[3] == heights[4]


def test_a_dropped_file_is_attached_and_goes_out_with_the_message(qtbot, composer, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(file))])
    copy, none = Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    drop = QDropEvent(QPointF(5, 5), copy, mime, Qt.MouseButton.LeftButton, none)
    composer.findChild(ComposerFrame).dropEvent(drop)
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    note = sent(qtbot, composer, button(composer, "sendButton").click)
    assert note.text == ""
    assert isinstance(note.attachments[0], TextPart)
    assert "# Notes" in note.attachments[0].text
    assert composer.box.parts == ()


def test_the_box_lights_up_for_files_that_are_held_over_it(qtbot, composer, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("x", encoding="utf-8")
    frame = composer.findChild(ComposerFrame)

    def look():
        return frame.grab(QRect(0, 0, frame.width(), 6)).toImage()

    text = frame.findChild(QPlainTextEdit).viewport()
    plain = look()

    def hold(target, path):
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(str(path))])
        where, action = QPoint(9, 9), Qt.DropAction.CopyAction
        none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(target, QDragEnterEvent(where, action, mime, *none))
        is_lit = look() != plain
        QApplication.sendEvent(target, QDragLeaveEvent())
        assert look() == plain
        return is_lit

    for target in (frame, text):
        assert hold(target, file)
        assert not hold(target, tmp_path), "a folder is the window's"


def test_a_pasted_picture_becomes_a_chip_that_can_be_removed(qtbot, composer):
    image = QImage(30, 20, QImage.Format.Format_RGB32)
    image.fill(0)
    mime = QMimeData()
    mime.setImageData(image)
    box(composer).insertFromMimeData(mime)
    assert composer.box.is_reading, "the window does not wait while the picture is written"
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    assert isinstance(composer.box.parts[0], ImagePart)
    remove = button(composer, "removeAttachment")
    assert remove.accessibleName() == "Remove Pasted picture.png"
    remove.click()
    assert composer.box.parts == ()
    assert not button(composer, "sendButton").isEnabled()


def test_very_long_pasted_text_becomes_an_attachment_instead_of_freezing_the_box(composer):
    mime = QMimeData()
    mime.setText("x" * (LONG_TEXT + 1))
    box(composer).insertFromMimeData(mime)
    assert composer.draft() == ""
    assert len(composer.box.parts) == 1
    mime.setText("short")
    box(composer).insertFromMimeData(mime)
    assert composer.draft() == "short"


def test_a_message_sent_while_its_file_is_being_read_goes_with_the_file(qtbot, composer, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("content")
    composer.set_text("look")
    composer.box.attach_files([file])
    note = sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER))
    assert len(note.attachments) == 1
    assert note.text == "look"


def test_a_refused_file_shows_why_and_is_not_sent(qtbot, composer, tmp_path):
    composer.set_text("look")
    composer.box.attach_files([tmp_path / "gone.txt"])
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    chips = [w for w in composer.findChildren(QWidget) if w.property("tone") == "err"]
    assert "The file is not there any more." in chips[0].accessibleName()
    assert sent(qtbot, composer, button(composer, "sendButton").click).attachments == ()


def test_chips_on_several_lines_take_no_room_from_the_text(qtbot, composer, tmp_path):
    composer.set_text("one\ntwo\nthree")
    composer.box.attach_files([tmp_path / f"{'long name ' * 3}{number}.txt" for number in range(6)])
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    text, chips = box(composer), composer.findChild(QWidget, "attachmentRow")
    qtbot.waitUntil(lambda: chips.height() > 100)
    assert text.height() == text.sizeHint().height()
    assert chips.geometry().bottom() < text.geometry().top()


def test_the_name_of_an_attachment_shows_what_is_hidden_in_it(composer, tmp_path):
    composer.box.attach_files([tmp_path / "x\ny\u202egnp.exe"])
    name = composer.findChild(QWidget, "attachmentRow").findChild(ElidedLabel)
    assert name.whole_text() == "x⟨U+000A⟩y⟨U+202E⟩gnp.exe"


def test_a_model_without_eyes_is_told_of_before_a_picture_is_sent(qtbot, composer):
    image = QImage(3, 2, QImage.Format.Format_RGB32)
    image.fill(0)
    box(composer).image_given.emit(image)
    qtbot.waitState(composer.box.changed, lambda: not composer.box.is_reading)
    warning = composer.findChild(QWidget, "imageWarning")
    assert not warning.isVisible()
    composer.set_model("Text only", has_images=False)
    assert warning.isVisible()


def test_an_at_sign_asks_for_files_and_tab_puts_the_path_in(qtbot, composer):
    with qtbot.waitSignal(composer.box.path_completion_requested) as hit:
        qtbot.keyClicks(box(composer), "see @re")
    assert hit.args == ["re"]
    composer.box.set_completions("re", ("retry.py", "src/", "read me.md"))
    popup = composer.findChild(QWidget, "filePopup")
    assert popup.isVisible()
    qtbot.keyClick(box(composer), Qt.Key.Key_Tab)
    assert composer.draft() == "see retry.py "
    assert not popup.isVisible()


def test_a_path_goes_in_behind_rare_characters_and_before_what_follows(qtbot, composer):
    text = box(composer)
    text.insertPlainText("😀😀 𝕏 @e\u0301x tail")
    cursor = text.textCursor()
    cursor.setPosition(cursor.position() - len(" tail"))
    text.setTextCursor(cursor)
    assert text.mention == "e\u0301x"
    text.replace_mention("a.py")
    assert composer.draft() == "😀😀 𝕏 a.py tail"


def test_in_the_list_of_files_keys_move_choose_and_leave(qtbot, composer):
    qtbot.keyClicks(box(composer), "@r")
    composer.box.set_completions("r", ("a.py", "read me.md", "src/"))
    popup = composer.findChild(QWidget, "filePopup")
    qtbot.keyClick(box(composer), Qt.Key.Key_Down)
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(box(composer), ENTER)
    assert composer.draft() == "`read me.md` "
    qtbot.keyClicks(box(composer), "@s")
    composer.box.set_completions("s", ("a.py", "src/"))
    qtbot.keyClick(box(composer), Qt.Key.Key_Up)
    with qtbot.waitSignal(composer.box.path_completion_requested) as hit:
        qtbot.keyClick(box(composer), Qt.Key.Key_Tab)
    assert hit.args == ["src/"]
    composer.box.set_completions("src/", ())
    assert popup.isVisible()
    qtbot.keyClick(box(composer), Qt.Key.Key_Escape)
    assert not popup.isVisible()


def test_files_are_found_in_a_chosen_folder_with_spaces_in_its_name(qtbot, composer):
    qtbot.keyClicks(box(composer), "see @mei")
    composer.box.set_completions("mei", ("mein Ordner ü/",))
    qtbot.keyClick(box(composer), Qt.Key.Key_Tab)
    with qtbot.waitSignal(composer.box.path_completion_requested) as hit:
        qtbot.keyClicks(box(composer), "da")
    assert hit.args == ["mein Ordner ü/da"]
    composer.box.set_completions("mein Ordner ü/da", ("mein Ordner ü/datei eins.txt",))
    qtbot.keyClick(box(composer), ENTER)
    assert composer.draft() == "see `mein Ordner ü/datei eins.txt` "
    assert box(composer).mention is None


def test_an_answer_for_what_is_no_longer_typed_is_passed_over(qtbot, composer):
    qtbot.keyClicks(box(composer), "@re")
    composer.box.set_completions("r", ("late.py",))
    assert composer.findChild(QWidget, "filePopup") is None


def test_an_address_is_no_mention(qtbot, composer):
    qtbot.keyClicks(box(composer), "ada@exam")
    assert box(composer).mention is None


def test_the_free_mode_is_confirmed_once_a_folder_and_coloured(qtbot, composer):
    mode = button(composer, "modeButton")
    action = composer.findChild(QAction, "mode_free")
    with qtbot.assertNotEmitted(composer.mode_chosen):
        action.trigger()
    asked = composer.findChild(Question, "confirmFree")
    assert "/tmp/work" in asked.detail
    with qtbot.waitSignal(composer.mode_chosen) as hit:
        asked.findChild(QAbstractButton, "confirmFreeYes").click()
    assert hit.args == ["free"]
    assert mode.accessibleName() == "Mode: Work without asking in this folder"
    composer.findChild(QAction, "mode_ask").trigger()
    with qtbot.waitSignal(composer.mode_chosen) as hit:
        action.trigger()
    assert hit.args == ["free"]


def test_declining_the_free_mode_changes_nothing(qtbot, composer):
    composer.findChild(QAction, "mode_free").trigger()
    asked = composer.findChild(Question, "confirmFree")
    with qtbot.assertNotEmitted(composer.mode_chosen):
        asked.reject()
    assert button(composer, "modeButton").mode == "ask"


def test_the_mode_follows_the_session(composer):
    follow(composer, opened("se_2", mode="look"))
    assert button(composer, "modeButton").mode == "look"
    info = opened("se_2", mode="free").info
    follow(composer, SessionsChanged((info,)))
    assert button(composer, "modeButton").mode == "free"


def test_the_meter_shows_how_full_the_context_is_and_hides_what_is_unknown(composer):
    meter = composer.findChild(QWidget, "contextMeter")
    assert not meter.isVisible()
    follow(composer, opened(context_tokens=76_000, context_limit=200_000))
    assert (meter.text(), meter.isVisible()) == ("38% context", True)
    follow(composer, StepEnded(AGENT, 2, Usage(cost=0.1), 170_000))
    assert (meter.text(), meter.property("tone")) == ("85% context", "warn")
    follow(composer, StepEnded(AGENT, 3, Usage(cost=0.1), 195_000))
    assert meter.property("tone") == "danger"
    follow(composer, opened("se_3", context_tokens=76_000))
    assert meter.text() == "76k tokens"


def test_the_cost_adds_up_and_is_not_invented(composer):
    cost = composer.findChild(QWidget, "costLabel")
    assert not cost.isVisible()
    follow(composer, StepEnded(AGENT, 1, Usage(cost=0.12)))
    follow(composer, StepEnded(AGENT, 2, Usage(cost=None)))
    follow(composer, StepEnded(AGENT, 3, Usage(cost=0.05)))
    assert cost.text() == "$0.17"


def test_without_a_model_sending_opens_the_list_of_models(qtbot, composer):
    follow(composer, opened("se_2", model=""))
    composer.set_text("hello")
    with (
        qtbot.waitSignal(composer.model_picker_requested),
        qtbot.assertNotEmitted(composer.submitted),
    ):
        qtbot.keyClick(box(composer), ENTER)
    assert composer.draft() == "hello"


def test_a_model_chosen_for_an_open_session_lets_it_send(qtbot, composer):
    follow(composer, opened("se_2", model=""))
    follow(composer, SessionsChanged((opened("se_2", model="openai/x").info,)))
    composer.set_text("hello")
    assert sent(qtbot, composer, lambda: qtbot.keyClick(box(composer), ENTER)).text == "hello"


@pytest.mark.parametrize("width", [820, 560, 430, 330])
def test_nothing_is_cut_off_in_a_narrow_window(qtbot, theme, width):
    one = Composer(theme)
    qtbot.addWidget(one)
    one.resize(width, 300)
    one.show()
    qtbot.waitExposed(one)
    follow(
        one, opened(model="openai/gpt-5.6-sol-preview-2026-10-01", context_tokens=9, mode="free")
    )
    follow(one, StepEnded(AGENT, 1, Usage(cost=1.0)))
    follow(one, TurnStarted(AGENT))
    one.set_text("x")
    bar = button(one, "sendButton").parentWidget()
    assert bar.width() <= width
    places = (bar.layout().itemAt(index) for index in range(bar.layout().count()))
    shown = [place.widget() for place in places if place.widget() and place.widget().isVisible()]
    for before, after in itertools.pairwise(shown):
        assert before.geometry().right() < after.geometry().left()
    assert shown[-1].geometry().right() <= bar.width()


def test_every_control_has_a_name(running):
    running.set_text("x")
    nameless = [
        one.objectName() or type(one).__name__
        for one in running.findChildren(QAbstractButton)
        if not one.accessibleName() and one.isVisible()
    ]
    assert nameless == []


def test_every_control_can_be_reached_with_tab(qtbot, running):
    running.set_text("x")
    reached = set()
    for _ in range(12):
        qtbot.keyClick(running.focusWidget() or running, Qt.Key.Key_Tab)
        focused = running.window().focusWidget()
        reached.add(focused.objectName())
    wanted = {"attachButton", "mentionButton", "modelButton", "modeButton", "firstButton"}
    assert wanted | {"secondButton", "moreButton", "composerText"} <= reached


def test_an_ended_subagent_invites_no_message_and_leads_to_main_with_what_was_typed(
    qtbot, composer
):
    alpha = AgentInfo("sa_1", "se_1", "Alpha", status="running", parent_id=AGENT)
    base = opened(agent="sa_1")
    follow(composer, SessionOpened(base.info, (alpha,)))
    composer.set_text("half a thought")
    ended = AgentInfo("sa_1", "se_1", "Alpha", status="stopped", parent_id=AGENT)
    follow(composer, AgentsChanged("se_1", (ended,)))
    bar = composer.findChild(QWidget, "endedBar")
    assert bar.isVisible()
    assert bar.words.text().startswith("Alpha has ended.")
    assert not box(composer).isVisible()
    with qtbot.waitSignal(composer.main_requested) as hit:
        composer.findChild(QAbstractButton, "writeToMain").click()
    assert hit.args == [None]
    follow(composer, opened())
    assert box(composer).isVisible()
    assert not bar.isVisible()
    assert composer.draft() == "half a thought"

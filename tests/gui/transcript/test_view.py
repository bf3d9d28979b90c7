"""The view: where the person looks, what is copied, what is found, what is kept."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QTextCursor
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QPlainTextEdit, QPushButton

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalResolved, ToolOutput
from desktop_agent.core.messages import FilesDisplay, OutputDisplay
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.cards.tool_card import ToolCard
from desktop_agent.gui.transcript.state.items import UserItem
from desktop_agent.gui.transcript.state.rows import EarlierRow, WorkingRow
from tests.gui.transcript.conftest import is_ticking, tick, wait_until_written
from tests.gui.transcript.story import (
    asks,
    begins,
    call,
    delta,
    edits,
    ends,
    gives,
    long_session,
    needs,
    opened,
    reads,
    runs,
    says,
    starts_to_say,
)
from tests.helpers.panels import open_page


def bar(view):
    return view.browser.verticalScrollBar()


def pill(view):
    return view.findChild(QPushButton, "jumpToLatest")


def top_of(view, text):
    """Return where on screen the block with this text is."""
    cursor = view.browser.document().find(text)
    assert not cursor.isNull()
    return view.browser.cursorRect(cursor).top()


def shown_keys(view):
    return [shown.row.key for shown in view.page.rows]


def test_a_session_opens_at_its_newest_message(view, qtbot):
    open_page(view, opened(*long_session(100)))
    assert "answer 99" in view.browser.toPlainText()
    assert "answer 5\n" not in view.browser.toPlainText()
    assert bar(view).value() == bar(view).maximum()
    wait_until_written(qtbot, view)
    assert "answer 0" in view.browser.toPlainText()
    assert bar(view).value() == bar(view).maximum()
    assert not pill(view).isVisible()


def test_rows_that_come_in_on_top_do_not_move_what_is_read(view, qtbot):
    open_page(view, opened(*long_session(100)))
    bar(view).setValue(bar(view).maximum() - 200)
    before = top_of(view, "answer 98")
    wait_until_written(qtbot, view)
    assert abs(top_of(view, "answer 98") - before) <= 1


def test_earlier_messages_come_in_without_moving_what_is_read(view, qtbot):
    events = long_session(60)
    cut = len(events) // 2
    open_page(view, opened(*events[cut:], first_seq=cut + 1))
    wait_until_written(qtbot, view)
    bar(view).setValue(0)
    assert isinstance(view.page.rows[0].row, EarlierRow)
    before = top_of(view, "question 31")
    card = view.cards.cards["earlier"]
    with qtbot.waitSignal(view.earlier_requested):
        qtbot.mouseClick(card.findChild(QPushButton, "showEarlier"), Qt.MouseButton.LeftButton)
    view.prepend(events[:cut], 1)
    wait_until_written(qtbot, view)
    assert abs(top_of(view, "question 31") - before) <= 1
    assert "question 0" in view.browser.toPlainText()
    assert not isinstance(view.page.rows[0].row, EarlierRow)


def test_new_text_is_followed_only_from_near_the_end(view, qtbot):
    open_page(view, opened(*long_session(40), begins(50), status="running"))
    wait_until_written(qtbot, view)
    view.apply([starts_to_say(99), delta(99, "word " * 300)])
    assert bar(view).value() == bar(view).maximum()
    bar(view).setValue(bar(view).maximum() - 47)
    view.apply([delta(99, "word " * 300)])
    assert bar(view).value() == bar(view).maximum()
    bar(view).setValue(bar(view).maximum() - 60)
    place = bar(view).value()
    view.apply([delta(99, "word " * 300)])
    assert bar(view).value() == place
    assert pill(view).isVisible()
    qtbot.mouseClick(pill(view), Qt.MouseButton.LeftButton)
    assert bar(view).value() == bar(view).maximum()
    assert not pill(view).isVisible()


def test_nothing_scrolls_under_a_selection(view, qtbot):
    open_page(view, opened(*long_session(40), begins(50), status="running"))
    wait_until_written(qtbot, view)
    cursor = view.browser.document().find("answer 39")
    view.browser.setTextCursor(cursor)
    place = bar(view).value()
    view.apply([starts_to_say(99), delta(99, "word\n\n" * 100)])
    assert bar(view).value() == place
    assert view.browser.textCursor().selectedText() == "answer 39"


def test_copying_across_messages_gives_text_and_markdown(view, qtbot):
    open_page(view, opened(*asks(1, "Do it"), says(1, "It is **done**."), *edits(1)))
    view.browser.selectAll()
    copied = view.browser.createMimeDataFromSelection()
    markdown = bytes(copied.data("text/markdown").data()).decode()
    assert "Do it" in copied.text()
    assert "It is done." in copied.text()
    assert "It is **done**." in markdown
    assert "Edit a.py" in copied.text()
    assert "Delivered" not in copied.text()
    assert not set(copied.text()) & set("\ufdd0\ufdd1\u2009")


def test_an_answer_that_grew_under_the_pointer_is_copied_whole(view, qtbot):
    open_page(view, opened(*asks(1, "Do it"), begins(2), starts_to_say(2), status="running"))
    view.apply([delta(2, "The first half")])
    qtbot.waitUntil(lambda: "first half" in view.browser.toPlainText())
    at = view.browser.cursorRect(view.browser.document().find("first")).center()
    view.browser.pointed.emit(QPointF(at))
    copy = view.findChild(QAbstractButton, "copyMessage")
    assert copy.isVisible()
    menu = view.menu_at(at)
    view.apply([delta(2, " and the second.")])
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "The first half and the second."
    QGuiApplication.clipboard().clear()
    next(one for one in menu.actions() if one.text() == "Copy message").trigger()
    assert QGuiApplication.clipboard().text() == "The first half and the second."


def test_a_part_of_a_message_copies_as_that_part(view):
    open_page(view, opened(says(1, "one **two three** four")))
    cursor = view.browser.document().find("wo thr")
    view.browser.setTextCursor(cursor)
    copied = view.browser.createMimeDataFromSelection()
    assert copied.text() == "wo thr"
    assert bytes(copied.data("text/markdown").data()) == b"**wo thr**"


def test_the_last_answer_is_copied_as_it_was_written(view):
    open_page(view, opened(says(1, "first"), says(2, "**second**"), *asks(3)))
    view.copy_last_answer()
    assert QGuiApplication.clipboard().text() == "**second**"


def test_finding_reaches_messages_that_are_not_drawn_yet(view):
    open_page(view, opened(*long_session(100)))
    assert view.find("question 3") == 11
    assert view.browser.textCursor().selectedText().lower() == "question 3"
    first = view.browser.textCursor().position()
    view.find("question 3")
    assert view.browser.textCursor().position() != first
    view.find("question 3", backward=True)
    assert view.browser.textCursor().position() == first
    assert view.find("nowhere at all") == 0


def test_more_letters_of_what_is_sought_stay_at_the_first_place_that_has_them(view):
    open_page(view, opened(*long_session(30)))
    words = "question 2"
    view.find(words)
    at_once = view.browser.textCursor().selectionStart()
    view.find("")
    view.browser.moveCursor(QTextCursor.MoveOperation.Start)
    for end in range(len(words)):
        view.find(words[: end + 1])
    assert view.browser.textCursor().selectionStart() == at_once, "each letter went one place on"
    view.find(words)
    assert view.browser.textCursor().selectionStart() > at_once, "the same again is the next one"


def test_what_is_found_stands_away_from_the_edges(view, qtbot):
    open_page(view, opened(*long_session(100)))
    wait_until_written(qtbot, view)
    high = view.browser.viewport().height()
    for backward in (False, True):
        for _ in range(4):
            view.find("question 3", backward=backward)
            assert high // 6 <= view.browser.cursorRect().top() <= high * 5 // 6
            shown = view.browser.textCursor().selectionStart()
            looks = {
                mark.cursor.selectionStart(): mark.format.background().color().name()
                for mark in view.browser.extraSelections()
            }
            assert len(set(looks.values())) == 2
            assert list(looks.values()).count(looks[shown]) == 1


def test_what_cards_say_can_be_found(view):
    open_page(view, opened(*reads(1, "src/retry.py"), says(2, "x")))
    assert view.find("src/retry.py") == 1


def test_a_very_long_session_drops_its_oldest_rows_from_the_document(view, qtbot):
    open_page(view, opened(*long_session(420)))
    wait_until_written(qtbot, view)
    assert len(view.page.rows) == 401
    view.apply(long_session(650)[420 * 5 :])
    wait_until_written(qtbot, view)
    assert len(view.page.rows) <= 801
    assert "answer 649" in view.browser.toPlainText()
    assert "answer 20\n" not in view.browser.toPlainText()
    bar(view).setValue(0)
    assert isinstance(view.page.rows[0].row, EarlierRow)
    with qtbot.assertNotEmitted(view.earlier_requested):
        view.cards.cards["earlier"].findChild(QPushButton, "showEarlier").click()
    wait_until_written(qtbot, view)
    assert len(view.page.rows) > 601


def test_cards_are_made_only_near_the_viewport(view, qtbot):
    events = [event for number in range(120) for event in (*edits(number), says(number, "ok"))]
    open_page(view, opened(*events))
    wait_until_written(qtbot, view)
    assert len(view.page.rows) == 240
    assert len(view.cards.cards) <= 40
    for place in range(bar(view).maximum(), 0, -400):
        bar(view).setValue(place)
    assert len(view.cards.cards) <= 90


def test_every_card_stands_exactly_over_its_place(view, qtbot):
    one = call(50)
    events = [*asks(1), *reads(1), *edits(2), says(3, "text\n\n```python\nx = 1\n```", one)]
    open_page(view, opened(begins(), *events, needs(one), status="running"))
    wait_until_written(qtbot, view)
    for shown in view.page.rows:
        card = view.cards.cards.get(shown.row.key)
        if card is not None:
            box = view.page.rect(shown)
            assert abs(card.geometry().top() - (box.top() - bar(view).value())) <= 1
            assert card.height() == shown.height
            assert abs(box.height() - shown.height) <= 2
            assert card.geometry().left() == view.column().left()
            assert card.width() == view.column().width()


def test_unfolding_a_card_keeps_it_under_the_pointer(view, qtbot):
    one = call(1, "shell", command="make")
    output = OutputDisplay("\n".join(f"line {n}" for n in range(300)), 0, 1.0)
    events = [says(1, "", one), runs(one), gives(one, display=output)]
    open_page(view, opened(*long_session(20), *events, *long_session(40)[100:]))
    wait_until_written(qtbot, view)
    assert view.show_call(one.id)
    card = view.cards.cards[one.id]
    before = card.geometry().top()
    qtbot.mouseClick(card.header, Qt.MouseButton.LeftButton)
    assert card.geometry().top() == before
    assert card.height() > 200
    assert "Show all" in " ".join(b.accessibleName() for b in card.findChildren(QPushButton))
    qtbot.keyClick(card.header, Qt.Key.Key_Space)
    assert card.geometry().top() == before
    assert card.height() < 50


def test_a_card_stays_unfolded_when_it_was_scrolled_away_and_back(view, qtbot):
    one = call(1, "shell", command="make")
    done = gives(one, display=OutputDisplay("out", 0, 1.0))
    open_page(view, opened(says(1, "", one), runs(one), done, *long_session(60)))
    wait_until_written(qtbot, view)
    bar(view).setValue(0)
    view.cards.cards[one.id].header.click()
    view.cards.drop(one.id)
    bar(view).setValue(1)
    assert view.cards.cards[one.id].header.is_open


def test_live_output_shows_while_the_command_runs_and_is_copied_as_it_is_shown(view, qtbot):
    one = call(1, "shell", command="make")
    open_page(view, opened(begins(), says(1, "", one), runs(one), status="running"))
    card = view.cards.cards[one.id]
    card.header.click()
    view.apply([ToolOutput("ag_1", one.id, "first\n")])
    view.apply([ToolOutput("ag_1", one.id, "second\n")])
    assert "first\nsecond" in card.findChild(QPlainTextEdit).toPlainText()
    copy = next(one for one in card.findChildren(QAbstractButton) if "Copy" in one.text())
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert "first\nsecond" in QGuiApplication.clipboard().text()


def test_a_long_running_command_shows_its_time(view, clock):
    one = call(1)
    open_page(view, opened(begins(), says(1, "", one), runs(one, at=clock.now), status="running"))
    card = view.cards.cards[one.id]
    assert card.header.meta == ""
    clock.advance(65)
    tick(view)
    assert card.header.meta == "1:05"


def test_a_silent_model_shows_that_it_thinks(view, clock):
    open_page(view, opened(begins(), *asks(1), status="running"))
    assert isinstance(view.page.rows[-1].row, WorkingRow)
    view.apply([starts_to_say(1), delta(1, "I am")])
    assert not isinstance(view.page.rows[-1].row, WorkingRow)
    clock.advance(4)
    tick(view)
    assert isinstance(view.page.rows[-1].row, WorkingRow)
    view.apply([delta(1, " here")])
    assert not isinstance(view.page.rows[-1].row, WorkingRow)
    view.apply([says(1, "I am here"), ends()])
    assert not isinstance(view.page.rows[-1].row, WorkingRow)


def test_no_clock_runs_behind_a_hidden_view(view, theme, clock):
    one = call(1)
    open_page(view, opened(begins(), says(1, "", one), runs(one), status="running"))
    assert theme.pulse.is_running
    assert is_ticking(view)
    view.hide()
    assert not theme.pulse.is_running
    assert not is_ticking(view)
    view.show()
    view.apply([gives(one), ends()])
    assert not theme.pulse.is_running
    assert not is_ticking(view)


def test_reads_in_a_row_are_one_line_and_no_row_moves_when_one_more_joins(view):
    open_page(view, opened(begins(), *reads(1, "a.py"), status="running"))
    line = view.page.rows[0]
    view.apply([*reads(2, "b.py"), *reads(3, "c.py"), says(9, "Now I know.")])
    assert shown_keys(view)[:2] == ["activity/call_1", "me_a9/0/text"]
    assert view.page.rows[0] is line
    assert view.cards.cards["activity/call_1"].accessibleName() == "Read 3 files"


def test_another_look_keeps_the_text_and_the_place(view, theme, qtbot):
    open_page(view, opened(*long_session(40), *edits(1)))
    wait_until_written(qtbot, view)
    before = view.browser.toPlainText()
    theme.configure("dark", 150)
    wait_until_written(qtbot, view)
    assert view.browser.toPlainText() == before
    block = view.browser.document().find("second paragraph of 39").block()
    assert block.begin().fragment().charFormat().font().pixelSize() == 21
    theme.configure("light", 100)
    wait_until_written(qtbot, view)


@pytest.mark.parametrize("width", [420, 560, 1400])
def test_nothing_is_wider_than_the_view(view, qtbot, width):
    text = "w" * 400 + "\n\n```\n" + "c" * 400 + "\n```\n"
    open_page(view, opened(*asks(1, "q" * 300), says(1, text), *edits(1)))
    view.resize(width, 600)
    wait_until_written(qtbot, view)
    assert view.browser.horizontalScrollBar().maximum() == 0
    assert view.column().width() <= 736
    for card in view.cards.cards.values():
        assert card.geometry().left() >= 0
        assert card.geometry().right() <= width


def test_a_short_message_has_a_small_bubble_at_the_far_side(view):
    open_page(view, opened(*asks(1, "Yes"), *asks(2, "word " * 200)))
    small, large = (view.page.rect(shown) for shown in view.page.rows)
    assert small.width() < 250
    assert abs(small.right() - large.right()) < 1
    assert large.width() > 500


def test_the_menu_offers_to_edit_and_send_again(view, qtbot):
    open_page(view, opened(*asks(1, "Do it"), says(1, "Done")))
    index = next(n for n, shown in enumerate(view.page.rows) if isinstance(shown.row, UserItem))
    center = view.page.rect(view.page.rows[index]).center().toPoint()
    menu = view.menu_at(center - QPoint(0, bar(view).value()))
    action = next(a for a in menu.actions() if a.text() == "Edit and send again")
    with qtbot.waitSignal(view.branch_requested) as hit:
        action.trigger()
    (draft,) = hit.args
    assert (draft.said, draft.is_edit) == ("Do it", True)


def test_code_has_a_button_that_copies_it(view, qtbot):
    open_page(view, opened(says(1, "x\n\n```python\na = 1\nb = 2\n```")))
    view.browser.viewport().repaint()
    area = view.browser.viewport().rect()
    spots = (QPoint(x, y) for y in range(0, area.height(), 8) for x in range(0, area.width(), 8))
    spot = next(spot for spot in spots if view.browser.code_at(QPointF(spot)) is not None)
    qtbot.mouseClick(view.browser.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert QGuiApplication.clipboard().text() == "a = 1\nb = 2"


def test_the_arrow_keys_scroll(view, qtbot):
    open_page(view, opened(*long_session(60)))
    wait_until_written(qtbot, view)
    place = bar(view).value()
    qtbot.keyClick(view.browser, Qt.Key.Key_PageUp)
    assert bar(view).value() < place - 200
    qtbot.keyClick(view.browser, Qt.Key.Key_End)
    assert bar(view).value() == bar(view).maximum()


@pytest.mark.parametrize("is_by_keys", [False, True])
def test_a_whole_long_message_opens_in_a_window(view, qtbot, is_by_keys):
    text = "start " + "x" * 300_000 + " the very end"
    open_page(view, opened(says(1, text), says(2, "short")))
    assert len(view.browser.toPlainText()) < 140_000
    wait_until_written(qtbot, view)
    link = view.browser.document().find("Show all")
    if is_by_keys:
        view.browser.setFocus()
        qtbot.keyClick(view.browser, Qt.Key.Key_Tab)
        qtbot.keyClick(view.browser, Qt.Key.Key_Return)
    else:
        place = view.browser.cursorRect(link).center()
        qtbot.mouseClick(view.browser.viewport(), Qt.MouseButton.LeftButton, pos=place)
    dialog = view.findChild(QDialog, "textDialog")
    assert dialog.findChild(QPlainTextEdit).toPlainText().endswith("the very end")


def test_a_command_with_a_flood_of_output_unfolds_to_a_bounded_card(view):
    one = call(1, "shell", command="yes")
    flood = OutputDisplay("y" * 1_000_000 + "\n" + "line\n" * 12_000, 0, 1.0, "/tmp/all.txt")
    open_page(view, opened(says(1, "", one), runs(one), gives(one, display=flood)))
    card = view.cards.cards[one.id]
    assert isinstance(card, ToolCard)
    card.header.click()
    assert card.height() < 420
    names = [button.accessibleName() for button in card.findChildren(QPushButton)]
    assert "Open whole output" in names


def test_an_answer_between_tool_cards_lands_in_its_order(view):
    one, two = call(1, "read", path="a"), call(2, "read", path="b")
    open_page(view, opened(begins(), says(1, "before", one, two), needs(two), status="running"))
    assert shown_keys(view) == ["me_a1/0/text", "activity/call_1", "rq_1"]
    view.apply([ApprovalResolved("ag_1", "rq_1", AllowOnce()), runs(two)])
    view.apply([runs(one), gives(one, display=FilesDisplay(("a",), "1 line"))])
    assert shown_keys(view) == ["me_a1/0/text", "activity/call_1", "rq_1", "activity/call_2"]
    text = view.browser.toPlainText()
    assert text.index("before") < text.index("Read a") < text.index("Allowed once")


def test_streaming_does_not_touch_what_stands_above(view, qtbot):
    open_page(view, opened(*long_session(10), begins(20), status="running"))
    wait_until_written(qtbot, view)
    changes = []
    view.browser.document().contentsChange.connect(lambda at, _gone, _new: changes.append(at))
    view.apply([starts_to_say(50), delta(50, "First paragraph.\n\nSecond")])
    start = view.page.rows[-1].frame.firstPosition()
    changes.clear()
    for _ in range(50):
        view.apply([delta(50, " word")])
    first_end = view.browser.document().find("First paragraph.").selectionEnd()
    assert first_end > start
    assert min(changes) >= first_end


def test_a_cursor_for_nothing_is_left_in_an_empty_session(view):
    open_page(view, opened())
    assert view.page.rows == []
    assert view.waiting_count() == 0
    assert not view.focus_oldest_approval()
    cursor = QTextCursor(view.browser.document())
    cursor.select(QTextCursor.SelectionType.Document)
    assert cursor.selectedText() == ""


def test_words_that_come_while_another_session_is_shown_are_there_on_the_way_back(view, qtbot):
    open_page(view, opened(*long_session(5), begins(20), status="running"))
    view.apply([starts_to_say(50), delta(50, "Seen. ")])
    view.hide()
    writes = []
    view.browser.document().contentsChange.connect(lambda *change: writes.append(change))
    for number in range(40):
        view.apply([delta(50, f"word{number} ")])
    assert not writes, "nobody sees them yet"
    view.show()
    assert "Seen. word0 word1" in view.browser.toPlainText()
    assert "word39" in view.browser.toPlainText()
    assert bar(view).value() == bar(view).maximum()


def test_an_unseen_answer_never_falls_far_behind(view, qtbot):
    open_page(view, opened(begins(20), status="running"))
    view.apply([starts_to_say(50), delta(50, "Seen. ")])
    view.hide()
    for _ in range(100):
        view.apply([delta(50, "a word " * 10)])
    assert len(view.browser.toPlainText()) > 100 * 70 - 2_100
    view.apply([says(50, "a word " * 1_000 + "the end")])
    wait_until_written(qtbot, view)
    assert view.browser.toPlainText().strip().endswith("the end")


def test_cards_on_screen_are_there_at_once_and_those_near_by_a_moment_later(view, qtbot):
    events = [event for number in range(40) for event in edits(number, f"file{number}.py")]
    open_page(view, opened(begins(), *events, ends()))
    wait_until_written(qtbot, view)

    def missing(top, bottom):
        at = bar(view).value()
        spread = [(shown, view.page.rect(shown).top() - at) for shown in view.page.rows]
        keys = [shown.row.key for shown, y in spread if top <= y <= bottom]
        return [key for key in keys if key not in view.cards.cards]

    high = view.browser.viewport().height()
    for place in (bar(view).maximum() // 2, bar(view).maximum() // 4, 0):
        bar(view).setValue(place)
        assert not missing(0, high)
        qtbot.waitUntil(lambda: not missing(-high, 2 * high))


def test_a_session_opens_with_no_more_rows_than_are_seen_and_without_a_gap(view, qtbot):
    open_page(view, opened(*long_session(40), says(99, "a long answer " * 400)))
    assert len(view.page.rows) < 6
    assert bar(view).maximum() > 0, "the screen is full"
    wait_until_written(qtbot, view)
    assert len(view.page.rows) > 80
    open_page(view, opened(*long_session(40)))
    assert bar(view).maximum() > 0, "the screen is full"


def test_an_input_method_writes_nothing_into_the_conversation(view, theme, qtbot):
    """Qt lets it replace what is selected; rows that were written over are painted no more."""
    open_page(view, opened(*long_session(3)))
    browser = view.browser
    browser.setFocus()
    browser.selectAll()
    before = browser.toPlainText()
    assert before
    typed = QInputMethodEvent()
    typed.setCommitString("漢字\u2028")
    QApplication.sendEvent(browser, typed)
    assert browser.toPlainText() == before
    assert not browser.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
    output = OutputView(theme, "Output")
    qtbot.addWidget(output)
    output.set_text("what a command printed")
    output.selectAll()
    QApplication.sendEvent(output, typed)
    assert output.toPlainText() == "what a command printed"

"""What a transcript tells of changed files, and how they are taken back from it."""

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from desktop_agent.core.changes import ChangeTotal, UndoScope
from desktop_agent.core.events import FilesChanged, MessageAdded
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.parts.origins import FilesUndone, Report
from desktop_agent.gui.state.session_state import AgentPage
from desktop_agent.gui.transcript.cards.fold_card import ReportCard
from desktop_agent.gui.transcript.cards.row_text import line_of, row_text
from desktop_agent.gui.transcript.cards.tool_card import ToolCard
from desktop_agent.gui.transcript.state.items import (
    AgentMessageItem,
    ChangesItem,
    TurnItem,
    UndoItem,
)
from desktop_agent.gui.transcript.state.rows import build_rows
from desktop_agent.gui.transcript.state.transcript import Transcript
from tests.gui.changes.samples import CHILD, MAIN, MESSAGE, file, made, session_of, told, undo
from tests.gui.transcript.story import (
    asks,
    begins,
    call,
    delta,
    edits,
    ends,
    gives,
    opened,
    runs,
    says,
    starts_to_say,
)
from tests.helpers.panels import open_page

EDITS = made("cs_1", file("a.py", added=40, removed=12))


def folded(*events):
    transcript = Transcript(MAIN)
    for event in events:
        transcript.apply(event)
    return transcript


def turn(*between, at=2.0, number=1):
    return [begins(at - 1), *asks(number), *between, ends(at=at)]


def lines(transcript):
    return [one for one in transcript.items if isinstance(one, ChangesItem)]


def counts(line):
    return line.counts.files, line.counts.added, line.counts.removed


def test_a_message_ends_with_what_it_changed():
    transcript = folded(*turn(*edits(1), told(EDITS)))
    [line] = lines(transcript)
    assert counts(line) == (1, 40, 12)
    assert line.message_id == MESSAGE
    assert transcript.items[-1] == line


def test_nothing_is_told_of_a_turn_that_changed_nothing():
    assert not lines(folded(*turn(says(1, "Hello"))))


def test_what_subagents_changed_counts_for_the_message():
    child = made("cs_2", file("b.py", added=2, removed=0), agent=CHILD, call="call_9")
    [line] = lines(folded(*turn(*edits(1), told(EDITS), told(child))))
    assert counts(line) == (2, 42, 12)


def test_lines_that_were_changed_back_do_not_count_once_it_is_known_what_all_comes_to():
    again = made("cs_2", file("a.py", added=3, removed=12), call="call_2")
    transcript = folded(*turn(*edits(1), told(EDITS), told(again)))
    assert counts(lines(transcript)[0]) == (1, 43, 24)
    total = ChangeTotal(("cs_1", "cs_2"), 1, 31, 12, message_id=MESSAGE)
    known = msgspec.structs.replace(session_of(EDITS, again), totals=(total,))
    assert transcript.know_changes(known)
    assert counts(lines(transcript)[0]) == (1, 31, 12)
    assert not transcript.know_changes(known)
    third = made("cs_3", file("b.py", added=1, removed=0), call="call_3")
    transcript.apply(told(third))
    assert counts(lines(transcript)[0]) == (2, 44, 24)


def test_that_the_agent_was_told_of_an_undo_is_a_quiet_line_and_no_message():
    text = "The user has undone changes to files: a.py."
    part = TextPart(text, origin=FilesUndone())
    message = Message("me_n", "user", (part,), created_at=3.0, sender="app")
    transcript = folded(*turn(*edits(1), told(EDITS)), MessageAdded(MAIN, message))
    item = transcript.items[-1]
    assert isinstance(item, AgentMessageItem)
    line = line_of(item, lambda _: "")
    assert (line.icon, line.text, line.more) == ("undo-2", "The agent was told:", text)
    assert text in row_text(item, lambda _: "")


def test_a_subagent_that_goes_on_after_the_turn_still_counts_for_its_message():
    transcript = folded(*turn(*edits(1), told(EDITS)), *turn(says(2, "Hm"), at=4.0, number=2))
    transcript.apply(told(made("cs_2", "late.py", agent=CHILD)))
    [line] = lines(transcript)
    assert counts(line)[0] == 2
    assert line.message_id == MESSAGE


def test_a_second_turn_for_the_same_message_takes_the_line_with_it():
    report = [begins(3.0), says(2, "More"), *edits(2), told(made("cs_2", "b.py")), ends(at=4.0)]
    transcript = folded(*turn(*edits(1), told(EDITS)), *report)
    [line] = lines(transcript)
    assert counts(line)[0] == 2
    assert transcript.items[-1] == line
    assert [one.has_changes for one in transcript.items if isinstance(one, TurnItem)] == [
        False,
        True,
    ]


def test_the_same_file_twice_is_one_file():
    again = made("cs_2", file("a.py", added=1, removed=1))
    assert counts(*lines(folded(*turn(told(EDITS), told(again))))) == (1, 41, 13)


def test_files_that_a_set_does_not_name_are_counted():
    many = made("cs_2", "a.py", "b.py", count=300)
    assert counts(*lines(folded(*turn(told(many)))))[0] == 300


def test_an_event_that_comes_twice_counts_once():
    assert counts(*lines(folded(*turn(told(EDITS), told(EDITS))))) == (1, 40, 12)


def test_an_undo_is_a_line_and_offers_to_put_everything_back():
    transcript = folded(*turn(*edits(1), told(EDITS)), told(undo("un_1", "cs_1")))
    [line] = lines(transcript)
    assert line.counts.is_undone
    assert line.counts.undone_by == "un_1"
    said = transcript.items[-1]
    assert isinstance(said, UndoItem)
    assert not said.is_redo
    assert transcript.item("call_1").changes.undone_by == "un_1"


def test_an_undo_while_an_answer_comes_stands_where_it_stands_after_a_restart():
    """The answer is recorded once it is whole; the lines of a session must not change places."""
    done = [*turn(*edits(1), told(EDITS)), begins(3.0), *asks(2)]
    comes = [starts_to_say(2), delta(2, "Hm.", "thinking"), delta(2, "All ")]
    whole = says(2, "All done.")
    seen = folded(*done, *comes, told(undo("un_1", "cs_1")))
    assert seen.is_writing
    seen.apply(whole)
    anew = folded(*done, told(undo("un_1", "cs_1")), whole)
    assert [one.key for one in seen.items] == [one.key for one in anew.items]


def test_after_a_redo_the_changes_can_be_undone_again():
    events = [told(undo("un_1", "cs_1")), told(undo("un_2", "un_1", at=300.0))]
    transcript = folded(*turn(*edits(1), told(EDITS)), *events)
    [line] = lines(transcript)
    assert not line.counts.is_undone
    assert transcript.item("un_2").is_redo
    assert transcript.item("un_1").is_undone


def test_undos_without_an_end_are_known_by_their_beginning():
    events = [told(undo("un_1", "cs_1")), told(undo("un_2", "un_1", at=300.0))]
    older = [
        FilesChanged(e.agent_id, msgspec.structs.replace(e.changes, ended=0.0)) for e in events
    ]
    [line] = lines(folded(*turn(*edits(1), told(EDITS)), *older))
    assert not line.counts.is_undone


def test_an_undone_redo_takes_the_changes_back_again():
    events = [
        told(undo("un_1", "cs_1")),
        told(undo("un_2", "un_1", at=300.0)),
        told(undo("un_3", "un_2", at=400.0)),
    ]
    [line] = lines(folded(*turn(told(EDITS)), *events))
    assert line.counts.undone_by == "un_1"


def test_what_is_undone_of_a_message_no_longer_counts():
    other = made("cs_2", file("b.py", added=5, removed=0), agent=CHILD)
    [line] = lines(folded(*turn(told(EDITS), told(other), told(undo("un_1", "cs_2")))))
    assert counts(line) == (1, 40, 12)


def test_a_session_that_is_reopened_tells_the_same():
    child = made("cs_2", file("b.py"), agent=CHILD)
    events = [*turn(*edits(1), told(EDITS)), told(undo("un_1", "cs_1", "cs_2"))]
    live = folded(*events[:-2], told(child), *events[-2:])
    page = AgentPage.of_main(opened(*events))
    reopened = Transcript.of_page(page)
    reopened.know_changes(
        session_of(EDITS, child, undo("un_1", "cs_1", "cs_2"), undone=("cs_1", "cs_2"))
    )
    assert [counts(one) for one in lines(reopened)] == [counts(one) for one in lines(live)]
    assert lines(reopened) == lines(live)


def test_earlier_messages_that_are_loaded_tell_theirs():
    later = turn(says(2, "Hm"), at=4.0, number=2)
    transcript = folded(*later)
    transcript.know_changes(session_of(EDITS, made("cs_2", "b.py", agent=CHILD)))
    assert not lines(transcript)
    transcript.prepend([*turn(*edits(1), told(EDITS))])
    assert counts(*lines(transcript))[0] == 2


def test_a_subagents_own_transcript_tells_only_of_itself():
    main = AgentPage.of_main(opened())
    own = Transcript.of_page(AgentPage(main.info, CHILD, "demo", main.agents))
    for event in (
        FilesChanged(CHILD, made("cs_1", "mine.py", agent=CHILD)),
        told(made("cs_2", "other.py", agent=MAIN)),
    ):
        own.apply(event)
    own.apply(msgspec.structs.replace(ends(), agent_id=CHILD))
    [line] = lines(own)
    assert counts(line)[0] == 1
    assert line.agent_id == CHILD


def test_a_report_tells_what_its_subagent_changed():
    origin = Report(CHILD, "Tester", "completed")
    message = Message("me_r", "user", (TextPart("Done.", origin),))
    transcript = folded(begins(), told(made("cs_2", "b.py", agent=CHILD)))
    transcript.apply(MessageAdded(MAIN, message))
    [report] = [one for one in transcript.items if isinstance(one, AgentMessageItem)]
    assert report.changes.files == 1


def test_a_short_turn_with_changes_is_one_line():
    rows = build_rows(folded(*turn(*edits(1), told(EDITS))).items, frozenset())
    kinds = [type(one) for one in rows]
    assert ChangesItem in kinds
    assert TurnItem not in kinds


def test_a_thousand_changes_of_one_message_are_counted_at_its_end():
    sets = [told(made(f"cs_{n}", f"{n}.py", call=f"call_{n}")) for n in range(1000)]
    assert counts(*lines(folded(*turn(*sets))))[0] == 1000


# -- on screen ------------------------------------------------------------------------------


@pytest.fixture
def asked(view, qtbot):
    """What the user asked for on the cards."""
    found = []
    view.undo_requested.connect(lambda scope: found.append((scope, "undo")))
    view.redo_requested.connect(lambda scope, seen: found.append((scope, "redo" if seen else "?")))
    return found


def button(view, name):
    shown = [one for one in view.findChildren(QPushButton, name) if one.isVisible()]
    return shown[-1] if shown else None


def show(view, *events):
    open_page(view, opened(*events))
    return view


def test_the_end_line_undoes_its_message_by_mouse(view, qtbot, asked):
    show(view, *turn(says(1, "Done."), told(EDITS)))
    qtbot.mouseClick(button(view, "undoChanges"), Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", MESSAGE), "undo")]


def test_the_end_line_says_what_it_undoes_and_is_reached_by_keys(view, qtbot, asked):
    show(view, *turn(says(1, "Done."), told(EDITS)))
    card = view.findChild(QWidget, "changesCard")
    assert card.accessibleName() == "1 file, +40 −12"
    one = button(view, "undoChanges")
    assert one.accessibleName() == "Undo these changes"
    one.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(one, Qt.Key.Key_Space)
    assert len(asked) == 1


def test_redo_stands_in_the_place_of_undo(view, qtbot, asked):
    show(view, *turn(says(1, "Done."), told(EDITS)))
    view.apply([told(undo("un_1", "cs_1"))])
    assert button(view, "undoChanges") is None
    qtbot.mouseClick(button(view, "redoChanges"), Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", set_id="un_1"), "redo")]


def test_an_edit_is_undone_on_its_card(view, qtbot, asked):
    show(view, begins(), *asks(1), *edits(1), told(EDITS))
    qtbot.mouseClick(button(view, "undoChanges"), Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", set_id="cs_1"), "undo")]


def test_a_command_that_changed_files_says_so_and_is_undone_on_its_card(view, qtbot, asked):
    command = call(1)
    events = [says(1, "", command), runs(command), gives(command)]
    sets = made("cs_1", "a.py", "b.py")
    show(view, begins(), *asks(1), *events, told(sets))
    header = view.findChild(QAbstractButton, "toolCardHeader")
    assert "2 files" in header.accessibleName()
    assert button(view, "undoChanges") is None
    qtbot.keyClick(header, Qt.Key.Key_Space)
    qtbot.mouseClick(button(view, "undoChanges"), Qt.MouseButton.LeftButton)
    assert asked[0][0].set_id == "cs_1"


def test_a_card_whose_changes_are_undone_says_so(view, qtbot):
    show(view, begins(), *asks(1), *edits(1), told(EDITS), told(undo("un_1", "cs_1")))
    header = view.findChild(QAbstractButton, "toolCardHeader")
    assert header.accessibleName().endswith("undone")
    assert button(view, "redoChanges") is not None


def test_a_report_offers_to_undo_its_subagent(view, qtbot, asked):
    message = Message("me_r", "user", (TextPart("Done.", Report(CHILD, "Tester", "completed")),))
    show(view, begins(), MessageAdded(MAIN, message))
    view.know_changes(session_of(made("cs_2", "b.py", agent=CHILD)))
    header = view.findChild(QAbstractButton, "reportHeader")
    qtbot.keyClick(header, Qt.Key.Key_Space)
    qtbot.mouseClick(button(view, "undoChanges"), Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", agent_id=CHILD), "undo")]


def test_the_line_of_an_undo_can_be_copied_and_offers_redo(view, qtbot, asked):
    show(view, *turn(says(1, "Done."), told(EDITS)), told(undo("un_1", "cs_1")))
    assert "You took back 1 file" in view.browser.document().toPlainText()
    cards = view.findChildren(QWidget, "changesCard")
    assert "You took back 1 file" in [one.accessibleName() for one in cards]


def test_the_page_of_changes_is_asked_for_at_the_end_line(view, qtbot):
    show(view, *turn(says(1, "Done."), told(EDITS)))
    asked: list[str] = []
    view.changes_requested.connect(lambda *_: asked.append("changes"))
    button(view, "showChanges").click()
    assert asked == ["changes"]


def test_what_cannot_be_put_back_is_said_at_the_button(view):
    words = "What it changed outside the folder is not kept."
    show(view, *turn(says(1, "Done."), told(made("cs_1", "a.py", unheld=(words,)))))
    assert button(view, "undoChanges").accessibleDescription() == words


def test_what_is_known_already_changes_nothing_on_screen():
    transcript = folded(*turn(*edits(1), told(EDITS)))
    assert not transcript.know_changes(session_of(EDITS))
    assert transcript.know_changes(session_of(EDITS, undo("un_1", "cs_1"), undone=("cs_1",)))


def test_redo_on_a_card_puts_back_its_own_file_of_a_larger_undo(view, qtbot, asked):
    other = made("cs_2", "b.py", call="call_2")
    events = [*edits(1), told(EDITS), *edits(2, path="b.py"), told(other)]
    show(view, begins(), *asks(1), *events, told(undo("un_1", "cs_1", "cs_2")))
    cards = [one for one in view.findChildren(ToolCard) if one.isVisible()]
    qtbot.mouseClick(cards[0].findChild(QPushButton, "redoChanges"), Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", set_id="un_1", path="a.py"), "redo")]


def test_redo_of_several_files_of_a_larger_undo_is_looked_at_first(view, qtbot, asked):
    several, other = made("cs_1", "a.py", "b.py"), made("cs_2", "c.py", message="me_u9")
    undone = undo("un_1", "cs_1", "cs_2")
    show(view, *turn(says(1, "Done."), told(several)), told(other), told(undone))
    first = next(one for one in view.findChildren(QPushButton, "redoChanges") if one.isVisible())
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert asked == [(UndoScope("se_1", set_id="un_1"), "?")]


def test_after_one_file_of_an_undo_was_put_back_the_others_still_can_be():
    other = made("cs_2", "b.py", call="call_2")
    part = undo("un_2", "un_1", files=("a.py",), at=300.0)
    whole = undo("un_1", "cs_1", "cs_2", files=("a.py", "b.py"))
    transcript = folded(
        *turn(*edits(1), told(EDITS), *edits(2, path="b.py"), told(other)), told(whole), told(part)
    )
    transcript.know_changes(session_of(EDITS, other, whole, part, undone=("cs_2",)))
    assert transcript.item("call_2").changes.undone_by == "un_1"
    assert not transcript.item("call_1").changes.is_undone


def test_a_report_says_that_its_changes_are_undone(view):
    message = Message("me_r", "user", (TextPart("Done.", Report(CHILD, "Tester", "completed")),))
    show(view, begins(), MessageAdded(MAIN, message))
    child = made("cs_2", "b.py", agent=CHILD)
    view.know_changes(session_of(child, undo("un_1", "cs_2"), undone=("cs_2",)))
    assert view.findChild(ReportCard).header.meta == "undone"

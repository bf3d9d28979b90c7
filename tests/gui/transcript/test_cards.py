"""The other cards: tools, questions, failures and stops."""

import msgspec
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    CommandRefused,
    EngineFailed,
    QuestionAnswered,
    RetryScheduled,
    StopReport,
    ToolStarted,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import FilesDisplay, OutputDisplay, ThinkingPart, ToolCall
from desktop_agent.gui.agents.rows import plain_words
from desktop_agent.gui.kit.safe_text import duration_text, elapsed_text
from desktop_agent.gui.transcript.cards.diff_view import DiffView, diff_lines
from desktop_agent.gui.transcript.cards.factory import LineCard
from desktop_agent.gui.transcript.cards.question_card import QuestionCard
from desktop_agent.gui.transcript.cards.tool_text import summary
from desktop_agent.gui.transcript.state.items import ToolItem
from tests.gui.transcript.conftest import is_ticking, tick
from tests.gui.transcript.story import (
    AGENT,
    PATCH,
    asks,
    begins,
    call,
    edits,
    ends,
    gives,
    opened,
    reads,
    runs,
    says,
    wonders,
)
from tests.helpers.panels import open_page

LEFT = Qt.MouseButton.LeftButton


def words(card):
    return " ".join(label.text() for label in card.findChildren(QLabel))


def last_card(view):
    return view.cards.cards[view.page.rows[-1].row.key]


def button(card, name):
    return card.findChild(QPushButton, name)


@pytest.mark.parametrize(
    ("outcome", "state", "said"),
    [
        ("ok", "ok", "done"),
        ("failed", "failed", "failed"),
        ("denied", "denied", "not allowed"),
        ("cancelled", "stopped", "stopped"),
        ("unknown", "unknown", "outcome unknown"),
    ],
)
def test_a_tool_card_shows_and_speaks_its_state(view, outcome, state, said):
    one = call(1, "write", path="src/a.py")
    open_page(view, opened(begins(), says(1, "", one), runs(one), gives(one, outcome=outcome)))
    header = last_card(view).header
    assert header.state == state
    assert header.accessibleName().startswith(f"Write src/a.py, {said}")


def test_a_failed_call_shows_the_first_line_of_its_error_at_once(view):
    one = call(1, "read", path="/etc/shadow")
    text = "Error: path '/etc/shadow' is outside the workspace\nmore"
    open_page(view, opened(says(1, "", one), runs(one), gives(one, text, "failed")))
    header = last_card(view).header
    assert header.meta == "path '/etc/shadow' is outside the workspace"
    assert header.meta_token == "err"


def test_a_command_that_failed_shows_its_exit_code(view):
    one = call(1, command="false")
    shown = OutputDisplay("", 3, 0.2)
    open_page(view, opened(says(1, "", one), runs(one), gives(one, "x", "failed", shown)))
    assert last_card(view).header.meta.startswith("exit 3")


def test_a_command_that_ended_with_an_error_looks_failed_though_its_call_went_well(view):
    one, other = call(1, command="false"), call(2, "job_output", job="job_1")
    shown = OutputDisplay("", 3, 0.2)
    open_page(view, opened(says(1, "", one), runs(one), gives(one, "x", "ok", shown)))
    header = last_card(view).header
    assert (header.state, header.meta_token) == ("failed", "err")
    assert "failed" in last_card(view).accessibleName()
    view.apply([says(2, "", other), runs(other), gives(other, "x", "ok", shown)])
    assert last_card(view).header.state == "ok", "that one only looked"


def test_a_search_shows_what_and_how_much(view):
    one = call(1, "grep", pattern="retry", path="src")
    shown = FilesDisplay(("a",), "6 matches")
    open_page(view, opened(says(1, "", one), runs(one), gives(one, display=shown)))
    assert view.show_call("call_1")
    header = view.cards.cards["call_1"].header
    assert (header.verb, header.target, header.meta) == ("Search", "“retry”", "6 matches  0.5 s")


def test_a_tool_from_elsewhere_says_what_it_does(view):
    one = call(1, "tickets_create", title="Broken gate", body="{}")
    started = msgspec.structs.replace(runs(one), doing="creating a ticket")
    open_page(view, opened(says(1, "", one), started, gives(one)))
    header = last_card(view).header
    assert (header.verb, header.target) == ("Creating a ticket", "")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("TaskCreate", {"subject": "Write\nit"}, "Add a task Write it, not allowed"),
        ("TaskUpdate", {"taskId": 3, "status": "completed"}, "Update task 3, not allowed"),
        ("TaskList", {}, "Look at the tasks, not allowed"),
        ("skill", {"name": "pdf"}, "Load a skill pdf, not allowed"),
    ],
)
def test_a_call_that_never_began_is_told_in_words_and_not_as_its_arguments(name, arguments, said):
    assert summary(ToolItem("c", ToolCall("c", name, arguments), "denied")) == said


def test_a_queued_call_can_not_be_unfolded(view):
    one = call(1)
    open_page(view, opened(begins(), says(1, "", one), status="running"))
    assert not view.cards.cards[one.id].header.isEnabled()


def test_a_short_change_shows_its_diff_unasked(view):
    open_page(view, opened(*edits(1)))
    card = last_card(view)
    assert card.header.counts == (1, 1)
    assert card.findChild(DiffView) is not None


def test_a_long_change_waits_to_be_unfolded(view, qtbot):
    patch = "@@ -0,0 +1,900 @@\n" + "\n".join(f"+line {n}" for n in range(900))
    open_page(view, opened(*edits(1, patch=patch)))
    card = last_card(view)
    assert card.findChild(DiffView) is None
    qtbot.mouseClick(card.header, LEFT)
    assert 300 < card.height() < 420
    view.grab()


def test_a_diff_numbers_its_lines():
    assert [(line.kind, line.old, line.new) for line in diff_lines(PATCH)] == [
        ("same", 1, 1),
        ("removed", 2, None),
        ("added", None, 2),
        ("same", 3, 3),
    ]


def test_the_places_of_several_changes_are_told_apart():
    lines = diff_lines(f"{PATCH}@@ -10,1 +10,1 @@\n-ten\n+10\n")
    assert [line.kind for line in lines].count("hunk") == 2


def test_lines_that_look_like_a_file_header_stay_in_the_diff():
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- sql comment\n+++ plus\n same"
    assert [line.text for line in diff_lines(patch)] == ["-- sql comment", "++ plus", "same"]


def test_the_patch_can_be_copied_and_the_file_opened(view, qtbot):
    open_page(view, opened(*edits(1, "src/a.py")))
    card = last_card(view)
    named = {one.accessibleName(): one for one in card.findChildren(QPushButton)}
    qtbot.mouseClick(named["Copy patch"], LEFT)
    assert QGuiApplication.clipboard().text() == PATCH
    with qtbot.waitSignal(view.open_path_requested) as hit:
        qtbot.mouseClick(named["Open file"], LEFT)
    assert hit.args == ["src/a.py"]


def test_space_unfolds_a_card(view, qtbot):
    one = call(1)
    open_page(view, opened(says(1, "", one), runs(one), gives(one)))
    card = last_card(view)
    card.header.setFocus()
    qtbot.keyClick(card.header, Qt.Key.Key_Space)
    assert card.findChild(QPlainTextEdit) is not None
    qtbot.keyClick(card.header, Qt.Key.Key_Space)
    assert not card.header.is_open


def test_a_screen_reader_hears_a_button_that_expands(view, qtbot):
    """As a box to tick it would offer to switch the tool's call on and off."""
    one = call(1)
    open_page(view, opened(says(1, "", one), runs(one), gives(one)))
    header = last_card(view).header
    heard = QAccessible.queryAccessibleInterface(header)
    assert heard.role() == QAccessible.Role.Button
    assert not heard.state().checkable
    assert heard.state().expandable
    assert heard.state().collapsed
    header.setFocus()
    qtbot.keyClick(header, Qt.Key.Key_Space)
    assert heard.state().expanded
    heard.actionInterface().doAction("Press")
    assert heard.state().collapsed


def test_thoughts_are_folded_and_can_be_read(view, qtbot):
    open_page(view, opened(begins(), *asks(1)))
    message = says(2, "Answer")
    parts = (ThinkingPart("secret plan"), *message.message.parts)
    view.apply([type(message)(AGENT, type(message.message)("m2", "assistant", parts))])
    key = "m2/0/thinking"
    card = view.cards.cards[key]
    assert card.findChild(QPlainTextEdit) is None
    qtbot.mouseClick(card.header, LEFT)
    assert card.findChild(QPlainTextEdit).toPlainText() == "secret plan"


# -- questions -------------------------------------------------------------------------------


@pytest.fixture
def question(view):
    def ask(*options):
        one = call(1, "ask_user", question="Which one?")
        open_page(view, opened(begins(), says(1, "", one), runs(one), wonders(one, *options)))
        two = call(2, "ask_user", question="Which one?")
        view.apply([begins(2.0), says(2, "", two), wonders(two, *options, number=2)])
        return view.cards.cards["qu_2"]

    return ask


def test_a_question_is_said_to_a_screen_reader_once(view, question, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(
        QAccessible, "updateAccessibility", lambda event: said.append(event.message())
    )
    card = question("red", "blue")
    view.apply([begins(3.0)])
    assert said == [card.accessibleName()]


def test_a_question_is_answered_by_an_option(view, question, qtbot):
    card = question("red", "blue")
    send = button(card, "sendAnswer")
    assert not send.isEnabled()
    card.findChildren(QRadioButton)[1].setChecked(True)
    with qtbot.waitSignal(view.answered) as hit:
        qtbot.mouseClick(send, LEFT)
    assert hit.args == ["qu_2", "blue"]


def test_a_question_takes_another_answer(view, question, qtbot):
    card = question("red", "blue")
    field = card.findChild(QLineEdit, "otherAnswer")
    assert not field.isVisible()
    card.findChildren(QRadioButton)[2].setChecked(True)
    assert field.isVisible()
    field.setText("green")
    with qtbot.waitSignal(view.answered) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args == ["qu_2", "green"]


def test_a_question_without_options_is_a_line(view, question, qtbot):
    card = question()
    field = card.findChild(QLineEdit, "otherAnswer")
    assert field.isVisible()
    with qtbot.assertNotEmitted(view.answered):
        qtbot.keyClick(field, Qt.Key.Key_Return)


def test_all_of_a_long_address_in_a_question_and_its_answers_is_seen(qtbot, theme):
    url = f"https://shop.example/?{'item=4711&' * 40}end"
    page = QWidget()
    qtbot.addWidget(page)
    card = QuestionCard(theme, f"Is {url} the one?", (f"Use {url}",), page)
    card.resize(600, card.height_for(600))
    with qtbot.waitExposed(page):
        page.show()
    labels = [one for one in card.findChildren(QLabel) if "shop.example" in one.text()]
    said = [label.text().replace("\u200b", "") for label in labels]
    assert said == [f"Is {url} the one?", f"Use {url}"]
    for label in labels:
        room, flags = QRect(0, 0, label.width(), 0), Qt.TextFlag.TextWordWrap
        assert label.fontMetrics().boundingRect(room, flags, label.text()).width() <= room.width()


def test_a_long_answer_is_not_cut(view, question, qtbot):
    field = question().findChild(QLineEdit, "otherAnswer")
    field.insert("a line of the log " * 2_000 + "and its end")
    with qtbot.waitSignal(view.answered) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args[1].endswith("and its end")


def test_an_answer_that_could_not_be_saved_is_still_in_the_line(view, question, qtbot):
    field = question().findChild(QLineEdit, "otherAnswer")
    field.setText("in euros, please")
    said = []
    view.answered.connect(lambda _, text: said.append(text))
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert not field.isEnabled()
    view.apply([CommandRefused("answer", "Your answer was not saved. The disk is full.", AGENT)])
    assert field.text() == "in euros, please"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert said == ["in euros, please"] * 2


def test_a_question_can_be_skipped(view, question, qtbot):
    card = question("red")
    with qtbot.waitSignal(view.answered) as hit:
        qtbot.mouseClick(button(card, "skipQuestion"), LEFT)
    assert hit.args == ["qu_2", ""]


@pytest.mark.parametrize(
    ("text", "by", "said"),
    [
        ("blue", "user", "You answered: blue"),
        ("", "user", "You skipped this."),
        ("", "withdrawn", "Not answered: it was stopped."),
    ],
)
def test_an_answered_question_folds_to_one_line(view, question, text, by, said):
    question("red")
    view.apply([QuestionAnswered(AGENT, "qu_2", text, by)])
    card = view.cards.cards["qu_2"]
    assert isinstance(card, LineCard)
    assert card.accessibleName() == f"Which one? {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Take the `--dry-run` one", "Main answered: Take the --dry-run one"),
        ("", "Main skipped this."),
    ],
)
def test_an_answer_of_the_parent_is_not_said_to_be_the_persons(view, text, said):
    ask = call(2, "ask_parent", question="Is `a.py` **done**?")
    agents = (
        AgentInfo("ag_0", "se_1", "Main", "waiting_children"),
        AgentInfo(AGENT, "se_1", "tester", "waiting_answer", parent_id="ag_0"),
    )
    open_page(view, opened(begins(), asks(1)[0], says(1, "", ask), wonders(ask), agents=agents))
    view.apply([QuestionAnswered(AGENT, "qu_1", text, "ag_0")])
    card = view.cards.cards["qu_1"]
    assert card.header.target == said
    assert card.header.is_prose  # a long answer is cut at its end, not in its middle
    assert said in card.toolTip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Run `pytest -q` in **both** folders?", "Run pytest -q in both folders?"),
        ("Match `**/*.py` or ``a`b``?", "Match **/*.py or ``a`b``?"),
        ("2**3 and a ** b ** c", "2**3 and a ** b ** c"),
        ("one\n`two`", "one two"),
    ],
)
def test_one_line_of_markdown_reads_as_plain_words(text, said):
    assert plain_words(text) == said


def test_a_question_shows_no_backticks(view, question):
    card = question("use `a`", "use `b`")
    assert "`" not in words(card)
    assert [one.accessibleName() for one in card.findChildren(QRadioButton)][:2] == [
        "use a",
        "use b",
    ]


# -- the ends of turns -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "label"),
    [("retry", "Try again"), ("continue", "Continue")],
)
def test_a_failure_that_can_go_on_goes_on(view, qtbot, action, label):
    fault = Fault("server", "The provider failed: 500.", action, "HTTP 500\nbody")
    open_page(view, opened(begins(), *asks(1), ends("error", fault=fault)))
    card = last_card(view)
    assert "The provider failed: 500." in words(card)
    go_on = button(card, "faultAction")
    assert go_on.accessibleName() == label
    with qtbot.waitSignal(view.resume_requested):
        qtbot.mouseClick(go_on, LEFT)
    qtbot.mouseClick(button(card, "copyDetails"), LEFT)
    assert QGuiApplication.clipboard().text() == "The provider failed: 500.\n\nHTTP 500\nbody"


@pytest.mark.parametrize("action", ["edit_key", "switch_model", "settings"])
def test_a_failure_leads_to_where_it_can_be_mended(view, qtbot, action):
    open_page(view, opened(begins(), ends("error", fault=Fault("auth", "No key.", action))))
    with qtbot.waitSignal(view.fault_action) as hit:
        qtbot.mouseClick(button(last_card(view), "faultAction"), LEFT)
    assert hit.args == [action]


def test_an_old_failure_offers_nothing(view):
    fault = Fault("auth", "No key.", "edit_key")
    failed = ends("error", 2.0, fault=fault)
    open_page(view, opened(begins(1), failed, begins(3), says(1, "Now it works")))
    old = view.cards.cards["turn/2.0"]
    assert button(old, "faultAction") is None
    assert old.objectName() == "pastFault", "what is over stands out as if it were not"
    assert old.accessibleName().startswith("No key.")
    assert "No key." in words(old)


def test_what_ended_an_agent_stays_a_card(view):
    ended = AgentInfo(AGENT, "se_1", "tester", "failed", parent_id="ag_0")
    fault = Fault("auth", "No key.", "edit_key")
    open_page(view, opened(begins(), ends("error", fault=fault), agents=(ended,)))
    assert last_card(view).objectName() == "faultCard"


def test_the_details_of_an_old_failure_can_still_be_copied(view, qtbot):
    fault = Fault("server", "It crashed.", "retry", "503: no memory")
    open_page(view, opened(begins(1), ends("error", 2.0, fault=fault), begins(3), says(1, "Now")))
    qtbot.mouseClick(button(view.cards.cards["turn/2.0"], "copyDetails"), LEFT)
    assert "503: no memory" in QGuiApplication.clipboard().text()


def test_after_a_crash_the_session_offers_to_go_on(view, qtbot):
    fault = Fault("internal", "The app ended while this was running.", "continue")
    open_page(view, opened(begins(), ends("interrupted", fault=fault)))
    go_on = button(last_card(view), "faultAction")
    assert go_on.text().strip() == "Continue"
    with qtbot.waitSignal(view.resume_requested):
        qtbot.mouseClick(go_on, LEFT)


def test_a_stop_tells_what_it_cut_and_what_it_kept(view, qtbot):
    report = StopReport(("npm test",), ("make",), ("edit of b.py",), ("the reply so far",), (4711,))
    open_page(view, opened(begins(), ends("cancelled", report=report)))
    card = last_card(view)
    for said in (
        "Cancelled: npm test",
        "Ended: make",
        "Not run: edit of b.py",
        "Kept: the reply so far",
        "could not be ended: process 4711",
    ):
        assert said in words(card)
    with qtbot.waitSignal(view.resume_requested):
        qtbot.mouseClick(button(card, "continueTurn"), LEFT)
    with qtbot.waitSignal(view.compose_requested):
        qtbot.mouseClick(button(card, "changeTurn"), LEFT)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("user", "Stopped by you"),
        ("ag_0", "Stopped by Research"),
        ("sa_gone", "Stopped by its parent"),
        ("ended", "Stopped because its parent ended"),
        ("app", "Stopped when the app was closed"),
        ("", "Stopped"),
    ],
)
def test_a_stop_says_who_stopped(view, by, said):
    agents = (AgentInfo(AGENT, "se_1", "tester", "stopped"), AgentInfo("ag_0", "se_1", "Research"))
    stop = ends("cancelled", 1_700_000_000.0, report=StopReport(by=by))
    open_page(view, opened(begins(), stop, agents=agents))
    assert f"{said} at " in words(last_card(view))


@pytest.mark.parametrize("reason", ["cancelled", "error", "step_limit", "interrupted"])
def test_an_agent_that_has_ended_offers_nothing_that_would_do_nothing(view, reason):
    ended = AgentInfo(AGENT, "se_1", "tester", "stopped", parent_id="ag_0")
    open_page(view, opened(begins(), ends(reason), agents=(ended,)))
    card = last_card(view)
    assert [button(card, name) for name in ("continueTurn", "changeTurn", "faultAction")] == [
        None
    ] * 3


def test_a_stop_that_ends_the_agent_while_it_is_looked_at_takes_the_offers_away(view):
    open_page(view, opened(begins(), status="running"))
    view.apply([ends("cancelled")])
    assert button(last_card(view), "continueTurn") is not None
    ended = AgentInfo(AGENT, "se_1", "tester", "stopped", parent_id="ag_0")
    view.apply([AgentsChanged("se_1", (ended,))])
    assert button(last_card(view), "continueTurn") is None
    assert button(last_card(view), "changeTurn") is None


def test_a_paused_agent_neither_spins_nor_counts(view, clock):
    open_page(view, opened(begins(), status="running"))
    line = view.cards.cards["working"].header
    assert (line.verb, line.state) == ("Thinking…", "running")
    view.apply([AgentsChanged("se_1", (AgentInfo(AGENT, "se_1", "tester", "paused"),))])
    clock.advance(36)
    tick(view)
    line = view.cards.cards["working"].header
    assert (line.verb, line.state, line.target) == ("Paused", "", "")
    assert not is_ticking(view)
    view.apply([AgentsChanged("se_1", (AgentInfo(AGENT, "se_1", "tester", "running"),))])
    line = view.cards.cards["working"].header
    assert (line.verb, line.state) == ("Thinking…", "running")
    assert is_ticking(view)


def test_a_turn_at_its_limit_can_go_on(view, qtbot):
    open_page(view, opened(begins(), ends("step_limit")))
    go_on = button(last_card(view), "continueTurn")
    assert go_on.text().strip() == "Continue"
    with qtbot.waitSignal(view.resume_requested):
        qtbot.mouseClick(go_on, LEFT)


def test_a_retry_counts_down(view, clock):
    open_page(view, opened(begins(), status="running"))
    view.apply([RetryScheduled(AGENT, 1, 8.0, Fault("rate_limit", "Too many requests."))])
    line = view.cards.cards["retry"].header
    assert line.verb == "Too many requests."
    assert line.target == "Trying again in 8 s (attempt 2)"
    clock.advance(5)
    tick(view)
    assert line.target == "Trying again in 3 s (attempt 2)"


def test_a_retry_that_is_looked_at_late_counts_from_when_it_began(view, clock, theme):
    open_page(view, opened(begins(), status="running"))
    fault = Fault("rate_limit", "Too many requests.")
    view.apply([RetryScheduled(AGENT, 1, 8.0, fault, view.clocks.wall())])
    clock.advance(5)
    theme.configure("dark")
    assert view.cards.cards["retry"].header.target == "Trying again in 3 s (attempt 2)"


def test_a_defect_of_the_app_is_told_with_details_to_copy(view, qtbot):
    open_page(view, opened(begins(), status="running"))
    view.apply([EngineFailed("agent", "boom", AGENT)])
    card = next(c for c in view.cards.cards.values() if c.objectName() == "failureCard")
    qtbot.mouseClick(button(card, "copyDetails"), LEFT)
    assert QGuiApplication.clipboard().text() == "agent: boom"


def test_every_card_and_control_has_a_name(view):
    one, two = call(1), call(2, "ask_user")
    fault = Fault("server", "No.", details="x")
    open_page(
        view,
        opened(
            *asks(1),
            *edits(3),
            begins(1),
            ends("error", fault=fault),
            begins(3.0),
            says(1, "", one, two),
            runs(one),
            wonders(two, "a"),
            status="running",
        ),
    )
    for card in view.cards.cards.values():
        assert card.accessibleName(), card.objectName()
        for one_button in card.findChildren(QPushButton):
            assert one_button.accessibleName(), one_button.text()


def test_times_are_short():
    assert [elapsed_text(s) for s in (0, 7.9, 65, 3_723)] == ["0:00", "0:07", "1:05", "1:02:03"]
    assert [duration_text(s) for s in (0.21, 12.4, 124, 3_725)] == [
        "0.2 s",
        "12 s",
        "2 m 04 s",
        "1 h 02 m",
    ]


def test_a_running_tool_is_stopped_from_its_card_by_mouse_and_by_keys(view, qtbot):
    one = call(1, command="sleep 100")
    open_page(view, opened(begins(), says(1, "", one), runs(one), status="running"))
    card = view.cards.cards["call_1"]
    button = card.findChild(QAbstractButton, "stopTool")
    assert not button.isVisible()
    card.header.setFocus()
    qtbot.waitUntil(button.isVisible)
    assert button.accessibleName() == "Stop this tool"
    assert card.rect().contains(button.geometry())
    with qtbot.waitSignal(view.command_requested) as hit:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert hit.args == ["", "stop_call", "call_1"]
    assert not button.isVisible()
    view.apply([gives(one, "Stopped", "cancelled")])
    card.header.setFocus()
    QApplication.processEvents()
    assert not button.isVisible()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "spawn",
            {"description": "Read the notes", "prompt": "x"},
            "Started subagent Read the notes",
        ),
        ("answer_child", {"agent_id": "sa_1", "answer": "Euros"}, "Answered a subagent: Euros"),
        ("steer", {"agent_id": "sa_1", "note": "use\neuros"}, "Steered a subagent: use euros"),
        ("wait", {"agent_ids": ["sa_1"]}, "Waited for subagents"),
    ],
)
def test_what_agents_say_to_each_other_reads_as_words_not_as_ids(view, name, arguments, said):
    one = call(1, name, **arguments)
    open_page(view, opened(begins(), says(1, "", one), runs(one), gives(one), ends()))
    line = view.cards.cards["activity/call_1"]
    assert line.accessibleName().startswith(said)
    assert "sa_1" not in line.accessibleName()


def test_a_line_of_activity_counts_what_was_done(view):
    calls = [call(1, "read", path="a"), call(2, "read", path="b"), call(3, "grep", pattern="x")]
    done = [event for one in calls for event in (says(one.id, "", one), runs(one), gives(one))]
    open_page(view, opened(begins(), *done, ends()))
    assert last_card(view).accessibleName() == "Read 2 files, searched 1 ×"


@pytest.mark.parametrize(
    ("other", "said"),
    [("wait", "Waited 1.0 s for subagents"), ("steer", "Steered subagents 1 ×, waited for them")],
)
def test_a_line_names_those_that_were_waited_for(view, other, said):
    calls = [call(1, other, agent_id="sa_1", note="x"), call(2, "wait")]
    done = [event for one in calls for event in (says(one.id, "", one), runs(one), gives(one))]
    open_page(view, opened(begins(), *done, ends()))
    assert last_card(view).accessibleName() == said


def test_a_task_that_was_updated_is_told_as_done_and_without_a_number(view):
    one = call(1, "TaskUpdate", taskId="12", status="completed")
    started = ToolStarted(AGENT, one, "updating task 12", 1.0)
    open_page(view, opened(begins(), says(1, "", one), started, gives(one), ends()))
    assert last_card(view).accessibleName().startswith("Updated a task")


def test_a_line_of_activity_opens_to_its_cards_and_closes_again(view, qtbot):
    open_page(view, opened(begins(), *reads(1), *reads(2), says(9, "Done"), ends()))
    line = view.cards.cards["activity/call_1"]
    line.header.setFocus()
    top = line.y()
    qtbot.keyClick(line.header, Qt.Key.Key_Space)
    assert [view.page.index_of(key) for key in ("activity/call_1", "call_1", "call_2")] == [0, 1, 2]
    assert line.y() == top
    assert line.header.hasFocus()
    qtbot.keyClick(line.header, Qt.Key.Key_Space)
    assert view.page.index_of("call_1") == -1


# -- a question by keys alone ------------------------------------------------------------------


def focused():
    return QApplication.focusWidget()


def press(qtbot, *keys):
    for key in keys:
        qtbot.keyClick(focused(), key)


def test_the_key_for_the_oldest_question_goes_to_its_first_option_with_a_ring(view, question):
    card = question("red", "blue")
    first = card.findChildren(QRadioButton)[0]
    plain = card.grab().toImage()
    assert view.focus_oldest_approval()
    assert first.hasFocus()
    assert not first.isChecked()
    assert card.grab().toImage() != plain, "nothing shows where the focus is"


def test_arrows_go_through_the_options_and_enter_sends_the_one_with_the_ring(view, question, qtbot):
    question("red", "blue")
    view.focus_oldest_approval()
    with qtbot.assertNotEmitted(view.answered):
        press(qtbot, Qt.Key.Key_Down)
    with qtbot.waitSignal(view.answered) as hit:
        press(qtbot, Qt.Key.Key_Return)
    assert hit.args == ["qu_2", "blue"]


def test_space_chooses_and_the_send_button_takes_enter(view, question, qtbot):
    card = question("red", "blue")
    view.focus_oldest_approval()
    press(qtbot, Qt.Key.Key_Space)
    assert card.findChildren(QRadioButton)[0].isChecked()
    button(card, "sendAnswer").setFocus()
    with qtbot.waitSignal(view.answered) as hit:
        press(qtbot, Qt.Key.Key_Return)
    assert hit.args == ["qu_2", "red"]


def test_another_answer_is_written_and_sent_without_the_mouse(view, question, qtbot):
    card = question("red", "blue")
    view.focus_oldest_approval()
    press(qtbot, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Space)
    assert focused() is card.findChild(QLineEdit, "otherAnswer")
    press(qtbot, Qt.Key.Key_Up)
    assert focused() is card.findChildren(QRadioButton)[2]
    press(qtbot, Qt.Key.Key_Down)
    qtbot.keyClicks(focused(), "green")
    with qtbot.waitSignal(view.answered) as hit:
        press(qtbot, Qt.Key.Key_Return)
    assert hit.args == ["qu_2", "green"]


def test_tab_goes_through_the_card_and_then_to_the_message_box(view, question, qtbot):
    card = question("red", "blue")
    view.focus_oldest_approval()
    press(qtbot, Qt.Key.Key_Space)
    visited = []
    with qtbot.waitSignal(view.compose_requested):
        for _ in range(2):
            press(qtbot, Qt.Key.Key_Tab)
            visited.append(focused().objectName())
        press(qtbot, Qt.Key.Key_Tab)
    assert visited == ["sendAnswer", "skipQuestion"]
    press(qtbot, Qt.Key.Key_Backtab)
    assert focused() is button(card, "sendAnswer")


def test_a_question_without_options_is_typed_into_at_once(view, question):
    card = question()
    view.focus_oldest_approval()
    assert focused() is card.findChild(QLineEdit, "otherAnswer")

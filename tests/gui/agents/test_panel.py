"""The panel of subagents: what it shows is true, and every command reaches the right agent."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAccessible, QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QTextBrowser,
)

from desktop_agent.core.agents import AgentInfo, AgentStatus, Budget, Spent
from desktop_agent.core.events import (
    AgentOpened,
    AgentsChanged,
    BudgetReached,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    PartDelta,
    QuestionAsked,
    SessionOpened,
    StepStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, NoteId, QuestionId, SessionId
from desktop_agent.core.messages import TextPart, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import AttachedFile
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.agents.breadcrumb import Breadcrumb
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.agents.rows import AgentRowBuilder, matching
from desktop_agent.gui.agents.tree_view import AgentTreeView
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.kit.text import plain, short_count, whole_words
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import Spinner
from tests.helpers.panels import follow

SESSION, MAIN, ONE, TWO, DEEP = (
    SessionId("se"),
    AgentId("ag_main"),
    AgentId("sa_1"),
    AgentId("sa_2"),
    AgentId("sa_3"),
)


def main_agent() -> AgentInfo:
    return AgentInfo(MAIN, SESSION, "Main", status="running")


def agent(agent_id: AgentId, name: str, status: AgentStatus = "running", **changes: Any):
    now = time.time()
    values = {"parent_id": MAIN, "started_at": now - 91.2, "active_at": now, **changes}
    return AgentInfo(agent_id, SESSION, name, status=status, **values)


def opened(*agents: AgentInfo) -> SessionOpened:
    info = SessionInfo(SESSION, MAIN, "t", Workspace("/w"), "m")
    return SessionOpened(info, (main_agent(), *agents))


def note(text: str = "use euros", note_id: str = "no_1") -> Note:
    return Note(NoteId(note_id), text, kind="steer", created_at=time.time())


@pytest.fixture
def panel(qtbot, theme: Theme) -> AgentPanel:
    panel = AgentPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(348, 800)
    panel.show()
    qtbot.waitExposed(panel)
    panel.activateWindow()
    return panel


def show(panel: AgentPanel, *agents: AgentInfo) -> None:
    follow(panel, AgentsChanged(SESSION, (main_agent(), *agents)))
    panel.tree.flush()


def spoken(panel: AgentPanel, agent_id: AgentId) -> str:
    return panel.tree.model.index_of(agent_id).data(Qt.ItemDataRole.AccessibleTextRole)


def button(panel: AgentPanel, name: str) -> QAbstractButton:
    found = panel.findChildren(QAbstractButton, name)
    return next(one for one in found if not one.isHidden())


def states(panel: AgentPanel) -> list[str]:
    return [one.accessibleName() for one in panel.strip.findChildren(QLabel, "steerNoteState")]


def label(panel: AgentPanel, name: str) -> QLabel:
    return panel.strip.findChild(QLabel, name)


def ticks(panel: AgentPanel) -> bool:
    return panel.tree.findChild(QTimer, "agentClock").isActive()


# -- the tree ------------------------------------------------------------------------------


def test_the_screen_reader_hears_name_state_activity_tokens_and_silence(panel) -> None:
    follow(
        panel,
        opened(
            agent(
                ONE,
                "explorer",
                doing="reading deliver.py",
                usage=Usage(40_000, 2_700),
                active_at=time.time() - 45.5,
            )
        ),
    )
    assert spoken(panel, ONE) == "explorer, running, reading deliver.py, 42.7k tokens, silent 45 s"


def test_silence_shows_from_30_seconds_and_only_of_one_that_works(panel) -> None:
    now = time.time()
    follow(
        panel,
        opened(
            agent(ONE, "a", doing="thinking", active_at=now - 29),
            agent(TWO, "b", "waiting_approval", doing="asks", active_at=now - 300),
        ),
    )
    assert [row.is_silent for row in panel.tree.rows] == [False, False]
    show(panel, agent(ONE, "a", doing="thinking", active_at=now - 30.5))
    assert panel.tree.rows[0].is_silent
    assert panel.tree.rows[0].doing == "silent 30 s"


@pytest.mark.parametrize(
    ("status", "chip"),
    [
        ("running", ""),
        ("queued", "Queued"),
        ("waiting_approval", "Needs approval"),
        ("waiting_answer", "Needs answer"),
        ("paused", "Paused"),
        ("stopping", "Stopping…"),
        ("completed", "Done"),
        ("failed", "Failed"),
        ("stopped", "Stopped"),
        ("over_budget", "Budget reached"),
    ],
)
def test_each_state_has_its_chip(panel, status: AgentStatus, chip: str) -> None:
    follow(panel, opened(agent(ONE, "a", status)))
    assert panel.tree.rows[0].chip == chip


def test_the_header_counts_who_works_and_what_all_of_them_used(panel) -> None:
    follow(
        panel,
        opened(
            agent(ONE, "a", usage=Usage(70_000, 0)),
            agent(TWO, "b", "paused", usage=Usage(9_000, 0)),
            agent(DEEP, "c", "completed", parent_id=ONE),
        ),
    )
    assert panel.tree.summary.whole_text() == "2 active · 79k tokens"


def test_of_tokens_that_nobody_counted_nothing_is_said(panel) -> None:
    """As of a local server that tells no usage: 0 would be wrong."""
    follow(panel, opened(agent(ONE, "a", usage=Usage())))
    assert panel.tree.summary.whole_text() == "1 active"
    assert "tokens" not in spoken(panel, ONE)


def test_no_clock_and_no_spinner_runs_when_everybody_has_ended(panel, theme: Theme) -> None:
    follow(panel, opened(agent(ONE, "a")))
    assert theme.pulse.is_running
    assert ticks(panel)
    show(panel, agent(ONE, "a", "waiting_approval"))
    assert not theme.pulse.is_running  # it waits: nothing turns
    show(panel, agent(ONE, "a", "completed", ended_at=time.time()))
    assert not ticks(panel)
    show(panel, agent(ONE, "a"))
    panel.hide()
    assert not theme.pulse.is_running
    assert not ticks(panel)


def test_the_section_hides_without_subagents_and_tells_so(panel, qtbot) -> None:
    with qtbot.assertNotEmitted(panel.tree.filled):
        follow(panel, opened())
    assert panel.tree.isHidden()
    with qtbot.waitSignal(panel.tree.filled) as hit:
        follow(panel, opened(agent(ONE, "a")))
    assert hit.args == [True]
    assert not panel.tree.isHidden()
    with qtbot.waitSignal(panel.tree.filled) as hit:
        follow(panel, opened())
    assert hit.args == [False]


def test_many_updates_are_shown_ten_times_a_second_and_the_last_one_wins(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    looks = []
    panel.tree.model.dataChanged.connect(lambda *_: looks.append(1))
    for number in range(500):
        info = agent(ONE, "a", doing=f"step {number}")
        follow(panel, AgentsChanged(SESSION, (main_agent(), info)))
    qtbot.waitUntil(lambda: panel.tree.rows[0].doing == "step 499")
    assert len(looks) <= 5


def test_words_of_an_answer_do_not_touch_the_panel(panel) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    shown = []
    panel.strip.show_agent = lambda *_: shown.append(1)  # type: ignore[method-assign]
    for _ in range(100):
        follow(panel, PartDelta(ONE, MessageId("m"), "text", "x"))
    assert not shown


def test_a_subagent_of_a_subagent_stands_below_it_and_is_open(panel) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(DEEP, "c", parent_id=ONE)))
    above = panel.tree.model.index_of(ONE)
    assert panel.tree.model.index_of(DEEP).parent() == above
    assert panel.tree.view.isExpanded(above)


def test_those_of_earlier_turns_stand_below_and_the_newest_is_in_view(panel, qtbot) -> None:
    follow(panel, opened())
    times = ({"started_at": 100.0, "ended_at": 140.0}, {"started_at": 200.0, "ended_at": 240.0})
    first, second = AgentId("sa_old1"), AgentId("sa_old2")
    past = [
        agent(agent_id, "tester", "completed", **at)
        for agent_id, at in zip((first, second), times, strict=True)
    ]
    ended = agent(ONE, "tester", "completed", started_at=500.0, ended_at=900.0)
    live = agent(TWO, "explorer", started_at=600.0)
    show(panel, *past, ended, live)
    button(panel, "finishedAgents").click()
    keys = [one.key for one in panel.tree.model.rows()]
    assert keys == [ONE, TWO, second, first]
    panel.resize(348, 300)
    crowd = [agent(AgentId(f"sa_new{n}"), "writer", started_at=700.0 + n) for n in range(30)]
    show(panel, *past, ended, live, *crowd)
    view, newest = panel.tree.view, panel.tree.model.index_of(AgentId("sa_new29"))
    qtbot.waitUntil(lambda: view.viewport().rect().contains(view.visualRect(newest)))


def test_the_marked_agent_stays_marked_while_others_come(panel) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    show(panel, agent(TWO, "b"), agent(ONE, "a"))
    assert panel.tree.current.key == ONE
    assert panel.strip.agent_id == ONE


def test_above_fifty_a_filter_finds_one_with_its_parents(panel) -> None:
    many = [agent(AgentId(f"x{n}"), f"worker {n}") for n in range(60)]
    follow(panel, opened(*many, agent(DEEP, "needle", parent_id=AgentId("x7"))))
    assert not panel.tree.filter.isHidden()
    panel.tree.filter.setText("needle")
    assert [row.name for row in panel.tree.model.rows()] == ["worker 7", "needle"]
    panel.tree.filter.setText("nothing")
    assert "“nothing”" in panel.tree.findChild(QLabel, "noAgentFound").text()
    panel.select(DEEP)
    assert panel.tree.current.key == DEEP


def test_a_filter_never_aims_the_field_at_another_agent(panel) -> None:
    follow(panel, opened(*[agent(AgentId(f"x{n}"), f"worker {n}") for n in range(60)]))
    panel.select("x7")
    panel.strip.input.field.setText("use euros")
    panel.tree.filter.setText("worker 8")
    assert panel.tree.current is None
    assert panel.strip.isHidden()
    panel.tree.filter.clear()
    panel.tree.flush()
    assert panel.strip.agent_id == "x7"
    assert panel.strip.input.field.text() == "use euros"


def test_a_name_from_a_model_can_not_turn_the_line_around() -> None:
    assert plain("a\u202eb\nc\x1b[0m") == "ab c[0m"
    assert [short_count(n) for n in (999, 42_700, 79_000, 170_000, 1_200_000)] == [
        "999",
        "42.7k",
        "79k",
        "170k",
        "1.2M",
    ]
    assert matching((), "x") == ()


def test_a_thousand_ended_rows_come_and_open_at_once(panel) -> None:
    now = time.time()
    many = [
        agent(
            AgentId(f"s{n}"),
            f"agent {n}",
            "completed",
            parent_id=MAIN if n < 100 else AgentId(f"s{n % 100}"),
            ended_at=now,
            result="done",
        )
        for n in range(1000)
    ]
    follow(panel, opened(*many[:3]))
    button(panel, "finishedAgents").click()
    event = AgentsChanged(SESSION, (main_agent(), *many))
    model, steps = panel.tree.model, []
    for signal in (model.rowsInserted, model.rowsRemoved, model.dataChanged, model.modelReset):
        signal.connect(lambda *_: steps.append(1))
    panel.tree.set_agents(event.agents, ())
    panel.tree.flush()
    inserted = len(steps)
    again = AgentsChanged(SESSION, tuple(msgspec.structs.replace(one) for one in event.agents))
    panel.tree.set_agents(again.agents, ())
    panel.tree.flush()
    assert panel.tree.view.isExpanded(panel.tree.model.index_of(AgentId("s5")))
    # A step for each parent's rows, not one for each row; and none when nothing is new.
    assert inserted <= 101
    assert len(steps) == inserted


# -- commands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pressed", "command"),
    [(Qt.Key.Key_P, "probe"), (Qt.Key.Key_Space, "pause"), (Qt.Key.Key_Delete, "stop")],
)
def test_the_keys_of_a_row_work(panel, qtbot, pressed: Qt.Key, command: str) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    panel.select(TWO)
    panel.tree.view.setFocus()
    qtbot.waitFocus(panel.tree.view)
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.keyClick(panel.tree.view, pressed)
    assert hit.args == [TWO, command]


def test_enter_opens_and_ctrl_c_copies_the_result(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "completed", result="42")))
    panel.select(ONE)
    panel.tree.view.setFocus()
    qtbot.waitFocus(panel.tree.view)
    with qtbot.waitSignal(panel.opened) as hit:
        qtbot.keyClick(panel.tree.view, Qt.Key.Key_Return)
    assert hit.args == [ONE]
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.keyClick(panel.tree.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert hit.args == [ONE, "copy"]


def test_a_click_on_a_row_opens_it_and_one_on_its_button_does_not(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    view: AgentTreeView = panel.tree.view
    index = panel.tree.model.index_of(ONE)
    where = view.button_box(index, "pause").center()
    with qtbot.waitSignal(panel.command_requested) as hit, qtbot.assertNotEmitted(panel.opened):
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert hit.args == [ONE, "pause"]
    box = view.visualRect(index)
    with qtbot.waitSignal(panel.opened) as hit:
        qtbot.mouseClick(
            view.viewport(),
            Qt.MouseButton.LeftButton,
            pos=QPoint(box.left() + 40, box.center().y()),
        )
    assert hit.args == [ONE]


def test_the_buttons_are_at_the_other_end_in_a_right_to_left_window(panel, qtbot) -> None:
    panel.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    follow(panel, opened(agent(ONE, "a")))
    view: AgentTreeView = panel.tree.view
    where = view.button_box(panel.tree.model.index_of(ONE), "pause").center()
    assert where.x() < view.width() // 2
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert hit.args[1] == "pause"


def test_what_can_not_be_done_is_shown_with_its_reason(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "failed", result="broken")))
    panel.select(ONE)

    def action(command: str) -> QAction:
        return panel.tree.view.findChild(QAction, f"agent-{command}")

    for command in ("steer", "pause", "stop", "budget"):
        assert not action(command).isEnabled()
        assert "It has ended" in action(command).toolTip()
    assert action("answer").toolTip() == "Answer: It has asked nothing"
    assert action("open").isEnabled()
    assert panel.strip.input.field.isReadOnly()
    assert panel.strip.input.button.toolTip() == "It has ended"
    where = panel.tree.view.button_box(panel.tree.model.index_of(ONE), "stop").center()
    with qtbot.assertNotEmitted(panel.command_requested):
        qtbot.mouseClick(panel.tree.view.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_the_menu_holds_every_command_and_the_quick_ones(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    menu: QMenu = panel.tree.view.actions_of_row.make_menu(panel)
    titles = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert titles[:4] == ["Steer…", "Quick steer", "Answer…", "Probe"]
    assert "Stop, keep its work" in titles
    quick = menu.findChild(QMenu, "quickSteer").actions()
    with qtbot.waitSignal(panel.steered) as hit:
        quick[0].trigger()
    assert hit.args[0] == ONE
    assert hit.args[1].text == "Wrap up and report now"
    with qtbot.assertNotEmitted(panel.steered):
        quick[1].trigger()
    assert panel.strip.input.field.text() == "You are off track: "
    menu.close()


def test_pause_turns_into_resume_and_single_steps(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "paused")))
    panel.select(ONE)
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-pause").click()
    assert hit.args == [ONE, "resume"]
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-step").click()
    assert hit.args[1] == "step"
    show(panel, agent(ONE, "a"))
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-pause").click()
    assert hit.args[1] == "pause"


def test_stop_asks_once_when_others_would_stop_too(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(DEEP, "c", parent_id=ONE)))
    panel.select(ONE)
    with qtbot.assertNotEmitted(panel.command_requested):
        button(panel, "steer-stop").click()
    assert not panel.strip.doubt.isHidden()
    button(panel, "stopNone").click()
    assert panel.strip.doubt.isHidden()
    button(panel, "steer-stop").click()
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "stopAll").click()
    assert hit.args == [ONE, "stop"]
    panel.select(DEEP)
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-stop").click()
    assert hit.args == [DEEP, "stop"]


def test_a_reached_budget_offers_the_three_ways_out(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    budget = Budget(tokens=100)
    follow(panel, BudgetReached(ONE, MAIN, Spent(tokens=100), budget))
    show(panel, agent(ONE, "a", "paused", budget=budget))
    assert panel.tree.rows[0].chip == "Budget reached"
    for command in ("more", "finish", "stop"):
        with qtbot.waitSignal(panel.command_requested) as hit:
            button(panel, f"budget{command.title()}").click()
        assert hit.args == [ONE, command]
    show(panel, agent(ONE, "a", budget=budget))
    assert panel.strip.held.isHidden()


def test_the_form_for_a_budget_is_asked_for_by_button(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-budget").click()
    assert hit.args == [ONE, "budget"]


# -- steering ------------------------------------------------------------------------------


def test_a_steer_is_sent_as_a_note_for_the_next_step(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "explorer")))
    panel.select(ONE)
    field = panel.strip.input.field
    assert field.placeholderText() == "Steer explorer…"
    qtbot.keyClicks(field, "use euros")
    with qtbot.waitSignal(panel.steered) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    sent: Note = hit.args[1]
    assert (hit.args[0], sent.text, sent.kind, sent.delivery) == (ONE, "use euros", "steer", "step")
    assert field.text() == ""


def test_what_was_typed_for_one_agent_is_kept_for_it(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    panel.select(ONE)
    qtbot.keyClicks(panel.strip.input.field, "half a tho")
    panel.select(TWO)
    assert panel.strip.input.field.text() == ""
    panel.select(ONE)
    assert panel.strip.input.field.text() == "half a tho"


def test_the_states_of_a_note_are_honest(panel) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    assert states(panel) == ["Queued – reads it at the next step"]
    follow(panel, ToolStarted(ONE, ToolCall("c", "shell"), "running pytest", at=time.time() - 12))
    assert states(panel) == ["Queued – reads it at the next step"]
    follow(panel, NoteQueued(ONE, msgspec.structs.replace(note(), created_at=time.time() - 2)))
    assert states(panel) == ["Waiting – reads it after running pytest (12 s)"]
    follow(panel, StepStarted(ONE, 12))
    follow(panel, NoteTaken(ONE, NoteId("no_1"), MessageId("m")))
    assert states(panel) == ["Sending with step 12"]
    follow(panel, NoteDelivered(ONE, NoteId("no_1"), 12, time.time()))
    assert states(panel)[0].startswith("Delivered at step 12 · ")


def test_a_note_says_what_it_waits_for_when_the_agent_does_not_run(panel) -> None:
    follow(panel, opened(agent(ONE, "a", "paused")))
    panel.select(ONE)
    follow(panel, NoteQueued(ONE, note()))
    assert states(panel) == ["Queued – reads it when it goes on"]
    show(panel, agent(ONE, "a", "waiting_approval"))
    assert states(panel) == ["Waiting – reads it after your decision"]
    show(panel, agent(ONE, "a", "waiting_answer"))
    assert states(panel) == ["Waiting – reads it after the answer"]


def test_a_note_that_came_too_late_can_become_a_new_task_of_main(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "completed")))
    panel.select(ONE)
    follow(panel, NoteQueued(ONE, note("and the CLI")))
    follow(panel, NoteReturned(ONE, NoteId("no_1"), "finished"))
    assert states(panel) == ["Not delivered: it finished first"]
    with qtbot.waitSignal(panel.steered) as hit:
        button(panel, "steerNoteResend").click()
    assert hit.args[0] == MAIN
    assert (hit.args[1].text, hit.args[1].kind) == ("and the CLI", "message")
    assert hit.args[1].id != "no_1"
    # Until the new one is on disk the old one stands there.
    assert states(panel) == ["Not delivered: it finished first"]
    follow(panel, NoteQueued(MAIN, hit.args[1]))
    assert states(panel) == []


def test_a_note_becomes_a_new_task_with_all_that_went_along(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "completed")))
    panel.select(ONE)
    file = TextPart("1,2", AttachedFile("prices.csv"))
    sent = msgspec.structs.replace(note("as a table"), skills=("tables",), attachments=(file,))
    follow(panel, NoteQueued(ONE, sent))
    follow(panel, NoteReturned(ONE, sent.id, "finished"))
    with qtbot.waitSignal(panel.steered) as hit:
        button(panel, "steerNoteResend").click()
    assert (hit.args[1].skills, hit.args[1].attachments) == (("tables",), (file,))


@pytest.mark.parametrize("typed_since", ["", "and the dates"])
def test_a_note_that_never_reached_the_disk_comes_back_into_its_field(
    panel, qtbot, typed_since
) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    panel.select(ONE)
    field = panel.findChild(QLineEdit, "steerField")
    field.setText("use euros")
    with qtbot.waitSignal(panel.steered) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    field.setText(typed_since)
    panel.give_back("no_other")
    assert field.text() == typed_since
    panel.select(TWO)
    panel.give_back(hit.args[1].id)
    assert field.text() == ""
    panel.select(ONE)
    assert field.text() == " ".join(filter(None, ("use euros", typed_since)))


def test_a_waiting_note_can_be_changed_and_taken_back(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    edit = button(panel, "steerNoteEdit")
    edit.click()
    editor = panel.findChild(QLineEdit, "noteEditor")
    editor.setText("use dollars")
    with qtbot.waitSignal(panel.note_edited) as hit:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert hit.args == [ONE, "no_1", "use dollars"]
    with qtbot.waitSignal(panel.note_withdrawn) as hit:
        button(panel, "steerNoteWithdraw").click()
    assert hit.args == [ONE, "no_1"]
    edit.click()
    panel.findChildren(QLineEdit, "noteEditor")[-1].setText("too late")
    follow(panel, NoteTaken(ONE, NoteId("no_1"), MessageId("m")))
    assert edit.isHidden()
    assert panel.strip.input.field.text() == "too late"


def test_the_caret_goes_along_with_words_for_a_note_that_was_read_meanwhile(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    panel.activateWindow()
    button(panel, "steerNoteEdit").click()
    editor = panel.findChild(QLineEdit, "noteEditor")
    qtbot.waitFocus(editor)
    qtbot.keyClicks(editor, " and")
    follow(panel, NoteTaken(ONE, NoteId("no_1"), MessageId("m")))
    qtbot.waitFocus(panel.strip.input.field)
    qtbot.keyClicks(panel.strip.input.field, " cents")
    assert panel.strip.input.field.text() == f"{note().text} and cents"


def test_words_for_a_note_that_was_read_stand_behind_what_is_in_the_field(panel) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    panel.strip.input.field.setText("and the dates")
    button(panel, "steerNoteEdit").click()
    panel.findChild(QLineEdit, "noteEditor").setText("too late")
    follow(panel, NoteTaken(ONE, NoteId("no_1"), MessageId("m")))
    assert panel.strip.input.field.text() == "and the dates too late"


def test_a_note_of_the_parent_or_of_another_agent_is_not_shown_as_mine(panel) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    panel.select(ONE)
    theirs = msgspec.structs.replace(note(note_id="no_9"), sender=MAIN)
    follow(panel, NoteQueued(ONE, theirs))
    follow(panel, NoteQueued(TWO, note(note_id="no_2")))
    assert states(panel) == []
    panel.select(TWO)
    assert len(states(panel)) == 1


def test_notes_of_an_agent_are_there_again_when_its_transcript_is_opened(panel) -> None:
    paused = agent(ONE, "a", "paused")
    follow(panel, opened(paused))
    panel.select(ONE)
    follow(panel, AgentOpened(paused, (TurnStarted(ONE), NoteQueued(ONE, note()))))
    assert states(panel) == ["Queued – reads it when it goes on"]


def test_a_running_agent_keeps_its_ledger_when_it_ends(panel) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    follow(panel, TurnEnded(ONE, "cancelled"))
    follow(panel, NoteReturned(ONE, NoteId("no_1"), "stopped"))
    show(panel, agent(ONE, "a", "stopped"))
    assert states(panel) == ["Not delivered: it was stopped"]


def test_the_time_of_a_paused_agent_stands_still_and_the_pause_is_never_counted() -> None:
    maker = AgentRowBuilder()
    begun = agent(ONE, "a", "paused", started_at=1_000.0, paused_at=1_020.0)
    assert maker.rows((begun,), (), 1_500.0)[0].elapsed == "20 s"
    going = agent(ONE, "a", "running", started_at=1_000.0, active_at=1_505.0, paused=480.0)
    assert maker.rows((going,), (), 1_505.0)[0].elapsed == "25 s"
    ended = agent(ONE, "a", "completed", started_at=1_000.0, ended_at=1_510.0, paused=480.0)
    assert maker.rows((ended,), (), 9_000.0)[0].elapsed == "30 s"


def test_who_waits_for_more_of_a_budget_above_it_is_held_also_after_a_restart() -> None:
    """Nothing is told of it then but how much is used."""
    used_up = msgspec.structs.replace(main_agent(), used=1.0)
    below = (agent(ONE, "a", "paused"), agent(TWO, "b", "paused", parent_id=ONE))
    for main, state in ((used_up, "held"), (main_agent(), "paused")):
        rows = AgentRowBuilder().rows((main, *below), (), 0.0)
        assert {row.state for row in rows} == {state}


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("", "stopped"),
        ("user", "stopped by you"),
        ("ag_main", "stopped by Main"),
        ("sa_2", "stopped by Research"),
        ("sa_gone", "stopped by its parent"),
        ("ended", "stopped because its parent ended"),
        ("app", "stopped when the app was closed"),
    ],
)
def test_who_stopped_an_agent_is_said_in_tree_card_and_notes(panel, by: str, words: str) -> None:
    parent = agent(TWO, "Research")
    follow(panel, opened(parent, agent(ONE, "a")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    follow(panel, NoteReturned(ONE, NoteId("no_1"), "stopped", by))
    result = "stopped after 1 tool; side effects may exist"
    ended = agent(ONE, "a", "stopped", result=result, stopped_by=by, tools_run=1)
    show(panel, parent, ended)
    row = panel.tree.row(ONE)
    assert row.chip == "Stopped"
    by_whom = words.removeprefix("stopped ")
    assert row.doing == f"{by_whom} after 1 tool; side effects may exist"
    assert spoken(panel, ONE) == f"a, {words}"
    assert words in panel.tree.model.index_of(ONE).data(Qt.ItemDataRole.ToolTipRole)
    assert label(panel, "steerEnd").text() == words[:1].upper() + words[1:]
    assert label(panel, "steerEnd").isVisible()
    assert states(panel) == [f"Not delivered: it was {words}"]
    panel.select(TWO)
    assert not label(panel, "steerEnd").isVisible()


def test_an_ended_agent_shows_no_button_that_is_dead(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", "stopped", result="what `it` found")))
    panel.select(ONE)
    shown = [one for one in panel.strip.findChildren(QAbstractButton) if one.isVisible()]
    assert [one.objectName() for one in shown if not one.isEnabled()] == []
    assert not panel.strip.input.isVisible()
    view = panel.tree.view
    index = view.model().index(0, 0)
    where = view.button_box(index, "stop").center()
    with qtbot.waitSignal(panel.opened), qtbot.assertNotEmitted(panel.command_requested):
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert view.row_at(index).doing == "what it found"
    show(panel, agent(ONE, "a"))
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert hit.args[1] == "stop"
    assert panel.strip.input.isVisible()


@pytest.mark.parametrize("typed", ["", "look at se"])
def test_who_writes_as_the_agent_ends_presses_no_button_with_the_next_key(
    panel, qtbot, typed
) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.activateWindow()
    panel.select(ONE)
    field = panel.strip.input.field
    field.setFocus()
    qtbot.waitFocus(field)
    qtbot.keyClicks(field, typed)
    show(panel, agent(ONE, "a", "completed", result="done"))
    qtbot.waitUntil(field.isReadOnly)
    assert field.hasFocus()
    with qtbot.assertNotEmitted(panel.steered):
        qtbot.keyClicks(field, "eds")
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == typed


def test_a_cut_line_ends_with_a_whole_word() -> None:
    words = "stopped after 1 tool; side effects may exist"
    assert whole_words(words, "stopped after 1 tool; side effe…") == "stopped after 1 tool; side…"
    assert whole_words(words, "stopped after 1 tool; side…") == "stopped after 1 tool; side…"
    assert whole_words(words, words) == words
    assert whole_words("a/very/long/path.py", "a/very/lo…") == "a/very/lo…"


# -- asking and probing --------------------------------------------------------------------


def ask(panel: AgentPanel, *options: str) -> None:
    follow(panel, opened(agent(ONE, "tester", "waiting_answer", question="Which branch?")))
    panel.select(ONE)
    question = Question(QuestionId("qu_1"), ONE, "c", "Which branch?", options, time.time())
    follow(panel, QuestionAsked(ONE, question))


def test_the_card_of_who_asks_leads_to_the_one_place_for_the_answer(panel, qtbot) -> None:
    ask(panel, "main", "release")
    assert panel.strip.asked.words.text() == "It asks: Which branch?"
    assert [one.text().strip() for one in panel.strip.asked.findChildren(QPushButton)] == [
        "Answer…"
    ]
    with qtbot.assertNotEmitted(panel.answered):
        button(panel, "steer-answer").click()
    field = panel.asks.findChild(QLineEdit, "askField")
    qtbot.waitFocus(field)
    qtbot.keyClicks(field, "main")
    panel.asks.clock = lambda: float("inf")  # the row stands still for long enough
    with qtbot.waitSignal(panel.answered) as hit, qtbot.assertNotEmitted(panel.steered):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args == ["qu_1", "main"]


def test_who_is_shown_is_answered_on_the_card_in_the_transcript(panel, qtbot) -> None:
    ask(panel)
    asker = AgentInfo(ONE, SESSION, "tester", status="waiting_answer", parent_id=MAIN)
    follow(panel, AgentOpened(asker, ()))
    assert not panel.asks.findChild(QLineEdit, "askField").isVisible()
    with qtbot.waitSignal(panel.asks.ask_chosen) as hit:
        button(panel, "steer-answer").click()
    assert hit.args == [ONE, "qu_1"]


def test_words_of_a_model_are_never_taken_for_a_page(panel) -> None:
    evil = '<img src="http://example.test/x.png">'
    follow(panel, opened(agent(ONE, evil, doing=evil)))
    tip = panel.tree.model.index_of(ONE).data(Qt.ItemDataRole.ToolTipRole)
    assert "<img" not in tip
    ask(panel, evil * 3)
    option = panel.asks.findChildren(QPushButton, "askOption")[-1]
    assert "<img" not in option.toolTip()
    assert panel.strip.asked.words.textFormat() == Qt.TextFormat.PlainText


def test_esc_leaves_a_question_aside_and_steers_again(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "tester")))
    panel.select(ONE)
    button(panel, "steer-aside").click()
    assert panel.strip.input.field.accessibleName() == "Ask tester without interrupting"
    qtbot.keyClick(panel.strip.input.field, Qt.Key.Key_Escape)
    assert panel.strip.input.field.accessibleName() == "Steer tester"


def test_a_probe_is_quoted_under_its_own_agent(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a"), agent(TWO, "b")))
    panel.select(ONE)
    with qtbot.waitSignal(panel.command_requested) as hit:
        button(panel, "steer-probe").click()
    assert hit.args[1] == "probe"
    panel.set_probe_result(ONE, "running · 3 tools")
    assert label(panel, "probeText").text() == "running · 3 tools"
    panel.select(TWO)
    assert panel.strip.quote.isHidden()
    panel.select(ONE)
    assert not panel.strip.quote.isHidden()
    button(panel, "probeClose").click()
    assert panel.strip.quote.isHidden()


def test_an_answer_takes_no_room_that_is_left_over(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    button(panel, "steer-probe").click()
    panel.set_probe_result(ONE, "running")
    panel.resize(320, 1_600)
    QApplication.processEvents()
    quote = panel.strip.quote
    assert quote.height() == quote.heightForWidth(quote.width())


def test_a_question_aside_waits_for_its_answer(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    button(panel, "steer-aside").click()
    qtbot.keyClicks(panel.strip.input.field, "what is left?")
    with qtbot.waitSignal(panel.aside_requested) as hit:
        qtbot.keyClick(panel.strip.input.field, Qt.Key.Key_Return)
    assert hit.args == [ONE, "what is left?"]
    assert not panel.strip.quote.findChild(Spinner).isHidden()
    panel.set_probe_result(ONE, "Two files.")
    assert panel.strip.quote.findChild(Spinner).isHidden()
    assert label(panel, "probeHead").text() == "Aside: what is left?"


def test_an_answer_in_markdown_is_read_as_text_and_not_as_marks(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    button(panel, "steer-aside").click()
    qtbot.keyClicks(panel.strip.input.field, "what is left?")
    qtbot.keyClick(panel.strip.input.field, Qt.Key.Key_Return)
    panel.set_probe_result(ONE, "**Two** files:\n\n- `one.py`\n- two.py")
    shown = panel.strip.quote.findChild(QTextBrowser, "markdownText")
    heard = QAccessible.queryAccessibleInterface(shown).textInterface()
    words = heard.text(0, heard.characterCount())
    assert "Two files:" in words
    assert "one.py" in words
    assert "*" not in words
    assert "`" not in words
    # A probe's lines are what an agent called its work: shown to the letter.
    button(panel, "probeClose").click()
    button(panel, "steer-probe").click()
    panel.set_probe_result(ONE, "Running\n- finding **/*")
    assert label(panel, "probeText").text() == "Running\n- finding **/*"
    assert not shown.isVisible()


# -- the breadcrumb ------------------------------------------------------------------------


def test_the_breadcrumb_leads_back_and_hides_at_the_main_agent(qtbot, theme: Theme) -> None:
    crumb = Breadcrumb(theme)
    qtbot.addWidget(crumb)
    agents = (main_agent(), agent(ONE, "Research"), agent(DEEP, "Prices", parent_id=ONE))
    crumb.show_path(agents)
    assert not crumb.isHidden()
    parts = [one for one in crumb.findChildren(QPushButton) if not one.isHidden()]
    assert [one.accessibleName() for one in parts] == ["Go to Main", "Go to Research"]
    with qtbot.waitSignal(crumb.chosen) as hit:
        parts[1].click()
    assert hit.args == [ONE]
    crumb.show_path(agents[:1])
    assert crumb.isHidden()


def test_every_control_has_a_name(panel) -> None:
    ask(panel, "main")
    panel.set_probe_result(ONE, "x")
    for one in panel.findChildren(QPushButton):
        assert one.accessibleName(), one.objectName()
    assert panel.tree.model.index(0, 0).data(ROW_ROLE).spoken.startswith("tester, needs an answer")


def test_after_a_restart_notes_that_still_wait_are_spoken_of(panel) -> None:
    held = agent(ONE, "a", "paused", waiting_notes=2)
    follow(panel, opened(held))
    panel.select(ONE)
    assert not label(panel, "steerOthers").isHidden()
    assert label(panel, "steerOthers").text().startswith("2 more notes wait")
    follow(panel, AgentOpened(held, (NoteQueued(ONE, note()), NoteQueued(ONE, note("x", "no_2")))))
    assert label(panel, "steerOthers").isHidden()
    assert len(states(panel)) == 2


# -- what the card offers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Probe",
        "Pause",
        "Stop",
        "Stop, keep its work",
        "Ask without interrupting…",
        "Budget…",
        "Open transcript",
        "Quick steer",
    ],
)
def test_every_command_is_a_button_with_that_name(panel, name: str) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    named = [one for one in panel.strip.findChildren(QAbstractButton) if one.isVisible()]
    assert name in [one.accessibleName() for one in named]


def test_stopping_with_its_work_kept_is_one_click(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.mouseClick(button(panel, "steer-finish"), Qt.MouseButton.LeftButton)
    assert hit.args == [ONE, "finish"]


def test_a_row_opens_on_a_quick_pair_of_clicks_and_though_the_rows_moved_meanwhile(
    panel, qtbot
) -> None:
    follow(panel, opened(*(agent(AgentId(f"sa_{n}"), f"n{n}") for n in range(30))))
    view: AgentTreeView = panel.tree.view
    box = view.visualRect(panel.tree.model.index_of(AgentId("sa_4")))
    where = QPoint(box.left() + 40, box.center().y())
    with qtbot.waitSignal(panel.opened) as hit:
        qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
        view.verticalScrollBar().setValue(120)
        qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert hit.args == ["sa_4"]
    with qtbot.waitSignal(panel.opened):
        qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_a_quick_steer_is_two_clicks_away_in_the_card(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    qtbot.mouseClick(panel.strip.input.quick, Qt.MouseButton.LeftButton)
    menu = next(one for one in panel.findChildren(QMenu) if one.objectName() == "quickMenu")
    with qtbot.waitSignal(panel.steered) as hit:
        menu.actions()[0].trigger()
    menu.close()
    assert hit.args[0] == ONE
    assert hit.args[1].text == "Wrap up and report now"


def test_ten_thousand_letters_are_steered_whole_with_their_lines(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a")))
    panel.select(ONE)
    text = "one\ntwo\n" + "x" * 10_000 + "\N{ROCKET}" * 40_000
    panel.strip.input.field.insert(text)
    with qtbot.waitSignal(panel.steered) as hit:
        qtbot.keyClick(panel.strip.input.field, Qt.Key.Key_Return)
    assert hit.args[1].text == text


def test_a_pause_shows_at_once_though_it_holds_only_at_the_next_step(panel, qtbot) -> None:
    follow(panel, opened(agent(ONE, "a", doing="running pytest", pace="pausing")))
    assert spoken(panel, ONE).startswith("a, running, pausing…, running pytest")
    assert panel.tree.rows[0].chip == "Pausing…"
    panel.select(ONE)
    assert button(panel, "steer-pause").accessibleName() == "Resume"
    with qtbot.waitSignal(panel.command_requested) as hit:
        qtbot.mouseClick(button(panel, "steer-pause"), Qt.MouseButton.LeftButton)
    assert hit.args[1] == "resume"
    show(panel, agent(ONE, "a", pace="finishing"))
    assert panel.tree.rows[0].chip == "Wrapping up…"
    assert not button(panel, "steer-finish").isEnabled()


def test_notes_that_wait_since_before_a_restart_stand_in_the_card_and_can_be_changed(
    panel, qtbot
) -> None:
    first = opened(agent(ONE, "a", "paused", waiting_notes=1))
    follow(panel, msgspec.structs.replace(first, notes=(NoteQueued(ONE, note()),)))
    panel.select(ONE)
    assert states(panel) == ["Queued – reads it when it goes on"]
    assert label(panel, "steerOthers").isHidden()
    with qtbot.waitSignal(panel.note_withdrawn) as hit:
        button(panel, "steerNoteWithdraw").click()
    assert hit.args == [ONE, "no_1"]
    # Coming back to the session tells of it again: it is the same note.
    follow(panel, msgspec.structs.replace(first, notes=(NoteQueued(ONE, note()),)))
    assert len(states(panel)) == 1

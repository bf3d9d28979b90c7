"""Subagents in the real window: seen into, steered, answered, paused and stopped by hand."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPushButton, QWidget

from desktop_agent.core.agents import AgentInfo, Budget
from desktop_agent.core.events import (
    AgentEnded,
    AgentOpened,
    AgentsChanged,
    CommandRefused,
    NoteDelivered,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
)
from desktop_agent.core.ids import AgentId, QuestionId, SessionId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.gui.transcript.cards.tool_card import ToolCard
from tests.gui.window.test_window import WAIT, shown, wait_idle, wait_shown, write
from tests.helpers.processes import pid_here
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import bridge_of, part, side_panel, words_in


class Team:
    """A provider that plays the main agent and, by their prompts, its subagents."""

    def __init__(self) -> None:
        self.scripts: dict[str, list] = {"main": []}
        self.requests: dict[str, list] = {}
        self._lock = threading.Lock()

    def answer(self, request):
        """Return the next step of whoever asks."""
        with self._lock:
            first = request.user_texts[0]
            who = next((name for name in self.scripts if first.startswith(name)), "main")
            self.requests.setdefault(who, []).append(request)
            script = self.scripts[who]
            return script.pop(0) if script else Say("All done.")


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def provider(monkeypatch, team):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    with LoopbackProvider("openai", [team.answer] * 60) as server:
        yield server


@pytest.fixture
def heard(window):
    """Every event the window got."""
    events = []
    bridge_of(window).received.connect(events.extend)
    return events


def spawns(*names):
    return Calls(*(("spawn", {"description": n, "prompt": n}) for n in names))


def agents_of(window):
    return {info.name: info for info in window.known.agents}


def wait_agent(qtbot, window, name, status):
    qtbot.waitState(
        bridge_of(window).received,
        lambda: name in agents_of(window) and agents_of(window)[name].status == status,
    )
    return agents_of(window)[name]


def panel_of(window):
    return side_panel(window).agents


def test_a_note_steered_at_a_running_subagent_is_read_once_and_its_receipt_is_true(
    window, team, heard, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    ask = Calls(("ask_parent", {"question": "Which currency?"}))
    team.scripts["alpha"] = [ask, Say("alpha is done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    panel = panel_of(window)
    window.commands.palette.trigger()
    palette = part(window, "commandPalette")
    names = [row.title for row in palette.list.rows()]
    assert {"Open transcript: alpha", "Steer: alpha", "Pause: alpha", "Stop: alpha"} <= set(names)
    assert "Pause this session" in names
    palette.close()
    panel.select(alpha.id)
    note = Note(new_note_id(), "use euros", kind="steer")
    panel.steered.emit(alpha.id, note)
    asked = next(e for e in heard if isinstance(e, QuestionAsked))
    panel.answered.emit(asked.question.id, "euros")
    qtbot.waitState(
        bridge_of(window).received, lambda: any(isinstance(e, AgentEnded) for e in heard)
    )
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    texts = [t for t in team.requests["alpha"][1].user_texts if "use euros" in t]
    assert len(texts) == 1
    delivered = [e for e in heard if isinstance(e, NoteDelivered) and e.note_id == note.id]
    assert [e.step for e in delivered] == [2]


def test_a_subagents_transcript_opens_and_the_composer_talks_to_it(window, team, heard, qtbot):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    ask = Calls(("ask_parent", {"question": "Which currency?"}))
    team.scripts["alpha"] = [ask, Say("alpha is done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    panel_of(window).opened.emit(alpha.id)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.agent == alpha.id)
    wait_shown(qtbot, window, "Which currency?")
    assert part(window, "breadcrumb").isVisible()
    window.frame.composer.set_text("in euros please")
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    asked = next(e for e in heard if isinstance(e, QuestionAsked))
    panel_of(window).answered.emit(asked.question.id, "euros")
    qtbot.waitState(
        bridge_of(window).received, lambda: any(isinstance(e, AgentEnded) for e in heard)
    )
    wait_shown(qtbot, window, "alpha is done")
    texts = team.requests["alpha"][1].user_texts
    assert sum("in euros please" in text for text in texts) == 1
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.is_at_main)
    wait_shown(qtbot, window, "All done.")
    assert "in euros please" not in shown(window).split("You told alpha")[0]
    assert not part(window, "breadcrumb").isVisible()


def test_after_the_way_back_from_a_subagent_words_go_to_the_message_box(window, team, heard, qtbot):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    team.scripts["alpha"] = [Say("alpha is done")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "All done.")
    alpha = agents_of(window)["alpha"]
    panel_of(window).opened.emit(alpha.id)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.agent == alpha.id)
    wait_shown(qtbot, window, "alpha is done")
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT)
    # In the place of the message box stands then that it has ended.
    qtbot.waitUntil(lambda: not window.frame.composer.box.isVisible(), timeout=WAIT)
    window.pages.page(alpha.id).browser.setFocus()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.is_at_main)
    assert window.frame.composer.isAncestorOf(window.focusWidget())


def test_the_focus_stays_in_the_message_box_when_a_subagent_ends_and_is_left(
    window, team, heard, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    team.scripts["alpha"] = [Calls(("ask_parent", {"question": "Which?"})), Say("alpha is done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    panel_of(window).opened.emit(alpha.id)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.agent == alpha.id)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT)
    window.frame.composer.focus_text()
    asked = next(e for e in heard if isinstance(e, QuestionAsked))
    panel_of(window).answered.emit(asked.question.id, "this")
    wait_shown(qtbot, window, "alpha is done")
    qtbot.waitUntil(lambda: not window.frame.composer.box.isVisible(), timeout=WAIT)
    assert window.focusWidget().objectName() == "writeToMain"
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.is_at_main)
    assert window.frame.composer.box.isAncestorOf(window.focusWidget())


def test_a_question_of_the_agent_is_answered_by_keys_alone(window, team, qtbot):
    asked = Calls(("ask_user", {"question": "Which colour?", "options": ["red", "blue"]}))
    team.scripts["main"] = [asked, Say("All done.")]
    write(qtbot, window, "Go")
    # Its words are on the tool's own row a moment before it can be answered.
    qtbot.waitUntil(lambda: bool(window.findChildren(QWidget, "questionCard")), timeout=WAIT)
    wait_shown(qtbot, window, "Which colour?")
    window.commands.approval.trigger()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.frame.composer.isAncestorOf(window.focusWidget())
    assert "Esc" not in words_in(window.frame.notices)
    window.commands.approval.trigger()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Down)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    assert window.frame.composer.isAncestorOf(window.focusWidget())
    wait_shown(qtbot, window, "All done.")
    assert "blue" in str(team.requests["main"][1].body)


def test_pause_step_and_stop_from_the_panel(window, team, heard, qtbot):
    team.scripts["main"] = [spawns("alpha", "beta"), Calls(("wait", {})), *[Say("Done.")] * 3]
    ask = Calls(("ask_parent", {"question": "?"}))
    team.scripts["alpha"] = [ask, Calls(("glob", {"pattern": "*"})), Say("a")]
    team.scripts["beta"] = [ask, Say("b")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    beta = wait_agent(qtbot, window, "beta", "waiting_answer")
    panel = panel_of(window)
    panel.command_requested.emit(alpha.id, "pause")
    question = next(
        e.question for e in heard if isinstance(e, QuestionAsked) and e.agent_id == alpha.id
    )
    panel.answered.emit(question.id, "yes")
    wait_agent(qtbot, window, "alpha", "paused")
    assert len(team.requests["alpha"]) == 1
    panel.command_requested.emit(alpha.id, "step")
    qtbot.waitUntil(lambda: len(team.requests["alpha"]) == 2, timeout=WAIT)
    wait_agent(qtbot, window, "alpha", "paused")
    panel.command_requested.emit(beta.id, "stop")
    wait_agent(qtbot, window, "beta", "stopped")
    panel.command_requested.emit(alpha.id, "resume")
    wait_agent(qtbot, window, "alpha", "completed")


def test_a_subagent_is_paused_stepped_and_resumed_from_the_list_of_commands(window, team, qtbot):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), *[Say("Done.")] * 3]
    ask = Calls(("ask_parent", {"question": "?"}))
    team.scripts["alpha"] = [ask, Calls(("glob", {"pattern": "*"})), Say("a")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    run_command(qtbot, window, "Pause: alpha")
    qtbot.waitState(
        bridge_of(window).received, lambda: agents_of(window)["alpha"].pace == "pausing"
    )
    panel = panel_of(window)
    panel.answered.emit(window.known.question_of(alpha.id).id, "yes")
    wait_agent(qtbot, window, "alpha", "paused")
    run_command(qtbot, window, "Take one step: alpha")
    qtbot.waitUntil(lambda: len(team.requests["alpha"]) == 2, timeout=WAIT)
    wait_agent(qtbot, window, "alpha", "paused")
    assert len(team.requests["alpha"]) == 2, "one step is one request, not two"
    run_command(qtbot, window, "Resume: alpha")
    wait_agent(qtbot, window, "alpha", "completed")
    assert len(team.requests["alpha"]) == 3


def run_command(qtbot, window, title):
    """Find a command by typing, as a person does, and run it."""

    def is_found():
        palette = part(window, "commandPalette")
        if palette is None or not palette.isVisible():
            window.commands.palette.trigger()
        palette = part(window, "commandPalette")
        palette.search.setText(title)
        if palette.list.current is not None and palette.list.current.title == title:
            return True
        palette.close()
        return False

    qtbot.waitUntil(is_found, timeout=WAIT)
    qtbot.keyClick(part(window, "commandPalette").search, Qt.Key.Key_Return)


def test_the_tree_and_a_transcript_are_there_after_a_restart(
    open_window, window, team, heard, provider, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    team.scripts["alpha"] = [Say("what alpha found")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    open_window.close(window)
    again = open_window(model=provider.model, api_base=provider.api_base)
    wait_shown(qtbot, again, "All done.")
    alpha = wait_agent(qtbot, again, "alpha", "completed")
    assert panel_of(again).tree.rows
    again.flow.show_agent(alpha.id)
    wait_shown(qtbot, again, "what alpha found")


def test_the_task_panel_shows_the_list_of_the_agent_that_is_shown(window, team, heard, qtbot):
    team.scripts["main"] = [
        Calls(
            ("TaskCreate", {"subject": "mine"}),
            ("spawn", {"description": "alpha", "prompt": "alpha"}),
        ),
        Calls(("wait", {})),
    ]
    ask = Calls(("ask_parent", {"question": "?"}))
    team.scripts["alpha"] = [Calls(("TaskCreate", {"subject": "its own"})), ask, Say("done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    tasks = side_panel(window).tasks.tasks
    assert [task.subject for task in tasks.tasks] == ["mine"]
    main = window.flow.agent
    window.flow.show_agent(alpha.id)
    qtbot.waitUntil(lambda: [t.subject for t in tasks.tasks] == ["its own"], timeout=WAIT)
    qtbot.keyClicks(part(window, "addTask"), "more")
    qtbot.keyClick(part(window, "addTask"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: [t.subject for t in tasks.tasks] == ["its own", "more"], timeout=WAIT)
    window.flow.show_agent(main)
    qtbot.waitUntil(lambda: [t.subject for t in tasks.tasks] == ["mine"], timeout=WAIT)


def test_what_waits_is_counted_where_the_panel_is_opened(window, team, qtbot):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {}))]
    team.scripts["alpha"] = [Calls(("ask_parent", {"question": "?"})), Say("done")]
    write(qtbot, window, "Go")
    wait_agent(qtbot, window, "alpha", "waiting_answer")
    button = window.frame.header.side_button
    qtbot.waitUntil(lambda: "1 waiting for you" in button.accessibleName(), timeout=WAIT)
    assert button.isVisible(), "nobody sees that somebody waits"


def test_a_long_result_is_copied_whole(window, team, heard, qtbot):
    long = "line of the result\n" * 400
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    team.scripts["alpha"] = [Say(long)]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "completed")
    QGuiApplication.clipboard().setText("")
    panel_of(window).command_requested.emit(alpha.id, "copy")
    qtbot.waitUntil(lambda: bool(QGuiApplication.clipboard().text()), timeout=WAIT)
    assert QGuiApplication.clipboard().text() == long.strip()


def test_the_stop_button_names_whom_it_stops(window, team, heard, qtbot):
    team.scripts["main"] = [spawns("alpha", "beta"), Calls(("wait", {}))]
    ask = Calls(("ask_parent", {"question": "?"}))
    team.scripts |= {"alpha": [ask], "beta": [ask]}
    write(qtbot, window, "Go")
    wait_agent(qtbot, window, "alpha", "waiting_answer")
    stop = window.frame.composer.findChild(QPushButton, "stopButton")
    qtbot.waitUntil(lambda: stop.accessibleName() == "Stop Main + 2", timeout=WAIT)
    window.flow.show_agent(agents_of(window)["alpha"].id)
    qtbot.waitUntil(lambda: stop.accessibleName() == "Stop alpha", timeout=WAIT)
    qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    wait_agent(qtbot, window, "alpha", "stopped")
    assert agents_of(window)["beta"].status == "waiting_answer", "the button named alpha alone"


def test_a_subagents_model_is_called_as_everywhere_else(open_window, project, qtbot):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    info = window.flow.info
    child = AgentInfo(AgentId("sa_1"), info.id, "alpha", parent_id=info.main_agent, model="demo")
    received = bridge_of(window).received
    received.emit((AgentsChanged(info.id, (AgentInfo(info.main_agent, info.id, "Main"), child)),))
    window.flow.show_agent(child.id)
    received.emit((AgentOpened(child),))
    assert window.flow.agent == child.id
    assert window.frame.composer.bar.model.accessibleName() == "Model: Demo"


def test_the_list_of_commands_does_not_list_itself(window, qtbot):
    window.commands.palette.trigger()
    palette = part(window, "commandPalette")
    qtbot.waitUntil(palette.isVisible)
    titles = [row.title for row in palette.list.rows()]
    assert "Settings" in titles
    assert "All commands" not in titles


def shown_button(window, name):
    return next(
        (b for b in window.findChildren(QAbstractButton, name) if b.isVisible() and b.isEnabled()),
        None,
    )


def click(qtbot, window, name):
    qtbot.waitUntil(lambda: shown_button(window, name) is not None, timeout=WAIT)
    qtbot.mouseClick(shown_button(window, name), Qt.MouseButton.LeftButton)


def test_a_session_that_used_up_its_budget_goes_on_when_it_gets_more(
    open_window, provider, project, team, qtbot
):
    window = open_window(
        project, model=provider.model, api_base=provider.api_base, budget=Budget(steps=1)
    )
    team.scripts["main"] = [Calls(("glob", {"pattern": "*"})), Say("All done.")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "The budget is used up")
    assert len(team.requests["main"]) == 1
    window.commands.approval.trigger()
    assert window.focusWidget().objectName() == "budget-more"
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Space)
    assert window.frame.composer.isAncestorOf(window.focusWidget())
    wait_shown(qtbot, window, "All done.")
    wait_shown(qtbot, window, "The budget was used up")


def test_a_sessions_budget_is_set_from_its_card_and_from_the_commands(
    open_window, provider, project, team, qtbot
):
    window = open_window(
        project, model=provider.model, api_base=provider.api_base, budget=Budget(steps=1)
    )
    team.scripts["main"] = [Calls(("glob", {"pattern": "*"})), Say("All done.")]
    write(qtbot, window, "Go")
    click(qtbot, window, "budget-budget")
    form = part(window, "budgetForm")
    qtbot.waitUntil(form.isVisible)
    part(form, "budget-steps").setText("9")
    click(qtbot, window, "budgetSet")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    window.commands.budget.trigger()
    qtbot.waitUntil(form.isVisible)
    assert part(form, "budget-steps").text() == "9"
    form.close()


def test_a_limit_of_money_for_a_model_without_a_price_holds_before_it_costs_anything(
    open_window, provider, project, team, qtbot
):
    window = open_window(
        project, model=provider.model, api_base=provider.api_base, budget=Budget(cost=1.0, steps=9)
    )
    team.scripts["main"] = [Say("All done.")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "A limit can’t be measured")
    card = next(one for one in window.findChildren(QWidget, "budgetCard") if one.isVisible())
    words = " ".join(label.text() for label in card.findChildren(QLabel))
    assert "The limit of $1.00 can’t be measured: the price of a model isn’t known." in words
    assert "main" not in team.requests
    window.commands.budget.trigger()
    form = part(window, "budgetForm")
    said = form.findChild(QWidget, "budgetUnpriced")
    qtbot.waitUntil(said.isVisible, timeout=WAIT)
    assert provider.model in said.text()
    form.close()
    click(qtbot, window, "budget-more")
    wait_shown(qtbot, window, "All done.")
    wait_idle(qtbot, window)
    window.commands.budget.trigger()
    qtbot.waitUntil(form.isVisible)
    assert (part(form, "budget-cost").text(), part(form, "budget-steps").text()) == ("", "9")
    form.close()


def test_a_childs_question_in_the_main_transcript_leads_to_where_it_is_answered(
    window, team, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("I wait."), Say("All done.")]
    ask = Calls(("ask_parent", {"question": "Which currency?"}))
    team.scripts["alpha"] = [ask, Say("alpha is done")]
    write(qtbot, window, "Go")
    wait_shown(qtbot, window, "alpha asked: Which currency?")
    qtbot.waitUntil(lambda: shown_button(window, "answerElsewhere") is not None, timeout=WAIT)
    assert not [f for f in window.findChildren(QLineEdit, "otherAnswer") if f.isVisible()]
    # What is typed after Alt+A is the answer.
    window.commands.approval.trigger()
    (field,) = [f for f in window.findChildren(QLineEdit, "askField") if f.isVisible()]
    qtbot.waitFocus(field)
    window.frame.composer.focus_text()
    click(qtbot, window, "answerElsewhere")
    qtbot.waitFocus(field)
    field.setText("euros")
    qtbot.waitUntil(lambda: _is_answered(qtbot, window, team), timeout=WAIT)
    wait_agent(qtbot, window, "alpha", "completed")
    assert team.requests["alpha"][1].results[-1] == "euros"
    assert "answer_child" not in shown(window)


def _is_answered(qtbot, window, team):
    """Press Answer, which counts once the rows stand still; tell whether it has."""
    if shown_button(window, "askAnswer") is not None:
        click(qtbot, window, "askAnswer")
    return bool(team.requests["alpha"][1:])


def click_when_asked(qtbot, window):
    """Allow the command, once the card takes a click."""

    def is_running():
        button = shown_button(window, "allowOnce")
        if button is not None:
            button.click()
        return (Path(window.flow.workspace.root) / "pid").exists()

    qtbot.waitUntil(is_running, timeout=WAIT)


def test_one_running_command_is_stopped_and_its_agent_goes_on(
    open_window, provider, project, team, qtbot
):
    window = open_window(project, model=provider.model, api_base=provider.api_base)
    (project / "hold").write_text("#!/bin/sh\necho $$ > pid\nexec sleep 600\n")
    (project / "hold").chmod(0o755)
    team.scripts["main"] = [Calls(("shell", {"command": "./hold"})), Say("All done.")]
    write(qtbot, window, "Go")
    click_when_asked(qtbot, window)
    page = window.pages.page(window.flow.agent)

    def card():
        cards = [c for c in page.findChildren(ToolCard) if c.is_live and c.isVisible()]
        return cards[-1] if cards else None

    qtbot.waitUntil(lambda: card() is not None, timeout=WAIT)
    written = project / "pid"
    qtbot.waitUntil(lambda: written.exists() and bool(written.read_text()), timeout=WAIT)
    pid = pid_here(int(written.read_text()), project)
    card().header.setFocus()
    click(qtbot, window, "stopTool")
    wait_shown(qtbot, window, "All done.")
    assert "Stopped by the user" in team.requests["main"][1].results[-1]
    qtbot.waitUntil(lambda: not Path(f"/proc/{pid}").exists(), timeout=WAIT)


def test_a_stopped_subagent_takes_no_message_and_its_lost_note_goes_to_main_once(
    window, team, heard, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    ask = Calls(("ask_parent", {"question": "Which currency?"}))
    team.scripts["alpha"] = [ask, Say("alpha is done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    panel = panel_of(window)
    panel.opened.emit(alpha.id)
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.agent == alpha.id)
    panel.select(alpha.id)
    panel.steered.emit(alpha.id, Note(new_note_id(), "use euros", kind="steer"))
    qtbot.waitUntil(lambda: shown_button(window, "noteWithdraw") is not None, timeout=WAIT)
    panel.command_requested.emit(alpha.id, "stop")
    wait_agent(qtbot, window, "alpha", "stopped")
    qtbot.waitUntil(lambda: shown_button(window, "steerNoteResend") is not None, timeout=WAIT)
    assert shown_button(window, "continueTurn") is None
    assert shown_button(window, "noteResend").text() == "Send as new task"
    click(qtbot, window, "steerNoteResend")
    qtbot.waitUntil(lambda: shown_button(window, "noteResend") is None, timeout=WAIT)
    click(qtbot, window, "writeToMain")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.is_at_main)
    wait_idle(qtbot, window)
    # As a message of its own; that it was told to alpha is said with more words around it.
    assert sum(t.endswith("use euros") for t in team.requests["main"][-1].user_texts) == 1


def test_what_another_sessions_subagent_asks_waits_there_on_a_switch(window, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    assert side_panel(window) is None
    main, child = AgentId("ag_main"), AgentId("ag_child")
    other = replace(window.flow.info, id=SessionId("se_other"), main_agent=main)
    agents = (
        AgentInfo(main, other.id, "main", "waiting_children"),
        AgentInfo(child, other.id, "prices", "waiting_answer", main),
    )
    question = Question(QuestionId("qu_1"), child, "call_1", "Which currency?")
    received = bridge_of(window).received
    received.emit((AgentsChanged(other.id, agents), QuestionAsked(child, question)))
    assert side_panel(window) is None
    window.flow.show_session(other.id)
    received.emit((SessionOpened(other, agents, (), 1),))
    assert panel_of(window).asks.count == 1
    received.emit((QuestionAnswered(child, question.id, "Euros"),))
    assert panel_of(window).asks.count == 0


def test_the_last_session_that_is_clicked_is_the_one_shown(window, project, tmp_path, heard, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    first = window.flow.current
    window.flow.send(Note(new_note_id(), "Begin."))
    wait_idle(qtbot, window)
    window.flow.open_folder(str(tmp_path))
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.current not in (None, first))
    second = window.flow.current
    heard.clear()
    window.flow.show_session(first)
    window.flow.show_session(second)
    opened = [first]
    qtbot.waitUntil(
        lambda: [e.info.id for e in heard if isinstance(e, SessionOpened)] == opened, timeout=WAIT
    )
    assert window.flow.current == second


def test_words_for_a_subagent_that_were_refused_come_back_into_a_panel_made_at_once(window, qtbot):
    qtbot.waitUntil(lambda: window.flow.info is not None, timeout=WAIT)
    info = window.flow.info
    alpha = AgentInfo(
        AgentId("sa_1"), info.id, "alpha", status="running", parent_id=info.main_agent
    )
    hear = bridge_of(window).received.emit
    hear((AgentsChanged(info.id, (*window.known.agents, alpha)),))
    panel = panel_of(window)
    panel.select(alpha.id)
    field = part(window, "steerField")
    field.setText("use euros")
    with qtbot.waitSignal(panel.steered) as sent:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == ""
    hear((CommandRefused("send", "The disk is full.", alpha.id, sent.args[1].id),))
    assert field.text() == "use euros"

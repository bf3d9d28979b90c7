"""Subagents in the real window: seen into, steered, answered, paused and stopped by hand."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentEnded,
    AgentOpened,
    AgentsChanged,
    NoteDelivered,
    QuestionAsked,
)
from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.notes import Note
from tests.gui.test_window import WAIT, shown, wait_idle, wait_shown, write
from tests.helpers.providers import Calls, LoopbackProvider, Say


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
def window(open_window, provider, project):
    return open_window(project, model=provider.model, api_base=provider.api_base)


@pytest.fixture
def heard(window):
    """Every event the window got."""
    events = []
    window._bridge.received.connect(events.extend)
    return events


def spawns(*names):
    return Calls(*(("spawn", {"description": n, "prompt": n}) for n in names))


def agents_of(window):
    return {info.name: info for info in window.pages.agents(window.flow.current)}


def wait_agent(qtbot, window, name, status):
    qtbot.waitUntil(
        lambda: name in agents_of(window) and agents_of(window)[name].status == status,
        timeout=WAIT,
    )
    return agents_of(window)[name]


def panel_of(window):
    return window.side._panel.agents


def test_a_note_steered_at_a_running_subagent_is_read_once_and_its_receipt_is_true(
    window, team, heard, qtbot
):
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    ask = Calls(("ask_parent", {"question": "Which currency?"}))
    team.scripts["alpha"] = [ask, Say("alpha is done")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    panel = panel_of(window)
    panel.select(alpha.id)
    note = Note(new_note_id(), "use euros", kind="steer")
    panel.steered.emit(alpha.id, note)
    asked = next(e for e in heard if isinstance(e, QuestionAsked))
    panel.answered.emit(asked.question.id, "euros")
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
    qtbot.waitUntil(lambda: window.flow.agent == alpha.id, timeout=WAIT)
    wait_shown(qtbot, window, "Which currency?")
    assert window.side._breadcrumb.isVisible()
    window.frame.composer.set_text("in euros please")
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    asked = next(e for e in heard if isinstance(e, QuestionAsked))
    panel_of(window).answered.emit(asked.question.id, "euros")
    qtbot.waitUntil(lambda: any(isinstance(e, AgentEnded) for e in heard), timeout=WAIT)
    wait_shown(qtbot, window, "alpha is done")
    texts = team.requests["alpha"][1].user_texts
    assert sum("in euros please" in text for text in texts) == 1
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.flow.is_at_main, timeout=WAIT)
    wait_shown(qtbot, window, "All done.")
    assert "in euros please" not in shown(window).split("[The user told")[0]
    assert not window.side._breadcrumb.isVisible()


def test_pause_step_and_stop_from_the_panel(window, team, heard, qtbot):
    team.scripts["main"] = [spawns("alpha", "beta"), Calls(("wait", {})), *[Say("Done.")] * 3]
    ask = Calls(("ask_parent", {"question": "?"}))
    team.scripts["alpha"] = [ask, Calls(("glob", {"pattern": "*"})), Say("a")]
    team.scripts["beta"] = [ask, Say("b")]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "waiting_answer")
    beta = wait_agent(qtbot, window, "beta", "waiting_answer")
    panel = panel_of(window)
    panel.paused.emit(alpha.id)
    question = next(
        e.question for e in heard if isinstance(e, QuestionAsked) and e.agent_id == alpha.id
    )
    panel.answered.emit(question.id, "yes")
    wait_agent(qtbot, window, "alpha", "paused")
    assert len(team.requests["alpha"]) == 1
    panel.stepped.emit(alpha.id)
    qtbot.waitUntil(lambda: len(team.requests["alpha"]) == 2, timeout=WAIT)
    wait_agent(qtbot, window, "alpha", "paused")
    panel.stopped.emit(beta.id)
    wait_agent(qtbot, window, "beta", "stopped")
    panel.resumed.emit(alpha.id)
    wait_agent(qtbot, window, "alpha", "completed")


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
    assert again.side._panel.agents.tree.rows
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
    tasks = window.side._panel.tasks.tasks
    assert [task.subject for task in tasks.tasks] == ["mine"]
    main = window.flow.agent
    window.flow.show_agent(alpha.id)
    qtbot.waitUntil(lambda: [t.subject for t in tasks.tasks] == ["its own"], timeout=WAIT)
    qtbot.keyClicks(tasks._add, "more")
    qtbot.keyClick(tasks._add, Qt.Key.Key_Return)
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


def test_a_long_result_is_copied_whole(window, team, heard, qtbot):
    long = "line of the result\n" * 400
    team.scripts["main"] = [spawns("alpha"), Calls(("wait", {})), Say("All done.")]
    team.scripts["alpha"] = [Say(long)]
    write(qtbot, window, "Go")
    alpha = wait_agent(qtbot, window, "alpha", "completed")
    QGuiApplication.clipboard().setText("")
    panel_of(window).result_requested.emit(alpha.id)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == long.strip(), timeout=WAIT)


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


def test_a_subagents_model_is_called_as_everywhere_else(open_window, project, qtbot):
    window = open_window(project, model="demo")
    qtbot.waitUntil(lambda: window.flow.info is not None, timeout=WAIT)
    info = window.flow.info
    child = AgentInfo(AgentId("sa_1"), info.id, "alpha", parent_id=info.main_agent, model="demo")
    window._on_received(
        (AgentsChanged(info.id, (AgentInfo(info.main_agent, info.id, "Main"), child)),)
    )
    window.flow._wanted_agent = child.id
    window._on_received((AgentOpened(child),))
    assert window.flow.agent == child.id
    assert window.frame.composer.model_button.accessibleName() == "Model: Demo"


def test_the_list_of_commands_does_not_list_itself(window, qtbot):
    window.commands.palette.trigger()
    palette = window.popups._palette
    qtbot.waitUntil(palette.isVisible)
    titles = [row.title for row in palette.list.rows()]
    assert "Settings" in titles
    assert "All commands" not in titles

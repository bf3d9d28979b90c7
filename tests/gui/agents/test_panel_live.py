"""The panel of subagents on a real engine: every button does what it says."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from desktop_agent.core.agents import Budget
from desktop_agent.core.events import ApprovalRequested, BudgetReached, QuestionAsked, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.notes import strip
from tests.engine.tree.tree_rig import TreeRig, spawns
from tests.helpers.panels import follow
from tests.helpers.scripted import Waits, calls, says

WAIT = calls(("wait", {}))
SLOW = calls(("slow", {}))


class Live:
    """A panel whose wishes go to an engine and which hears its events, in order."""

    def __init__(self, panel: AgentPanel, rig: TreeRig) -> None:
        self.panel, self.rig, self.engine = panel, rig, rig.engine
        self._heard = 0
        panel.steered.connect(self.engine.send)
        panel.note_edited.connect(self.engine.edit_note)
        panel.answered.connect(self.engine.answer)
        panel.asks.decided.connect(self.engine.decide)
        panel.command_requested.connect(self._do)

    def _do(self, agent_id: str, command: str) -> None:
        getattr(self.engine, "extend_budget" if command == "more" else command)(agent_id)

    def hear(self) -> None:
        for event in self.rig.events[self._heard :]:
            follow(self.panel, event)
        self._heard = len(self.rig.events)
        self.panel.tree.flush()

    async def when(self, holds) -> None:
        def heard() -> bool:
            self.hear()
            return holds()

        await self.rig.once(heard)

    def state(self, agent_id: str) -> str:
        row = self.panel.tree.row(agent_id)
        return row.state if row is not None else ""

    def notes(self) -> list[str]:
        labels = self.panel.strip.findChildren(QLabel, "steerNoteState")
        return [one.accessibleName() for one in labels]

    def press(self, name: str) -> None:
        found = [b for b in self.panel.findChildren(QPushButton, name) if not b.isHidden()]
        assert found[0].isEnabled()
        found[0].click()

    def steer(self, agent_id: str, text: str) -> None:
        self.panel.select(agent_id)
        self.panel.strip.input.field.setText(text)
        self.panel.strip.input.button.click()


@pytest.fixture
def start(qtbot, theme: Theme, tmp_path: Path):
    def start_one(main: list[Any], children: dict[str, list[Any]], **kwargs: Any) -> Live:
        panel = AgentPanel(theme)
        seconds = itertools.count()
        panel.asks.clock = lambda: float(next(seconds))
        qtbot.addWidget(panel)
        panel.show()
        return Live(panel, TreeRig(tmp_path, main, children, **kwargs))

    return start_one


async def test_a_steer_in_the_middle_of_a_tool_is_queued_waits_and_is_delivered_once(
    start, monkeypatch
):
    live = start([spawns("a"), WAIT, says("ok")], {"a": [SLOW, says("done")]})
    live.rig.send("go")
    child = await live.rig.child()
    await live.rig.gates.reached.wait()
    await live.when(lambda: live.state(child) == "running")
    live.steer(child, "use euros")
    live.hear()
    assert live.notes() == ["Queued – reads it at the next step"]
    monkeypatch.setattr(strip, "QUEUED_S", 0.0)
    live.panel.show_card()
    assert live.notes()[0].startswith("Waiting – reads it after")
    live.rig.gates.open.set()
    await live.when(lambda: any(text.startswith("Delivered at step 2") for text in live.notes()))
    request = live.rig.model.requests_of("a")[1]
    assert sum(message.text.count("use euros") for message in request.messages) == 1
    await live.when(lambda: live.state(child) == "done")
    live.steer(child, "too late")  # the field is closed: nothing is sent
    live.hear()
    assert len(live.notes()) == 1


async def test_a_question_of_a_child_is_answered_from_the_list(start):
    asks = calls(("ask_parent", {"question": "Which currency?"}))
    live = start([spawns("a"), Waits(asyncio.Event())], {"a": [asks, says("done")]})
    live.rig.send("go")
    child = await live.rig.child()
    await live.rig.until(QuestionAsked)
    await live.when(lambda: live.state(child) == "needs_answer")
    live.panel.select(child)
    assert live.panel.strip.asked.words.text() == "It asks: Which currency?"
    assert live.panel.asks.count == 1
    live.press("steer-answer")
    live.panel.asks.findChild(QLineEdit, "askField").setText("euros")
    live.panel.asks.clock = lambda: float("inf")  # the row stands still for long enough
    live.press("askAnswer")
    await live.when(lambda: live.state(child) == "done")
    assert live.panel.asks.count == 0
    assert live.rig.model.requests_of("a")[1].messages[-1].results[0].text == "euros"
    await live.engine.close()


async def test_an_approval_deep_in_the_tree_is_given_from_the_one_list(start):
    scripts = {
        "a": [spawns("b"), WAIT, says("a done")],
        "b": [calls(("write", {"what": "x"})), says("b done")],
    }
    live = start([spawns("a"), WAIT, says("ok")], scripts)
    live.rig.send("go")
    asked = await live.rig.until(ApprovalRequested)
    await live.when(lambda: live.panel.asks.count == 1)
    assert live.state(asked.agent_id) == "needs_approval"
    row = live.panel.asks.findChild(QLabel, "askWho")
    assert row.accessibleName() == "Main ▸ the a ▸ the b"
    live.press("askAllow")
    await live.when(lambda: live.rig.gates.ran == ["x"])
    await live.when(lambda: live.panel.asks.count == 0)
    await live.when(lambda: live.state(asked.agent_id) == "done")
    await live.engine.close()


async def test_pause_holds_step_takes_one_and_resume_goes_on(start):
    echo = calls(("echo", {"what": "1"}))
    live = start([spawns("a"), WAIT, says("ok")], {"a": [SLOW, echo, says("done")]})
    live.rig.send("go")
    child = await live.rig.child()
    await live.rig.gates.reached.wait()
    await live.when(lambda: live.state(child) == "running")
    live.panel.select(child)
    live.press("steer-pause")
    live.rig.gates.open.set()
    await live.when(lambda: live.state(child) == "paused")
    assert len(live.rig.model.requests_of("a")) == 1
    live.panel.select(child)
    live.press("steer-step")
    await live.when(lambda: len(live.rig.model.requests_of("a")) == 2)
    await live.when(lambda: live.state(child) == "paused")
    live.press("steer-pause")
    await live.when(lambda: live.state(child) == "done")
    await live.engine.close()


async def test_a_reached_budget_shows_and_half_as_much_again_lets_it_go_on(start):
    echo = calls(("echo", {"what": "1"}))
    budget = Settings(subagent_budget=Budget(steps=2))
    live = start(
        [spawns("a"), WAIT, says("ok")], {"a": [echo, echo, says("done")]}, settings=budget
    )
    live.rig.send("go")
    child = await live.rig.child()
    await live.rig.until(BudgetReached)
    await live.when(lambda: live.state(child) == "held")
    live.panel.select(child)
    assert live.panel.tree.row(child).chip == "Budget reached"
    live.press("budgetMore")
    await live.when(lambda: live.state(child) == "done")
    await live.engine.close()


async def test_stopping_one_with_children_asks_once_and_stops_all_of_them(start):
    held = {"a": [spawns("b"), WAIT], "b": [Waits(asyncio.Event())]}
    live = start([spawns("a"), says("started"), says("ok")], held)
    live.rig.send("go")
    outer, inner = await live.rig.child(1), await live.rig.child(2)
    await live.when(lambda: live.state(inner) == "running")
    live.panel.select(outer)
    live.press("steer-stop")
    live.hear()
    assert live.state(inner) == "running"
    live.press("stopAll")
    await live.when(lambda: {live.state(outer), live.state(inner)} == {"stopped"})
    await live.rig.until(TurnEnded, 2)
    await live.engine.close()


async def test_a_note_to_a_child_that_is_stopped_comes_back_and_can_be_sent_to_main(start):
    live = start([spawns("a"), says("started"), says("x"), says("y")], {"a": [SLOW]})
    live.rig.send("go")
    child = await live.rig.child()
    await live.rig.gates.reached.wait()
    await live.when(lambda: live.state(child) == "running")
    live.steer(child, "and the CLI")
    live.panel.select(child)
    live.press("steer-stop")
    await live.when(lambda: "Not delivered: it was stopped by you" in live.notes())
    live.press("steerNoteResend")
    main = live.rig.agent_id
    await live.rig.once(lambda: any("and the CLI" in m.text for m in live.rig.messages_of(main)))
    assert live.panel.tree.row(AgentId(child)).chip == "Stopped"
    await live.engine.close()

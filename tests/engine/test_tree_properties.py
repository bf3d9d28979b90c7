"""Random work over a tree of agents: nothing hangs, nothing is lost, all comes to one end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    EngineFailed,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    QuestionAsked,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import open_calls
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from tests.engine.tree_rig import TreeRig
from tests.helpers.scripted import calls, says

SEEDS = range(64)
MOST_STEPS = 6
MOST_AGENTS = 7
MOST_ACTIONS = 40


class RandomModel:
    """Plays dice for each step: work, spawn, steer, ask, answer, wait, stop, fail or end."""

    def __init__(self, dice: random.Random, rig: TreeRig) -> None:
        self._dice = dice
        self._rig = rig
        self._steps: Counter[AgentId] = Counter()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        agent = AgentId(request.agent_id.split("/")[0])
        self._steps[agent] += 1
        yield Accepted()
        # Others get their turn at random places.
        for _ in range(self._dice.randrange(4)):
            await asyncio.sleep(0)
        if self._dice.random() < 0.05:
            yield Delta("text", "half an ans")
            raise ModelError(Fault("server", "out of order"))
        yield self._answer(agent) if request.tools else says("aside")

    def _answer(self, agent: AgentId) -> Answer:
        children = [e.agent_id for e in self._rig.of(AgentSpawned) if e.spec.parent_id == agent]
        if asking := [c for c in children if self._rig.engine._questions.waiting_of(c)]:
            return calls(("answer_child", {"agent_id": asking[0], "answer": "yes"}))
        if self._steps[agent] > MOST_STEPS:
            return says("enough")
        return self._roll(agent, children)

    def _roll(self, agent: AgentId, children: list[AgentId]) -> Answer:
        dice, spawned = self._dice, self._rig.of(AgentSpawned)
        target = dice.choice([*children, *[e.agent_id for e in spawned], AgentId("sa_none")])
        match dice.randrange(9):
            case 0 | 1 if len(spawned) < MOST_AGENTS:
                name = f"a{len(spawned)}"
                return calls(("spawn", {"description": name, "prompt": f"work {name}"}))
            case 2:
                return calls(("steer", {"agent_id": target, "note": f"note {dice.random()}"}))
            case 3 if agent != self._rig.agent_id:
                return calls(("ask_parent", {"question": "this way?"}))
            case 4:
                return calls(("wait", {"timeout_s": 0.02}), ("echo", {"what": "beside"}))
            case 5:
                return calls(("stop", {"agent_id": target}))
            case 6:
                live = {"agent_id": target, "live": dice.random() < 0.5, "question": "how?"}
                return calls(("probe", live), ("agent_result", {"agent_id": target}))
            case 7:
                return says("done")
            case _:
                return calls(("echo", {"what": "x"}), ("fail", {"what": "y"}))


class Person:
    """Acts now and then, after events: steers, stops, pauses, steps, resumes, answers."""

    def __init__(self, dice: random.Random, rig: TreeRig) -> None:
        self._dice = dice
        self._rig = rig
        self.actions = 0

    def act(self) -> None:
        rig, dice, engine = self._rig, self._dice, self._rig.engine
        self.actions += 1
        agents = [rig.agent_id, *[e.agent_id for e in rig.of(AgentSpawned)]]
        target = dice.choice(agents)
        match dice.randrange(9):
            case 0 | 1:
                rig.send_to(target, f"person {self.actions}")
            case 2:
                engine.stop(target)
            case 3:
                engine.pause(target)
            case 4:
                engine.step(target)
            case 5:
                engine.resume(target)
            case 6:
                engine.finish(target)
            case 7:
                waiting = rig.of(QuestionAsked)
                if waiting:
                    engine.answer(dice.choice(waiting).question.id, "by the person")
            case _:
                note = rig.send_to(target, "to be taken back")
                engine.edit_note(target, note.id, "edited")
                engine.withdraw_note(target, note.id)

    def let_all_go(self) -> None:
        """Resume what is held; answer what is asked."""
        for agent in self._rig.engine._agents.all():
            if agent.pace.is_paused:
                self._rig.engine.resume(agent.id)
        for asked in self._rig.of(QuestionAsked):
            self._rig.engine.answer(asked.question.id, "at last")


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_happens_in_a_tree_nothing_is_lost_and_nothing_hangs(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    rig = TreeRig(tmp_path, [], {})
    model = RandomModel(dice, rig)
    rig.engine._model = rig.engine._steering._model = model  # type: ignore[assignment]
    before = asyncio.all_tasks()
    person = Person(dice, rig)
    rig.send("begin")
    try:
        await settle(rig, person, dice)
    except TimeoutError:
        pytest.fail(f"the tree hangs: {standing(rig)}")
    check(rig)
    rig.engine.stop(rig.agent_id)
    await rig.engine.close()
    ours = {task for task in asyncio.all_tasks() - before if task not in rig._wakeups}
    assert not ours, ours


async def settle(rig: TreeRig, person: Person, dice: random.Random) -> None:
    """Let the person act at random places; then let all go until the tree is idle."""
    heard = 0
    async with asyncio.timeout(6):
        while not is_idle(rig):
            if len(rig.events) > heard and person.actions < MOST_ACTIONS and dice.random() < 0.2:
                person.act()
            elif person.actions >= MOST_ACTIONS or len(rig.events) == heard:
                person.let_all_go()
            heard = len(rig.events)
            await asyncio.sleep(0)


def is_idle(rig: TreeRig) -> bool:
    """Whether nothing runs, and no note waits that would start a turn."""
    agents = rig.engine._agents
    return agents.is_idle(rig.session_id)


def standing(rig: TreeRig) -> list[str]:
    """How each agent stands, for the message of a failure."""
    return [
        f"{a.id} {rig.engine._agents.status(a)} end={a.end is not None} notes={len(a.inbox)} "
        f"waking={a.inbox.is_waking} runs={a.is_running} paused={a.pace.is_paused}"
        for a in rig.engine._agents.all()
    ]


def check(rig: TreeRig) -> None:
    assert not rig.of(EngineFailed), rig.of(EngineFailed)
    spawned = Counter(e.agent_id for e in rig.of(AgentSpawned))
    assert Counter(e.agent_id for e in rig.of(AgentEnded)) == spawned
    assert len(rig.of(TurnStarted)) == len(rig.of(TurnEnded))
    assert not [q for a in rig.engine._agents.all() for q in rig.engine._questions.waiting_of(a.id)]
    main = rig.engine._agents.find(rig.agent_id)
    assert main is not None
    waiting = {note.id for note in main.inbox._notes} | {n.id for n in main.inbox._undelivered}
    for agent in {*spawned, rig.agent_id}:
        ends = Counter(
            e.note_id for e in rig.of(NoteDelivered) + rig.of(NoteReturned) if e.agent_id == agent
        )
        queued = {e.note.id for e in rig.of(NoteQueued) if e.agent_id == agent}
        assert all(count == 1 for count in ends.values()), ends
        assert set(ends) <= queued
        left = queued - set(ends)
        # A main agent that was stopped keeps what waits for the next message.
        assert left <= (waiting if agent == rig.agent_id else set()), (agent, left)
        history = [e.message for e in rig.of(MessageAdded) if e.agent_id == agent]
        assert not open_calls(history)

"""Random work over a tree of agents, played from a tape: a shorter tape is a simpler story."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import AllowOnce, Deny, Rule
from desktop_agent.core.events import AgentSpawned, ApprovalRequested, QuestionAsked, StepStarted
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from desktop_agent.core.settings import Settings
from desktop_agent.engine.tree import budgets
from desktop_agent.tools.shell.jobs import Jobs
from desktop_agent.tools.shell.shell import shell
from tests.engine.tree.tree_rig import TreeRig, runs
from tests.helpers.engines import questions_of
from tests.helpers.scripted import MemoryStore, calls, says

MOST_STEPS = 8
MOST_AGENTS = 7
MOST_ACTIONS = 40
T = TypeVar("T")

# Each leaves a process that stays: plainly, beside its shell, out of its group, twice forked.
COMMANDS = (
    "exec sleep 300",
    "sleep 300 & wait",
    "setsid sleep 300 & sleep 300",
    "(setsid sh -c 'sleep 300 & exec sleep 300' &) & sleep 300",
    "setsid sleep 300 > /dev/null 2>&1 & echo it goes on",
    "echo quick",
)


class Tape:
    """Numbers that decide everything; where it ends, all that is left is the simplest."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)
        self._place = 0

    @property
    def is_over(self) -> bool:
        return self._place >= len(self._numbers)

    def number(self, count: int) -> int:
        """Return a number below `count`."""
        if self.is_over:
            return 0
        self._place += 1
        return self._numbers[self._place - 1] % count

    def choice(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]


class RandomModel:
    """Plays what the tape says for each step: end, work, spawn, steer, ask, wait, stop, fail.

    `overdrawn` collects steps that were taken past a budget, `last_steps` the agents and numbers
    of those without tools.
    """

    def __init__(self, tape: Tape, rig: RandomRig) -> None:
        self._tape = tape
        self._rig = rig
        self._steps: Counter[AgentId] = Counter()
        self.overdrawn: list[str] = []
        self.last_steps: set[tuple[AgentId, int]] = set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        agent = AgentId(request.agent_id.split("/")[0])
        if request.agent_id == agent and request.tools:
            self._check_budgets(agent)
        elif request.agent_id == agent:
            begun = [e.step for e in self._rig.of(StepStarted) if e.agent_id == agent]
            self.last_steps.add((agent, begun[-1]))
        self._steps[agent] += 1
        # Others get their turn at any place; some requests fail before, some after the words.
        for _ in range(self._tape.number(4)):
            await asyncio.sleep(0)
        trouble = self._tape.number(40)
        if trouble == 39:
            raise ModelError(Fault("auth", "no key"))
        yield Accepted()
        if trouble == 38:
            yield Delta("text", "half an ans")
            raise ModelError(Fault("server", "out of order"))
        yield self._answer(agent) if request.tools else says("aside")

    def _check_budgets(self, agent_id: AgentId) -> None:
        agents = self._rig.tree
        one = agents.find(agent_id)
        while one is not None:
            limit, used = one.meter.budget.steps, budgets.spent(agents, one).steps
            if limit is not None and used > limit:
                self.overdrawn.append(f"{agent_id} took step {used} of {limit} of {one.id}")
            one = agents.parent(one)

    def _answer(self, agent: AgentId) -> Answer:
        children = [e.agent_id for e in self._rig.of(AgentSpawned) if e.spec.parent_id == agent]
        if asking := [c for c in children if questions_of(self._rig.engine).to_parent_of(c)]:
            return calls(("answer_child", {"agent_id": asking[0], "answer": "yes"}))
        if self._steps[agent] > MOST_STEPS:
            return says("enough")
        return self._played(agent, children)

    def _played(  # noqa: PLR0911 - one for each number
        self, agent: AgentId, children: list[AgentId]
    ) -> Answer:
        tape, spawned = self._tape, self._rig.of(AgentSpawned)
        action = tape.number(14)
        target = tape.choice([*children, *[e.agent_id for e in spawned], AgentId("sa_none")])
        if self._rig.has_shell and tape.number(3) == 2:
            return runs(tape.choice(COMMANDS), in_background=tape.number(2) == 1)
        match action:
            case 0:
                return says("done")
            case 2 | 3 | 12 | 13 if len(spawned) < MOST_AGENTS:
                name = f"a{len(spawned)}"
                return calls(("spawn", {"description": name, "prompt": f"work {name}"}))
            case 5:
                return calls(("steer", {"agent_id": target, "note": f"note {tape.number(99)}"}))
            case 6 if agent != self._rig.agent_id:
                return calls(("ask_parent", {"question": "this way?"}))
            case 7:
                return calls(("wait", {"timeout_s": 0.005}), ("echo", {"what": "beside"}))
            case 8:
                return calls(("stop", {"agent_id": target}))
            case 9:
                live = {"agent_id": target, "live": tape.number(2) == 1, "question": "how?"}
                return calls(("probe", live), ("agent_result", {"agent_id": target}))
            case 10:
                return calls(("write", {"what": f"{tape.number(99)}"}), ("ask", {"what": "sure?"}))
            case _:
                return calls(("echo", {"what": "x"}), ("fail", {"what": "y"}))


class RandomRig(TreeRig):
    """A tree whose model plays from one tape, and whose person from another."""

    def __init__(
        self,
        tmp_path: Path,
        tape: Tape,
        wishes: Tape,
        *,
        has_shell: bool = False,
        store: MemoryStore | None = None,
    ) -> None:
        self.has_shell = has_shell
        self._wishes = wishes
        if store is None:
            store = MemoryStore()
            store.save_rules([Rule("shell", "", scope="everywhere")])
        settings = Settings(
            budget=(Budget(), Budget(steps=3), Budget(steps=12, tokens=150))[tape.number(3)],
            subagent_budget=(Budget(), Budget(steps=2), Budget(steps=4, tokens=45))[tape.number(3)],
        )
        self.random_model = RandomModel(tape, self)
        super().__init__(
            tmp_path,
            [],
            {},
            store=store,
            settings=settings,
            model=self.random_model,
            new_jobs=Jobs,
        )
        self.person = Person(wishes, self)

    def _tools(self):
        return [*super()._tools(), *([shell] if self.has_shell else [])]

    async def settle(self, seconds: float) -> None:
        """Let the person act while the tape goes on; then let all go until the tree is idle."""
        heard = -1
        async with asyncio.timeout(seconds):
            while not self.tree.is_idle(self.session_id):
                if len(self.events) == heard or self._wishes.is_over:
                    self.person.let_all_go()
                elif self._wishes.number(4) == 3:
                    self.person.act()
                heard = len(self.events)
                await self._turn_of_others(heard)

    async def _turn_of_others(self, heard: int) -> None:
        """Give way; when nothing happens by that, wait for a command or a time limit."""
        for _ in range(3):
            await asyncio.sleep(0)
        if len(self.events) == heard:
            try:
                async with asyncio.timeout(0.005), self._seen:
                    await self._seen.wait_for(lambda: len(self.events) > heard)
            except TimeoutError:
                return


class Person:
    """Acts now and then: steers, stops, pauses, steps, answers, decides, gives more budget."""

    def __init__(self, tape: Tape, rig: RandomRig) -> None:
        self._tape = tape
        self._rig = rig
        self._actions = 0

    def act(self) -> None:
        """Do one thing."""
        if self._actions >= MOST_ACTIONS:
            return
        self._actions += 1
        rig, tape = self._rig, self._tape
        target = tape.choice([rig.agent_id, *[e.agent_id for e in rig.of(AgentSpawned)]])
        tape.choice(self._wishes(target))()

    def _wishes(self, target: AgentId) -> list[Callable[[], object]]:
        rig, engine = self._rig, self._rig.engine
        return [
            lambda: rig.send_to(target, f"person {self._actions}"),
            lambda: engine.pause(target),
            lambda: engine.resume(target),
            lambda: engine.step(target),
            lambda: engine.stop(target),
            lambda: engine.finish(target),
            lambda: engine.extend_budget(target),
            lambda: self._answer_some(),
            lambda: self._decide_some(),
            lambda: self._change_its_mind(target),
            lambda: rig.send("later", delivery="turn"),
            lambda: self._cut_in(target),
        ]

    def _answer_some(self) -> None:
        if asked := self._rig.of(QuestionAsked):
            self._rig.engine.answer(self._tape.choice(asked).question.id, "by the person")

    def _decide_some(self) -> None:
        if asked := self._rig.of(ApprovalRequested):
            decision = self._tape.choice((AllowOnce(), Deny("not now")))
            self._rig.engine.decide(self._tape.choice(asked).request.id, decision)

    def _change_its_mind(self, target: AgentId) -> None:
        note = self._rig.send_to(target, "to be taken back")
        self._rig.engine.edit_note(target, note.id, "edited")
        self._rig.engine.withdraw_note(target, note.id)

    def _cut_in(self, target: AgentId) -> None:
        self._rig.engine.stop_and_send(target, Note(new_note_id(), "now"))

    def let_all_go(self) -> None:
        """Answer and allow all that is asked, give more budget, resume what is held.

        Commands run for ever: who waits for one is stopped.
        """
        rig = self._rig
        for asked in rig.of(QuestionAsked):
            rig.engine.answer(asked.question.id, "at last")
        for request in rig.of(ApprovalRequested):
            rig.engine.decide(request.request.id, AllowOnce())
        for agent in rig.tree.all():
            if agent.end is None and budgets.used(rig.tree, agent) >= 1:
                rig.engine.extend_budget(agent.id)
            if agent.end is None and agent.pace.is_paused:
                rig.engine.resume(agent.id)
            if "sleep 300" in agent.status()[1]:
                rig.engine.stop(agent.id)

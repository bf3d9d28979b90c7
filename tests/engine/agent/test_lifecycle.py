"""The table of an agent's life: what can follow what, and what the window is told of it."""

from __future__ import annotations

import asyncio
import logging
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.agents import ENDED, AgentStatus
from desktop_agent.core.ids import AgentId
from desktop_agent.engine.agent.lifecycle import (
    ENDED_PHASES,
    ENDS,
    TRANSITIONS,
    IllegalTransition,
    Lifecycle,
    Phase,
    Signal,
    after,
    status_of,
)
from desktop_agent.engine.agent.pause import PauseControl

ACTIVITIES: tuple[tuple[AgentStatus, str] | None, ...] = (
    None,
    ("running", "reading a.txt"),
    ("waiting_approval", "writing a.txt"),
    ("waiting_answer", "asking you"),
    ("waiting_children", "waiting for Auditor"),
)
# What each command does to an agent's life, as it is given by those who know nothing of its phase.
COMMANDS = ("begin", "wake", "suppress", "cancel", "turn over", "await end", "end")


def reachable() -> set[Phase]:
    """All phases that some signals lead to from the beginning."""
    found: set[Phase] = set()
    new = {Phase.IDLE}
    while new:
        found |= new
        new = {end for (begin, _), end in TRANSITIONS.items() if begin in found} - found
    return found


def test_every_phase_is_reached_from_the_beginning_and_no_signal_is_unused() -> None:
    assert reachable() == set(Phase)
    assert {signal for _, signal in TRANSITIONS} == set(Signal)


def test_every_phase_but_the_ended_ones_leads_to_an_end() -> None:
    leads = set(ENDED_PHASES)
    for _ in Phase:
        leads |= {begin for (begin, _), end in TRANSITIONS.items() if end in leads}
    assert leads == set(Phase)


@pytest.mark.parametrize(
    ("phase", "signal"), list(product(sorted(ENDED_PHASES, key=lambda one: one.value), Signal))
)
def test_nothing_leads_out_of_an_end(phase: Phase, signal: Signal) -> None:
    with pytest.raises(IllegalTransition, match=f"{signal.name} while {phase.name}"):
        after(phase, signal)


def test_every_status_is_read_off_some_phase_and_no_other_is() -> None:
    shown = {
        status_of(phase, is_running=runs, is_paused=paused, is_new=new, activity=activity)[0]
        for phase, runs, paused, new, activity in product(
            Phase, (True, False), (True, False), (True, False), ACTIVITIES
        )
    }
    assert shown == set(get_args(AgentStatus))


def test_what_has_ended_is_shown_as_ended_whatever_else_holds() -> None:
    for phase, runs, paused, activity in product(Phase, (True, False), (True, False), ACTIVITIES):
        status, doing = status_of(phase, is_running=runs, is_paused=paused, activity=activity)
        assert (status in ENDED) == (phase in ENDED_PHASES)
        if status in ENDED:
            assert doing == ""
            assert {end[1] for name, end in ENDS.items() if name == status} == {phase}


class Story:
    """One life, given random commands; what the table forbids is not asked for."""

    def __init__(self) -> None:
        self.life = Lifecycle(AgentId("sa_1"))
        self.ended_as = ""

    def give(self, command: str) -> None:
        before = self.life.phase
        match command:
            case "begin" if self.life.can_begin:
                self._begin()
            case "wake" if self.life.is_running:
                self.life.wake()
                assert self.life.is_stopping == (before is not Phase.RUNNING)
            case "suppress" if not self.life.is_ended:
                self.life.suppress_wakeups("user")
                assert self.life.are_wakeups_suppressed
                assert self.life.phase is not Phase.RESTARTING
            case "cancel" if self.life.phase is Phase.RUNNING:
                self.life.cancel_turn("sa_0")
                assert self.life.is_stopping
            case "turn over" if self.life.turn is not None:
                self._end_turn(before)
            case "await end" if self.life.can_begin or self.life.is_ending:
                self.life.await_end("stopped", "words")
            case "end" if self.life.is_ending:
                self._end()
            case _:
                pass

    def _begin(self) -> None:
        assert self.life.begin_turn()
        self.life.turn = asyncio.get_running_loop().create_future()  # type: ignore[assignment]
        assert (self.life.stopped_by, self.life.are_wakeups_suppressed) == ("", False)

    def _end_turn(self, before: Phase) -> None:
        assert self.life.turn is not None
        self.life.turn.cancel()
        assert self.life.end_turn() == (before is Phase.RESTARTING)
        assert self.life.can_begin

    def _end(self) -> None:
        assert self.life.outcome is not None
        self.ended_as = self.life.outcome[0]
        self.life.end(self.life.outcome[0])
        assert self.life.outcome is None

    def check(self) -> None:
        """What holds in every phase."""
        life = self.life
        is_in_turn = life.phase in {Phase.RUNNING, Phase.STOPPING, Phase.RESTARTING}
        assert life.is_running == is_in_turn
        assert life.is_ended == bool(self.ended_as)
        assert life.is_ending == (life.outcome is not None)
        assert life.can_begin == (life.phase is Phase.IDLE)
        assert not life.is_stopping or life.stopped_by


@given(st.lists(st.sampled_from(COMMANDS), max_size=40))
def test_random_commands_keep_what_holds_of_a_life(commands: list[str]) -> None:
    async def play() -> None:
        story = Story()
        for command in commands:
            story.give(command)
            story.check()

    asyncio.run(play())


@given(st.lists(st.sampled_from(list(Signal)), max_size=40))
def test_a_signal_either_is_in_the_table_or_changes_nothing(signals: list[Signal]) -> None:
    phase = Phase.IDLE
    for signal in signals:
        if (phase, signal) in TRANSITIONS:
            phase = after(phase, signal)
        else:
            with pytest.raises(IllegalTransition):
                after(phase, signal)


async def test_a_defect_in_a_life_is_logged_and_ends_no_turn(
    caplog: pytest.LogCaptureFixture, no_illegal_transitions: list[str]
) -> None:
    life = Lifecycle(AgentId("sa_1"), "completed")
    with caplog.at_level(logging.ERROR):
        assert not life.begin_turn()
        life.suppress_wakeups("user")
    assert life.phase is Phase.COMPLETED
    assert not life.are_wakeups_suppressed
    assert no_illegal_transitions == [
        "illegal transition of agent sa_1: BEGIN while COMPLETED",
        "illegal transition of agent sa_1: SUPPRESS while COMPLETED",
    ]
    no_illegal_transitions.clear()


async def test_a_turn_begins_at_once_though_the_last_one_has_not_been_tidied_away() -> None:
    life = Lifecycle(AgentId("ag_1"))
    assert life.begin_turn()
    life.turn = asyncio.get_running_loop().create_task(asyncio.sleep(0))
    life.cancel_turn("user")
    await asyncio.wait([life.turn])
    assert life.phase is Phase.STOPPING
    assert life.begin_turn()
    assert (life.phase, life.stopped_by) == (Phase.RUNNING, "")


PACES = ("pause", "resume", "step", "finish", "pause_after_crash", "take_step", "done")


@given(st.lists(st.sampled_from(PACES), max_size=30))
def test_a_paused_agent_takes_no_step_and_a_single_step_is_the_last_one(paces: list[str]) -> None:
    control, steps_left = PauseControl(), -1  # -1: any number
    for pace in paces:
        if pace == "take_step" and control.is_paused:
            continue
        getattr(control, pace)()
        match pace:
            case "pause" | "pause_after_crash":
                steps_left = 0
            case "resume" | "finish":
                steps_left = -1
            case "step":
                steps_left = 1
            case "take_step" if steps_left > 0:
                steps_left -= 1
            case _:
                pass
        assert control.is_paused == (steps_left == 0)
        assert not control.is_since_crash or control.is_paused

"""The life of one agent: its phases, the table of transitions, and the status they amount to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType

from desktop_agent.core.agents import AgentStatus, EndStatus
from desktop_agent.core.ids import AgentId

_log = logging.getLogger(__name__)


class Phase(Enum):
    """Where an agent is in its life; exactly one at a time. The last four are final."""

    IDLE = auto()  # no turn runs; a wake-up begins one
    RUNNING = auto()
    STOPPING = auto()  # the turn was cancelled and has not ended yet
    RESTARTING = auto()  # the same, and another turn is to follow it
    ENDING = auto()  # a subagent's outcome is known; what it started has to end first
    COMPLETED = auto()
    FAILED = auto()
    STOPPED = auto()
    OVER_BUDGET = auto()


class Signal(Enum):
    """What moves an agent from one phase to the next."""

    BEGIN = auto()  # a turn begins
    WAKE = auto()  # something arrived for it while a turn runs
    CANCEL = auto()  # its turn is cancelled
    SUPPRESS = auto()  # wake-ups are suppressed: it was stopped
    TURN_OVER = auto()
    AWAIT_END = auto()  # it is to end as soon as all below it has
    COMPLETE = auto()
    FAIL = auto()
    STOP = auto()
    EXCEED = auto()


class IllegalTransition(Exception):
    """A signal that has no place in the table: a defect."""


ENDS: Mapping[EndStatus, tuple[Signal, Phase]] = MappingProxyType(
    {
        "completed": (Signal.COMPLETE, Phase.COMPLETED),
        "failed": (Signal.FAIL, Phase.FAILED),
        "stopped": (Signal.STOP, Phase.STOPPED),
        "over_budget": (Signal.EXCEED, Phase.OVER_BUDGET),
    }
)
ENDED_PHASES = frozenset(phase for _, phase in ENDS.values())
_IN_TURN = frozenset({Phase.RUNNING, Phase.STOPPING, Phase.RESTARTING})

TRANSITIONS: Mapping[tuple[Phase, Signal], Phase] = MappingProxyType(
    {
        (Phase.IDLE, Signal.BEGIN): Phase.RUNNING,
        (Phase.IDLE, Signal.SUPPRESS): Phase.IDLE,
        (Phase.IDLE, Signal.AWAIT_END): Phase.ENDING,
        (Phase.RUNNING, Signal.WAKE): Phase.RUNNING,
        (Phase.RUNNING, Signal.SUPPRESS): Phase.RUNNING,
        (Phase.RUNNING, Signal.CANCEL): Phase.STOPPING,
        (Phase.RUNNING, Signal.TURN_OVER): Phase.IDLE,
        (Phase.STOPPING, Signal.WAKE): Phase.RESTARTING,
        (Phase.STOPPING, Signal.SUPPRESS): Phase.STOPPING,
        (Phase.STOPPING, Signal.TURN_OVER): Phase.IDLE,
        (Phase.RESTARTING, Signal.WAKE): Phase.RESTARTING,
        (Phase.RESTARTING, Signal.SUPPRESS): Phase.STOPPING,
        (Phase.RESTARTING, Signal.TURN_OVER): Phase.IDLE,
        (Phase.ENDING, Signal.SUPPRESS): Phase.ENDING,
        # The last of its subagents ends while they are being stopped.
        (Phase.ENDING, Signal.AWAIT_END): Phase.ENDING,
        **{(Phase.ENDING, signal): phase for signal, phase in ENDS.values()},
    }
)

_STATUSES: Mapping[Phase, AgentStatus] = MappingProxyType(
    {
        Phase.STOPPING: "stopping",
        Phase.RESTARTING: "stopping",
        Phase.ENDING: "stopping",
        **{phase: status for status, (_, phase) in ENDS.items()},
    }
)


def after(phase: Phase, signal: Signal) -> Phase:
    """Return the phase that a signal leads to. Raises IllegalTransition."""
    try:
        return TRANSITIONS[phase, signal]
    except KeyError:
        raise IllegalTransition(f"{signal.name} while {phase.name}") from None


def status_of(
    phase: Phase,
    *,
    is_running: bool,
    is_paused: bool = False,
    is_new: bool = False,
    activity: tuple[AgentStatus, str] | None = None,
) -> tuple[AgentStatus, str]:
    """Return an agent's status by itself, and what it does.

    `is_running`: its turn's task is not done. `is_new`: it has not taken a step. `activity` is
    what its tool calls do or wait for. The tree knows more of an idle one (Agents.status).
    """
    if (status := _STATUSES.get(phase)) is not None:
        return status, ""
    if is_paused and activity is None:
        return "paused", ""
    if not is_running:
        return "idle", ""
    return activity or (("queued", "") if is_new else ("running", "thinking"))


class Lifecycle:
    """One agent's phase, and what belongs to it.

    A signal that the table does not have is logged and changes nothing: a defect must not end a
    turn. `are_wakeups_suppressed`: it was stopped; reports are read with the next message.
    `stopped_by` is who stopped it, as in a StopReport. `outcome` is what an ending agent ends
    with. `budget_owner` is the agent whose used-up budget keeps it from its next step. `over` is
    set at its end.
    """

    def __init__(self, agent_id: AgentId, ended_as: EndStatus | None = None) -> None:
        self._agent_id = agent_id
        self._phase = Phase.IDLE if ended_as is None else ENDS[ended_as][1]
        self.are_wakeups_suppressed = False
        self.stopped_by = ""
        self.outcome: tuple[EndStatus, str] | None = None
        self.budget_owner: AgentId | None = None
        self.turn: asyncio.Task[None] | None = None
        self.over = asyncio.Event()
        if ended_as is not None:
            self.over.set()

    @property
    def phase(self) -> Phase:
        """Where it is."""
        return self._phase

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way, a stopping one included."""
        return self.turn is not None and not self.turn.done()

    @property
    def is_stopping(self) -> bool:
        """Whether its turn was cancelled and has not ended."""
        return self._phase in {Phase.STOPPING, Phase.RESTARTING}

    @property
    def is_ending(self) -> bool:
        """Whether only what it started is waited for."""
        return self._phase is Phase.ENDING

    @property
    def is_ended(self) -> bool:
        """Whether it will do nothing more."""
        return self._phase in ENDED_PHASES

    @property
    def can_begin(self) -> bool:
        """Whether a turn may begin."""
        return not self.is_running and not self.is_ending and not self.is_ended

    def begin_turn(self) -> bool:
        """A turn begins; return whether it may. Who stopped the agent is forgotten."""
        self._close_turn()
        if not self._fire(Signal.BEGIN):
            return False
        self.are_wakeups_suppressed, self.stopped_by = False, ""
        return True

    def wake(self) -> None:
        """Something arrived while a turn runs; after one that is being stopped another follows."""
        self._fire(Signal.WAKE)

    def suppress_wakeups(self, by: str) -> None:
        """It is stopped: nothing but a message wakes it. Who stopped it first has stopped it."""
        if self._fire(Signal.SUPPRESS):
            self.are_wakeups_suppressed = True
            self.stopped_by = self.stopped_by or by

    def cancel_turn(self, by: str) -> None:
        """Its turn is cancelled."""
        if self._fire(Signal.CANCEL):
            self.stopped_by = self.stopped_by or by

    def end_turn(self) -> bool:
        """Its turn is over; return whether another is to follow."""
        restarts = self._phase is Phase.RESTARTING
        self._close_turn()
        self.turn = None
        return restarts

    def await_end(self, status: EndStatus, text: str) -> None:
        """It ends so, as soon as all that it started has ended."""
        self._close_turn()
        if self._fire(Signal.AWAIT_END):
            self.outcome, self.budget_owner = (status, text), None

    def end(self, status: EndStatus) -> None:
        """It has ended. Its `over` is set by who has told everybody."""
        if self._fire(ENDS[status][0]):
            self.outcome = None

    def _close_turn(self) -> None:
        # The callback of a task that is done comes an iteration of the loop later.
        if self._phase in _IN_TURN and not self.is_running:
            self._fire(Signal.TURN_OVER)

    def _fire(self, signal: Signal) -> bool:
        try:
            self._phase = after(self._phase, signal)
        except IllegalTransition:
            _log.exception("illegal transition of agent %s", self._agent_id)
            return False
        return True

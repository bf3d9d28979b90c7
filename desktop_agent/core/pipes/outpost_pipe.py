"""What goes over a stream to an outpost: length-prefixed msgpack, after a mark and a greeting.

Orders go out and have ids: one that was carried out already is ignored, so each may be sent again.
Events come back with numbers, which begin anew with each epoch, that is each start of the outpost;
what is not acknowledged is sent again when the stream is there again. Between them go the requests
to models, in the values of the model host's pipe, and their answers: these may be lost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from desktop_agent.core.agents import EndReason
from desktop_agent.core.approvals import Decision, Mode
from desktop_agent.core.changes import FarFile
from desktop_agent.core.events import AgentEvent, TurnEnded
from desktop_agent.core.ids import AgentId, QuestionId, RequestId
from desktop_agent.core.messages import Value
from desktop_agent.core.notes import Note
from desktop_agent.core.pipes.host_pipe import FromHost, ToHost
from desktop_agent.core.usage import Usage

PROTOCOL = 3
# A shell may greet before us: what stands before the mark is not read.
MARK = b"\0desktop-agent outpost\n"
MOST_BYTES = 1 << 28


class Hello(Value, frozen=True):
    """The outpost's first frame; `protocol` stays its first field in all versions.

    It comes again every `again_s` seconds, 0 for never: without it the stream is dead.
    """

    protocol: int
    version: str
    epoch: str
    snapshots: tuple[str, ...] = ()
    again_s: float = 0.0


class About(Value, frozen=True):
    """The only frame of a test; `protocol` and `version` stay its first fields in all versions.

    `cluster` is what it is a node of, where that was asked; `no_cluster` why it is of none.
    """

    protocol: int
    version: str
    system: str = ""
    cpus: int = 0
    git: str = ""
    no_sandbox: str = ""
    cluster: str = ""
    no_cluster: str = ""


class Attach(Value, frozen=True):
    """Take up the stream: send what comes after event number `after` of an epoch."""

    epoch: str
    after: int


class Snapshot(Value, frozen=True):
    """A state of a folder, as a bundle of git's."""

    commit: str
    bundle: bytes


class Start(Value, frozen=True):
    """An order: run a job in a copy of a snapshot; its key is the order's id."""

    key: str
    folder: str
    commit: str
    said: dict[str, Any]
    cost_left: float | None = None


class Stop(Value, frozen=True):
    """Interrupt every job that runs."""


class KeepAgents(Value, frozen=True):
    """Nobody waits for other agents than these: they end."""

    keys: tuple[str, ...]


class StartAgent(Value, frozen=True):
    """An order: begin an agent in a copy of a snapshot. It waits for what it is told."""

    key: str
    name: str
    folder: str
    commit: str
    model: str
    api_base: str
    mode: Mode


class ResumeAgent(Value, frozen=True):
    """An order: whoever followed an agent before is gone: tell anew what it waits for."""

    key: str


class TellAgent(Value, frozen=True):
    """An order: queue a note for an agent; the note's id is the order's."""

    key: str
    note: Note


class DecideForAgent(Value, frozen=True):
    """An order: settle an agent's approval request."""

    key: str
    request_id: RequestId
    decision: Decision


class AnswerAgent(Value, frozen=True):
    """An order: answer an agent's question."""

    key: str
    question_id: QuestionId
    text: str


class StopAgent(Value, frozen=True):
    """An order: end an agent's turn; `number` counts those of the agent."""

    key: str
    number: int


class SetAgentMode(Value, frozen=True):
    """An order: from the next call on an agent may do this."""

    key: str
    mode: Mode


class DropAgent(Value, frozen=True):
    """An order: an agent is wanted no more, nor its copy."""

    key: str


class Acknowledge(Value, frozen=True):
    """All events up to this number are on disk at home."""

    number: int


class Leave(Value, frozen=True):
    """Nothing more is wanted: the outpost ends."""


class JobEnded(Value, frozen=True):
    """An event: how a job came to its end, and what it changed."""

    number: int
    key: str
    reason: EndReason
    text: str
    usage: Usage
    seconds: float
    patch: str
    error: str = ""


class AgentBegun(Value, frozen=True):
    """An event: an agent was begun, under an id of its own there."""

    number: int
    key: str
    agent_id: AgentId


class AgentWorked(Value, frozen=True):
    """An event: what an agent did, all of one transaction there."""

    number: int
    key: str
    events: tuple[AgentEvent, ...]


class TurnOver(Value, frozen=True):
    """An event: an agent's last turn is over, and what it has changed in its copy, in both forms.

    `ended` is how. `problem` says why it could not begin, or what it changed can't be told.
    """

    number: int
    key: str
    patch: str = ""
    problem: str = ""
    files: tuple[FarFile, ...] = ()
    ended: TurnEnded | None = None


class AgentKept(Value, frozen=True):
    """From a node to its head: an agent's copy as a step left it, as a bundle of what is new.

    The bundle is empty where nothing is.
    """

    key: str
    commit: str
    bundle: bytes


class AgentRefused(Value, frozen=True):
    """From a node to its head: an agent can't go on here; nothing of it was begun."""

    key: str
    why: str


class RestoreAgent(Value, frozen=True):
    """From a head to a node: go on with an agent whose node was lost, and `why` that was.

    `events` is all that it told, `commits` and `bundles` what its steps left, oldest first: after
    the first `kept` of the events its copy was as in the last of them, or as at its start. Of a
    turn that `is_over` nothing more is to be told.
    """

    key: str
    start: StartAgent
    agent_id: AgentId
    why: str
    events: tuple[AgentEvent, ...] = ()
    kept: int = 0
    commits: tuple[str, ...] = ()
    bundles: tuple[bytes, ...] = ()
    is_over: bool = False


AgentOrder = (
    StartAgent
    | RestoreAgent
    | ResumeAgent
    | TellAgent
    | DecideForAgent
    | AnswerAgent
    | StopAgent
    | SetAgentMode
    | DropAgent
)
AgentNews = AgentBegun | AgentWorked | TurnOver
Numbered = JobEnded | AgentNews
OutpostOrder = Snapshot | Start | Stop | Acknowledge | Leave | KeepAgents
ToOutpost = Attach | OutpostOrder | AgentOrder | FromHost
MemberNews = Numbered | AgentKept | AgentRefused
FromOutpost = Hello | MemberNews | ToHost


# Made when the first frame comes: it takes 5 ms, and most starts have no outpost.
@cache
def to_outpost() -> msgspec.msgpack.Decoder[ToOutpost]:
    """Return what reads a frame that goes to an outpost."""
    return msgspec.msgpack.Decoder(ToOutpost)


@cache
def from_outpost() -> msgspec.msgpack.Decoder[FromOutpost]:
    """Return what reads a frame that comes from an outpost."""
    return msgspec.msgpack.Decoder(FromOutpost)

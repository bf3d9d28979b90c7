"""What a tool's result says, as values: for the window and the demo model, never for a provider."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.parts.values import Value


class Started(Value, frozen=True):
    """A subagent was started."""

    agent_id: AgentId
    name: str


class Waited(Value, frozen=True):
    """A wait is over: notes came, a subagent asks, the time was up, or nothing can come."""

    outcome: Literal["notes", "question", "timeout", "nobody"]
    agent_id: AgentId = AgentId("")
    question: str = ""


class ListShown(Value, frozen=True):
    """The task list after a call; `task_id` is the task it was about, `states` id and status."""

    task_id: int = 0
    states: tuple[tuple[int, str], ...] = ()


class Refused(Value, frozen=True):
    """The call was not allowed; `by` is as in a Deny."""

    by: str
    reason: str = ""


class CutShort(Value, frozen=True):
    """A stop or a crash came between the call and its result, or it never began."""


class FailedInside(Value, frozen=True):
    """A command ended with an error in the sandbox; nothing says that the sandbox was the cause.

    `fingerprint` is that of its preview: of the command, its folder and how it was started.
    """

    command: str
    fingerprint: str


class InBackground(Value, frozen=True):
    """A command was started that goes on in the background."""

    job_id: str


Facts = (
    Started | Waited | ListShown | Refused | CutShort | FailedInside | InBackground | PickedSkill
)

"""What a text in a message is and whom it comes from. The words stand beside it, unchanged.

Who said something is read from these values, never from the text. How they
are framed for a model is `core/prose/framing.py`.
"""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId, QuestionId
from desktop_agent.core.parts.values import Value

# What the user does to a task list by hand.
EditKind = Literal[
    "add", "rename", "status", "delete", "restore", "move", "blockers", "next", "skip"
]


class Spoken(Value, frozen=True):
    """Words of the user, or of the agent that started this one.

    `is_named`: the speaker is named even if nobody else speaks, since the model receives both.
    """

    sender: Literal["user", "parent"] = "user"
    is_named: bool = False


class Report(Value, frozen=True):
    """How a subagent ended; the text is its own. `status` is an EndStatus, empty in old records.

    `remarks` are the app's: what ran, what was left unread. `task_id` is the task of the reader's
    list that it was started for, or 0, and `task_status` what became of it, if anything.
    """

    agent_id: AgentId
    name: str = ""
    status: str = ""
    remarks: tuple[str, ...] = ()
    task_id: int = 0
    task_status: str = ""


class ChildQuestion(Value, frozen=True):
    """A question of a subagent, which waits for the answer."""

    agent_id: AgentId
    name: str = ""
    question_id: QuestionId = QuestionId("")


class ToldChild(Value, frozen=True):
    """What the user said to a subagent of the reader's."""

    agent_id: AgentId
    name: str = ""


class AppNotice(Value, frozen=True):
    """The app's own words."""


class FilesUndone(Value, frozen=True):
    """The user has undone, or redone, changes to files."""


class AskedAside(Value, frozen=True):
    """A question beside the work, of which nothing stays in the history."""


class EditLine(Value, frozen=True):
    """One edit by hand; `line` tells of it in words, `subject` is the task's after it."""

    kind: EditKind
    task_id: int
    subject: str
    line: str


class TaskEdits(Value, frozen=True):
    """The user's edits of the task list; `left_out` is how many earlier ones are not listed."""

    edits: tuple[EditLine, ...] = ()
    left_out: int = 0


class TaskListShown(Value, frozen=True):
    """The task list as it is when this is read; `states` are pairs of id and status."""

    states: tuple[tuple[int, str], ...] = ()


class PickedSkill(Value, frozen=True):
    """A skill that the user picked: its text, or the reason why it is not there.

    `known`: the text stands in the history already.
    """

    name: str
    status: Literal["loaded", "known", "failed"] = "loaded"


class AttachedFile(Value, frozen=True):
    """The text of a file that goes with a message."""

    path: str


class ServerResource(Value, frozen=True):
    """The text of an MCP server's resource that goes with a message."""

    server: str
    uri: str
    name: str = ""


class ContextSummary(Value, frozen=True):
    """What stands for older messages that are left out; the files are those of all of them."""

    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


Origin = (
    Spoken
    | Report
    | ChildQuestion
    | ToldChild
    | AppNotice
    | FilesUndone
    | AskedAside
    | TaskEdits
    | TaskListShown
    | PickedSkill
    | AttachedFile
    | ServerResource
    | ContextSummary
)

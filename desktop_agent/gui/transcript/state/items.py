"""What a transcript consists of: frozen items, each with a key that stays the same for life."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from desktop_agent.core.agents import AgentInfo, Budget, Spent, StopReason
from desktop_agent.core.approvals import ApprovalRequest, Decision, Deny
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.events import (
    ContextCompacted,
    NoteDelivered,
    NoteReturned,
    StopReport,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, MessageId, NoteId
from desktop_agent.core.messages import ImagePart, OutputDisplay, ToolCall, ToolResult
from desktop_agent.core.questions import Question
from desktop_agent.core.usage import Usage
from desktop_agent.gui.state.change_sets import FileCounts

DeliveryState = Literal["", "sending", "delivered", "failed"]
# `agent`: of a session from before the parts of a message said who speaks.
Speaker = Literal["user", "parent", "agent", "app", "edits"]
AgentMessageKind = Literal["question", "report", "notice", "undone"]
ToolState = Literal["queued", "waiting", "running", "ok", "failed", "denied", "stopped", "unknown"]
FINAL_STATES: frozenset[str] = frozenset({"ok", "failed", "denied", "stopped", "unknown"})

# By what a tool call's end is reported as.
OUTCOMES: dict[str, ToolState] = {
    "ok": "ok",
    "failed": "failed",
    "denied": "denied",
    "cancelled": "stopped",
    "unknown": "unknown",
}


def ended_state(call: ToolCall, result: ToolResult, outcome: str) -> ToolState:
    """Return how a call went: a command that ran, and ended with an error, has failed."""
    display = result.display
    is_bad = isinstance(display, OutputDisplay) and bool(display.exit_code)
    return "failed" if outcome == "ok" and call.name == "shell" and is_bad else OUTCOMES[outcome]


class UserItem(msgspec.Struct, frozen=True):
    """Words to the agent. `attachments` are names, those of `pictures` too; `skills` were picked
    for it, `problems` say of some why they were not loaded; `state` is empty when nothing is known.
    """

    key: str
    text: str
    attachments: tuple[str, ...] = ()
    note_ids: tuple[NoteId, ...] = ()
    state: DeliveryState = ""
    step: int = 0
    at: float = 0.0
    speaker: Speaker = "user"
    skills: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    pictures: tuple[ImagePart, ...] = ()

    @property
    def message_id(self) -> MessageId:
        """The message that it shows, or a part of."""
        return MessageId(self.key.partition("/")[0])

    @property
    def is_from_user(self) -> bool:
        """Whether the user wrote it: reports and notes of edits come from the app."""
        return self.speaker == "user"

    @property
    def skill_labels(self) -> tuple[str, ...]:
        """The skills, with what is wrong with them."""
        wrong = dict(self.problems)
        return tuple(f"{name}: {wrong[name]}" if name in wrong else name for name in self.skills)


class AnswerItem(msgspec.Struct, frozen=True):
    """Text of the model, in Markdown. `is_partial`: the stream ended before its end."""

    key: str
    text: str
    is_live: bool = False
    is_partial: bool = False


class ThinkingItem(msgspec.Struct, frozen=True):
    """The model's reasoning."""

    key: str
    text: str
    is_live: bool = False


class ToolItem(msgspec.Struct, frozen=True):
    """A tool call. `waiting` is for the user; `output` is the live tail while it runs.

    `changes` is what it did to files, by the change sets `set_ids`.
    """

    key: str
    call: ToolCall
    state: ToolState = "queued"
    doing: str = ""
    output: str = ""
    result: ToolResult | None = None
    started_at: float = 0.0
    seconds: float = 0.0
    changes: FileCounts | None = None
    set_ids: tuple[str, ...] = ()

    @property
    def pictures(self) -> tuple[ImagePart, ...]:
        """What it gave to look at."""
        return self.result.images if self.result is not None else ()


class ApprovalItem(msgspec.Struct, frozen=True):
    """A request for approval; open while there is no decision. `at` is when the call began.

    `tries` counts decisions that could not be saved: it asks again then.
    """

    key: str
    request: ApprovalRequest
    decision: Decision | None = None
    at: float = 0.0
    tries: int = 0


class QuestionItem(msgspec.Struct, frozen=True):
    """A question to the user; open while `answer` is None. `tries` as of an approval."""

    key: str
    question: Question
    answer: str | None = None
    by: str = ""
    tries: int = 0


class TurnItem(msgspec.Struct, frozen=True):
    """The end of a turn. Only the `is_current` one offers to go on, after one that `is_past` its
    agent has. With `has_changes` a `ChangesItem` follows, which tells how long it took.
    """

    key: str
    reason: StopReason
    fault: Fault | None = None
    report: StopReport | None = None
    usage: Usage | None = None
    seconds: float = 0.0
    at: float = 0.0
    is_current: bool = True
    is_past: bool = False
    has_changes: bool = False


class ChangesItem(msgspec.Struct, frozen=True):
    """What was done to files for a message of the user's, or by a subagent, at a turn's end.

    `message_id` or `agent_id` says whose changes they are, `seconds` how long the turn took that
    finished with them. `turn` is the key of its end.
    """

    key: str
    counts: FileCounts
    turn: str
    message_id: MessageId | None = None
    agent_id: AgentId | None = None
    seconds: float = 0.0


class UndoItem(msgspec.Struct, frozen=True):
    """The user took changes back, or, with `is_redo`, put back what was taken back."""

    key: str
    changes: ChangeSet
    is_redo: bool = False
    is_undone: bool = False


class RetryItem(msgspec.Struct, frozen=True):
    """The request failed at `at` and is made again."""

    key: str
    attempt: int
    delay_s: float
    fault: Fault
    at: float


class FailureItem(msgspec.Struct, frozen=True):
    """A defect of the app that the session survived."""

    key: str
    where: str
    message: str


class AgentMessageItem(msgspec.Struct, frozen=True):
    """A message of a subagent to its parent, or of the app about it: question, report or note.

    `state` of a question: `new` until it is known whether it waits, `open`, then `closed`; of a
    report: how the subagent ended. `question_id` is a question's, `changes` are what the
    subagent of a report did to files.
    """

    key: str
    kind: AgentMessageKind
    agent_id: AgentId
    name: str
    text: str
    state: str = ""
    question_id: str = ""
    changes: FileCounts | None = None


class BudgetItem(msgspec.Struct, frozen=True):
    """The budget is used up; `owner_id` is whose, the agent's own or one's above it.

    `has_lent` says that subagents hold the rest of it.
    """

    key: str
    agent_id: AgentId
    owner_id: AgentId
    spent: Spent
    budget: Budget
    is_current: bool = True
    has_lent: bool = False


class CompactionItem(msgspec.Struct, frozen=True):
    """From here on the model gets less of what stands above, or with `is_cleared` nothing of it.

    `text` is the summary, or lists what was put aside where there is none (`count` is 0 then).
    Only the `is_current` one can be undone: nothing follows it.
    """

    key: str
    compaction_id: str = ""
    text: str = ""
    count: int = 0
    aside: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    is_current: bool = True
    is_undone: bool = False
    is_cleared: bool = False


class BranchItem(msgspec.Struct, frozen=True):
    """Under a message of the user's: other branches begin in its place. As in a BranchPoint."""

    key: str
    place: int
    heads: tuple[int, ...]


Item = (
    UserItem
    | AnswerItem
    | ThinkingItem
    | ToolItem
    | ApprovalItem
    | QuestionItem
    | TurnItem
    | ChangesItem
    | UndoItem
    | RetryItem
    | FailureItem
    | AgentMessageItem
    | BudgetItem
    | CompactionItem
    | BranchItem
)


def shows_work(item: Item) -> bool:
    """Whether the item itself tells that something goes on, or waits for the user."""
    match item:
        case AnswerItem(is_live=live) | ThinkingItem(is_live=live):
            return live
        case ToolItem(state=state):
            return state in {"running", "waiting"}
        case ApprovalItem(decision=None) | QuestionItem(answer=None) | BudgetItem(is_current=True):
            return True
        case _:
            return isinstance(item, RetryItem)


def is_open(item: Item) -> bool:
    """Whether later events may change the item."""
    match item:
        case UserItem(state=state):
            return state in {"sending", "failed"}
        case ToolItem(state=state):
            return state not in FINAL_STATES
        case TurnItem(is_current=is_current) | CompactionItem(is_current=is_current):
            return is_current
        case AgentMessageItem(kind=kind, state=state):
            return kind == "question" and state != "closed"
        case _:
            return shows_work(item)


def is_asking(item: Item) -> bool:
    """Whether the item waits for the user."""
    match item:
        case ApprovalItem(decision=None) | QuestionItem(answer=None) | BudgetItem(is_current=True):
            return True
        case AgentMessageItem(kind="question", state="open"):
            return True
        case _:
            return False


def followed(items: Iterable[Item], agents: Sequence[AgentInfo]) -> list[AgentMessageItem]:
    """Return the questions of subagents that wait now and did not, or the other way round."""
    waiting = {info.question_id for info in agents if info.question_id}
    changed: list[AgentMessageItem] = []
    for item in items:
        if isinstance(item, AgentMessageItem) and item.kind == "question":
            state = "open" if item.question_id in waiting else "closed"
            if state != item.state:
                changed.append(replace(item, state=state))
    return changed


def closed_item(item: Item, state: ToolState) -> Item:
    """Return the item as the end of a turn leaves it; calls that are open get the state."""
    match item:
        case AnswerItem(is_live=True) | ThinkingItem(is_live=True):
            return replace(item, is_live=False)
        case ToolItem() if item.state not in FINAL_STATES:
            return replace(item, state=state)
        case ApprovalItem(decision=None):
            return replace(item, decision=Deny(by="withdrawn"))
        case QuestionItem(answer=None):
            return replace(item, answer="", by="withdrawn")
        case BudgetItem(is_current=True):
            return replace(item, is_current=False)
        case _:
            return item


def turn_item(event: TurnEnded, started_at: float) -> TurnItem:
    """Return the end of a turn, with the time it took if that is known."""
    seconds = event.at - started_at if event.at and started_at else 0.0
    return TurnItem(
        f"turn/{event.at}",
        event.reason,
        event.fault,
        event.report,
        event.usage,
        max(0.0, seconds),
        event.at,
    )


def compaction_item(event: ContextCompacted) -> CompactionItem:
    """Return what a compaction left out of requests."""
    texts = [event.summary.text] if event.summary is not None else [a.text for a in event.aside]
    return CompactionItem(
        event.compaction_id,
        event.compaction_id,
        "\n".join(texts),
        event.count,
        len(event.aside),
        event.tokens_before,
        event.tokens_after,
    )


def passed(items: Iterable[Item]) -> list[CompactionItem]:
    """Return the compactions that could be undone, now that something follows them."""
    open_ones = (item for item in items if isinstance(item, CompactionItem) and item.is_current)
    return [replace(item, is_current=False) for item in open_ones]


def rested(items: Iterable[Item], *, is_past: bool = False) -> list[TurnItem]:
    """Return the ends of turns that offered to go on, now that their agent can't, or has done."""
    ends = (item for item in items if isinstance(item, TurnItem) and item.is_current)
    return [replace(item, is_current=False, is_past=is_past) for item in ends]


def after_note(items: Iterable[Item], event: NoteDelivered | NoteReturned) -> list[UserItem]:
    """Return the messages that hold a note, as they are after what happened to it."""
    said = [i for i in items if isinstance(i, UserItem) and event.note_id in i.note_ids]
    if isinstance(event, NoteReturned):
        return [replace(item, state="failed") for item in said if item.state != "delivered"]
    return [
        replace(item, state="delivered", step=event.step, at=event.at or item.at) for item in said
    ]


def undelivered(items: Iterable[Item]) -> list[UserItem]:
    """Return the messages that a turn's end left on their way, as failed."""
    said = [item for item in items if isinstance(item, UserItem) and item.state == "sending"]
    return [replace(item, state="failed") for item in said]


def alike(waiting: Iterable[ApprovalItem], item: ApprovalItem) -> tuple[ApprovalItem, ...]:
    """Return the requests to resolve together with this one: of its kind, itself included.

    What is always asked, whatever the rules, is only ever resolved by itself.
    """
    kind = item.request.kind
    return tuple(one for one in waiting if one.request.kind == kind and one.request.rules)

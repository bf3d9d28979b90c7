"""What a row says: in its line, and for copying, finding and screen readers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.approvals import Deny
from desktop_agent.gui.kit.safe_text import duration_text, with_marks
from desktop_agent.gui.kit.text import (
    plain,
    plain_words,
    short_count,
    stop_words,
    unmarked,
    with_plural,
)
from desktop_agent.gui.transcript.cards.activity_text import activity_text
from desktop_agent.gui.transcript.cards.approval_text import decision_text, request_text
from desktop_agent.gui.transcript.cards.branch_text import branch_text
from desktop_agent.gui.transcript.cards.changes_text import changes_text, undo_text
from desktop_agent.gui.transcript.cards.picture_text import pictures_text
from desktop_agent.gui.transcript.cards.tool_text import summary
from desktop_agent.gui.transcript.document.user_message import clock_text
from desktop_agent.gui.transcript.state import items
from desktop_agent.gui.transcript.state.rows import ActivityRow, PicturesRow, Row

translate = QCoreApplication.translate

# Returns the name of an agent of the session, or nothing.
NameOf = Callable[[str], str]


class Line(msgspec.Struct, frozen=True):
    """A row that is one quiet line; `more` follows the text, and may be longer than the line."""

    icon: str
    text: str
    more: str = ""


def line_of(row: Row, name_of: NameOf) -> Line | None:
    """Return the line of a row that needs no more of a card."""
    match row:
        case items.ApprovalItem(decision=decision, at=at) if decision is not None:
            when = f"  ·  {clock_text(at)}" if clock_text(at) else ""
            icon = "shield-off" if isinstance(decision, Deny) else "shield-check"
            return Line(icon, decision_text(decision) + when)
        case items.QuestionItem() if row.answer is not None:
            asked = with_marks(unmarked(row.question.text))
            return Line("message-circle-question-mark", asked, _answer_text(row, name_of))
        case items.AgentMessageItem(kind="question", state=state) if state != "open":
            return Line("message-circle-question-mark", *_message(row))
        case items.AgentMessageItem(kind="notice" | "undone" as kind):
            icon = "undo-2" if kind == "undone" else "message-circle-reply"
            return Line(icon, *_message(row))
        case items.BudgetItem(is_current=False):
            return Line("gauge", _budget_text(row))
        case items.CompactionItem(is_cleared=True):
            return Line("minus", compaction_text(row)[0])
        case items.TurnItem(reason="finished"):
            return Line("clock", turn_text(row, name_of))
        case _:
            return None


def row_text(row: Row, name_of: NameOf) -> str:
    """Return all that a row says."""
    if line := line_of(row, name_of):
        return f"{line.text} {line.more}".strip()
    match row:
        case items.ToolItem():
            return summary(row)
        case ActivityRow() | PicturesRow():
            is_line = isinstance(row, ActivityRow)
            return activity_text(row) if is_line else pictures_text(row)
        case items.TurnItem():
            return turn_text(row, name_of)
        case items.AgentMessageItem():
            return agent_message_text(row)
        case items.BudgetItem():
            return _budget_text(row)
        case items.CompactionItem():
            return ": ".join(compaction_text(row))
        case _:
            return _other_text(row)


def _other_text(row: Row) -> str:
    match row:
        case items.ApprovalItem():
            needed = translate("Transcript", "Approval needed")
            effect = " ".join(request_text(row.request)[:2000].split())
            return f"{needed}: {with_marks(row.request.title)} {effect}"
        case items.QuestionItem():
            return with_marks(unmarked(row.question.text))
        case items.RetryItem():
            return with_marks(row.fault.message)
        case items.ThinkingItem():
            return translate("Transcript", "Thoughts of the model")
        case items.FailureItem():
            return translate("Transcript", "Something in the app went wrong")
        case items.ChangesItem() | items.UndoItem():
            return undo_text(row) if isinstance(row, items.UndoItem) else changes_text(row)
        case items.BranchItem():
            return branch_text(row)
        case _:
            return ""


def compaction_text(item: items.CompactionItem) -> tuple[str, str]:
    """Return what a compaction left out of requests, and how much of it."""
    if item.is_cleared:
        words = "Context cleared: from here on the agent knows nothing of what stands above"
        return translate("Transcript", words), ""
    if item.count:
        title = translate("Transcript", "Earlier work summarised")
        parts = translate("Transcript", "%n message(s)", "", item.count)
        parts = with_plural(parts, item.count)
    else:
        title = translate("Transcript", "Older outputs put aside")
        parts = with_plural(translate("Transcript", "%n output(s)", "", item.aside), item.aside)
    if item.is_undone:
        return title, translate("Transcript", "undone")
    tokens = translate("Transcript", "{before} → {after} tokens").format(
        before=short_count(item.tokens_before), after=short_count(item.tokens_after)
    )
    return title, f"{parts}, {tokens}"


def turn_text(item: items.TurnItem, name_of: NameOf) -> str:
    """Return how a turn ended: how long it took, who stopped it, or what went wrong."""
    if item.reason == "finished":
        words = translate("Transcript", "Finished in {time}")
        return words.format(time=duration_text(item.seconds))
    if item.reason == "cancelled":
        by = item.report.by if item.report is not None else ""
        stopped = stop_words().of(by, name_of(by))
        return stopped[:1].upper() + stopped[1:]
    paused = translate("Transcript", "Paused")
    return with_marks(item.fault.message) if item.fault is not None else paused


def agent_message_text(item: items.AgentMessageItem) -> str:
    """Return a message from or to a subagent with its sender; of a report, the beginning."""
    if item.kind == "report":
        head = f"{with_marks(plain(item.name))}: {ended_text(item.state)}."
        return f"{head} {plain_words(item.text)[:500]}"
    return " ".join(_message(item))


def _message(item: items.AgentMessageItem) -> tuple[str, str]:
    """Return who speaks to whom, and what is said."""
    head = translate("Transcript", "{name} asked:")
    if item.kind == "notice":
        head = translate("Transcript", "You told {name}:")
    elif item.kind == "undone":
        head = translate("Transcript", "The agent was told:")
    return head.format(name=with_marks(plain(item.name))), with_marks(plain_words(item.text))


def ended_text(status: str) -> str:
    """Return how a subagent ended."""
    return {
        "completed": translate("Transcript", "done"),
        "failed": translate("Transcript", "failed"),
        "stopped": translate("Transcript", "stopped"),
        "over_budget": translate("Transcript", "ended at its budget"),
    }.get(status, status)


def _answer_text(item: items.QuestionItem, name_of: NameOf) -> str:
    if item.by == "withdrawn":
        return translate("Transcript", "Not answered: it was stopped.")
    skipped = translate("Transcript", "You skipped this.")
    if item.question.form is not None:
        skipped = translate("Transcript", "You declined.")
    answered = translate("Transcript", "You answered: {answer}")
    name = ""
    if item.by not in ("", "user"):
        # A subagent's question goes to its parent first.
        name = plain(name_of(item.by)) or translate("Transcript", "Its parent")
        skipped = translate("Transcript", "{name} skipped this.")
        answered = translate("Transcript", "{name} answered: {answer}")
    words = answered if item.answer else skipped
    return words.format(name=name, answer=plain_words(item.answer or ""))


def _budget_text(item: items.BudgetItem) -> str:
    is_unmeasured = bool(item.spent.unmeasured(item.budget))
    if not item.is_current:
        if is_unmeasured:
            return translate("Transcript", "A limit could not be measured")
        return translate("Transcript", "The budget was used up")
    if is_unmeasured:
        return translate(
            "Transcript", "A limit can’t be measured. The work holds until you decide."
        )
    if item.has_lent:
        return translate(
            "Transcript", "Subagents hold the rest of the budget. The work holds until you decide."
        )
    return translate("Transcript", "The budget is used up. The work holds until you decide.")

"""Which events are forced to the disk itself, so that a loss of power leaves them there."""

from __future__ import annotations

from desktop_agent.core.events import AgentEvent, MessageAdded

# Killing the process loses no commit in either mode: the system has the pages. They differ
# at a power loss only, where NORMAL may lose the last commits (never the file). So what a
# person said or decided, what the model said, and what a tool is about to do or did is
# forced to the disk (FULL, one fsync); what follows from it, such as StepStarted, is not,
# and is forced along with the next that is. An answer that calls tools is forced with what comes
# of the first call, at once: it starts, is asked about, or is refused.
_FORCED_KINDS = frozenset(
    {
        "ApprovalRequested",
        "ApprovalResolved",
        "MessageAdded",
        "NoteQueued",
        "NoteReturned",
        "QuestionAnswered",
        "QuestionAsked",
        "ToolEnded",
        "ToolStarted",
    }
)


def is_forced(event: AgentEvent) -> bool:
    """Whether it is forced to the disk with the transaction that it is in."""
    if isinstance(event, MessageAdded) and event.message.tool_calls:
        return False
    return type(event).__name__ in _FORCED_KINDS

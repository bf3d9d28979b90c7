"""Identifiers. An id is made once and never used again, not after a delete or a restart."""

from __future__ import annotations

import os
from typing import NewType

SessionId = NewType("SessionId", str)
AgentId = NewType("AgentId", str)
MessageId = NewType("MessageId", str)
NoteId = NewType("NoteId", str)
RequestId = NewType("RequestId", str)
QuestionId = NewType("QuestionId", str)
CompactionId = NewType("CompactionId", str)


def _fresh(prefix: str) -> str:
    return f"{prefix}_{os.urandom(8).hex()}"


def new_session_id() -> SessionId:
    """Return an id such as `se_3f…` (64 random bits)."""
    return SessionId(_fresh("se"))


def new_agent_id() -> AgentId:
    """Return an id for a session's main agent, such as `ag_3f…`."""
    return AgentId(_fresh("ag"))


def new_subagent_id() -> AgentId:
    """Return an id for a subagent: `sa_` and 8 hexadecimal digits, as models repeat it."""
    return AgentId(f"sa_{os.urandom(4).hex()}")


def new_message_id() -> MessageId:
    """Return an id such as `me_3f…`."""
    return MessageId(_fresh("me"))


def new_note_id() -> NoteId:
    """Return an id such as `no_3f…`."""
    return NoteId(_fresh("no"))


def new_request_id() -> RequestId:
    """Return an id for an approval request, such as `rq_3f…`."""
    return RequestId(_fresh("rq"))


def new_question_id() -> QuestionId:
    """Return an id such as `qu_3f…`."""
    return QuestionId(_fresh("qu"))


def new_compaction_id() -> CompactionId:
    """Return an id such as `co_3f…`."""
    return CompactionId(_fresh("co"))


def new_call_id() -> str:
    """Return an id for a tool call whose provider sent none, or one already used."""
    return _fresh("call")


def new_change_set_id() -> str:
    """Return an id for what one call, or one undo, did to files, such as `cs_3f…`."""
    return _fresh("cs")

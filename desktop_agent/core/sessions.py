"""Sessions: everything of one piece of work, stored under one id."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.approvals import Mode
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.messages import Value
from desktop_agent.core.usage import Calibration, Usage, WindowSource
from desktop_agent.core.workspace import Workspace

# `paused`: nothing goes on until the user says so.
# `interrupted`: the app ended while it ran. `failed`: its last turn ended with an error.
SessionStatus = Literal["idle", "running", "needs_you", "paused", "failed", "interrupted"]

# Markdown and HTML show the branch that is shown, JSON holds all of them.
ExportForm = Literal["md", "html", "json"]

# How long a deleted session is kept before it is erased.
KEPT_DELETED_S = 30 * 24 * 3600.0


class SessionFileError(Exception):
    """A session could not be written to a file, or read from one; the text says why."""


class BranchPoint(Value, frozen=True):
    """A place at which a session's history has several branches, as seen from the one shown.

    `message_id` is the message that this one goes on with; None until it is written. `heads` are
    the branches to switch to, the oldest first, and `place` counts from 0 which is shown. `fork`
    tells places apart, whichever branch is shown.
    """

    fork: int
    message_id: MessageId | None
    place: int
    heads: tuple[int, ...]


class SessionInfo(Value, frozen=True):
    """A session as the list shows it. `context_tokens` is what the last request took.

    `context_limit` is the window of its model in tokens, and `context_source` who says so;
    `calibration` is of the model that answered last.

    `deleted_at` is when it went to the recently deleted ones, 0 for one that is not there.
    """

    id: SessionId
    main_agent: AgentId
    title: str
    workspace: Workspace
    model: str
    mode: Mode = "ask"
    status: SessionStatus = "idle"
    is_unread: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0
    usage: Usage = Usage()
    context_tokens: int | None = None
    context_limit: int | None = None
    api_base: str = ""
    context_source: WindowSource = ""
    calibration: Calibration = Calibration()
    is_pinned: bool = False
    is_archived: bool = False
    deleted_at: float = 0.0

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was ever said in it."""
        return self.status == "idle" and self.updated_at == self.created_at


class SearchHit(Value, frozen=True):
    """A message that holds what was searched for. `seq` numbers its event in the session.

    `line` is a piece of its text on one line, and `marks` where the words stand in it, as pairs
    of first and last + 1.
    """

    session_id: SessionId
    agent_id: AgentId
    message_id: MessageId
    seq: int
    line: str
    marks: tuple[tuple[int, int], ...] = ()


class SearchFound(Value, frozen=True):
    """Sessions found by title, newest activity first, and messages, the newest first.

    `hits` are a few of each session, `more` what else is said in those.
    `is_complete`: nothing was left out of `hits`. `indexed` is the share of all messages, from 0
    to 1, in which scripts without spaces are found.
    """

    titles: tuple[SessionId, ...] = ()
    hits: tuple[SearchHit, ...] = ()
    is_complete: bool = True
    indexed: float = 1.0
    more: tuple[SearchHit, ...] = ()

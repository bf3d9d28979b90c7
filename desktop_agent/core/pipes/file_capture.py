"""What is said of a call before and after it changes files, and the pipe that it goes through.

The history of files is kept in a process of its own: walking folders and reading files takes
time that the window needs.
"""

from __future__ import annotations

from typing import Any

import msgspec

from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import Value


class FileWrite(Value, frozen=True):
    """A file that is about to be written: its real absolute path and its bytes.

    `before` is None where there is no file.
    """

    path: bytes
    before: bytes | None
    after: bytes


class CallBegun(Value, frozen=True):
    """A call that may change files is about to run.

    `changes` is what is known of its change set by now. `root` is the session's folder, `folders`
    are those that a command may write to; `write` is what a file tool is about to do. `label`
    names the call for people. `wait_s` is how long it waits for the first look at the folders, from
    `asked_at` on (time.monotonic, which all processes share), 0 for from when it is read.
    """

    changes: ChangeSet
    session_id: SessionId
    root: str
    folders: tuple[str, ...] = ()
    write: FileWrite | None = None
    label: str = ""
    wait_s: float = 4.0
    asked_at: float = 0.0


class Recorded(Value, frozen=True):
    """A change set that is on disk now, and the session that it belongs to."""

    session_id: SessionId
    changes: ChangeSet


class Captured(Value, frozen=True):
    """What was recorded; `stopped` says why nothing is kept any more, empty while it is."""

    recorded: tuple[Recorded, ...] = ()
    stopped: str = ""


class HistoryCalled(Value, frozen=True):
    """One request; it gets one answer."""

    id: int
    method: str
    arguments: dict[str, Any]


class HistoryAnswered(Value, frozen=True):
    """The answer, still encoded: the caller knows its type."""

    id: int
    value: msgspec.Raw


class HistoryRefused(Value, frozen=True):
    """The request failed."""

    id: int
    message: str

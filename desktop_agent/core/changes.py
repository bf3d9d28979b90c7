"""What agents changed in files, and how it is taken back (RULES W8).

A *change set* is what one tool call did to files: exactly, for a file tool, and the difference
between a look before and one after, for a command. An undo is a change set as well, so it can be
undone (*redo*).
"""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.core.messages import Value

SetKind = Literal["tool", "command", "outside", "undo", "result"]
FileKind = Literal["absent", "file", "folder", "link", "other"]
ChangeKind = Literal["created", "changed", "deleted"]
Choice = Literal["keep", "restore", "merge"]
# What an undo would do with a path: `restore` it, ask as it `conflict`s with a later change,
# nothing as it is there `already`, or `lost` as what was there was not kept.
Prospect = Literal["restore", "conflict", "already", "lost"]


class FileState(Value, frozen=True):
    """What is, or was, at a path.

    `mode` are permission bits, `digest` the hex SHA-256 of a file's bytes or of a link's target.
    `is_held` tells that the bytes are kept, so that they can be put back. What `is_moved_in` may
    have been moved here, over what was there, from where nothing is kept.
    """

    kind: FileKind = "absent"
    mode: int = 0
    size: int = 0
    digest: str = ""
    is_held: bool = True
    is_moved_in: bool = False


class ChangedFile(Value, frozen=True):
    """One file of a change set, for showing.

    `path` is relative to the session's folder where it lies within, else absolute; bytes that are
    no text stand as `\\xNN`. `added` and `removed` count lines, -1 where it is no text or too
    large. `is_held` tells that it can be put back. A file that was renamed is `created`, and `was`
    is its path before, which is not listed by itself.
    """

    path: str
    kind: ChangeKind
    added: int = 0
    removed: int = 0
    is_held: bool = True
    was: str = ""


class FolderLook(Value, frozen=True):
    """How far the first look at a folder is: undo holds `held` of the `found` files and folders.

    While it `is_listing` there may be more of them. What it was stopped before it had read stays
    unknown until the app starts again.
    """

    held: int = 0
    found: int = 0
    is_listing: bool = False
    is_going: bool = False


class ChangeSet(Value, frozen=True):
    """What one call, or one undo, did to files.

    `message_id` is the user's message during which it happened, also for a subagent's call.
    `files` are the first 200, `count` is how many there are, `added` and `removed` are sums over
    all of them. `unheld` says in words what can't be put back. `undoes` are the sets that an undo
    took back. `overlaps` are calls that ran at the same time. One of the kind `result` is what was
    done in a copy elsewhere, and `result` is the one that a set has applied here.
    """

    id: str
    kind: SetKind
    agent_id: AgentId
    call_id: str = ""
    message_id: MessageId | None = None
    began: float = 0.0
    ended: float = 0.0
    files: tuple[ChangedFile, ...] = ()
    count: int = 0
    added: int = 0
    removed: int = 0
    unheld: tuple[str, ...] = ()
    undoes: tuple[str, ...] = ()
    overlaps: tuple[str, ...] = ()
    result: str = ""


class FarState(Value, frozen=True):
    """What is at a path of a copy elsewhere: a file's bytes, or a link's target.

    `content` is None where it was too large to be sent.
    """

    kind: Literal["absent", "file", "link"] = "absent"
    is_executable: bool = False
    size: int = 0
    content: bytes | None = b""


class FarFile(Value, frozen=True):
    """One file that was changed in a copy elsewhere; `path` is relative to the folder."""

    path: bytes
    before: FarState
    after: FarState


class UndoScope(Value, frozen=True):
    """What is to be taken back: exactly one field beside `session_id` and `path` is set.

    `path` narrows it to one file, which `was` at another path if it was renamed. `to_message` is
    everything since right before that message was sent. With nothing set it is the whole session.
    """

    session_id: SessionId
    message_id: MessageId | None = None
    call_id: str = ""
    agent_id: AgentId | None = None
    set_id: str = ""
    to_message: MessageId | None = None
    path: str = ""
    was: str = ""


class PlannedFile(Value, frozen=True):
    """What an undo would do with one path; `why` in words, for a conflict and for what is lost.

    `can_merge` tells that a conflict may be merged, `by` who changed the file since. A file that is
    renamed is `created`, and `was` is its path now, which is not listed by itself.
    """

    path: str
    prospect: Prospect
    kind: ChangeKind = "changed"
    why: str = ""
    by: str = ""
    can_merge: bool = False
    was: str = ""


class UndoPlan(Value, frozen=True):
    """What an undo would do; `sets` are the change sets it takes back, newest first.

    `blocked` says why it can't be done now (a command is running), empty if it can. `not_kept`
    counts the sets of the scope that are not kept any more.
    """

    scope: UndoScope
    sets: tuple[str, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    blocked: str = ""
    not_kept: int = 0


class UndoReport(Value, frozen=True):
    """What an undo did, by path. `set_id` is the change set it made, empty if nothing changed.

    `made` is that set and `session_id` whose it is. `problem` says in words why some of what was
    `kept` could not be put back.
    """

    set_id: str = ""
    restored: tuple[ChangedFile, ...] = ()
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    session_id: SessionId | None = None
    made: ChangeSet | None = None
    problem: str = ""


class FileOverview(Value, frozen=True):
    """One file over all change sets of a session that are not undone.

    `sets` are their ids, oldest first. `is_changed_since` tells that it is not as the last of them
    left it.
    """

    file: ChangedFile
    sets: tuple[str, ...] = ()
    is_changed_since: bool = False


class ChangeTotal(Value, frozen=True):
    """What several sets of a message or of an agent come to, compared with what was before them.

    What one changed and another changed back does not count; -1 lines where they are not known.
    """

    sets: tuple[str, ...]
    count: int
    added: int
    removed: int
    message_id: MessageId | None = None
    agent_id: AgentId | None = None


class Result(Value, frozen=True):
    """What a subagent changed elsewhere; `applied` is the set that did it here, if it stands."""

    made: ChangeSet
    applied: str = ""


class JudgedResult(Value, frozen=True):
    """What applying a result would do now, after those before it that fit.

    A file `overlaps` if it was changed here as well, in the same lines: what was changed in others
    is merged. `by` names the agent that did, also by a result which is not applied yet. `guarded`
    are files that run by themselves, tell agents what to do, or hold secrets.
    """

    id: str
    files: tuple[PlannedFile, ...] = ()
    guarded: tuple[str, ...] = ()

    @property
    def overlaps(self) -> tuple[PlannedFile, ...]:
        """The files for which somebody has to choose."""
        return tuple(f for f in self.files if f.prospect == "conflict" and not f.can_merge)

    @property
    def is_there(self) -> bool:
        """Whether the folder holds all of it already."""
        return all(file.prospect == "already" for file in self.files)

    @property
    def fits(self) -> bool:
        """Whether it can be applied as a whole without a choice."""
        is_lost = any(file.prospect == "lost" for file in self.files)
        return not (self.overlaps or is_lost or self.is_there)

    @property
    def is_plain(self) -> bool:
        """Whether it may be applied with others that were not looked at one by one."""
        return self.fits and not self.guarded


class SessionChanges(Value, frozen=True):
    """All that a session changed: its sets, oldest first, and the files that differ now.

    `undone` are the ids of sets that are taken back at present, `totals` are of the messages and
    agents of which more than one set stands. `stopped` says why nothing is
    kept any more (a full disk), empty while it is. `results` are in the order in which they came.
    `not_kept` counts sets that are not kept any more, where none is.
    """

    sets: tuple[ChangeSet, ...] = ()
    files: tuple[FileOverview, ...] = ()
    undone: tuple[str, ...] = ()
    stopped: str = ""
    totals: tuple[ChangeTotal, ...] = ()
    results: tuple[Result, ...] = ()
    not_kept: int = 0

    @property
    def waiting(self) -> tuple[ChangeSet, ...]:
        """The results that are not applied."""
        return tuple(one.made for one in self.results if not one.applied)


class UndoUsage(Value, frozen=True):
    """How many bytes are kept for one folder, and since when (seconds since 1970)."""

    folder: str
    size: int
    since: float


class UndoError(Exception):
    """The undo could not be done; the text says why, in words for a person."""

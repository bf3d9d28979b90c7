"""What each call did to files: looked at before and after it, and recorded.

The differences of one look belong to the call that ends with it, else to the call that runs and
began last, else to nobody: then they happened outside of all calls. So the history of each path
is one chain, in the order in which it was recorded.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from desktop_agent.core.changes import ChangeSet, FileState, FolderLook, UndoError
from desktop_agent.core.ids import AgentId, SessionId, new_change_set_id
from desktop_agent.core.pipes.file_capture import CallBegun, Captured, FileWrite, Recorded
from desktop_agent.engine.base.digests import sha256
from desktop_agent.file_history.folder import TrackedFolder
from desktop_agent.file_history.history import History
from desktop_agent.file_history.listing import git_head, kind_at
from desktop_agent.file_history.names import is_below, parents
from desktop_agent.file_history.reader import state_of
from desktop_agent.file_history.values import HistoryFull, PathChange

# What a command changed is read for so long; the rest of it can be listed, but not put back.
_READ_AFTER_S = 20.0
# What happened since the app was last open is read for so long when a session goes on.
_FIRST_S = 5.0
_READ_SLICE_S = 0.02
# What happened since the last command is read for so long before the next one.
_BETWEEN_S = 0.1
_MISSED = "What a call changed was lost, as the part of the app that keeps it had ended."
_COMMITS = "Commits, branches and all else in `.git` stay as they are."
_NOBODY = AgentId("")


class _Call(msgspec.Struct):
    """A call that runs. `before` and `made` are of a file tool: its file, the folders it makes."""

    begun: CallBegun
    folders: list[TrackedFolder] = []
    overlaps: dict[str, None] = {}
    remarks: list[str] = []
    before: FileState = FileState()
    after: str = ""
    made: tuple[bytes, ...] = ()
    heads: tuple[bytes, ...] = ()
    is_recorded: bool = False

    @property
    def id(self) -> str:
        return self.begun.changes.id


class Capture:
    """Records what calls change. `own` are the app's own folders, which are never looked into."""

    def __init__(self, history: History, own: Sequence[Path] = ()) -> None:
        self._history = history
        self._own = frozenset(os.fsencode(os.path.realpath(path)) for path in own)
        self._folders: dict[bytes, TrackedFolder] = {}
        self._calls: dict[str, _Call] = {}
        self._known: set[SessionId] = set()
        # The session that a folder was last looked at for, and that session's folder.
        self._homes: dict[bytes, tuple[SessionId, str]] = {}
        self._recorded: list[Recorded] = []
        self._stopped = ""

    # -- calls ---------------------------------------------------------------------------

    def watch(self, session_id: SessionId, root: str) -> None:
        """Look at a session's folder for the first time; `read_on` does what takes long."""
        folder = self._folder(os.fsencode(root))
        if not folder.is_listed:
            self._look_outside(folder, session_id, root, time.monotonic() + _FIRST_S)

    def first_look(self, root: str, *, is_stopped: bool = False) -> FolderLook:
        """Return how far the first look at a folder is; stop it if it `is_stopped`."""
        place = os.path.realpath(os.fsencode(root))
        folder = next((one for one in self._folders.values() if _is_below(place, one.root)), None)
        if folder is None:
            return FolderLook()
        if is_stopped:
            folder.stop()
        held, found = folder.progress
        return FolderLook(held, found, not folder.is_all_listed, folder.has_unread)

    def begin(self, begun: CallBegun) -> Captured:
        """Note what is there before a call. What was changed until now is recorded."""
        call = _Call(begun)
        if begun.write is not None:
            self._begin_write(call, begun.write)
        else:
            self._begin_command(call)
        for other in self._calls.values():
            if begun.write is None and other.begun.write is None and _meet(other, call):
                other.overlaps[begun.changes.call_id] = None
                call.overlaps[other.begun.changes.call_id] = None
        self._calls[call.id] = call
        return self._captured()

    def end(self, set_id: str, *, is_done: bool = True) -> Captured:
        """Record what a call changed. A file tool that was refused `is_done` False.

        Raises UndoError for a call that is not known: it began before this process did.
        """
        call = self._calls.get(set_id)
        if call is None:
            raise UndoError(_MISSED)
        try:
            if call.begun.write is not None:
                self._end_write(call, call.begun.write, is_done=is_done)
            else:
                self._end_command(call)
        finally:
            del self._calls[set_id]
        return self._captured()

    def end_all(self) -> None:
        """Record what the calls that run have changed until now: nobody will end them."""
        for set_id in list(self._calls):
            call = self._calls[set_id]
            write = call.begun.write
            self.end(set_id, is_done=write is None or _digest_at(write.path) == call.after)

    def held(self, session_id: SessionId, root: str, paths: Sequence[bytes]) -> tuple[bool, ...]:
        """Return which of these absolute paths an undo could bring back as they are now."""
        self._folder(os.fsencode(root))
        for folder in self._folders.values():
            if any(folder.relative(_real(path)) is not None for path in paths):
                until = time.monotonic() + _FIRST_S
                folder.list_on(until)
                self._look_outside(folder, session_id, root, until)
                _read_until(folder, until)
        return tuple(self._is_held(_real(path)) for path in paths)

    def _is_held(self, path: bytes) -> bool:
        for folder in self._folders.values():
            relative = folder.relative(path)
            if relative is not None:
                return not self.stopped and folder.holds(relative)
        return False

    # -- idle ----------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether something is to be read while nobody asks for anything."""
        return any(folder.has_unread for folder in self._folders.values())

    def read_on(self) -> None:
        """Read a little of what is unread."""
        for folder in self._folders.values():
            if folder.has_unread:
                folder.read_some(time.monotonic() + _READ_SLICE_S)
                return

    def look_closely(self) -> None:
        """Look for what no watch tells of. To be called after a while without requests."""
        for folder in self._folders.values():
            if folder.root in self._homes and folder.is_listed:
                folder.look_closely()
                self._look_outside(
                    folder, *self._homes[folder.root], time.monotonic() + _READ_AFTER_S
                )

    # -- undo ----------------------------------------------------------------------------

    @property
    def stopped(self) -> str:
        """Why nothing is kept any more, empty while it is."""
        readers = (folder.reader.stopped for folder in self._folders.values())
        return next(filter(None, (self._stopped, *readers)), "")

    def forget_folders(self) -> None:
        """What is kept of them was deleted: they are looked at anew."""
        self._stopped = ""
        for folder in list(self._folders.values()):
            if not any(folder in call.folders for call in self._calls.values()):
                self._folders.pop(folder.root).close()

    def running_in(self, root: str) -> str:
        """Return the name of a command that runs in a folder, empty if there is none."""
        place = os.fsencode(root)
        for call in self._calls.values():
            for folder in call.folders:
                if _is_below(folder.root, place) or _is_below(place, folder.root):
                    return call.begun.label or "A command"
        return ""

    def before_undo(self, session_id: SessionId, root: str) -> None:
        """Record what the person changed until now, as it is not the undo's."""
        for folder in self._folders.values():
            if folder.is_listed:
                until = time.monotonic() + _READ_AFTER_S
                folder.list_on(until)
                self._look_outside(folder, session_id, root, until)

    def after_undo(self) -> None:
        """Take what the undo wrote as known; it is recorded already."""
        for folder in self._folders.values():
            if folder.is_listed:
                folder.look(time.monotonic() + _READ_AFTER_S)
                folder.save()

    # -- commands ------------------------------------------------------------------------

    def _begin_command(self, call: _Call) -> None:
        begun = call.begun
        asked_at = begun.asked_at or time.monotonic()
        for root in _outermost(begun.folders):
            folder = self._folder(root)
            call.folders.append(folder)
            # Only the first command waits for what is still to be read: that goes on later.
            until = asked_at + (0 if folder.was_waited_for else begun.wait_s)
            if not folder.was_waited_for:
                folder.list_on(until)
            look_until = max(until, time.monotonic() + _BETWEEN_S)
            self._look_outside(folder, begun.session_id, begun.root, look_until)
            _read_until(folder, until)
            folder.was_waited_for = folder.has_unread
            if folder.is_unknown:
                call.remarks.append(_missing(folder))
        call.heads = tuple(git_head(folder.root) for folder in call.folders)

    def _end_command(self, call: _Call) -> None:
        until = time.monotonic() + _READ_AFTER_S
        if call.heads != tuple(git_head(folder.root) for folder in call.folders):
            call.remarks.append(_COMMITS)
        for folder in call.folders:
            self._record_for(call, folder.look(until, self._busy(folder)))
            folder.save()

    def _look_outside(
        self, folder: TrackedFolder, session_id: SessionId, root: str, until: float
    ) -> None:
        """Look at a folder; what differs is the running call's, or happened outside of calls."""
        owner = self._owner(folder)
        is_new = session_id not in self._known
        self._homes[folder.root] = (session_id, root)
        changes = folder.look(until, self._busy(folder), is_outside=owner is None)
        self._known.add(session_id)
        if owner is not None:
            self._record_for(owner, changes)
        elif changes and not (is_new and self._is_first(session_id, root)):
            self._record_outside(session_id, root, changes)
        folder.save()

    def _is_first(self, session_id: SessionId, root: str) -> bool:
        """Whether a session has no history: what was before it is not its concern."""
        return not self._history.changes(session_id, root).sets

    def _owner(self, folder: TrackedFolder) -> _Call | None:
        running = [call for call in self._calls.values() if folder in call.folders]
        return running[-1] if running else None

    def _busy(self, folder: TrackedFolder) -> set[bytes]:
        """Return what file tools are writing now; it is theirs."""
        busy: set[bytes] = set()
        for call in self._calls.values():
            if call.begun.write is not None:
                for path in (call.begun.write.path, *call.made):
                    if (relative := folder.relative(path)) is not None:
                        busy.add(relative)
        return busy

    # -- file tools ----------------------------------------------------------------------

    def _begin_write(self, call: _Call, write: FileWrite) -> None:
        call.made = _missing_folders(write.path)
        is_held = self._hold(call, write)
        call.after = sha256(write.after).hexdigest()
        if write.before is not None:
            digest = sha256(write.before).hexdigest()
            mode = _mode_at(write.path)
            call.before = FileState("file", mode, len(write.before), digest, is_held)
        for folder in self._folders.values():
            relative = folder.relative(write.path)
            if relative is None or not folder.is_listed:
                continue
            # A folder that stands for a file, or the other way round, is more than one change.
            if not _is_of_known_kind(folder, relative):
                until = time.monotonic() + _BETWEEN_S
                self._look_outside(folder, call.begun.session_id, call.begun.root, until)
            if folder.is_tracked(relative):
                self._note_before(call, folder, relative)

    def _hold(self, call: _Call, write: FileWrite) -> bool:
        try:
            for content in (write.before, write.after):
                if content is not None:
                    self._history.hold(content)
        except HistoryFull as full:
            self._stopped = str(full)
            return False
        self._stopped = ""
        return True

    def _note_before(self, call: _Call, folder: TrackedFolder, relative: bytes) -> None:
        """Record what somebody else did to the file since the last look."""
        known = folder.entry(relative)
        old = state_of(known)
        if known is not None and not old.digest:
            return  # unread: nobody knows
        if old.digest == call.before.digest and old.mode == call.before.mode:
            return
        change = PathChange(call.begun.write.path if call.begun.write else b"", old, call.before)
        owner, begun = self._owner(folder), call.begun
        if owner is not None:
            self._record_for(owner, [change])
        else:
            self._record_outside(begun.session_id, begun.root, [change])

    def _end_write(self, call: _Call, write: FileWrite, *, is_done: bool) -> None:
        if not is_done:
            return
        changes = [
            PathChange(path, FileState(), FileState("folder", _mode_at(path)))
            for path in call.made
            if os.path.isdir(path)  # noqa: PTH112 - bytes
        ]
        is_held = call.before.is_held and not self._stopped
        after = FileState("file", _mode_at(write.path), len(write.after), call.after, is_held)
        self._record_for(call, [*changes, PathChange(write.path, call.before, after)])
        for folder in self._folders.values():
            relative = folder.relative(write.path)
            if relative is not None and folder.is_listed:
                folder.note(relative, call.after)
                folder.save()

    # -- recording -----------------------------------------------------------------------

    def _record_for(self, call: _Call, changes: Sequence[PathChange]) -> None:
        if not changes:
            return
        begun = call.begun
        # A call has one set as a rule; each further look at it makes another.
        set_id = new_change_set_id() if call.is_recorded else call.id
        call.is_recorded = True
        values = msgspec.structs.replace(
            begun.changes, id=set_id, ended=time.time(), overlaps=tuple(call.overlaps)
        )
        unheld = (*begun.changes.unheld, *call.remarks)
        self._record(values, begun.session_id, begun.root, changes, unheld)

    def _record_outside(
        self, session_id: SessionId, root: str, changes: Sequence[PathChange]
    ) -> None:
        now = time.time()
        values = ChangeSet(new_change_set_id(), "outside", _NOBODY, began=now, ended=now)
        self._record(values, session_id, root, changes, ())

    def _record(
        self,
        values: ChangeSet,
        session_id: SessionId,
        root: str,
        changes: Sequence[PathChange],
        unheld: Sequence[str],
    ) -> None:
        ordered = sorted(changes, key=lambda change: change.path)
        recorded = self._history.record(values, session_id, root, ordered, unheld)
        self._recorded.append(Recorded(session_id, recorded))

    def _captured(self) -> Captured:
        recorded, self._recorded = tuple(self._recorded), []
        return Captured(recorded, self.stopped)

    def _folder(self, root: bytes) -> TrackedFolder:
        root = os.path.realpath(root)
        for known in self._folders.values():
            if _is_below(root, known.root):
                return known
        folder = TrackedFolder(root, self._history, self._own)
        # What lies below it is looked at with it from now on.
        for below in list(self._folders.values()):
            if self._is_idle_below(below, root):
                self._folders.pop(below.root).close()
        self._folders[root] = folder
        return folder

    def _is_idle_below(self, folder: TrackedFolder, root: bytes) -> bool:
        is_used = any(folder in call.folders for call in self._calls.values())
        return _is_below(folder.root, root) and not is_used


def _is_of_known_kind(folder: TrackedFolder, path: bytes) -> bool:
    """Whether at a path and at those above it stands what did at the last look, or nothing."""
    parts = path.split(b"/")
    for count in range(1, len(parts) + 1):
        here = b"/".join(parts[:count])
        known = folder.entry(here)
        if not folder.is_tracked(here) or (known is not None and known.kind == "other"):
            break  # nothing is known of what is there
        if kind_at(folder.absolute(here)) != (known and known.kind):
            return False
    return True


def _read_until(folder: TrackedFolder, until: float) -> None:
    while folder.has_unread and time.monotonic() < until:
        folder.read_some(until)


def _missing(folder: TrackedFolder) -> str:
    held, every = folder.progress
    if folder.is_all_listed:
        return f"Undo holds {held:,} of {every:,} files."
    return f"Undo holds {held:,} files. There are more than {every:,}: not all were looked at."


def _meet(one: _Call, other: _Call) -> bool:
    return any(folder in other.folders for folder in one.folders)


def _outermost(folders: Sequence[str]) -> list[bytes]:
    roots = [os.path.realpath(os.fsencode(folder)) for folder in dict.fromkeys(folders)]
    return [
        root
        for root in dict.fromkeys(roots)
        if not any(root != other and _is_below(root, other) for other in roots)
    ]


def _is_below(path: bytes, root: bytes) -> bool:
    return path == root or is_below(path, root)


def _real(path: bytes) -> bytes:
    """Resolve the folders above a path, and not the path itself, which may be a link."""
    above, name = os.path.split(path)
    return os.path.join(os.path.realpath(above), name)  # noqa: PTH118 - bytes


def _missing_folders(path: bytes) -> tuple[bytes, ...]:
    """Return the folders above a path that are not there yet, the topmost first."""
    missing: list[bytes] = []
    for above in parents(path):
        if os.path.lexists(above):
            break
        missing.append(above)
    return tuple(reversed(missing))


def _mode_at(path: bytes) -> int:
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except OSError:
        return 0o644


def _digest_at(path: bytes) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - bytes
            found = sha256()
            while chunk := file.read(1 << 20):
                found.update(chunk)
    except OSError:
        return ""
    return found.hexdigest()

"""The files that hold what was cut out of results: a folder for each session, bounded.

The oldest are deleted to make room, and all of a session's with the session. There is no list
of them: what lies in a session's folder is known, after a restart as before.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import BinaryIO

from desktop_agent.core.ids import SessionId
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.workspace.output_quota import Limits, Quota
from desktop_agent.engine.workspace.safe_open import open_read

_log = logging.getLogger(__name__)

_NAME = re.compile(r"output-[0-9a-f]{16}\.txt")
_OWN_ID = re.compile(r"se_[0-9a-f]{16}")
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# Earlier versions kept all files in one folder. Those that no session names go after this.
_UNCLAIMED_S = 30 * 24 * 3600.0
_DELETED = (
    "this output was deleted to make room: of each session the newest {session:,} MB are kept, "
    "of all sessions together {total:,} MB. Run the command again if you need it."
)


class OutputFiles:
    """All of them, below `root`, which one process has for itself. Used on the engine thread."""

    def __init__(self, root: Path, limits: Limits | None = None) -> None:
        self.root = root.resolve()
        self.limits = limits or Limits()
        self._counted: Quota | None = None

    @property
    def quota(self) -> Quota:
        """What is there, read from the disk when it is first asked for."""
        if self._counted is None:
            self._counted = Quota(self.limits, _delete)
            for _, path, folder, size in sorted(_found(self.root)):
                self._counted.add(path, folder, size, is_open=False)
        return self._counted

    def of(self, session_id: SessionId) -> SessionOutputs:
        """Return a session's files."""
        return SessionOutputs(self, _folder_name(session_id))

    def delete(self, session_id: SessionId) -> None:
        """Delete a session's files. What can't be deleted goes at the next `clean_up`."""
        folder = _folder_name(session_id)
        shutil.rmtree(self.root / folder, ignore_errors=True)
        if self._counted is not None:
            self._counted.forget_folder(folder)

    def clean_up(self, sessions: Iterable[SessionId]) -> None:
        """Delete what belongs to no session: the app was killed before it had done so."""
        kept = {_folder_name(session_id) for session_id in sessions}
        for entry in _listed(self.root):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in kept:
                        shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.stat(follow_symlinks=False).st_mtime < time.time() - _UNCLAIMED_S:
                    Path(entry.path).unlink()

    @property
    def has_unclaimed(self) -> bool:
        """Whether there are files of an earlier version that no session has claimed yet."""
        return any(_NAME.fullmatch(entry.name) for entry in _listed(self.root))

    def claim(self, session_id: SessionId, texts: Iterable[str]) -> None:
        """Move files of an earlier version which these results name to the session's folder."""
        folder = _folder_name(session_id)
        for name in {name for text in texts for name in _NAME.findall(text)}:
            old, new = self.root / name, self.root / folder / name
            with contextlib.suppress(OSError):
                size = old.stat(follow_symlinks=False).st_size
                new.parent.mkdir(mode=0o700, exist_ok=True)
                old.rename(new)
                if self._counted is not None:
                    self._counted.forget(old)
                    self._counted.add(new, folder, size, is_open=False)


class SessionOutputs:
    """One session's files. `find` and `open` may be called on any thread."""

    def __init__(self, files: OutputFiles, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._path = files.root / folder

    def create(self) -> OutputFile | None:
        """Make a file, None when the disk refuses."""
        path = self._path / f"output-{os.urandom(8).hex()}.txt"
        try:
            self._files.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.mkdir(exist_ok=True, mode=0o700)
            descriptor = os.open(path, _WRITE, 0o600)
        except OSError as error:
            _log.warning("an output could not be kept: %s", error)
            return None
        self._files.quota.add(path, self._folder, 0, is_open=True)
        return OutputFile(path, descriptor, self._files.quota)

    def find(self, path: str) -> Path | None:
        """Return the file that a result of this session named, None when it named none.

        The data folder may have been moved since. Raises ToolError when the file was deleted.
        """
        named = PurePath(path)
        if not _NAME.fullmatch(named.name):
            return None
        root = self._files.root
        is_named_so = named.parent == root or named.parent.name in (self._folder, root.name)
        if is_named_so and (self._path / named.name).is_file():
            return self._path / named.name
        if named.parent == root or named.parent.name == self._folder:
            limits = self._files.limits
            mb = {"session": limits.session // 10**6, "total": limits.total // 10**6}
            raise ToolError(_DELETED.format(**mb))
        return None

    def open(self, path: Path) -> BinaryIO:
        """Open a file that `find` returned, following no link. Raises ToolError."""
        return open_read(Workspace(str(self._path)), path)


class OutputFile:
    """One file while it is written. It holds the start of what it was given, without a gap."""

    def __init__(self, path: Path, descriptor: int, quota: Quota) -> None:
        self.path = path
        self.size = 0
        self._descriptor = descriptor
        self._quota = quota
        self._is_full = False

    def write(self, content: bytes) -> None:
        """Append what there is room for; after the first byte that there is none for, nothing."""
        if self._is_full or not content:
            return
        room = self._quota.room(self.path, len(content))
        written = 0
        try:
            with memoryview(content) as view:
                while written < room:
                    written += os.write(self._descriptor, view[written:room])
        except OSError as error:
            _log.warning("an output could not be kept whole: %s", error)
        self._is_full = written < len(content)
        self.size += written
        self._quota.grow(self.path, written)

    def close(self) -> None:
        """Let go of the file; an empty one is deleted."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        self._quota.close(self.path)
        if self.size == 0 and _delete(self.path):
            self._quota.forget(self.path)


def _folder_name(session_id: SessionId) -> str:
    """Return a name that every file system takes; the command line may bring any id."""
    if _OWN_ID.fullmatch(session_id):
        return session_id
    return f"id_{sha256(session_id.encode()).hexdigest()[:32]}"


def _delete(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # Windows keeps a file that another program has open
        _log.warning("%s could not be deleted: %s", path, error)
        return False
    return True


def _found(root: Path) -> Iterable[tuple[float, Path, str, int]]:
    """Yield time, path, folder and size of every file, those of an earlier version without one."""
    for entry in _listed(root):
        is_folder = entry.is_dir(follow_symlinks=False)
        for file in _listed(Path(entry.path)) if is_folder else [entry]:
            with contextlib.suppress(OSError):
                status = file.stat(follow_symlinks=False)
                folder = entry.name if is_folder else ""
                yield status.st_mtime, Path(file.path), folder, status.st_size


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []

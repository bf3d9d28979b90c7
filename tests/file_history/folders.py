"""A folder in which agents and a person work, recorded as they go."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from desktop_agent.core.changes import (
    ChangeSet,
    Choice,
    FileState,
    SessionChanges,
    SetKind,
    UndoPlan,
    UndoReport,
    UndoScope,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.file_history.history import Entry, History, Limits, PathChange

SESSION = SessionId("se_1")
MAIN = AgentId("ag_1")
ABSENT = FileState()
PLENTY = Limits(free=lambda _: 1 << 40, total=1 << 38, folder=1 << 37, reserve=0)


def look(root: Path) -> dict[bytes, FileState]:
    """Return everything in a folder by absolute path."""
    return {path: state for path, state, _ in _walk(os.fsencode(root))}


def _walk(folder: bytes) -> Iterator[tuple[bytes, FileState, bytes]]:
    """Yield each path, what is there and, of a file or a link, what it holds."""
    for entry in os.scandir(folder):
        if entry.name == b".git":
            continue
        status = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode)
        if entry.is_symlink():
            content = target(entry.path)
            yield entry.path, FileState("link", 0, len(content), _digest(content)), content
        elif entry.is_dir(follow_symlinks=False):
            yield entry.path, FileState("folder", mode), b""
            yield from _walk(entry.path)
        elif entry.is_file(follow_symlinks=False):
            content = Path(os.fsdecode(entry.path)).read_bytes()
            yield entry.path, FileState("file", mode, len(content), _digest(content)), content
        else:
            yield entry.path, FileState("other", mode, is_held=False), b""


def target(path: bytes) -> bytes:
    """Return where a link leads."""
    return os.fsencode(Path(os.fsdecode(path)).readlink())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Folder:
    """A folder and its history. Changes within `call` are recorded, others are the person's."""

    def __init__(self, place: Path, history: History | None = None, name: str = "folder") -> None:
        self.root = Path(os.path.realpath(place)) / name
        self.root.mkdir(exist_ok=True)
        self.history = history or History(place / "undo", PLENTY)
        self.sets: list[ChangeSet] = []

    def close(self) -> None:
        self.history.close()

    @contextmanager
    def call(
        self,
        call_id: str = "",
        *,
        agent: str = MAIN,
        message: str = "me_1",
        session: SessionId = SESSION,
        kind: SetKind = "tool",
        ended: float = 0.0,
    ) -> Generator[None]:
        """Record what changes within as the doing of an agent."""
        before = self.held()
        yield
        after = self.held()
        changes = [
            PathChange(path, before.get(path, ABSENT), after.get(path, ABSENT))
            for path in sorted(before.keys() | after.keys())
            if before.get(path, ABSENT) != after.get(path, ABSENT)
        ]
        meta = ChangeSet("", kind, AgentId(agent), call_id, MessageId(message), ended=ended or 1e9)
        made = self.history.record(meta, session, str(self.root), changes)
        self.sets.append(made)

    def held(self) -> dict[bytes, FileState]:
        """Look at everything, and have it kept."""
        found: dict[bytes, FileState] = {}
        for path, state, content in _walk(os.fsencode(self.root)):
            found[path] = state
            if state.kind in {"file", "link"}:
                self.history.hold(content)
        return found

    def write(self, name: str, text: str, mode: int | None = None) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def text(self, name: str) -> str | None:
        path = self.root / name
        return path.read_bytes().decode() if path.exists() else None

    def plan(self, **scope: object) -> UndoPlan:
        return self.history.plan(UndoScope(SESSION, **scope))  # type: ignore[arg-type]

    def prospects(self, **scope: object) -> dict[str, str]:
        return {file.path: file.prospect for file in self.plan(**scope).files}

    def undo(self, choices: dict[str, Choice] | None = None, **scope: object) -> UndoReport:
        meta = ChangeSet("", "undo", MAIN, ended=1e9)
        return self.history.undo(UndoScope(SESSION, **scope), choices or {}, meta)  # type: ignore[arg-type]

    def changes(self) -> SessionChanges:
        return self.history.changes(SESSION, str(self.root))

    def index(self) -> dict[bytes, Entry]:
        """Save a look at the folder and return it."""
        entries: dict[bytes, Entry] = {}
        for path, state in self.held().items():
            status = os.lstat(path)
            entries[os.path.relpath(path, os.fsencode(self.root))] = Entry(
                state.kind,
                stat.S_IMODE(status.st_mode),
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_ino,
                state.digest,
                is_held=True,
            )
        self.history.save_index(os.fsencode(self.root), entries, [])
        return entries

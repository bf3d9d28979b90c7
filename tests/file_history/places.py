"""A folder that calls change, looked at before and after each of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from desktop_agent.core.changes import ChangeSet, Choice, UndoScope
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_change_set_id
from desktop_agent.core.pipes.file_capture import CallBegun, Captured, FileWrite
from desktop_agent.file_history.capture import Capture
from desktop_agent.file_history.history import History, Limits

S = SessionId("s")
M = MessageId("m")


class Place:
    """A folder, and calls that change it."""

    def __init__(self, base: Path, limits: Limits | None = None) -> None:
        self.root = base / "work"
        self.root.mkdir()
        self.history = History(base / "data" / "undo", limits)
        self.capture = Capture(self.history, [base / "data"])

    def begin(
        self,
        call: str = "c",
        *,
        kind: str = "command",
        write: FileWrite | None = None,
        asked_at: float = 0.0,
    ):
        changes = ChangeSet(new_change_set_id(), kind, AgentId("a"), call, M, began=time.time())
        folders = (str(self.root),) if write is None else ()
        begun = CallBegun(changes, S, str(self.root), folders, write, label=call, asked_at=asked_at)
        return changes.id, self.capture.begin(begun)

    def changed(self, captured: Captured) -> list[tuple[str, str]]:
        """Path and kind of all that was recorded, but for what happened outside of calls."""
        sets = [one.changes for one in captured.recorded if one.changes.kind != "outside"]
        return [(file.path, file.kind) for one in sets for file in one.files]

    def look_at_all(self) -> None:
        self.capture.watch(S, str(self.root))
        while self.capture.has_work:
            self.capture.read_on()

    def undo(self, choices: Mapping[str, Choice] | None = None) -> None:
        meta = ChangeSet("", "undo", AgentId("a"), began=time.time())
        self.capture.before_undo(S, str(self.root))
        self.history.undo(UndoScope(S, message_id=M), choices or {}, meta)
        self.capture.after_undo()

    def close(self) -> None:
        self.capture.end_all()
        self.history.close()


def state_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of everything in a folder."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path)] = (0, os.fsencode(path.readlink()))
        else:
            content = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (path.lstat().st_mode, content)
    return found


class Clock:
    """Goes on by `step_s` whenever the test's thread looks at it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.step_s = 1000.0, 0.0
        self._thread = threading.get_ident()
        monkeypatch.setattr(time, "monotonic", self.tick)
        # Files that were written just now are read again by the next look.
        time_ns = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: time_ns() + 10**10)

    def tick(self) -> float:
        if threading.get_ident() == self._thread:
            self.now += self.step_s
        return self.now


def begun_while_listing(place: Place, clock: Clock) -> str:
    """Begin a command that doesn't wait until all of thirty folders are listed."""
    for number in range(30):
        (place.root / f"part{number}").mkdir()
        old = place.root / f"part{number}" / "a.txt"
        old.write_text("before")
        os.utime(old, (1e9, 1e9))
    clock.step_s = 0.3  # as if each folder took so long
    begun_at = clock.now
    set_id, _ = place.begin("first", asked_at=begun_at)
    assert clock.now - begun_at <= 6.0
    clock.step_s = 0.0
    return set_id

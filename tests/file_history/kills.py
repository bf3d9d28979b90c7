"""Kills undos, and what finishes them, at every kind of moment, and looks at what is left.

`python -m tests.file_history.kills 1000` does it 1,000 times and prints what was found.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desktop_agent.core.changes import ChangeSet, Choice, FileState, UndoReport, UndoScope
from desktop_agent.file_history import disk
from desktop_agent.file_history.history import History
from tests.file_history.folders import ABSENT, MAIN, PLENTY, SESSION, look
from tests.file_history.histories import RandomHistory, Tally, memory

CALLS = ["fchmod", "fsync", "ftruncate", "link", "mkdir", "rename", "replace", "rmdir"]
CALLS += ["symlink", "unlink", "write"]


class KilledHistory(RandomHistory):
    """Does each undo in a process that is killed, and finishes it as the next start would."""

    def carry_out(self, scope: UndoScope, choices: dict[str, Choice]) -> UndoReport:
        before = look(self.folder.root)
        known = {made.id for made in self.sets()}
        self.folder.close()
        meta = ChangeSet("", "undo", MAIN, ended=1e9)
        self.killed(lambda history: history.undo(scope, choices, meta))
        middle = look(self.folder.root)
        while self.chance.random() < 0.3:
            self.killed(lambda history: history.recover())
        self.folder.history = History(self.place / "undo", PLENTY)
        recovered = self.folder.history.recover()
        self.check_whole(before, middle)
        if recovered:
            return recovered[-1]
        made = [made for made in self.sets() if made.id not in known]
        if made:  # it was finished
            return UndoReport(made[-1].id, made[-1].files)
        if middle != before:
            self.fault(f"changed without a record: {middle} instead of {before}")
        return super().carry_out(scope, choices)

    def check_whole(self, before: dict[bytes, FileState], middle: dict[bytes, FileState]) -> None:
        """Each file was as before or as it is now; only folders are made and then given a mode."""
        after = look(self.folder.root)
        for path in before.keys() | middle.keys() | after.keys():
            found = [states.get(path, ABSENT) for states in (before, middle, after)]
            is_temporary = path.endswith(b".tmp")
            if is_temporary and found[2] != ABSENT:
                self.fault(f"{path!r} was left")
            is_folder = "folder" in {state.kind for state in found}
            if not is_folder and not is_temporary and found[1] not in (found[0], found[2]):
                self.fault(f"{path!r} was half done: {found}")

    def killed(self, do: Callable[[History], object]) -> None:
        at, many = self.chance.randint(1, 50), self.chance.choice((1, disk.MANY))
        moment = killed_at(self.place / "undo", at, do, many)
        if moment is not None:
            self.tally.killed += 1
            self.tally.moments[moment] += 1

    def sets(self) -> tuple[ChangeSet, ...]:
        return self.folder.history.changes(SESSION, str(self.folder.root)).sets


def killed_at(
    folder: Path, at: int, do: Callable[[History], object], many: int = disk.MANY
) -> str | None:
    """Do something with a history in a process that is killed at the n-th call of its own.

    Return at which one; None if it came to its end before.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        disk.MANY = many
        _die_at(at, writer)
        try:
            history = History(folder, PLENTY)
            do(history)
            history.close()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as said:  # noqa: PTH123 - a pipe
        moment = said.read()
    return moment if os.WIFSIGNALED(os.waitpid(pid, 0)[1]) else None


def _die_at(at: int, writer: int) -> None:
    """Kill this process at the n-th call that changes something, before or after it."""
    say, count = os.write, itertools.count(1)

    def tick(name: str) -> None:
        if next(count) == at:
            say(writer, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def dying(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def called(*args: Any, **kwargs: Any) -> Any:
            tick(f"before {name}")
            result = call(*args, **kwargs)
            tick(f"after {name}")
            return result

        return called

    class Dying(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            call = super().execute
            return dying("commit", call)(sql, *args) if sql == "COMMIT" else call(sql, *args)

    disk.exchange = dying("exchange", disk.exchange)
    disk.sync_file_system = dying("syncfs", disk.sync_file_system)
    for name in CALLS:
        setattr(os, name, dying(name, getattr(os, name)))
    sqlite3.connect = functools.partial(sqlite3.connect, factory=Dying)  # type: ignore[assignment]


def kill_many(kills: int, seed: int = 0) -> Tally:
    tally = Tally()
    while tally.killed < kills:
        with tempfile.TemporaryDirectory(dir=memory()) as place:
            history = KilledHistory(Path(place), seed, tally)
            try:
                history.run(14)
            finally:
                history.close()
        seed += 1
    return tally


if __name__ == "__main__":
    result = kill_many(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(result)
    sys.exit(bool(result.faults))

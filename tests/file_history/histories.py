"""Random histories of agents and a person in one folder, with undos and redos in between.

`python -m tests.file_history.histories 10000` runs so many and prints what was found.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from desktop_agent.core.changes import ChangeSet, Choice, FileState, UndoReport, UndoScope
from desktop_agent.core.ids import AgentId, SessionId
from tests.file_history.folders import ABSENT, MAIN, SESSION, Folder, look

NAMES = [b"a", b"b", b"d", b"d/x", b"d/y", b"d/e", b"d/e/z", b"l", b"\xff\n"]
AGENTS = [MAIN, AgentId("sa_1"), AgentId("sa_2")]
OTHER_SESSION = SessionId("se_2")
MODES = [0o600, 0o644, 0o755]


@dataclass
class Event:
    """Something that happened to one path; `who` is empty for the person."""

    before: FileState
    after: FileState
    number: int
    who: str = ""
    agent: str = ""
    message: str = ""
    session: str = SESSION
    undone: frozenset[str] = frozenset()
    is_outside: bool = False


@dataclass
class Tally:
    """What a series came to; `faults` says what must not have been."""

    histories: int = 0
    undos: int = 0
    redos: int = 0
    restored: int = 0
    kept: int = 0
    merged: int = 0
    killed: int = 0
    faults: list[str] = field(default_factory=list)
    moments: Counter[str] = field(default_factory=Counter)


class RandomHistory:
    """One folder; every step is drawn from a seed."""

    def __init__(self, place: Path, seed: int, tally: Tally) -> None:
        self.chance = random.Random(seed)
        self.seed = seed
        self.tally = tally
        self.place = place
        self.folder = Folder(place)
        self.root = os.fsencode(self.folder.root)
        self.events: dict[bytes, list[Event]] = {}
        self.undos: list[str] = []
        self.first: dict[str, int] = {}
        self.snapshots: dict[str, dict[bytes, FileState]] = {}
        self.message = 0
        self.number = 0
        self.written = 0

    def run(self, steps: int) -> None:
        for name in ("a", "b", "d/x"):
            self.write(self.folder.root / name)
        for _ in range(steps):
            step = self.chance.choices(
                [self.person, self.agent, self.undo, self.redo], [4, 8, 4, 2]
            )[0]
            step()
        self.tally.histories += 1

    def close(self) -> None:
        self.folder.close()

    # -- steps

    def person(self) -> None:
        """Somebody works beside the agents, and now and then a look finds what they did."""
        before = look(self.folder.root)
        is_seen = self.chance.random() < 0.4
        seen = self.folder.call(agent="", message="", kind="outside")
        with seen if is_seen else contextlib.nullcontext():
            for _ in range(self.chance.randint(1, 3)):
                self.change()
        self.follow(before, self.folder.sets.pop().id if is_seen else "", is_outside=is_seen)

    def agent(self) -> None:
        if self.message == 0 or self.chance.random() < 0.4:
            self.message += 1
        agent = self.chance.choice(AGENTS)
        session = OTHER_SESSION if self.chance.random() < 0.1 else SESSION
        message = f"me_{self.message}" if session == SESSION else "me_other"
        before = look(self.folder.root)
        with self.folder.call(f"call_{self.number}", agent=agent, message=message, session=session):
            for _ in range(self.chance.randint(1, 4)):
                self.change()
        made = self.folder.sets[-1].id
        if session == SESSION and message not in self.first:
            self.first[message] = self.number + 1
            self.snapshots[message] = before
        self.follow(before, made, agent, message, session)

    def undo(self) -> None:
        if not self.folder.sets:
            return
        made = self.chance.choice(self.folder.sets)
        scope = self.chance.choice(
            [
                UndoScope(SESSION, call_id=made.call_id),
                UndoScope(SESSION, message_id=made.message_id),
                UndoScope(SESSION, agent_id=made.agent_id),
                UndoScope(SESSION, to_message=made.message_id),
                UndoScope(SESSION),
            ]
        )
        self.take_back(scope)

    def redo(self) -> None:
        if self.undos:
            self.tally.redos += 1
            newest = self.undos[-1] if self.chance.random() < 0.7 else None
            self.take_back(UndoScope(SESSION, set_id=newest or self.chance.choice(self.undos)))

    def take_back(self, scope: UndoScope) -> None:
        before = look(self.folder.root)
        times = _times(before)
        plan = self.folder.history.plan(scope)
        choices: dict[str, Choice] = {
            file.path: "merge" if file.can_merge else self.chance.choice(["keep", "restore"])
            for file in plan.files
            if file.prospect == "conflict" and self.chance.random() < 0.4
        }
        report = self.carry_out(scope, choices)
        after = look(self.folder.root)
        self.tally.undos += 1
        self.check(scope, before, after, report, choices)
        for path, time in _times(after).items():
            if path in times and before[path] == after[path] and times[path] != time:
                self.fault(f"{path!r} was touched by {scope}")
        self.follow(before, report.set_id, scope=scope, is_undo=True)
        if report.set_id:
            self.undos.append(report.set_id)
            if self.chance.random() < 0.5:
                self.there_and_back(report.set_id, before, after)

    def carry_out(self, scope: UndoScope, choices: dict[str, Choice]) -> UndoReport:
        meta = ChangeSet("", "undo", MAIN, ended=1e9)
        return self.folder.history.undo(scope, choices, meta)

    def there_and_back(
        self, set_id: str, before: dict[bytes, FileState], after: dict[bytes, FileState]
    ) -> None:
        """A redo right after an undo is exact, and so is the undo of that."""
        scope = UndoScope(SESSION, set_id=set_id)
        redone = self.carry_out(scope, {})
        if look(self.folder.root) != before:
            self.fault(
                f"the redo of {set_id} is not what was: {_differ(before, look(self.folder.root))}"
            )
        self.follow(after, redone.set_id, scope=scope, is_undo=True)
        now = look(self.folder.root)
        scope = UndoScope(SESSION, set_id=redone.set_id)
        again = self.carry_out(scope, {})
        if look(self.folder.root) != after:
            self.fault(
                f"the undo of a redo is not what was: {_differ(after, look(self.folder.root))}"
            )
        self.follow(now, again.set_id, scope=scope, is_undo=True)
        self.undos += [redone.set_id, again.set_id]

    # -- what is known, and what must hold

    def follow(
        self,
        before: dict[bytes, FileState],
        who: str,
        agent: str = "",
        message: str = "",
        session: str = SESSION,
        scope: UndoScope | None = None,
        *,
        is_undo: bool = False,
        is_outside: bool = False,
    ) -> None:
        self.number += 1
        after = look(self.folder.root)
        for path in before.keys() | after.keys():
            one, two = before.get(path, ABSENT), after.get(path, ABSENT)
            if one == two:
                continue
            undone = frozenset[str]()
            if is_undo and scope is not None:
                undone = frozenset(e.who for e in self.of(scope, path) if e.who)
            event = Event(one, two, self.number, who, agent, message, session, undone, is_outside)
            self.events.setdefault(path, []).append(event)

    def alive(self, path: bytes) -> list[Event]:
        """Return what happened to a path and is not taken back, nor took something back."""
        undone: set[str] = set()
        alive: list[Event] = []
        # Newest first: an undo that was undone takes nothing back any more.
        for event in reversed(self.events.get(path, [])):
            if event.who and event.who in undone:
                continue
            undone |= event.undone
            alive.insert(0, event)
        return alive

    def of(self, scope: UndoScope, path: bytes) -> list[Event]:
        """Return the events that a scope is about."""
        alive = self.alive(path)
        if scope.set_id:
            return [event for event in alive if event.who == scope.set_id]
        if scope.to_message:
            first = self.first_of(scope.to_message)
            events = self.events.get(path, [])
            return [e for e in events if e.number >= first and e.who and e.session == SESSION]
        return [
            event
            for event in alive
            if event.agent
            and event.session == SESSION
            and (not scope.message_id or event.message == scope.message_id)
            and (not scope.agent_id or event.agent == scope.agent_id)
            and (not scope.call_id or self.call_of(event.who) == scope.call_id)
        ]

    def call_of(self, who: str) -> str:
        return next(made.call_id for made in self.folder.sets if made.id == who)

    def first_of(self, message: str) -> int:
        return self.first.get(message, 10**9)

    def check(
        self,
        scope: UndoScope,
        before: dict[bytes, FileState],
        after: dict[bytes, FileState],
        report: UndoReport,
        choices: dict[str, Choice],
    ) -> None:
        self.tally.restored += len(report.restored)
        self.tally.kept += len(report.kept)
        self.tally.merged += len(report.merged)
        if report.lost:
            self.fault(f"lost: {report.lost}")
        for path in before.keys() | after.keys() | self.events.keys():
            now, then = before.get(path, ABSENT), after.get(path, ABSENT)
            events = self.of(scope, path)
            if not events:
                # A folder above what came back is made again, and only then.
                if now != then and (now, then.kind) != (ABSENT, "folder"):
                    self.fault(f"{path!r} is not of {scope}, and went from {now} to {then}")
                continue
            self.check_path(scope, path, now, then, events, chosen=bool(choices))
        if scope.to_message and not choices:
            self.check_snapshot(scope, after)

    def check_path(
        self,
        scope: UndoScope,
        path: bytes,
        now: FileState,
        then: FileState,
        events: list[Event],
        *,
        chosen: bool,
    ) -> None:
        target = events[0].before
        is_needed = then.kind == "folder" and now == ABSENT  # for what came back within
        if then not in (now, target) and not chosen and not is_needed:
            self.fault(f"{path!r} is neither what it was nor what it was to be: {then}")
        since = [e for e in self.alive(path) if e.number >= events[0].number]
        own = {event.who for event in events}
        foreign = [
            e for e in since if e.who not in own and not (e.undone and e.undone <= self.dead(path))
        ]
        is_folder = "folder" in {now.kind, target.kind, then.kind}
        if foreign and not chosen and not is_folder and then != now and target != now:
            touched = [e for e in foreign if not e.who or e.is_outside]
            # What came back to just what the agent left can't be told from it.
            is_edit = now != events[-1].after and touched and touched[-1].after == now
            if is_edit or any(e.agent for e in foreign):
                self.fault(f"{path!r}: what {foreign[-1]} left is gone by {scope}")
        states = [(e.before, e.after) for e in events]
        is_chain = all(one[1] == two[0] for one, two in itertools.pairwise(states))
        is_whole = is_chain and states[-1][1] == now and not foreign
        is_whole = is_whole and not any(e.is_outside for e in events)
        is_whole = is_whole and not is_folder and not self.is_obstructed(path)
        if is_whole and then != target:
            self.fault(f"{path!r} did not come back by {scope}: {then} instead of {target}")

    def dead(self, path: bytes) -> frozenset[str]:
        alive = {event.who for event in self.alive(path)}
        return frozenset(e.who for e in self.events.get(path, []) if e.who not in alive)

    def is_obstructed(self, path: bytes) -> bool:
        """Whether something was a folder on one of the path's ways, now or before."""

        def kinds(at: bytes) -> set[str]:
            return {state.kind for e in self.events.get(at, []) for state in (e.before, e.after)}

        above = path.rpartition(b"/")[0]
        while len(above) > len(self.root):
            if kinds(above) - {"folder", "absent"}:
                return True
            above = above.rpartition(b"/")[0]
        return "folder" in kinds(path)

    def check_snapshot(self, scope: UndoScope, after: dict[bytes, FileState]) -> None:
        """Where nobody else did anything since, going back to a message is exact."""
        first = self.first_of(scope.to_message or "")
        if first == 10**9:
            return
        since = [e for events in self.events.values() for e in events if e.number >= first]
        if all(e.who and e.session == SESSION and not e.is_outside for e in since):
            snapshot = self.snapshots[scope.to_message or ""]
            if snapshot != after:
                self.fault(f"not as before {scope.to_message}: {_differ(snapshot, after)}")

    def fault(self, words: str) -> None:
        self.tally.faults.append(f"seed {self.seed}, step {self.number}: {words}")

    # -- what anybody does to files

    def change(self) -> None:
        path = Path(os.fsdecode(self.root + b"/" + self.chance.choice(NAMES)))
        doing: list[Callable[[Path], None]] = [
            self.write,
            self.write,
            *[self.edit] * 6,
            self.chmod,
            self.delete,
            self.link,
            self.mkdir,
            self.move,
        ]
        try:
            self.chance.choice(doing)(path)
        except (FileNotFoundError, NotADirectoryError, FileExistsError, IsADirectoryError):
            return

    def write(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            if self.chance.random() < 0.8:
                return
            shutil.rmtree(path)
        if path.parent.is_file() or path.parent.is_symlink():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text("".join(f"{self.fresh()}\n" for _ in range(6)))
        path.chmod(self.chance.choice(MODES))

    def edit(self, path: Path) -> None:
        if path.is_file() and not path.is_symlink():
            lines = path.read_text().splitlines(keepends=True)
            lines.insert(self.chance.randint(0, len(lines)), f"{self.fresh()}\n")
            path.write_text("".join(lines))

    def chmod(self, path: Path) -> None:
        if path.exists() and not path.is_symlink():
            modes = [0o700, 0o755, 0o555] if path.is_dir() else MODES
            path.chmod(self.chance.choice(modes))

    def delete(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def link(self, path: Path) -> None:
        if not path.is_symlink() and not path.exists():
            path.symlink_to(f"nowhere-{self.fresh()}")

    def mkdir(self, path: Path) -> None:
        path.mkdir(parents=True)

    def move(self, path: Path) -> None:
        target = path.with_name(self.chance.choice(["a", "b", "m", "x"]))
        if path.exists() and not target.exists() and not target.is_symlink():
            path.rename(target)

    def fresh(self) -> int:
        self.written += 1
        return self.written


def _times(found: dict[bytes, FileState]) -> dict[bytes, int]:
    return {path: os.lstat(path).st_mtime_ns for path, s in found.items() if s.kind == "file"}


def _differ(one: dict[bytes, FileState], two: dict[bytes, FileState]) -> list[object]:
    return [
        (path, one.get(path), two.get(path))
        for path in sorted(one.keys() | two.keys())
        if one.get(path) != two.get(path)
    ]


def memory() -> str | None:
    """Return a folder in memory, where flushing takes no time, if there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def run_many(seeds: Iterator[int] | range, steps: int = 14) -> Tally:
    tally = Tally()
    for seed in seeds:
        with tempfile.TemporaryDirectory(dir=memory()) as place:
            history = RandomHistory(Path(place), seed, tally)
            try:
                history.run(steps)
            finally:
                history.close()
    return tally


if __name__ == "__main__":
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    result = run_many(range(start, start + int(sys.argv[1])))
    print(result)
    sys.exit(bool(result.faults))

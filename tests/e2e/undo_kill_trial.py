"""Kills the app while it undoes, redoes and runs commands that change files.

`python -m tests.e2e.undo_kill_trial 200` does it 200 times and prints what was found;
`python -m tests.e2e.undo_kill_trial 200 window` clicks in the window. Ctrl-C ends a series early.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.changes import ChangeSet, UndoScope
from desktop_agent.core.events import Event, FilesChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.file_history.history import History
from desktop_agent.headless.output import RunEnded
from tests.e2e.kill_trial import is_over
from tests.helpers.forked import app_by_fork
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Step

SESSION = SessionId("killed")
LINE = msgspec.json.Decoder(Event | RunEnded)
COUNT = 40
COMMAND = """for i in $(seq {count}); do
printf 'after {number} %s\\n' $i > new && mv new file-$i; printf x > made-{number}-$i; done"""


@dataclass
class Tally:
    """What a series of kills came to; `faults` says in words what must not have been."""

    kills: int = 0
    told: int = 0
    faults: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)


class Trial:
    """One session: rounds of a command, then undos and redos, each of which may be killed."""

    def __init__(self, place: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._folder = Path(os.path.realpath(place)) / "folder"
        self._data = place / "home" / "data"
        self._environment = {**os.environ, "DESKTOP_AGENT_HOME": str(place / "home")}
        self._environment["OPENAI_API_KEY"] = "sk-test-loopback"
        self._folder.mkdir(parents=True)
        for number in range(1, COUNT + 1):
            (self._folder / f"file-{number}").write_text(f"before {number}\n")
        self._number = 0
        self._records: dict[str, ChangeSet] = {}

    def run(self, kills: int) -> Tally:
        """Kill so many times; in the end all is taken back."""
        provider = LoopbackProvider("openai", otherwise=self._step)
        # A series that is ended early is looked at like one that was not.
        with provider, suppress(KeyboardInterrupt):
            while self.tally.kills < kills:
                self._round(provider, kills)
        self._check_end()
        return self.tally

    def _round(self, provider: LoopbackProvider, kills: int) -> None:
        self._number += 1
        before = self._texts()
        self._killed(self._run_command(provider), is_run=True)
        self._check_whole(before, self._goal(before))
        self._check_records()
        # A command that went to its end: there is something to take back for certain.
        self._number += 1
        self._finished(self._run_command(provider))
        after = self._texts()
        for _ in range(8):
            if self.tally.kills >= kills:
                return
            command = self._chance.choice(["undo", "redo"])
            now = self._texts()
            self._killed([sys.executable, "-m", "desktop_agent", command, SESSION])
            middle = self._texts()
            self._check_records()  # which finishes what was cut off
            settled = self._texts()
            self._check_between(now, middle, settled)
            self.tally.found["settled as after" if settled == after else "settled otherwise"] += 1

    # -- the model's side, on the server's thread

    def _step(self, request: Received) -> Step:
        if request.body["messages"][-1]["role"] == "tool":
            return [Say("Done.")]
        command = COMMAND.format(count=COUNT, number=self._number)
        return Calls(("shell", {"command": command}))

    # -- processes and their end

    def _run_command(self, provider: LoopbackProvider) -> list[str]:
        command = [*app_by_fork(), "run", "Go", "--output", "jsonl"]
        command += ["--workspace", str(self._folder), "--session", SESSION, "--mode", "free"]
        command += ["--sandbox", "off"]
        return [*command, "--model", provider.model, "--api-base", provider.api_base]

    def _finished(self, command: list[str]) -> None:
        done = subprocess.run(command, env=self._environment, capture_output=True, check=False)
        if done.returncode:
            self._fault(f"a run ended with {done.returncode}: {done.stdout[-300:]!r}")
        self._hear(done.stdout)

    def _killed(self, command: list[str], *, is_run: bool = False) -> None:
        process = subprocess.Popen(
            command,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        killer = threading.Thread(target=self._kill_later, args=(process, is_run))
        killer.start()
        with process, self._ending(process):
            assert process.stdout is not None
            printed = process.stdout.read()
        killer.join()
        self._hear(printed)
        if process.returncode < 0:
            self.tally.kills += 1
            self.tally.found[f"killed {command[3]}"] += 1
            logging.info("%s kills, %s faults", self.tally.kills, len(self.tally.faults))

    def _kill_later(
        self, process: subprocess.Popen[bytes], is_run: bool, over: threading.Event | None = None
    ) -> None:
        """Kill once the work has begun, a moment later; or when it is over, if that is told."""
        begun = self._folder / f"made-{self._number}-1" if is_run else self._data / "undo/undoing"
        pause = threading.Event()
        over = over or threading.Event()
        while not begun.exists() and process.poll() is None and not over.is_set():
            pause.wait(0.001)
        pause.wait(self._chance.random() * 0.12)
        if process.poll() is None:
            self._kill(process)

    @contextmanager
    def _ending(self, process: subprocess.Popen[bytes]) -> Generator[None]:
        """Kill it when the series is ended: it would not let go of the folder."""
        try:
            yield
        except KeyboardInterrupt:
            self._kill(process)
            raise

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the app, and every other time what it has started as well."""
        children = _below(process.pid)
        process.kill()
        for child in children if self._chance.random() < 0.5 else ():
            with suppress(ProcessLookupError):
                os.kill(child, 9)
        for child in children:
            is_over(child)

    def _hear(self, printed: bytes) -> None:
        for line in printed.splitlines(keepends=True):
            if not line.startswith(b"{") or not line.endswith(b"\n"):
                continue
            event = LINE.decode(line)
            if isinstance(event, FilesChanged):
                self.tally.told += 1
                self._records[event.changes.id] = event.changes

    # -- what must hold

    def _texts(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self._folder.iterdir() if path.is_file()}

    def _goal(self, before: dict[str, str]) -> dict[str, str]:
        numbers = range(1, COUNT + 1)
        made = {f"made-{self._number}-{number}": "x" for number in numbers}
        return before | made | {f"file-{n}": f"after {self._number} {n}\n" for n in numbers}

    def _check_whole(self, before: dict[str, str], goal: dict[str, str]) -> None:
        """What a command has replaced is whole; what it was writing is its own."""
        for name, text in self._texts().items():
            is_own = name == "new" or name.startswith("made-")
            if not is_own and text not in {before.get(name), goal.get(name)}:
                self._fault(f"{name} is half done: {text!r}")

    def _check_between(self, *states: dict[str, str]) -> None:
        """In the middle of an undo each file is as before it, or as after its end."""
        before, middle, after = states
        for name in before.keys() | middle.keys() | after.keys():
            texts = [state.get(name) for state in states]
            is_temporary = name.startswith(".") and name.endswith(".tmp")
            if is_temporary and texts[2] is not None:
                self._fault(f"{name} was left")
            if not is_temporary and texts[1] not in (texts[0], texts[2]):
                self._fault(f"{name} was half done: {texts}")

    def _check_records(self) -> None:
        """Every record that was told is there, and the databases are whole."""
        with closing(History(self._data / "undo")) as history:
            history.recover()
            sets = {one.id: one for one in history.changes(SESSION, str(self._folder)).sets}
        for known in self._records:
            if known not in sets:
                self._fault(f"the record {known} is lost")
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            if store.set_aside is not None:
                self._fault("the sessions file was damaged")
        if [one for one in (self._data / "undo").iterdir() if one.name.startswith("damaged")]:
            self._fault("the history was damaged")
        self._records.update(sets)

    def _check_end(self) -> None:
        """All that was recorded can be taken back; what is whole stays whole."""
        with closing(History(self._data / "undo")) as history:
            history.recover()
            scope = UndoScope(self._session())
            plan = history.plan(scope)
            choices = {one.path: "restore" for one in plan.files if one.prospect == "conflict"}
            agent = next(one.agent_id for one in history.changes(scope.session_id, "/").sets)
            history.undo(scope, choices, ChangeSet("", "undo", agent))  # type: ignore[arg-type]
        self.tally.found["all taken back"] += 1
        for number in range(1, COUNT + 1):
            text = (self._folder / f"file-{number}").read_text()
            if text != f"before {number}\n" and not text.startswith("after "):
                self._fault(f"file-{number} is {text!r} in the end")

    def _session(self) -> SessionId:
        return SESSION

    def _fault(self, words: str) -> None:
        self.tally.faults.append(words)


class WindowTrial(Trial):
    """The same in the window, where the changes of a message are taken back and put back."""

    def run(self, kills: int) -> Tally:
        """Kill so many times; in the end all is taken back."""
        before = self._texts()
        with LoopbackProvider("openai", otherwise=self._step) as provider:
            self._number = 1
            first = self._started(provider, "Go", str(self._folder))
            self._until(first, worked=partial(self._kill, first))
            after = self._texts()
            with suppress(KeyboardInterrupt):
                while self.tally.kills < kills and not self.tally.faults:
                    self._one(provider, before, after)
        self._check_end()
        return self.tally

    def _one(
        self, provider: LoopbackProvider, before: dict[str, str], after: dict[str, str]
    ) -> None:
        """Look at what the last kill left, click, and kill."""
        is_cut_off = self._is_cut_off()
        self.tally.found[f"cut off: {is_cut_off}"] += 1
        process = self._started(provider, is_cut_off="yes" if is_cut_off else "")
        over = threading.Event()
        killer = threading.Thread(target=self._kill_later, args=(process, False, over))

        def click() -> None:
            self.tally.told += is_cut_off
            texts = self._texts()
            self._check_between(texts, texts, texts)
            if texts not in (before, after):
                differ = [_differing(state, texts) for state in (before, after)]
                self._fault(f"not as before or after, but for {differ}")
            killer.start()
            assert process.stdin is not None
            process.stdin.write(b"go on\n")
            process.stdin.flush()

        self._until(process, settled=click, over=over.set)
        if process.returncode != -signal.SIGKILL:
            self._fault(f"the window ended with {process.returncode}")
            return
        killer.join()
        self.tally.kills += 1
        logging.info("%s kills, %s faults", self.tally.kills, len(self.tally.faults))
        self._check_between(before, self._texts(), after)

    def _started(
        self, provider: LoopbackProvider, note: str = "", folder: str = "", is_cut_off: str = ""
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.undo.window_undo", note, folder, provider.model]
        return subprocess.Popen(
            [*command, provider.api_base, is_cut_off],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )

    def _until(self, process: subprocess.Popen[bytes], **steps: Callable[[], None]) -> None:
        """Wait for the end of a process; do for each line that it prints what is to be done."""
        with process, self._ending(process):
            assert process.stdout is not None
            for line in process.stdout:
                steps[line.decode().strip()]()

    def _session(self) -> SessionId:
        with closing(sqlite3.connect(self._data / "undo/history.db")) as raw:
            return SessionId(raw.execute("SELECT session FROM change_set").fetchone()[0])

    def _is_cut_off(self) -> bool:
        """Whether an undo is recorded of which nobody has heard."""
        marker = self._data / "undo/undoing"
        if not marker.exists():
            return False
        with closing(sqlite3.connect(self._data / "undo/history.db")) as raw:
            known = raw.execute("SELECT 1 FROM change_set WHERE id = ?", (marker.read_text(),))
            return known.fetchone() is not None


def _differing(one: dict[str, str], two: dict[str, str]) -> list[tuple[str, object, object]]:
    """Return the first files that differ, with what is in them."""
    names = sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
    return [(name, one.get(name), two.get(name)) for name in names[:4]]


def _below(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def kill_many(place: Path, kills: int, seed: int, kind: type[Trial] = Trial) -> Tally:
    """Kill so many times."""
    return kind(place, seed).run(kills)


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    chosen = numbers[1] if len(numbers) > 1 else random.randrange(10**6)
    with tempfile.TemporaryDirectory() as directory:
        print(f"seed {chosen}", flush=True)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
        kind = WindowTrial if "window" in sys.argv[2:] else Trial
        result = kill_many(Path(directory), numbers[0], chosen, kind)
        print(result)
        sys.exit(bool(result.faults))

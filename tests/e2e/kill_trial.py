"""Kills the app at random moments of its work and looks at what the next start finds.

`python -m tests.e2e.kill_trial 100` does it 100 times and prints what was found;
`python -m tests.e2e.kill_trial 100 window` does it with the window.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import select
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE, compose
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import (
    AgentEnded,
    AgentsChanged,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    BranchStarted,
    CommandRefused,
    ContextCompacted,
    EngineFailed,
    Event,
    FilesChanged,
    ListChanged,
    MachineSandboxChanged,
    McpChanged,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    SandboxChanged,
    SessionOpened,
    SessionsChanged,
    SkillsChanged,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.messages import Message, open_calls
from desktop_agent.core.notes import is_written
from desktop_agent.headless.output import RunEnded
from tests.helpers.forked import app_by_fork
from tests.helpers.patience import HANG_S
from tests.helpers.providers import Calls, LoopbackProvider, Pace, Received, Say, Step, Think

SESSION = "killed"
LINE = msgspec.json.Decoder(Event | RunEnded)
# Not events of the session, or promised only within half a second.
PASSING = (
    AgentsChanged,
    CommandRefused,
    EngineFailed,
    ListChanged,
    MachineSandboxChanged,
    McpChanged,
    PartDelta,
    RunEnded,
    SandboxChanged,
    SessionOpened,
    SessionsChanged,
    SkillsChanged,
    ToolOutput,
)
PROMISED = (
    AgentEnded,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    BranchStarted,
    ContextCompacted,
    FilesChanged,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
MARK = """#!/bin/sh
echo "begin $1" >> marks
echo "working on $1"
sleep 0.05
echo "end $1" >> marks
"""


@dataclass
class Tally:
    """What a series of kills came to; `faults` says in words what must not have been."""

    kills: int = 0
    shown: int = 0
    steps: int = 0
    tools: int = 0
    unknown: int = 0
    faults: list[str] = field(default_factory=list)
    moments: Counter[str] = field(default_factory=Counter)


@dataclass
class Shown:
    """What one process had printed when it was killed."""

    events: list[Event]
    started: list[int]


class Trial:
    """One session, killed over and over."""

    def __init__(self, place: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._numbers = itertools.count(1)
        self._folder = place / "folder"
        self._data = place / "home" / "data"
        self._environment = {**os.environ, "DESKTOP_AGENT_HOME": str(place / "home")}
        self._notes: list[str] = []
        self._ended: dict[str, str] = {}
        self._last_request: Received | None = None
        self._session = SESSION
        self._folder.mkdir(parents=True)
        mark = self._folder / "mark"
        mark.write_text(MARK)
        mark.chmod(0o755)
        self._data.mkdir(parents=True)
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            store.save_rules([Rule("shell", "", scope="everywhere")])

    def run(self, kills: int) -> Tally:
        """Kill so many times; then let one run look at everything and answer."""
        with LoopbackProvider("openai", otherwise=self._step) as provider:
            for _ in range(kills):
                shown = self._killed(provider)
                self._check_kept(shown)
                self._check_restart(shown)
                self.tally.kills += 1
                logging.info("%s kills, %s faults", self.tally.kills, len(self.tally.faults))
            self._check_notes()
        self._check_marks()
        return self.tally

    # -- the model's side, on the server's thread

    def _step(self, request: Received) -> Step:
        self._check_wire(request)
        self._last_request = request
        self.tally.steps += 1
        number = next(self._numbers)

        def mark() -> tuple[str, dict[str, str]]:
            return ("shell", {"command": f"./mark {next(self._numbers)}"})

        match number % 6:
            case 0:
                return [Pace(120, 100, "word "), Calls(mark())]
            case 1:
                return Calls(("read", {"path": "mark"}), mark())
            case 2:
                text = {"path": f"new-{number}.txt", "content": "text\n"}
                return [Say("This will be asked."), Calls(("write", text), mark())]
            case 3:
                return Calls(("ask_user", {"question": f"Which one, {number}?"}))
            case 4:
                return [Think("Two of them."), Say("Two.", chunks=8), Calls(mark(), mark())]
            case _:
                return [Pace(10, 200, "word "), Calls(("glob", {"pattern": "*"}))]

    def _check_wire(self, request: Received) -> None:
        """Every call is answered right behind its message, once; nothing else is."""
        waiting: list[str] = []
        for message in request.body["messages"]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    self._fault(f"a result without a call was sent: {message}")
                    continue
                waiting.remove(message["tool_call_id"])
            elif waiting:
                self._fault(f"calls without a result were sent: {waiting}")
                waiting = []
            waiting += [call["id"] for call in message.get("tool_calls") or ()]
        if waiting:
            self._fault(f"calls without a result were sent last: {waiting}")

    # -- a process and its end

    def _killed(self, provider: LoopbackProvider) -> Shown:
        note = f"note-{len(self._notes)}-{self.tally.kills}-{self._chance.randrange(10**9)}"
        command = self._command(note, provider)
        wanted, late = self._moment()
        process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        lines: list[bytes] = []
        started: list[int] = []
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if len(lines) == wanted:
                    threading.Event().wait(late)
                    started = _started_by(process.pid)
                    # What it wrote since is still in the pipe, and is read too.
                    process.kill()
        if len(lines) < wanted:
            self._fault(f"the run ended by itself: {lines[-1:]}")
        return self._read(lines, started)

    def _moment(self) -> tuple[int, float]:
        """Return after how many lines to kill, and how many seconds later."""
        late = self._chance.choice([0.0, 0.0, self._chance.random() * 0.08])
        return self._chance.randint(1, 160), late

    def _command(self, note: str, provider: LoopbackProvider) -> list[str]:
        command = [*app_by_fork(), "run", note, "--output", "jsonl"]
        command += ["--workspace", str(self._folder), "--session", SESSION, "--mode", "ask"]
        return [*command, "--model", provider.model, "--api-base", provider.api_base]

    def _read(self, lines: list[bytes], started: list[int]) -> Shown:
        events: list[Event] = []
        for line in lines:
            if not line.endswith(b"\n"):
                continue
            event = LINE.decode(line)
            if isinstance(event, NoteQueued) and is_written(event.note):
                self._notes.append(event.note.text)
            if isinstance(event, ToolEnded):
                self._ended[event.result.call_id] = event.result.text
            if not isinstance(event, RunEnded):
                events.append(event)
        return Shown(events, started)

    # -- what must hold

    def _check_kept(self, shown: Shown) -> None:
        """Everything that had been printed is on disk, once."""
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            if store.set_aside is not None:
                self._fault("the sessions file was damaged")
            kept = self._kept(store)
        counts = Counter(msgspec.json.encode(event) for event in kept)
        for event in shown.events:
            if isinstance(event, PROMISED):
                self.tally.shown += 1
                times = counts[msgspec.json.encode(event)]
                if times != 1:
                    self._fault(f"{times} times on disk: {event}")
            elif not isinstance(event, PASSING) and not counts[msgspec.json.encode(event)]:
                self._fault(f"not on disk: {event}")
        self._note_moment(shown.events)

    def _note_moment(self, events: list[Event]) -> None:
        happened = [e for e in events if not isinstance(e, AgentsChanged | SessionsChanged)]
        self.tally.moments[type(happened[-1]).__name__ if happened else "nothing"] += 1

    def _check_restart(self, shown: Shown) -> None:
        """The next start closes what was open, and starts nothing."""
        heard: list[Event] = []
        before = self._happenings()
        asyncio.run(self._start_and_close(heard))
        after = self._happenings()
        if after[: len(before)] != before:
            self._fault("the start changed what was on disk")
        added = after[len(before) :]
        begun = {e.call.id for e in before if isinstance(e, ToolStarted)}
        ended = {e.result.call_id for e in before if isinstance(e, ToolEnded)}
        unknown = [e.result.call_id for e in added if isinstance(e, ToolEnded)]
        if any(e.outcome != "unknown" for e in added if isinstance(e, ToolEnded)):
            self._fault("a tool that had no end got another outcome than unknown")
        if not begun - ended <= set(unknown) or ended & set(unknown):
            self._fault(f"unknown are {unknown}, should be {begun - ended}")
        if any(isinstance(e, ToolStarted | TurnStarted) for e in (*added, *heard)):
            self._fault("something was started by itself")
        self.tally.unknown += len(unknown)
        self._check_history(self._history())
        if not all(map(is_over, shown.started)):
            self._fault("a process of the app outlived it")

    async def _start_and_close(self, heard: list[Event]) -> None:
        home = self._data.parent
        backend = await compose(
            heard.append, data_dir=self._data, config_dir=home / "config", is_warmed=False
        )
        await backend.close()

    def _happenings(self) -> tuple[Event, ...]:
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            return self._kept(store)

    def _kept(self, store: SqliteStore) -> tuple[Event, ...]:
        """Return what is on disk: nothing when the kill came before the session was saved."""
        if not store.sessions():
            return ()
        return store.page(self._session, None, 10**6).events  # type: ignore[arg-type]

    def _history(self) -> tuple[Message, ...]:
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            agents = store.load_agents(self._session) if store.sessions() else ()  # type: ignore[arg-type]
        return agents[0].history if agents else ()

    def _check_history(self, history: tuple[Message, ...]) -> None:
        if open_calls(history):
            self._fault(f"open calls: {open_calls(history)}")
        ids = Counter(message.id for message in history)
        results = Counter(result.call_id for message in history for result in message.results)
        notes = Counter(note for message in history for note in message.note_ids)
        for counts in (ids, results, notes):
            doubled = [one for one, times in counts.items() if times != 1]
            if doubled:
                self._fault(f"doubled in the history: {doubled}")
        texts = {r.call_id: r.text for message in history for r in message.results}
        for call_id, text in self._ended.items():
            if texts.get(call_id) != text:
                self._fault(f"the result of {call_id} is not the one that was shown")

    def _check_notes(self) -> None:
        """Each note that was shown as sent stands once in what the model was sent at last."""
        if self._last_request is None:
            return
        said = "\n".join(self._last_request.user_texts)
        sent = [note for note in self._notes if note in said]
        for note in sent:
            if said.count(note) != 1:
                self._fault(f"{note} was sent {said.count(note)} times")
        kept = "\n".join(self._waiting_and_said())
        for note in self._notes:
            if kept.count(note) != 1:
                self._fault(f"{note} is kept {kept.count(note)} times")

    def _waiting_and_said(self) -> Iterator[str]:
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            for agent in store.load_agents(self._session):  # type: ignore[arg-type]
                yield from (note.text for note in (*agent.inbox, *agent.unconfirmed))
                for message in agent.history:
                    # A note that waits again has left its message.
                    waits = {note.id for note in (*agent.inbox, *agent.unconfirmed)}
                    if message.role == "user" and not waits & set(message.note_ids):
                        yield message.text

    def _check_marks(self) -> None:
        path = self._folder / "marks"
        lines = path.read_text().splitlines() if path.exists() else []
        self.tally.tools = len([line for line in lines if line.startswith("begin")])
        doubled = [line for line, times in Counter(lines).items() if times != 1]
        if doubled:
            self._fault(f"commands ran twice: {doubled}")

    def _fault(self, words: str) -> None:
        self.tally.faults.append(words)
        logging.info("fault: %s", words)


class WindowTrial(Trial):
    """The same with the real window, which opens its last session by itself."""

    def _command(self, note: str, provider: LoopbackProvider) -> list[str]:
        folder = "" if self._happenings() else str(self._folder)
        command = [sys.executable, "-m", "tests.e2e.window_run", note, folder]
        return [*command, provider.model, provider.api_base]

    def _happenings(self) -> tuple[Event, ...]:
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            sessions = store.sessions()
        if sessions:
            self._session = sessions[0].id
        return super()._happenings()

    def _check_kept(self, shown: Shown) -> None:
        self._happenings()  # the first kill has made the session
        super()._check_kept(shown)


def _started_by(pid: int) -> list[int]:
    """Return the processes that a process has started, and that those have."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = children.get(pid, [])
    for one in found:
        found += children.get(one, [])
    return found


def is_over(pid: int) -> bool:
    """Wait for the end of a process that is nobody's child here."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], HANG_S)[0])
    finally:
        os.close(descriptor)


def kill_many(
    place: Path, kills: int, seed: int, lanes: int = 2, kind: type[Trial] = Trial
) -> Tally:
    """Kill so many times in all, in several sessions at once: a start is mostly waiting."""
    shares = [kills // lanes + (lane < kills % lanes) for lane in range(lanes)]
    trials = [kind(place / f"lane-{lane}", seed + lane) for lane in range(lanes)]
    with ThreadPoolExecutor(lanes) as pool:
        tallies = list(pool.map(kind.run, trials, shares))
    whole = Tally()
    for tally in tallies:
        whole.kills += tally.kills
        whole.shown += tally.shown
        whole.steps += tally.steps
        whole.tools += tally.tools
        whole.unknown += tally.unknown
        whole.faults += tally.faults
        whole.moments += tally.moments
    return whole


if __name__ == "__main__":
    seed = random.randrange(10**6)
    with tempfile.TemporaryDirectory() as directory:
        print(f"seed {seed}", flush=True)
        # Connections that end in the middle are what this is about.
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
        kind = WindowTrial if "window" in sys.argv[2:] else Trial
        result = kill_many(Path(directory), int(sys.argv[1]), seed, lanes=4, kind=kind)
        print(result)
        sys.exit(bool(result.faults))

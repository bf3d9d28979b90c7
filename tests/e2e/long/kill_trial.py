"""Kills the engine over long work: subagents, approvals, compactions, branches, an MCP server.

`python -m tests.e2e.long.kill_trial 300` does it 300 times and prints what was found.
"""

from __future__ import annotations

import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec

from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE, compose
from desktop_agent.core.events import (
    BranchStarted,
    ContextCompacted,
    EngineFailed,
    Event,
    ListChanged,
    MessageAdded,
    NoteQueued,
    SessionOpened,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import Message, open_calls
from desktop_agent.engine.base.ports import AgentRecord
from tests.e2e.kill_trial import SESSION, Shown, Tally, Trial, kill_many
from tests.helpers.forked import FORKS
from tests.helpers.providers import Calls, Counts, Fail, LoopbackProvider, Pace, Received, Say, Step

WINDOW = 24_000
SERVER = Path(__file__).parents[2] / "mcp" / "servers" / "plain.py"
CHILD = "CHILD: look at the file big.txt and report."
_CHANGED = ("was put aside to make room", "are left out, as the whole")


class LongTrial(Trial):
    """One session, with all that makes it long."""

    def __init__(self, place: Path, seed: int) -> None:
        super().__init__(place, seed)
        (self._folder / "big.txt").write_text("A gull was seen at the lighthouse.\n" * 400)
        config = self._data.parent / "config"
        config.mkdir()
        server = {"command": sys.executable, "args": [str(SERVER)]}
        (config / "mcp.json").write_bytes(msgspec.json.encode({"mcpServers": {"plain": server}}))
        self._lists: dict[str, ListChanged] = {}

    # -- the model's side, on the server's thread

    def _step(self, request: Received) -> Step:
        tokens = request.size // 4
        if tokens > WINDOW:
            words = f"This model's maximum context length is {WINDOW} tokens."
            return Fail(400, message=f"{words} Your messages resulted in {tokens} tokens.")
        counted = Counts(tokens, 0, 20)
        if request.system.startswith("You write down"):
            return [Say("Some marks were made, and the file was read."), counted]
        self._check_wire(request)
        self.tally.steps += 1
        number = next(self._numbers)
        is_child = any(CHILD in text for text in request.user_texts[:1])
        if not is_child:
            self._check_said("\n".join(request.user_texts))
        act = self._act_of_child(number) if is_child else self._act(number, request.tool_names)
        return [act, counted]

    def _check_said(self, said: str) -> None:
        for note, times in Counter(one for one in self._notes if one in said).items():
            # What was sent again on another branch has the same words.
            if said.count(note) != 1:
                self._fault(f"{note} was sent {said.count(note)} times ({times} notes)")

    def _act_of_child(self, number: int) -> Say | Calls:
        match number % 4:
            case 0:
                return Calls(("read", {"path": "big.txt"}))
            case 1:
                return Calls(("shell", {"command": f"./mark {next(self._numbers)}"}))
            case 2:
                return Calls(("ask_parent", {"question": f"Which one, {number}?"}))
            case _:
                return Say(f"Report {number}.")

    def _act(self, number: int, tools: tuple[str, ...]) -> Say | Calls | Pace:
        mark = ("shell", {"command": f"./mark {number}"})
        read = ("read", {"path": "big.txt"})
        echo = next((name for name in tools if name.endswith("__echo")), "read")
        acts = (
            Pace(60, 200, "word "),
            Calls(read, mark),
            Calls(("write", {"path": f"new-{number}.txt", "content": "text\n"})),
            Calls(("spawn", {"description": f"Look {number}", "prompt": CHILD})),
            Calls((echo, {"text": f"echo {number}"}), mark),
            Calls(("TaskCreate", {"subject": f"Task {number}"}), read),
            Calls(("wait", {"timeout_s": 2})),
            Calls(("ask_user", {"question": f"Which one, {number}?"})),
            Calls(read, (echo, {"text": f"echo {number}"})),
            Say(f"Answer {number}."),
        )
        return acts[number % len(acts)]

    # -- a process and its end

    def _moment(self) -> tuple[int, float]:
        late = self._chance.choice([0.0, 0.0, self._chance.random() * 0.08])
        return self._chance.randint(1, 400), late

    def _command(self, note: str, provider: LoopbackProvider) -> list[str]:
        command = [sys.executable, "-m", "tests.e2e.long.engine_run", note, str(self._folder)]
        command += [provider.model, provider.api_base, str(self._chance.randrange(10**6))]
        return [*command, *filter(None, [FORKS.hosts_address()])]

    def _read(self, lines: list[bytes], started: list[int]) -> Shown:
        shown = super()._read(lines, started)
        for event in shown.events:
            if isinstance(event, ListChanged):
                self._lists[event.agent_id] = event
        return shown

    # -- what must hold

    def _kept(self, store: SqliteStore) -> tuple[Event, ...]:
        """Return what is on disk, of all branches."""
        infos = store.sessions()
        if not infos:
            return ()
        with SessionReader(self._data / SESSIONS_FILE) as reader:
            return tuple(row.event for row in reader.rows(infos[0]))

    async def _start_and_close(self, heard: list[Event]) -> None:
        home = self._data.parent
        backend = await compose(
            heard.append, data_dir=self._data, config_dir=home / "config", is_warmed=False
        )
        try:
            if backend.store.sessions():
                backend.engine.open_session(SessionId(SESSION))
                if not any(isinstance(event, SessionOpened) for event in heard):
                    self._fault("the session does not open")
        finally:
            await backend.close()
        if failed := [event for event in heard if isinstance(event, EngineFailed)]:
            self._fault(f"failed at the start: {failed}")

    def _check_history(self, history: tuple[Message, ...]) -> None:
        """Look at all agents, and at the task lists."""
        with closing(SqliteStore(self._data / SESSIONS_FILE)) as store:
            if not store.sessions():
                return
            for record in store.load_agents(SessionId(SESSION)):
                self._check_record(record)
            states = store.task_states(SessionId(SESSION))
        for agent_id, shown in self._lists.items():
            kept = states.get(shown.agent_id)
            if kept is None or kept.revision < shown.revision:
                self._fault(f"the task list {agent_id} was at {shown.revision}, is {kept}")

    def _check_record(self, record: AgentRecord) -> None:
        if open_calls(record.history):
            self._fault(f"open calls: {open_calls(record.history)}")
        history = record.history
        ids = Counter(message.id for message in history)
        results = Counter(result.call_id for message in history for result in message.results)
        notes = Counter(note for message in history for note in message.note_ids)
        waiting = Counter(note.id for note in record.inbox)
        for counts in (ids, results, notes, waiting):
            if doubled := [one for one, times in counts.items() if times != 1]:
                self._fault(f"doubled in the history of {record.agent_id}: {doubled}")
        if both := notes & waiting:
            again = {note.id for note in record.unconfirmed}
            self._fault(f"read, and waiting: {both} of {record.agent_id}, unconfirmed {again}")
        for result in (result for message in history for result in message.results):
            told = self._ended.get(result.call_id, result.text)
            if result.text != told and not any(words in result.text for words in _CHANGED):
                self._fault(f"the result of {result.call_id} is not the one that was shown")

    def _check_notes(self) -> None:
        """On each branch, each note that was sent waits, or was read, or was given back."""
        copy = self._data.parent / "copy.db"
        with SessionReader(self._data / SESSIONS_FILE) as reader:
            if not reader.sessions():
                return
            events = list(self._all(reader))
            heads = [branch.number for branch in reader.frame(reader.sessions()[0]).branches]
        queued = {e.note.text for e in events if isinstance(e, NoteQueued)}
        for note in self._notes:
            if note not in queued:
                self._fault(f"{note} is lost")
        self.tally.moments["on disk: branches"] += len(heads)
        for kind in (BranchStarted, ContextCompacted):
            count = sum(isinstance(event, kind) for event in events)
            self.tally.moments[f"on disk: {kind.__name__}"] += count
        shutil.copy(self._data / SESSIONS_FILE, copy)
        with closing(SqliteStore(copy)) as store:
            for head in heads:
                store.switch_branch(SessionId(SESSION), head)
                self._check_branch(store)

    def _all(self, reader: SessionReader) -> list[Event]:
        return [row.event for row in reader.rows(reader.sessions()[0])]

    def _check_branch(self, store: SqliteStore) -> None:
        info = store.sessions()[0]
        events = store.page(info.id, None, 10**6, info.main_agent).events
        records = store.load_agents(info.id)
        for record in records:
            self._check_record(record)
        main = next(one for one in records if one.agent_id == info.main_agent)
        found = {note.id for note in (*main.inbox, *main.unconfirmed)}
        for event in events:
            if isinstance(event, MessageAdded):
                found.update(event.message.note_ids)
        sent = [event.note.id for event in events if isinstance(event, NoteQueued)]
        returned = {getattr(event, "note_id", "") for event in events}
        if lost := set(sent) - found - returned:
            self._fault(f"notes that nobody reads: {lost}")


def kill_long(place: Path, kills: int, seed: int, lanes: int = 2) -> Tally:
    """Kill so many times in all."""
    return kill_many(place, kills, seed, lanes, LongTrial)


if __name__ == "__main__":
    seed = random.randrange(10**6)
    with tempfile.TemporaryDirectory() as directory:
        print(f"seed {seed}", flush=True)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
        logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
        result = kill_long(Path(directory), int(sys.argv[1]), seed)
        print(result)
        sys.exit(bool(result.faults))

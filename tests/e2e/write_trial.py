"""Refuses the n-th write of a whole demo run and looks at what the person is left with.

`python -m tests.e2e.write_trial` refuses every write, one run each, in every way there is, and
prints what was found; `python -m tests.e2e.write_trial 10` every tenth.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import logging
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from desktop_agent import paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.agents import ENDED, AgentInfo
from desktop_agent.core.approvals import AllowAlways, AllowOnce, ApprovalRequest, Deny
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentsChanged,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    CommandRefused,
    EngineFailed,
    Event,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    PartDelta,
    QuestionAnswered,
    QuestionAsked,
    RetryScheduled,
    SessionOpened,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_note_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.core.requests import ModelRequest, StreamItem
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.engine import Engine, Environment
from desktop_agent.model_host.demo import model, script
from desktop_agent.tools.builtin import builtin_tools
from desktop_agent.tools.shell.jobs import Jobs
from tests.helpers.engines import questions_of, tree_of
from tests.helpers.patience import HANG_S

SESSION = SessionId("se_1")
DATABASE = "sessions.db"
# What SQLite says, its number, and the statement that says it.
KINDS = {
    "full": ("database or disk is full", sqlite3.SQLITE_FULL, "COMMIT"),
    "read-only": ("attempt to write a readonly database", sqlite3.SQLITE_READONLY, "BEGIN"),
    "broken": ("disk I/O error", sqlite3.SQLITE_IOERR, "COMMIT"),
}
# How the disk refuses, and what the person does then: frees it and goes on at once or when all
# is at rest, closes the app and starts it again, or loses the power.
End = Literal["once", "freed", "closed", "killed"]
ENDS: tuple[End, ...] = ("once", "freed", "closed", "killed")
FIRST, NOTE, ASIDE = "Look around", "Please include next-year, too", "Be brief"
LAST = "ask me something"
# A transcript's ornaments, which nobody was promised.
PASSING = (MessageStarted, RetryScheduled, StepEnded)


class Disk:
    """Counts writes and refuses the `first`-th, or all from there on until it is freed."""

    def __init__(self, first: int = 0, kind: str = "full", *, is_lasting: bool = False) -> None:
        self.writes = 0
        self.is_armed = self.is_well = False
        self._first = first
        self._kind = kind
        self._is_lasting = is_lasting

    @property
    def refuses(self) -> bool:
        """Whether the write that has begun is refused."""
        if self.is_well or not self._first or not self.is_armed:
            return False
        return self.writes >= self._first if self._is_lasting else self.writes == self._first

    def look(self, statement: str, _: object = ()) -> None:
        """Raise what SQLite would."""
        if statement.startswith("BEGIN") and self.is_armed:
            self.writes += 1
        words, number, where = KINDS[self._kind]
        if statement.startswith(where) and self.refuses:
            error = sqlite3.OperationalError(words)
            error.sqlite_errorcode = number
            raise error

    @contextlib.contextmanager
    def connections(self) -> Generator[None]:
        """Let every database that is opened in the block be on this disk."""
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
                disk.look(sql, *args)
                return super().execute(sql, *args)

        plain = sqlite3.connect
        sqlite3.connect = functools.partial(plain, factory=Connection)  # type: ignore[assignment]
        try:
            yield
        finally:
            sqlite3.connect = plain


class DemoModel:
    """The demo's script, in this process and without its pauses; refuses what no provider takes."""

    def __init__(self, faults: list[str]) -> None:
        self._faults = faults
        self.seen: set[str] = set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        self._faults += [f"unsendable: {why}" for why in unsendable(request.messages)]
        self.seen |= {note for message in request.messages for note in message.note_ids}
        async for item in model.stream(request):
            yield item
            await asyncio.sleep(0)


def unsendable(messages: Sequence[Message]) -> Iterator[str]:
    """Say what a provider would refuse of a history."""
    if not messages or messages[-1].role == "assistant" or not messages[-1].parts:
        yield "it has nothing to answer"
    for before, after in itertools.pairwise((*messages, None)):
        calls = [call.id for call in before.tool_calls] if before is not None else []
        results = [result.call_id for result in after.results] if after is not None else []
        if sorted(calls) != sorted(results):
            yield f"calls {calls} are followed by results {results}"
    if messages and messages[0].results:
        yield "it begins with results"
    for what in ([m.id for m in messages], [n for m in messages for n in m.note_ids]):
        yield from (f"{one} is there twice" for one, count in Counter(what).items() if count > 1)


@dataclass
class Case:
    """One run."""

    first: int
    kind: str
    end: End

    def __str__(self) -> str:
        return f"write {self.first}, {self.kind}, {self.end}"


@dataclass
class Tally:
    """What a series of runs came to; every fault says in words what must not have been."""

    runs: int = 0
    writes: int = 0
    refused: int = 0
    told: int = 0
    faults: list[str] = field(default_factory=list)

    def count(self, word: str) -> int:
        """Return how many faults are of a sort."""
        return sum(f": {word}" in fault for fault in self.faults)


class Complaints(logging.Handler):
    """Collects every traceback that the log would hold."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__()
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._faults.append(f"traceback: {record.getMessage()}: {record.exc_info[1]!r}")


class Trial:
    """One run from the first message to the last answer, whatever the disk does."""

    def __init__(self, place: Path, case: Case) -> None:
        self.faults: list[str] = []
        self.told: list[Event] = []
        self.disk = Disk(case.first, case.kind, is_lasting=case.end != "once")
        self.case = case
        self.model = DemoModel(self.faults)
        self.was_restarted = False
        self.refused = 0
        self._place = place
        self._folder = place / "garden"
        self._homes = (place / f"home-{number}" for number in itertools.count(1))
        self._home = next(self._homes)
        self._engine: Engine
        self._store: SqliteStore
        self._main = AgentId("")
        self._agents: tuple[AgentInfo, ...] = ()
        self._heard = asyncio.Event()
        self._asks: dict[str, ApprovalRequest | Question] = {}
        self._notes_left = {"tool": NOTE, "child": ASIDE}
        self._sent: list[str] = []
        shutil.copytree(paths.resource("demo"), self._folder)

    async def run(self) -> None:
        """Play the whole story; then look at what is on disk."""
        asyncio.get_running_loop().set_exception_handler(self._on_loop_error)
        self._home.mkdir()
        self._open()
        self.disk.is_armed = True
        await self._until(self._is_opened, self._begin)
        for words in (FIRST, LAST):
            await self._say(words)
        self.disk.is_well = True
        await self._engine.close()
        self._store.close()
        self.faults += lost(self)

    @property
    def path(self) -> Path:
        """Where the sessions are."""
        return self._home / DATABASE

    @property
    def sent(self) -> list[str]:
        """What the person said and was not given back."""
        return self._sent

    @property
    def main(self) -> AgentId:
        """The main agent."""
        return self._main

    # -- the app ---------------------------------------------------------------------------

    def _open(self) -> None:
        with self.disk.connections():
            self._store = SqliteStore(self.path)
        self._engine = Engine(
            model=self.model,
            store=self._store,
            tools=builtin_tools(),
            settings=Settings(),
            emit=self._hear,
            spill_dir=self._place / "outputs",
            environment=Environment(new_jobs=Jobs),
        )
        self._engine.start()

    def _begin(self) -> None:
        workspace = Workspace(str(self._folder))
        self._engine.new_session(SESSION, workspace, model="demo", mode="ask")

    def _is_opened(self) -> bool:
        return bool(self._main)

    async def _restart(self) -> None:
        """Close the app, or pull its plug, on the disk that refuses; then free it."""
        home = self._home
        if self.case.end == "killed":
            home = next(self._homes)
            home.mkdir()
            for file in self._home.glob(f"{DATABASE}*"):
                shutil.copy(file, home)
        seen = len(self.told)
        await self._engine.close()
        self._store.close()
        if self.case.end == "killed":
            del self.told[seen:]  # nobody saw the end
        self._home, self.was_restarted = home, True
        self._asks.clear()
        self._open()  # on the disk that still refuses
        self.disk.is_well = True
        self._engine.open_session(SESSION)

    # -- the person ------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        self.told.append(event)
        match event:
            case AgentsChanged():
                self._agents = event.over(self._agents)
            case SessionOpened(info=info):
                self._main, self._agents = info.main_agent, event.agents
            case ApprovalRequested(request=request):
                self._asks[request.id] = request
                self._soon(self._settle, request)
            case QuestionAsked(question=question):
                self._asks[question.id] = question
                if not question.is_for_parent:
                    self._soon(self._settle, question)
            case ApprovalResolved(request_id=settled) | QuestionAnswered(question_id=settled):
                self._asks.pop(settled, None)
            case EngineFailed() | CommandRefused():
                self._on_failure(event)
            case ToolStarted(agent_id=agent_id) if agent_id == self._main:
                self._soon(self._note, "tool", agent_id)
            case AgentSpawned(agent_id=agent_id):
                self._soon(self._note, "child", agent_id)
            case _:
                pass
        self._heard.set()

    def _soon(self, act: Callable[..., None], *args: Any) -> None:
        asyncio.get_running_loop().call_soon(act, *args)

    def _settle(self, ask: ApprovalRequest | Question) -> None:
        if ask.id not in self._asks:
            return
        if isinstance(ask, Question):
            self._engine.answer(ask.id, "list files")
        else:
            rule = AllowAlways(ask.rules[0]) if ask.rules else AllowOnce()
            self._engine.decide(ask.id, rule)

    def _note(self, when: str, agent_id: AgentId) -> None:
        text = self._notes_left.pop(when, "")
        if text:
            self._send(agent_id, text)

    def _send(self, agent_id: AgentId, text: str) -> bool:
        note = Note(new_note_id(), text)
        self._engine.send(agent_id, note)
        told = [e.note.id for e in self.told if isinstance(e, NoteQueued)]
        gives_back = [e for e in self.told if isinstance(e, CommandRefused) and e.command == "send"]
        if note.id in told:
            self._sent.append(text)
        elif not gives_back or gives_back[-1].agent_id != agent_id:
            self.faults.append(f"lost: {text!r} is neither queued nor given back")
        return note.id in told

    def _on_failure(self, event: EngineFailed | CommandRefused) -> None:
        self.refused += 1
        if any(word in event.message for word in ("Error", "Traceback", "sqlite")):
            self.faults.append(f"words: {event.message}")
        if isinstance(event, CommandRefused) and event.command in {"decide", "answer"}:
            # Nothing goes on before the person has freed the disk.
            self._soon(self._free_and_settle)

    def _free_and_settle(self) -> None:
        self.disk.is_well = True
        for ask in list(self._asks.values()):
            self._settle(ask)

    async def _say(self, text: str) -> None:
        """Say something, and see to it that it is answered."""
        act: Callable[[], Any] = lambda: self._send(self._main, text)  # noqa: E731
        is_said = False
        while True:
            before = len(self._sent)
            await self._until_rest(act)
            is_said = is_said or text in self._sent[before:]
            if self.disk.refuses or (self.disk.writes >= self.case.first and self._can_restart):
                if self._can_restart:
                    await self._restart()
                self.disk.is_well = True
            if is_said and not self._is_cut_off():
                if not self._asks:
                    return
                act = self._free_and_settle  # a subagent asks, and its parent does not answer
                continue
            act = self._go_on if is_said else functools.partial(self._send, self._main, text)

    def _go_on(self) -> None:
        """Press the button of the card, or resume what a restart holds."""
        self._engine.resume(self._main)

    @property
    def _can_restart(self) -> bool:
        is_time = bool(self.case.first) and self.case.end in ("closed", "killed")
        return is_time and not self.was_restarted and not self.disk.is_well

    def _is_cut_off(self) -> bool:
        """Whether the person sees that something did not come to its end."""
        turns = [e for e in self.told if isinstance(e, TurnEnded) and e.agent_id == self._main]
        opened = [e for e in self.told if isinstance(e, SessionOpened)][-1]
        if self.told.index(opened) > (self.told.index(turns[-1]) if turns else -1):
            turns = [e for e in opened.events if isinstance(e, TurnEnded)]
        waits = any(agent.waiting_notes for agent in self._agents)
        held = any(a.status == "paused" for a in self._agents)
        return not turns or turns[-1].reason != "finished" or waits or held

    # -- waiting ---------------------------------------------------------------------------

    async def _until(self, holds: Callable[[], bool], act: Callable[[], Any]) -> None:
        act()
        while not holds():
            self.disk.is_well = True
            self._heard.clear()
            act()
            await asyncio.sleep(0)

    async def _until_rest(self, act: Callable[[], Any]) -> None:
        """Act, and wait until nothing will happen by itself."""
        act()
        while not await self._rests():
            self._heard.clear()
            await self._heard.wait()

    async def _rests(self) -> bool:
        """Whether the person is to act: nobody works, but for who waits for another's answer."""
        for _ in range(20):
            await asyncio.sleep(0)
            if any(one.is_running and not self._waits(one.id) for one in self._live()):
                return False
        states = {agent.status for agent in self._agents}
        return states <= {"idle", "paused", "waiting_children", "waiting_answer", *ENDED}

    def _live(self) -> list[Agent]:
        return tree_of(self._engine).all()

    def _waits(self, agent_id: AgentId) -> bool:
        """Whether a subagent waits for the answer of another."""
        return bool(questions_of(self._engine).to_parent_of(agent_id))

    def _on_loop_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.faults.append(f"traceback: {context.get('message')} {context.get('exception')!r}")


def lost(trial: Trial) -> Iterator[str]:
    """Say what was told and is not on disk; the disk was well at the end."""
    with closing(SqliteStore(trial.path)) as store:
        events = store.page(SESSION, None, 1_000_000).events
        records = {record.agent_id: record for record in store.load_agents(SESSION)}
        lists = store.task_states(SESSION)
        status = next(info.status for info in store.sessions() if info.id == SESSION)
    stored = set(map(_written, events))
    for event in trial.told:
        if is_promised(event, trial) and _written(event) not in stored:
            yield f"lost: {event!r:.300}"
    history = records[trial.main].history
    yield from (f"unsendable at the end: {why}" for why in unsendable((*history, _NEXT)))
    for record in records.values():
        yield from (f"lost: {one.text!r} was never read" for one in record.inbox)
        unread = [n for m in record.history for n in m.note_ids if n not in trial.model.seen]
        yield from (f"lost: {note} was never sent" for note in unread)
    said = "\n".join(m.text for r in records.values() for m in r.history if m.role == "user")
    returned = {e.note_id for e in events if isinstance(e, NoteReturned)}
    came_back = {e.note.text for e in events if isinstance(e, NoteQueued) if e.note.id in returned}
    for words in trial.sent:
        if words not in came_back and said.count(words) < 1:
            yield f"lost: the words {words!r}"
    yield from _lost_texts(trial, records[trial.main].history)
    if status != "idle":
        yield f"hang: the session is left {status}"
    for agent_id, state in lists.items():
        told = [e for e in trial.told if type(e).__name__ == "ListChanged"]
        newest = max((e.revision for e in told if e.agent_id == agent_id), default=0)  # type: ignore[union-attr]
        if state.revision < newest:
            yield f"lost: a task list at {state.revision} of {newest}"


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AgentEvent)
# What the person might say next.
_NEXT = Message(MessageId("me_next"), "user", (TextPart("And then?"),))


def _written(event: Event) -> bytes:
    """Return an event as it reads once it was on disk: whole numbers may be fractions there.

    What an agent ended with counts, not when: a restart may have had to write it anew.
    """
    if isinstance(event, AgentEnded):
        event = msgspec.structs.replace(event, at=0.0, paused=0.0)
    return _encoder.encode(_decoder.decode(_encoder.encode(event)))


def _lost_texts(trial: Trial, history: Sequence[Message]) -> Iterator[str]:
    if trial.was_restarted:  # half a second of it may be gone, and is no more in a run as quick
        return
    texts = {str(message.id): message.text for message in history}
    shown: dict[str, str] = {}
    for event in trial.told:
        if isinstance(event, PartDelta) and event.kind == "text" and event.agent_id == trial.main:
            shown[event.message_id] = shown.get(event.message_id, "") + event.text
    for message_id, text in shown.items():
        if not texts.get(message_id, "").startswith(text.rstrip()):
            yield f"lost: the streamed text {text[:60]!r}"


def is_promised(event: Event, trial: Trial) -> bool:  # noqa: PLR0911 - one for each sort
    """Whether an event that was told has to be on disk as it was told."""
    if not isinstance(event, AgentEvent) or isinstance(event, PASSING):
        return False
    match event:
        case ToolEnded(outcome=outcome):
            return outcome in ("ok", "failed", "denied") or not trial.was_restarted
        case ApprovalResolved(decision=Deny(by="withdrawn")) | QuestionAnswered(by="withdrawn"):
            return not trial.was_restarted
        case MessageAdded(message=message, is_partial=is_partial):
            return not trial.was_restarted or not (is_partial or message.role == "tool")
        case AgentEnded(status=status):
            return not trial.was_restarted or status == "completed"
        case NoteQueued(note=note):
            return not trial.was_restarted or note.kind not in ("report", "notice")
        case TurnEnded() | NoteReturned():
            return not trial.was_restarted
        case (
            ApprovalRequested()
            | NoteDelivered()
            | NoteTaken()
            | QuestionAsked()
            | StepStarted()
            | ToolStarted()
            | TurnStarted()
            | AgentSpawned()
            | ApprovalResolved()
            | QuestionAnswered()
        ):
            return True
        case _:
            return False


async def play(place: Path, case: Case, limit_s: float | None) -> Trial:
    """Play one run; one that does not end within the limit is a fault."""
    trial = Trial(place, case)
    log = Complaints(trial.faults)
    logging.getLogger().addHandler(log)
    try:
        async with asyncio.timeout(limit_s):
            await trial.run()
    except TimeoutError:
        trial.faults.append("hang: it never came to its end")
    finally:
        logging.getLogger().removeHandler(log)
    return trial


def play_all(cases: Sequence[Case], limit_s: float | None = None) -> Tally:
    """Play so many runs, each in a folder of its own."""
    tally = Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{script.__name__}._QUICK", 0.002)
        patch.setattr(f"{model.__name__}._PAUSE_S", 0.0)
        for case in cases:
            with tempfile.TemporaryDirectory() as place:
                trial = asyncio.run(play(Path(place), case, limit_s))
            tally.runs += 1
            tally.writes = max(tally.writes, trial.disk.writes)
            tally.refused += trial.disk.writes >= case.first > 0
            tally.told += len(trial.told)
            tally.faults += [f"{case}: {fault}" for fault in trial.faults]
    return tally


def cases_of(writes: int, every: int = 1) -> list[Case]:
    """Return a case for every so many writes of a run, of each kind and with each end.

    Each kind and end begins at another write, so that together they come to many moments.
    """
    ways = list(itertools.product(KINDS, ENDS))
    return [
        Case(first, kind, end)
        for number, (kind, end) in enumerate(ways)
        for first in range(1 + number * every // len(ways), writes + 1, every)
    ]


def main() -> int:
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    plain = play_all([Case(0, "full", "once")], HANG_S)
    sys.stdout.write(f"a run has {plain.writes} writes; {plain.faults}\n")
    total = 0
    every_case = cases_of(plain.writes, every)
    for kind, end in itertools.product(KINDS, ENDS):
        tally = play_all([c for c in every_case if (c.kind, c.end) == (kind, end)], HANG_S)
        total += len(tally.faults)
        sys.stdout.write(
            f"{kind} {end}: {tally.runs} runs, {tally.refused} refused, {tally.told} told,"
            f" {tally.count('lost')} lost, {tally.count('hang')} hangs,"
            f" {tally.count('unsendable')} unsendable, {len(tally.faults)} faults\n"
        )
        sys.stdout.writelines(f"  {fault}\n" for fault in tally.faults[:20])
        sys.stdout.flush()
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())

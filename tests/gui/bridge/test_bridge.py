"""The crossing between window and engine: nothing lost, nothing reordered, nobody blocked."""

import asyncio
import threading

import msgspec
import pytest
from PySide6.QtCore import QThread

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import (
    AgentsChanged,
    EngineFailed,
    ListChanged,
    NoteQueued,
    PartDelta,
    SessionOpened,
    SessionsChanged,
)
from desktop_agent.core.ids import AgentId, MessageId, NoteId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.bridge.backend import BridgeClosed
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.bridge.engine_thread import newest_snapshots
from tests.helpers.patience import HANG_S

AGENT = AgentId("ag_1")


def delta(text):
    return PartDelta(AGENT, MessageId("me_1"), "text", text)


class SmallEngine:
    """Just enough of an engine to be called; it runs on the real engine thread."""

    def __init__(self, emit):
        self.emit = emit
        self.thread = threading.get_ident()
        self.forever = asyncio.Event()
        self.was_asked = threading.Event()
        self.was_cancelled = threading.Event()

    def say(self, *texts):
        assert threading.get_ident() == self.thread
        for text in texts:
            self.emit(delta(text))

    def break_down(self):
        raise RuntimeError("the disk is gone")

    async def double(self, number):
        await asyncio.sleep(0)
        return number * 2

    async def refuse(self):
        raise ValueError("no such thing")

    async def wait(self):
        self.was_asked.set()
        try:
            await self.forever.wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise


class SmallBackend:
    def __init__(self, emit):
        self.engine = SmallEngine(emit)
        self.closed_on = 0

    async def close(self):
        self.closed_on = threading.get_ident()


@pytest.fixture
def started(qapp):
    bridges = []

    def start(compose=None):
        bridge = Bridge()
        bridge.backends = []

        async def build(emit):
            bridge.backends.append(SmallBackend(emit))
            return bridge.backends[-1]

        bridge.batches = []
        bridge.received.connect(bridge.batches.append)
        bridge.start(compose or build)
        bridges.append(bridge)
        return bridge

    yield start
    for bridge in bridges:
        assert bridge.close(HANG_S)


def texts(bridge):
    return [event.text for batch in bridge.batches for event in batch]


def test_ten_thousand_events_arrive_in_order_and_in_few_batches(started, qtbot):
    bridge = started()
    bridge.engine.say(*(str(number) for number in range(10_000)))
    qtbot.waitState(bridge.received, lambda: len(texts(bridge)) == 10_000)
    assert texts(bridge) == [str(number) for number in range(10_000)]
    assert len(bridge.batches) < 40


def test_a_command_sent_before_the_engine_is_there_is_not_lost(started, qtbot):
    gate = threading.Event()

    async def slow(emit):
        await asyncio.get_running_loop().run_in_executor(None, gate.wait)
        return SmallBackend(emit)

    bridge = started(slow)
    bridge.engine.say("early")
    gate.set()
    bridge.engine.say("later")
    qtbot.waitState(bridge.received, lambda: len(texts(bridge)) == 2)
    assert texts(bridge) == ["early", "later"]


def test_events_arrive_on_the_window_thread_even_for_a_plain_function(started, qtbot):
    bridge = started()
    threads = []
    bridge.received.connect(lambda _: threads.append(QThread.currentThread().isMainThread()))
    bridge.engine.say("hello")
    qtbot.waitState(bridge.received, lambda: bool(threads))
    assert threads == [True]


def test_a_command_that_fails_is_shown_and_the_engine_goes_on(started, qtbot, caplog):
    bridge = started()
    bridge.engine.break_down()
    bridge.engine.say("still here")
    qtbot.waitState(bridge.received, lambda: sum(map(len, bridge.batches)) == 2)
    failed, said = (event for batch in bridge.batches for event in batch)
    assert isinstance(failed, EngineFailed)
    assert "the disk is gone" in failed.message
    assert said.text == "still here"


def test_a_backend_that_can_not_start_says_so(started, qtbot, caplog):
    async def broken(emit):
        raise OSError("no room left")

    bridge = started(broken)
    qtbot.waitState(bridge.received, lambda: bool(bridge.batches))
    (event,) = bridge.batches[0]
    assert event.where == "start"
    assert "no room left" in event.message


def test_a_question_to_a_backend_that_can_not_start_is_refused(started, run_on_window, caplog):
    async def broken(emit):
        raise OSError("no room left")

    bridge = started(broken)
    for _ in range(2):
        with pytest.raises(BridgeClosed):
            run_on_window(bridge.queries.double(1))


def test_a_question_is_answered_on_the_windows_loop(started, run_on_window):
    bridge = started()
    assert run_on_window(bridge.queries.double(21)) == 42


def test_a_question_that_fails_raises_where_it_was_asked(started, run_on_window):
    bridge = started()
    with pytest.raises(ValueError, match="no such thing"):
        run_on_window(bridge.queries.refuse())


def test_a_question_nobody_waits_for_any_more_is_withdrawn(started, run_on_window):
    bridge = started()

    async def give_up():
        job = asyncio.ensure_future(bridge.queries.wait())
        await bridge.queries.double(1)
        while not bridge.backends[0].engine.was_asked.is_set():
            await bridge.queries.double(1)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    run_on_window(give_up())
    assert bridge.backends[0].engine.was_cancelled.wait(HANG_S)


def test_closing_ends_the_thread_and_later_commands_do_no_harm(qapp, run_on_window):
    bridge = Bridge()
    made = []

    async def build(emit):
        made.append(SmallBackend(emit))
        return made[0]

    bridge.start(build)
    assert run_on_window(bridge.queries.double(2)) == 4
    assert bridge.close(HANG_S)
    assert made[0].closed_on == made[0].engine.thread
    bridge.engine.say("too late")
    with pytest.raises(BridgeClosed):
        run_on_window(bridge.queries.double(2))


def test_only_the_newest_snapshot_of_a_batch_is_kept_and_no_happening_is_dropped():
    old, new = SessionsChanged(()), SessionsChanged(())
    here = AgentsChanged(SessionId("se_1"), ())
    there = AgentsChanged(SessionId("se_2"), ())
    kept = newest_snapshots([old, delta("a"), here, there, delta("b"), new, here])
    assert [type(event).__name__ for event in kept] == [
        "PartDelta",
        "AgentsChanged",
        "PartDelta",
        "SessionsChanged",
        "AgentsChanged",
    ]
    assert kept[1] is there
    assert kept[3] is new


def test_rows_from_before_a_session_is_opened_again_do_not_undo_what_it_opens_with():
    session = SessionInfo(SessionId("se_1"), AGENT, "One", Workspace("/w"), "m")
    running = AgentInfo(AgentId("sa_1"), session.id, "a", status="running")
    done = msgspec.structs.replace(running, status="completed")
    other = AgentInfo(AgentId("sa_2"), session.id, "b")
    batch = [
        AgentsChanged(session.id, (running,), is_whole=False),
        SessionOpened(session, (done, other)),
        AgentsChanged(session.id, (other,), is_whole=False),
    ]
    known = ()
    for event in newest_snapshots(batch):
        known = event.over(known) if isinstance(event, AgentsChanged) else event.agents
    assert {row.id: row.status for row in known}["sa_1"] == "completed"


def test_of_many_changes_of_a_task_list_the_window_gets_the_newest_of_each_agent():
    mine = [ListChanged(AGENT, revision, ()) for revision in range(1, 40)]
    other = ListChanged(AgentId("ag_2"), 7, ())
    edits = [NoteQueued(AGENT, Note(NoteId("n"), text, kind="task_edit")) for text in "abc"]
    said = [NoteQueued(AGENT, Note(NoteId(text), text)) for text in "xy"]
    batch = [other, *mine, *edits, *said]
    assert newest_snapshots(batch) == (other, mine[-1], edits[-1], *said)

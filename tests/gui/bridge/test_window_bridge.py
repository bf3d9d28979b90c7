"""A window's own line: what another window has for writing is not changed, and that is said."""

import asyncio

import pytest
from PySide6.QtCore import QObject, Signal

from desktop_agent.core.changes import UndoError, UndoScope
from desktop_agent.core.events import CommandRefused
from desktop_agent.core.ids import NoteId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.bridge.window_bridge import ReadOnly, WindowBridge

MINE, THEIRS = SessionId("se_mine"), SessionId("se_theirs")


class Heard:
    """Writes down what is asked of it."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.calls.append((name, *args))


class Answering(Heard):
    def __getattr__(self, name):
        async def answer(*args):
            self.calls.append((name, *args))
            return name

        return answer


class Crossing(QObject):
    """What crosses to the engine, one side of it."""

    received = Signal(object)

    def __init__(self):
        super().__init__()
        self.engine, self.queries, self.changes = Heard(), Answering(), Answering()
        self.settings = self.skills = self.keys = self.catalog = self.files = self.updates = None
        self.places = None


@pytest.fixture
def crossing(qapp):
    return Crossing()


@pytest.fixture
def line(crossing):
    return WindowBridge(crossing, lambda name, args: args[0], lambda one: one == THEIRS, crossing)


def test_a_command_about_what_another_window_has_is_refused_in_this_window_alone(
    crossing, line, qtbot
):
    elsewhere = []
    crossing.received.connect(elsewhere.append)
    line.engine.rename_session(MINE, "Mine")
    note = Note(NoteId("no_1"), "Hello")
    with qtbot.waitSignal(line.received) as told:
        line.engine.send(THEIRS, note)
        # Whoever sent it goes on first: only then does the text come back to the box.
        assert not told.signal_triggered
    (refused,) = told.args[0]
    assert isinstance(refused, CommandRefused)
    assert (refused.command, refused.about) == ("send", "no_1")
    assert crossing.engine.calls == [("rename_session", MINE, "Mine")]
    assert not elsewhere


def test_what_the_engine_tells_comes_through(crossing, line, qtbot):
    with qtbot.waitSignal(line.received) as told:
        crossing.received.emit(("event",))
    assert told.args == [("event",)]


def test_no_undo_and_no_paid_question_goes_out_for_what_another_window_has(
    crossing, line, run_on_window
):
    async def ask():
        with pytest.raises(UndoError):
            await line.changes.undo(UndoScope(THEIRS), {})
        with pytest.raises(UndoError):
            await line.changes.plan_undo(UndoScope(THEIRS))
        with pytest.raises(UndoError):
            await line.changes.apply_result(THEIRS, "re_1", {})
        with pytest.raises(UndoError):
            await line.changes.apply_fitting(THEIRS)
        assert await line.changes.judged_results(THEIRS) == "judged_results"
        with pytest.raises(ReadOnly):
            await line.queries.ask_aside(THEIRS, "Why?")
        assert await line.changes.patch(THEIRS) == "patch"
        assert await line.changes.undo(UndoScope(MINE), {}) == "undo"

    run_on_window(ask())
    assert not crossing.queries.calls


def test_a_window_that_was_closed_is_given_no_answer_of_what_is_asked_then(line):
    queries, answered = Queries(line), []

    async def close() -> None:
        queries.ask(answered.append, line.queries.complete_path(MINE, "a"))
        await queries.drain()
        queries.ask(answered.append, line.queries.complete_path(MINE, "b"))
        await queries.drain()

    asyncio.run(close())
    assert answered == []

"""The process that keeps the history dies, or the app does: calls go on, nothing is half done."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.changes import ChangeSet, UndoError, UndoScope
from desktop_agent.core.events import EngineFailed, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.pipes.file_capture import (
    CallBegun,
    Captured,
    HistoryCalled,
    HistoryRefused,
)
from desktop_agent.core.pipes.frames import FrameBuffer, frame
from desktop_agent.file_history import lock
from desktop_agent.file_history.history import History
from desktop_agent.file_history.process import Server
from desktop_agent.file_history.restore import Restore
from desktop_agent.file_history.schema import NAME
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import calls, says
from tests.undo.test_undo_of_work import contents, opened, shell, write
from tests.undo.undo_rig import UndoRig


async def test_a_death_of_the_process_fails_no_call_and_is_said_once(tmp_path: Path) -> None:
    history = ProcessHistory(tmp_path / "data" / "undo")
    rig = UndoRig(
        tmp_path,
        [
            calls(shell("cat gate; echo end > end")),
            says("one"),
            calls(write("later.txt", "later\n")), says("two"),
        ],
        history=history,
    )  # fmt: skip
    os.mkfifo(rig.folder / "gate")
    rig.send("first")
    gate = await opened(rig.folder / "gate")
    assert history.pid is not None
    os.kill(history.pid, signal.SIGKILL)
    with contextlib.suppress(UndoError):  # unless it is known by now that the process is gone
        await history.usage()
    os.close(gate)
    assert (await rig.until(TurnEnded)).reason == "finished"
    assert contents(rig)["end"] == b"end\n"
    told = [event.message for event in rig.of(EngineFailed)]
    await rig.run("second")
    assert len(told) == 1
    assert "lost" in told[0]
    assert len(rig.of(EngineFailed)) == len(told)
    await rig.undo(message_id=rig.user_messages[1])
    assert "later.txt" not in contents(rig)
    await rig.engine.close()


async def _worked(tmp_path: Path, folder: Path) -> UndoRig:
    """Have an agent write one file; the app has ended since, and its history is in the folder."""
    history = ProcessHistory(folder)
    rig = UndoRig(tmp_path, [calls(write("a.txt", "a\n")), says("one")], history=history)
    await rig.run("first")
    await rig.engine.close()
    return rig


async def test_a_history_that_is_found_damaged_begins_anew_with_the_next_start(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data" / "undo"
    rig = await _worked(tmp_path, folder)
    # Where it opens well, and fails later on.
    database = folder / NAME
    with contextlib.closing(sqlite3.connect(database)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        find = "SELECT rootpage FROM sqlite_master WHERE name = 'change'"
        page = connection.execute(find).fetchone()[0]
    content = bytearray(database.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    database.write_bytes(content)
    history = ProcessHistory(folder)
    with pytest.raises(UndoError, match="Restart the app"):
        await history.changes(rig.session_id, rig.workspace.root)
    await history.close()
    history = ProcessHistory(folder)
    assert (await history.changes(rig.session_id, rig.workspace.root)).files == ()
    await history.close()
    history = ProcessHistory(folder)
    await history.usage()
    await history.close()
    assert len(list(folder.glob(f"damaged-*-{NAME}"))) == 1


async def test_how_far_the_first_look_is_can_be_asked_and_it_can_be_stopped(
    tmp_path: Path,
) -> None:
    rig = UndoRig(tmp_path, [calls(shell("echo b > b.txt")), says("one")])
    (rig.folder / "a.txt").write_text("a")
    await rig.run("first")
    look = await rig.engine.first_look(rig.session_id)
    assert (look.held, look.found, look.is_going) == (2, 2, False)
    assert await rig.engine.stop_first_look(rig.session_id) == look
    await rig.engine.close()


async def test_an_undo_that_is_finished_after_a_crash_is_told_like_any_other(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data" / "undo"
    rig = await _worked(tmp_path, folder)
    _begin_undo(folder, rig.scope())
    (folder / "undoing").touch()
    assert (rig.folder / "a.txt").exists()
    second = UndoRig(tmp_path, [], history=ProcessHistory(folder), store=rig.store)
    await second.once(lambda: second.of(EngineFailed))
    assert not (rig.folder / "a.txt").exists()
    (undo,) = [one for one in second.sets if one.kind == "undo"]
    assert [file.path for file in undo.files] == ["a.txt"]
    changes = await second.engine.session_changes(rig.session_id)
    assert changes.sets[-1] == undo
    assert "put back" in second.of(EngineFailed)[0].message
    await second.engine.close()


async def test_an_undo_that_outlives_a_killed_app_is_told_at_the_next_start(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data" / "undo"
    rig = UndoRig(
        tmp_path, [calls(write("a.txt", "a\n")), says("one")], history=ProcessHistory(folder)
    )
    await rig.run("first")
    await rig.engine.close()
    # The process goes on when the app is killed, and nobody hears of what it did.
    history = History(folder)
    history.undo(rig.scope(), {}, ChangeSet("cs_1", "undo", rig.agent_id, ended=1e9))
    history.close()
    (folder / "undoing").write_text("cs_1")
    second = UndoRig(tmp_path, [], history=ProcessHistory(folder), store=rig.store)
    await second.once(lambda: second.of(EngineFailed))
    (undo,) = [one for one in second.sets if one.kind == "undo"]
    assert (undo.id, [file.path for file in undo.files]) == ("cs_1", ["a.txt"])
    assert "1 file was put back" in second.of(EngineFailed)[0].message
    await second.engine.close()
    assert not ProcessHistory(folder).is_unfinished


def _begin_undo(folder: Path, scope: UndoScope) -> None:
    """Leave an undo as it is when it is killed right after it was written down."""
    history = History(folder)
    restore, Restore.run = Restore.run, _killed
    try:
        with pytest.raises(KeyboardInterrupt):
            history.undo(scope, {}, ChangeSet("ch_1", "undo", AgentId("ag_1"), ended=1e9))
    finally:
        Restore.run = restore
        history.close()


def _killed(_: Restore) -> set[bytes]:
    raise KeyboardInterrupt


async def test_what_a_crash_cut_off_is_finished_at_the_next_start(tmp_path: Path) -> None:
    history = ProcessHistory(tmp_path / "data" / "undo")
    rig = UndoRig(tmp_path, [calls(write("a.txt", "a\n")), says("one")], history=history)
    await rig.run("first")
    await rig.undo(message_id=rig.user_messages[0])
    assert not history.is_unfinished
    await rig.engine.close()
    (tmp_path / "data" / "undo" / "undoing").touch()  # as a killed app leaves it
    again = ProcessHistory(tmp_path / "data" / "undo")
    assert again.is_unfinished
    second = UndoRig(tmp_path, [], history=again, store=rig.store)
    await second.engine.close()
    assert not again.is_unfinished
    assert not second.of(EngineFailed)


def test_only_the_first_request_waits_for_another_copy_of_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=waited.append)
    monkeypatch.setattr(lock, "time", clock)
    with contextlib.closing(History(tmp_path)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for number in range(3):
                ours.sendall(frame(HistoryCalled(number, "usage", {})))
            ours.shutdown(socket.SHUT_WR)
            Server(theirs, tmp_path).run()
            answers = FrameBuffer().feed(ours.recv(1 << 16))
    told = [msgspec.msgpack.decode(one, type=HistoryRefused).message for one in answers]
    assert len(told) == 3
    assert all("another copy of the app" in one for one in told)
    assert 0 < sum(waited) < 11


async def test_an_undo_of_which_no_trace_can_be_left_is_refused_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "undo"
    rig = await _worked(tmp_path, folder)
    rig = UndoRig(tmp_path, [], history=ProcessHistory(folder), store=rig.store)
    (folder / "undoing").mkdir()  # stands for a disk without room
    with pytest.raises(UndoError, match="Nothing was changed"):
        await rig.engine.undo(rig.scope(), {})
    assert (rig.folder / "a.txt").exists()
    await rig.engine.close()


class SlowHistory(ProcessHistory):
    """Answers that a call has begun when the gate is open."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.has_begun, self.gate, self.has_ended = (asyncio.Event() for _ in range(3))

    async def begin(self, begun: CallBegun) -> Captured:
        captured = await super().begin(begun)
        self.has_begun.set()
        await self.gate.wait()
        return captured

    async def end(self, set_id: str, *, is_done: bool = True) -> Captured:
        captured = await super().end(set_id, is_done=is_done)
        self.has_ended.set()
        return captured


async def test_a_command_that_is_stopped_before_it_ran_holds_up_no_undo(tmp_path: Path) -> None:
    history = SlowHistory(tmp_path / "data" / "undo")
    script = [calls(write("a.txt", "a\n")), says("one"), calls(shell("echo b > b.txt"))]
    rig = UndoRig(tmp_path, script, history=history)
    history.gate.set()
    await rig.run("first")
    history.gate.clear()
    history.has_begun.clear()
    history.has_ended.clear()
    rig.send("second")
    await asyncio.wait_for(history.has_begun.wait(), HANG_S)
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded, 2)
    history.gate.set()
    await asyncio.wait_for(history.has_ended.wait(), HANG_S)
    await rig.undo(message_id=rig.user_messages[0])
    assert not (rig.folder / "a.txt").exists()
    await rig.engine.close()

"""The process that keeps the history dies, or the app does: calls go on, nothing is half done."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.changes import UndoError
from desktop_agent.core.events import EngineFailed, TurnEnded
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

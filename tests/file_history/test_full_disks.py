"""A disk that fills up in the middle of an undo: what is told is what is there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.core.changes import ChangeSet, UndoReport
from desktop_agent.core.ids import AgentId
from desktop_agent.file_history.history import History, HistoryFull
from desktop_agent.file_history.index import Index
from desktop_agent.file_history.schema import FULL_DISK
from desktop_agent.file_history.service import Service
from tests.file_history.folders import PLENTY, Folder, look


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


def _full(*_: Any, **__: Any) -> None:
    raise HistoryFull(FULL_DISK)


def test_a_file_stays_where_there_is_no_room_for_the_folder_in_its_place(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("kind/in.txt", "in\n")
    with folder.call("call_1"):
        (folder.root / "kind" / "in.txt").unlink()
        (folder.root / "kind").rmdir()
        folder.write("kind", "a file\n")
    now = look(folder.root)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", full)
        report = folder.undo(call_id="call_1")
    assert report.problem
    assert look(folder.root) == now
    folder.undo(call_id="call_1")
    assert folder.text("kind/in.txt") == "in\n"
    assert [one.name for one in folder.root.iterdir()] == ["kind"]


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_undo_that_could_not_be_saved_is_not_done_again_over_what_was_done_since(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    folder.write("a.txt", "old\n")
    folder.write("b.txt", "old\n")
    with folder.call("call_1"):
        folder.write("a.txt", "new\n")
    with folder.call("call_2"):
        folder.write("b.txt", "new\n")
    with monkeypatch.context() as patch:
        patch.setattr(Index, "follow", _full)
        folder.undo(call_id="call_1")
    assert folder.text("a.txt") == "old\n"
    with folder.call("call_3"):
        folder.write("a.txt", "new\n")
    if is_closed:
        folder.close()
        folder.history = History(folder.root.parent / "undo", PLENTY)
        assert not folder.history.recover()
    else:
        folder.undo(call_id="call_2")
    assert folder.text("a.txt") == "new\n"


def test_an_undo_after_which_nothing_can_be_kept_is_told_as_done(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.txt", "old\n")
    with folder.call("call_1"):
        folder.write("a.txt", "new\n")
    folder.close()
    service = Service(folder.root.parent / "undo")
    monkeypatch.setattr(service.capture, "after_undo", _full)
    meta = msgspec.to_builtins(ChangeSet("ch_1", "undo", AgentId("ag_1"), ended=1e9))
    scope = {"session_id": "se_1", "call_id": "call_1"}
    given = {"scope": scope, "choices": {}, "meta": meta, "plan": None, "root": str(folder.root)}
    report: UndoReport = service.answer("undo", given)
    assert [one.path for one in report.restored] == ["a.txt"]
    assert folder.text("a.txt") == "old\n"
    service.close()
    folder.history = History(folder.root.parent / "undo", PLENTY)

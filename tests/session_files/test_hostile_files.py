"""A file that somebody else wrote: what is wrong with it is said, and nothing of it is kept."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import AgentEnded, AgentSpawned, BudgetChanged
from desktop_agent.core.ids import new_session_id
from desktop_agent.core.sessions import KEPT_DELETED_S, SessionFileError
from desktop_agent.session_files import json_import
from tests.adapters.store.turns import info
from tests.session_files.sessions import FOLDER, exported, rich, taken_in

SPEC = {
    "type": "AgentSpec", "parent_id": "ag_0000000000000001", "name": "Evil", "prompt": "x",
    "depth": 1, "workspace": {"type": "Workspace", "root": "/", "writable": ["/"]}, "mode": "free",
}  # fmt: skip
MAIN = "ag_0000000000000001"


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    return json.loads(exported(rich(tmp_path / "sessions.db")))


def add(file: dict[str, Any], event: dict[str, Any]) -> None:
    last = file["events"][-1]
    file["events"].append({"seq": last["seq"] + 1, "branch": 0, "at": 1.0, "event": event})


def _said(message_id: str) -> dict[str, Any]:
    message = {"type": "Message", "id": message_id, "role": "user", "parts": []}
    return {"type": "MessageAdded", "agent_id": MAIN, "message": message}


def _nested(depth: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for _ in range(depth):
        arguments = {"a": arguments}
    call = {"type": "ToolCall", "id": "c", "name": "x", "arguments": arguments}
    return {"type": "ToolStarted", "agent_id": MAIN, "call": call}


def _wrongs() -> dict[str, Any]:
    def tasks(file: dict[str, Any], *given: dict[str, Any]) -> None:
        made = [{"type": "Task", "subject": "x", **one} for one in given]
        state = {"type": "TaskState", "tasks": made, "next_id": 9, "revision": 1}
        file["task_lists"] = {MAIN: state}

    return {
        "another format": lambda file: file.update(format="x"),
        "a newer version": lambda file: file.update(version=2),
        "no id": lambda file: file.update(main_agent="main"),
        "a number beyond all": lambda file: file["events"][0].update(at=1e300),
        "events out of order": lambda file: file["events"][1].update(seq=1),
        "a branch of nothing": lambda file: file["branches"][1].update(parent=7),
        "a branch of itself": lambda file: file["branches"][1].update(parent=1),
        "two last branches": lambda file: file["branches"][1].update(used=0),
        "an event of a branch that is not there": lambda f: f["events"][0].update(branch=9),
        "an event of nobody": lambda file: add(
            file, {"type": "TurnStarted", "agent_id": "ag_00000000000000ff"}
        ),
        "a message under another's name": lambda file: add(file, _said("mine")),
        "a subagent of itself": lambda file: add(
            file,
            {
                "type": "AgentSpawned",
                "agent_id": "sa_000000ff",
                "spec": {**SPEC, "parent_id": "sa_000000ff"},
            },
        ),
        "an end of who never ends": lambda file: add(
            file, {"type": "AgentEnded", "agent_id": MAIN, "status": "completed", "text": ""}
        ),
        "a task list among the events": lambda file: add(
            file, {"type": "ListChanged", "agent_id": MAIN, "revision": 1, "tasks": []}
        ),
        "what no app knows": lambda file: add(file, {"type": "Format", "agent_id": MAIN}),
        "arguments without a bottom": lambda file: add(file, _nested(100)),
        "two tasks of one number": lambda file: tasks(file, {"id": 1}, {"id": 1}),
        "a task that blocks itself": lambda file: tasks(
            file, {"id": 1, "blocked_by": [2]}, {"id": 2, "blocked_by": [1]}
        ),
        "a number that no database holds": lambda file: tasks(file, {"id": 1 << 62}),
    }


@pytest.mark.parametrize("name", list(_wrongs()))
def test_a_file_with_something_wrong_in_it_is_refused(
    tmp_path: Path, good: dict[str, Any], name: str
) -> None:
    bad = deepcopy(good)
    _wrongs()[name](bad)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(bad), "utf-8")
    with pytest.raises(SessionFileError):
        json_import.read(file, FOLDER)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "\ud800".encode("utf-8", "surrogatepass"), "[" * 100_000, "{}"]
)
def test_what_is_no_exported_session_is_said(tmp_path: Path, text: str | bytes) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SessionFileError, match="no session that Desktop Agent has exported"):
        json_import.read(file, FOLDER)


def test_a_folder_a_pipe_and_what_is_not_there_are_no_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "nothing.json"):
        with pytest.raises(SessionFileError):
            json_import.read(path, FOLDER)


def test_no_right_and_no_path_of_the_file_is_taken_over(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    add(good, {"type": "AgentSpawned", "agent_id": "sa_000000ff", "spec": SPEC})
    unlimited = {"type": "Budget"}
    add(good, {"type": "BudgetChanged", "agent_id": MAIN, "budget": unlimited})
    file = tmp_path / "evil.json"
    file.write_text(json.dumps(good), "utf-8")
    found = json_import.read(file, FOLDER)
    events = [row.event for row in found.rows()]
    spawned = [one for one in events if isinstance(one, AgentSpawned)]
    assert {one.spec.workspace for one in spawned} == {FOLDER}
    assert not any(isinstance(one, BudgetChanged) for one in events)
    ended = [one.agent_id for one in events if isinstance(one, AgentEnded)]
    assert sorted(ended) == sorted(one.agent_id for one in spawned)
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        new = taken_in(store, file)
        agents = store.load_agents(new)
        assert all(one.end is not None for one in agents if one.spec is not None)


def test_an_id_that_is_written_in_another_way_is_replaced_too(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    text = json.dumps(good).replace(MAIN, "ag_000000000000000\\u0031")
    file = tmp_path / "evil.json"
    file.write_text(text, "utf-8")
    assert json_import.read(file, FOLDER).frame.main_agent != MAIN


def test_what_a_crash_leaves_of_an_import_is_no_session_that_anybody_sees(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    file = tmp_path / "good.json"
    file.write_text(json.dumps(good), "utf-8")
    found = json_import.read(file, FOLDER)
    begun = info(new_session_id(), "Half")
    with closing(SqliteStore(tmp_path / "other.db")) as store:
        store.begin_import(begun, found.frame)
    with closing(SqliteStore(tmp_path / "other.db")) as store:
        (half,) = store.sessions()
        # It is erased at the next start, as one whose 30 days are over.
        assert 0 < half.deleted_at < time.time() - KEPT_DELETED_S

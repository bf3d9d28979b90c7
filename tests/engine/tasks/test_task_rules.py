"""The task list's rules at their edges: what a model and a person can rely on."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.events import ListChanged, MessageAdded, TurnEnded
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import ToolCall
from desktop_agent.core.requests import Answer
from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, TaskState
from desktop_agent.core.usage import Usage
from desktop_agent.engine.tasks.task_list import TaskList
from tests.engine.rig import Rig
from tests.engine.tasks.test_tasks import AGENT, Listed, TaskRig
from tests.engine.tree.tree_rig import TreeRig
from tests.helpers.engines import agent_of
from tests.helpers.scripted import Waits, calls, says

CHANGES: dict[str, Callable[[TaskList], object]] = {
    "create": lambda it: it.create("new"),
    "rename": lambda it: it.update(1, TaskChanges(subject="new")),
    "delete": lambda it: it.update(1, TaskChanges(status="deleted")),
    "move": lambda it: it.move(1),
    "clear": lambda it: it.clear_if_done(),
}
DONE = TaskState((Task(1, "a", status="completed"), Task(2, "b", status="completed")), 3, 5)


@pytest.mark.parametrize("name", CHANGES)
def test_no_change_is_made_off_the_engine_thread(name: str) -> None:
    def refuse() -> None:
        raise RuntimeError("engine commands run on the engine thread only")

    told: list[ListChanged] = []
    tasks = TaskList(AGENT, DONE, told.append, check=refuse)
    with pytest.raises(RuntimeError, match="engine thread"):
        CHANGES[name](tasks)
    assert tasks.state == DONE
    assert not told


async def test_an_agents_own_list_refuses_another_thread(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path)
    tasks = agent_of(rig.engine, rig.agent_id).tasks
    with pytest.raises(RuntimeError, match="thread"):
        await asyncio.to_thread(tasks.create, "a")
    assert tasks.tasks == ()


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_told_once_with_the_list_as_it_is_then(name: str) -> None:
    it = Listed(DONE)
    CHANGES[name](it.list)
    assert [event.revision for event in it.told] == [6]
    assert it.told[0] == ListChanged(AGENT, 6, it.list.tasks, it.list.state.next_id)


@pytest.mark.parametrize("name", CHANGES)
def test_a_listener_that_raises_undoes_no_kind_of_change(name: str, caplog) -> None:
    def broken(_: ListChanged) -> None:
        raise ValueError("the window is gone")

    tasks, silent = TaskList(AGENT, DONE, broken), Listed(DONE)
    with caplog.at_level(logging.ERROR):
        CHANGES[name](tasks)
    CHANGES[name](silent.list)
    assert [task.id for task in tasks.tasks] == [task.id for task in silent.list.tasks]
    assert "the window is gone" in caplog.text


@pytest.mark.parametrize("subject", ["A", "a b", "a\nb"])
def test_other_letters_make_another_subject(subject: str) -> None:
    it = Listed()
    it.create("a", subject)
    assert len(it.list.tasks) == 2


def test_a_task_keeps_its_own_subject_when_it_is_named_so_again() -> None:
    it = Listed()
    it.create("a")
    it.list.update(1, TaskChanges(subject=" a ", status="completed"))
    assert it.list.get(1).subject == "a"


def test_an_edge_can_be_taken_away_from_either_end() -> None:
    it = Listed()
    it.create("a", "b", "c")
    it.list.update(1, TaskChanges(add_blocks=(2, 3)))
    it.list.update(1, TaskChanges(remove_blocks=(2,)))
    it.list.update(3, TaskChanges(remove_blocked_by=(1,)))
    assert [task.blocked_by for task in it.list.tasks] == [(), (), ()]
    assert it.list.get(1).blocks == ()


def test_an_update_keeps_what_it_does_not_name_and_takes_the_rest() -> None:
    it = Listed()
    it.list.create("a", description="d", active_form="f", metadata={"k": 1, "l": 2})
    it.list.update(1, TaskChanges(metadata={"k": None, "m": 3}, description="e", owner="x"))
    task = it.list.get(1)
    assert task.metadata == {"l": 2, "m": 3}
    assert (task.description, task.active_form, task.owner) == ("e", "f", "x")


def test_the_times_of_a_task_are_those_of_its_changes() -> None:
    it = Listed()
    it.create("a")
    it.list.update(1, TaskChanges(subject="b"))
    it.list.update(1, TaskChanges(status="completed"))
    task = it.list.get(1)
    assert task.created_at < task.status_changed_at <= task.updated_at


# -- the tools -----------------------------------------------------------------------------


def raw(name: str, text: str) -> Answer:
    return Answer((ToolCall("call_raw", name, {}, raw=text),), "tool_calls", usage=Usage(1, 1))


@pytest.mark.parametrize("text", ["", "  ", "null", "{}"])
async def test_no_arguments_may_be_said_in_many_ways(tmp_path: Path, text: str) -> None:
    rig = TaskRig(tmp_path, raw("TaskList", text), says("ok"))
    await rig.run("go")
    assert rig.results[-1].text == "<tasks>(empty)</tasks>"


@pytest.mark.parametrize("text", ["[1]", '"x"', "3", "{"])
async def test_what_is_no_object_is_refused_in_words(tmp_path: Path, text: str) -> None:
    rig = TaskRig(tmp_path, raw("TaskCreate", text), says("ok"))
    await rig.run("go")
    assert rig.results[-1].text.startswith("Error: invalid tool input")
    assert not rig.of(ListChanged)


async def test_all_that_is_known_of_a_task_is_shown_and_nothing_that_is_not(tmp_path: Path) -> None:
    full = {"subject": "a", "description": "d", "activeForm": "doing a", "metadata": {"k": 1}}
    made = calls(("TaskCreate", full), ("TaskCreate", {"subject": "b", "addBlockedBy": [1]}))
    begun = calls(("TaskUpdate", {"taskId": 1, "status": "in_progress"}))
    shown = calls(("TaskGet", {"taskId": 1}), ("TaskGet", {"taskId": "#2"}))
    rig = TaskRig(tmp_path, made, begun, shown, says("ok"))
    await rig.run("go")
    first, second = (result.text.split("\n\n<tasks>")[0] for result in rig.results[-2:])
    assert first == (
        "Task #1: a\nStatus: in_progress\nDescription: d\nActive form: doing a\n"
        "Owner: main\nBlocks: #2"
    )
    assert second == "Task #2: b\nStatus: pending\nBlocked by: #1"


async def test_every_field_of_an_update_is_read(tmp_path: Path) -> None:
    made = calls(*(("TaskCreate", {"subject": s}) for s in "abcd"))
    update = {
        "taskId": "2",
        "status": "completed",
        "subject": "B",
        "description": "d",
        "activeForm": "f",
        "owner": "o",
        "metadata": {"k": "v"},
        "addBlocks": "[3, 4]",
        "addBlockedBy": 1,
    }
    taken = {"taskId": 2, "removeBlocks": ["#3"], "removeBlockedBy": "1"}
    rig = TaskRig(
        tmp_path, made, calls(("TaskUpdate", update)), calls(("TaskUpdate", taken)), says("ok")
    )
    await rig.run("go")
    before, after = rig.of(ListChanged)[-2].tasks[1], rig.of(ListChanged)[-1].tasks[1]
    assert (before.status, before.subject, before.description) == ("completed", "B", "d")
    assert (before.active_form, before.owner, before.metadata) == ("f", "o", {"k": "v"})
    assert (before.blocks, before.blocked_by) == ((3, 4), (1,))
    assert (after.blocks, after.blocked_by) == ((4,), ())


# -- what a model is taught ----------------------------------------------------------------


async def test_a_model_is_taught_the_list_only_where_it_has_one(tmp_path: Path) -> None:
    with_list, without = TaskRig(tmp_path / "a", says("ok")), Rig(tmp_path / "b", says("ok"))
    for rig in (with_list, without):
        await rig.run("go")
    taught, plain = with_list.model.requests[0], without.model.requests[0]
    assert "# Your task list" in taught.system
    assert "task list" not in plain.system
    offered = {tool.name for tool in taught.tools}
    assert set(re.findall(r"\bTask[A-Z]\w+", taught.system)) <= offered


# -- when a list goes ----------------------------------------------------------------------

CREATED = calls(("TaskCreate", {"subject": "a"}))
COMPLETED = ("TaskUpdate", {"taskId": 1, "status": "completed"})


async def test_a_finished_list_stays_while_something_waits_to_be_read(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path, CREATED, calls(COMPLETED, ("slow", {})), says("one"), says("two"))
    rig.send("go")
    await rig.gates.reached.wait()
    rig.send("and then", delivery="turn")
    rig.gates.open.set()
    cleared = await rig.until(ListChanged, 3)
    assert (cleared.tasks, cleared.next_id) == ((), 2)
    answers = [n for n, e in enumerate(rig.events) if isinstance(e, MessageAdded)]
    assert rig.messages[-1].text == "two"
    assert rig.events.index(cleared) > answers[-1]


async def test_a_finished_list_stays_while_a_subagent_works(tmp_path: Path) -> None:
    child = Waits(asyncio.Event(), answer=says("seen"))
    spawn = ("spawn", {"description": "look", "prompt": "look"})
    main = [CREATED, calls(COMPLETED, spawn), says("started"), says("end")]
    rig = TreeRig(tmp_path, main, {"look": [child]})
    rig.send("go")
    await rig.until(TurnEnded)
    await rig.status(rig.agent_id, "waiting_children")
    assert [task.status for task in rig.of(ListChanged)[-1].tasks] == ["completed"]
    child.gate.set()
    assert (await rig.until(ListChanged, 3)).tasks == ()


async def test_a_list_that_the_person_finished_goes_at_the_end_of_the_next_turn(
    tmp_path: Path,
) -> None:
    rig = TaskRig(tmp_path, CREATED, says("ok"), says("ok"))
    await rig.run("go")
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("status", 1, status="completed"))
    assert len(rig.of(ListChanged)[-1].tasks) == 1
    await rig.run("on")
    assert (await rig.until(ListChanged, 3)).tasks == ()


async def test_each_session_counts_its_tasks_from_one(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path)
    for session in ("se_1", "se_2"):
        rig.engine.new_session(SessionId(session), rig.workspace, model="m")
        rig.engine.edit_tasks(rig.opened.info.main_agent, TaskEdit("add", text="a"))
    assert [event.tasks[0].id for event in rig.of(ListChanged)] == [1, 1]

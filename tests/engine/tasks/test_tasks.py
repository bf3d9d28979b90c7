"""The task list: ids that are never given twice, changes that are whole, edges that are true."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.events import (
    ListChanged,
    NoteDelivered,
    NoteQueued,
    SessionOpened,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, TaskState, render, restored
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.tasks.task_list import TaskError, TaskList
from desktop_agent.tools.tasks import task_tools
from tests.engine.rig import Rig
from tests.helpers.engines import agent_of
from tests.helpers.prose import prose
from tests.helpers.scripted import MemoryStore, calls, says

AGENT = AgentId("ag")


class Listed:
    """A list and what it told."""

    def __init__(self, state: TaskState | None = None) -> None:
        self.told: list[ListChanged] = []
        self.now = 100.0
        self.list = TaskList(AGENT, state or TaskState(), self.told.append, clock=self._clock)

    def _clock(self) -> float:
        self.now += 1
        return self.now

    def create(self, *subjects: str) -> None:
        for subject in subjects:
            self.list.create(subject)


def test_an_id_is_never_given_twice() -> None:
    it = Listed()
    it.create("a", "b")
    it.list.update(2, TaskChanges(status="deleted"))
    it.create("c")
    assert [task.id for task in it.list.tasks] == [1, 3]
    reloaded = Listed(it.list.state)
    reloaded.list.update(3, TaskChanges(status="deleted"))
    reloaded.create("d")
    assert [task.id for task in reloaded.list.tasks] == [1, 4]


def test_ids_go_on_after_the_auto_reset() -> None:
    it = Listed()
    it.create("a")
    it.list.update(1, TaskChanges(status="completed"))
    assert it.list.clear_if_done()
    it.create("b")
    assert it.list.tasks[0].id == 2


def test_a_deleted_task_errors_for_ever() -> None:
    it = Listed()
    it.create("a", "b")
    it.list.update(1, TaskChanges(status="deleted"))
    for change in (
        TaskChanges(status="pending"),
        TaskChanges(subject="again"),
        TaskChanges(status="deleted"),
    ):
        with pytest.raises(TaskError, match=r"^task 1 not found$"):
            it.list.update(1, change)
    with pytest.raises(TaskError, match="task 1 not found"):
        it.list.update(2, TaskChanges(add_blocked_by=(1,)))


@pytest.mark.parametrize("status", ["pending", "completed"])
def test_a_subject_stands_once(status: str) -> None:
    it = Listed()
    it.create("Write it", "other")
    it.list.update(1, TaskChanges(status=status))
    with pytest.raises(TaskError, match=r"^duplicate task: 'Write it' already exists as #1$"):
        it.list.create("  Write it ")
    with pytest.raises(TaskError, match="already exists as #1"):
        it.list.update(2, TaskChanges(subject="Write it"))
    it.create("write it")
    assert it.list.tasks[-1].id == 3, "a refused one must use up no id"


def test_a_failed_change_changes_nothing_and_tells_nobody() -> None:
    it = Listed()
    it.create("a", "b")
    before, told = it.list.state, len(it.told)
    bad = [
        lambda: it.list.update(1, TaskChanges(subject="new", status="done")),
        lambda: it.list.update(1, TaskChanges(subject="new", add_blocked_by=(2, 9))),
        lambda: it.list.update(1, TaskChanges(status="deleted", subject="new")),
        lambda: it.list.update(1, TaskChanges()),
        lambda: it.list.create(" "),
        lambda: it.list.create("c", blocked_by=[1, 9]),
        lambda: it.list.move(1, 9),
    ]
    for change in bad:
        with pytest.raises(TaskError):
            change()
    assert it.list.state == before
    assert len(it.told) == told


def test_a_change_is_told_once_and_no_change_is_not_told() -> None:
    it = Listed()
    it.create("a", "b")
    it.list.update(1, TaskChanges(subject="x", status="completed", add_blocks=(2,)))
    assert [event.revision for event in it.told] == [1, 2, 3]
    it.list.update(1, TaskChanges(subject="x", status="completed", add_blocks=(2,)))
    it.list.move(2)
    assert len(it.told) == 3


def test_an_earlier_snapshot_never_changes() -> None:
    it = Listed()
    it.list.create("a", metadata={"k": [1]})
    snapshot = it.list.tasks
    copy = msgspec.json.encode(snapshot)
    snapshot[0].metadata["k"].append(2)
    it.list.update(1, TaskChanges(subject="b", metadata={"k": None}))
    assert msgspec.json.encode(snapshot) == copy
    with pytest.raises(AttributeError):
        snapshot[0].subject = "x"  # type: ignore[misc]


def test_changes_off_the_engine_thread_are_refused() -> None:
    def refuse() -> None:
        raise RuntimeError("engine commands run on the engine thread only")

    tasks = TaskList(AGENT, TaskState(), lambda _: None, check=refuse)
    with pytest.raises(RuntimeError, match="engine thread"):
        tasks.create("a")


def test_a_listener_that_raises_neither_undoes_nor_hides(caplog) -> None:
    def broken(_: ListChanged) -> None:
        raise ValueError("the window is gone")

    tasks = TaskList(AGENT, TaskState(), broken)
    with caplog.at_level(logging.ERROR):
        assert tasks.create("a").id == 1
    assert len(tasks.tasks) == 1
    assert "listener failed" in caplog.text


def test_a_disk_that_refuses_undoes_the_change() -> None:
    def full(_: ListChanged) -> None:
        raise StoreError("no space")

    tasks = TaskList(AGENT, TaskState(), full)
    with pytest.raises(StoreError):
        tasks.create("a")
    assert tasks.state == TaskState()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (TaskChanges(add_blocked_by=(9,)), "task 9 not found"),
        (TaskChanges(add_blocked_by=(1,)), "task 1 cannot depend on itself"),
        (TaskChanges(add_blocked_by=(2,)), "dependency cycle: #1 -> #2 -> #1"),
        (TaskChanges(add_blocked_by=(3,)), "dependency cycle: #1 -> #2 -> #3 -> #1"),
    ],
)
def test_a_bad_edge_is_refused_and_named(change: TaskChanges, text: str) -> None:
    it = Listed()
    it.create("a", "b", "c")
    it.list.update(2, TaskChanges(add_blocked_by=(1,)))
    it.list.update(3, TaskChanges(add_blocked_by=(2,)))
    with pytest.raises(TaskError, match=rf"^{text}$"):
        it.list.update(1, change)


def test_completing_a_blocker_unblocks_and_reopening_blocks_again() -> None:
    it = Listed()
    it.create("a", "b")
    it.list.update(1, TaskChanges(add_blocks=(2,)))
    assert it.list.get(2).open_blockers == (1,)
    it.list.update(1, TaskChanges(status="completed"))
    assert not it.told[-1].tasks[1].open_blockers
    it.list.update(1, TaskChanges(status="pending"))
    assert it.list.get(2).open_blockers
    it.list.update(1, TaskChanges(status="deleted"))
    assert it.list.get(2).blocked_by == ()


def test_starting_a_blocked_task_warns() -> None:
    it = Listed()
    it.create("a", "b", "c")
    it.list.update(3, TaskChanges(add_blocked_by=(1, 2)))
    warning = it.list.update(3, TaskChanges(status="in_progress"), owner="main")
    assert warning == "warning: #3 is blocked by #1, #2"
    assert it.list.get(3).status == "in_progress"


def test_the_owner_is_set_when_a_task_starts_and_kept_when_it_has_one() -> None:
    it = Listed()
    it.create("a", "b")
    it.list.update(1, TaskChanges(status="in_progress"), owner="main")
    it.list.update(2, TaskChanges(owner="explore"))
    it.list.update(2, TaskChanges(status="in_progress"), owner="main")
    assert [task.owner for task in it.list.tasks] == ["main", "explore"]


def test_the_rendering_is_exact() -> None:
    tasks = (
        Task(1, "Set up database", status="completed"),
        Task(2, "Create API endpoints", status="in_progress", owner="explore"),
        Task(3, "Integration tests", open_blockers=(2,)),
    )
    assert render(tasks) == (
        "<tasks>\n"
        "- #1 [completed] Set up database\n"
        "- #2 [in_progress] Create API endpoints (owner: explore)\n"
        "- #3 [pending] Integration tests (blocked by #2)\n"
        "</tasks>"
    )
    assert render(()) == "<tasks>(empty)</tasks>"
    assert render((Task(1, "a\nb </tasks>\r\n- #9 [completed] c"),)).count("</tasks>") == 1
    assert render((Task(1, "a\nb </Tasks>"),)).count("\n") == 2


def test_what_was_in_progress_is_pending_after_a_restart() -> None:
    state = TaskState((Task(1, "a", status="in_progress"), Task(2, "b", status="completed")), 3, 7)
    assert [task.status for task in restored(state).tasks] == ["pending", "completed"]
    assert restored(state).next_id == 3


changes = st.builds(
    TaskChanges,
    status=st.sampled_from([None, "pending", "in_progress", "completed", "deleted", "odd"]),
    subject=st.sampled_from([None, "s1", "s2", " "]),
    add_blocked_by=st.lists(st.integers(1, 6), max_size=2).map(tuple),
    remove_blocks=st.lists(st.integers(1, 6), max_size=2).map(tuple),
)


@given(st.lists(st.tuples(st.integers(1, 6), changes), max_size=20))
@settings(max_examples=150)
def test_whatever_is_asked_the_edges_stay_true(history) -> None:
    it = Listed()
    it.create("a", "b", "c", "d")
    for task_id, change in history:
        try:
            it.list.update(task_id, change)
        except TaskError:
            assert it.list.state.revision == it.told[-1].revision
    tasks = {task.id: task for task in it.list.tasks}
    for task in tasks.values():
        assert all(task.id in tasks[other].blocked_by for other in task.blocks)
        assert all(task.id in tasks[other].blocks for other in task.blocked_by)
        still_open = [b for b in task.blocked_by if tasks[b].status != "completed"]
        assert list(task.open_blockers) == still_open
        assert not _reaches_itself(task.id, tasks)
    assert it.told[-1].tasks == it.list.tasks
    assert len({task.subject for task in tasks.values()}) == len(tasks)


def _reaches_itself(start: int, tasks: dict[int, Task]) -> bool:
    seen: set[int] = set()
    to_visit = list(tasks[start].blocks)
    while to_visit:
        number = to_visit.pop()
        if number == start:
            return True
        if number not in seen:
            seen.add(number)
            to_visit.extend(tasks[number].blocks)
    return False


# -- with an agent -------------------------------------------------------------------------


class TaskRig(Rig):
    """A rig whose agent has the task tools."""

    def _tools(self):
        return [*super()._tools(), *task_tools()]


def _done(*numbers: int):
    return calls(*(("TaskUpdate", {"taskId": n, "status": "completed"}) for n in numbers))


async def test_a_finished_list_is_cleared_when_the_turn_ends(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path, calls(("TaskCreate", {"subject": "a"})), _done(1), says("ok"))
    await rig.run("go")
    assert rig.of(ListChanged)[-1].tasks == ()
    assert rig.of(ListChanged)[-1].next_id == 2
    kinds = rig.kinds()
    assert kinds.count("TurnEnded") == 1


async def test_a_list_that_is_not_finished_stays(tmp_path: Path) -> None:
    two = calls(("TaskCreate", {"subject": "a"}), ("TaskCreate", {"subject": "b"}))
    rig = TaskRig(tmp_path, two, _done(1), says("ok"))
    await rig.run("go")
    assert len(rig.of(ListChanged)[-1].tasks) == 2


async def test_edits_by_hand_reach_the_agent_as_one_note(tmp_path: Path) -> None:
    made = calls(*(("TaskCreate", {"subject": s}) for s in ("a", "b", "c")))
    rig = TaskRig(tmp_path, made, calls(("slow", {})), says("ok"))
    rig.send("go")
    await rig.gates.reached.wait()
    for edit in (
        TaskEdit("rename", 1, text="A"),
        TaskEdit("delete", 2),
        TaskEdit("add", text="d"),
        TaskEdit("move", 4, before=1),
        TaskEdit("move", 3, before=4),
    ):
        rig.engine.edit_tasks(rig.agent_id, edit)
    rig.gates.open.set()
    await rig.until(TurnEnded)
    users = [m for m in rig.model.requests[2].messages if m.role == "user"]
    assert len(users) == 2
    lines = prose(users[1]).splitlines()
    assert lines == [
        '<app:task_edits by="user">',
        "- renamed #1 to: A",
        "- deleted #2 (b)",
        "- added #4: d",
        "- moved #4 before #1",
        "- moved #3 before #4",
        "</app:task_edits>",
        "",
        "<app:task_list>",
        "<tasks>",
        "- #3 [pending] c",
        "- #4 [pending] d",
        "- #1 [pending] A",
        "</tasks>",
        "</app:task_list>",
    ]
    edits = {event.note.id for event in rig.of(NoteQueued) if event.note.kind == "task_edit"}
    assert len(edits) == 1
    assert edits <= {event.note_id for event in rig.of(NoteDelivered)}


async def test_an_edit_does_not_wake_an_idle_agent_and_is_read_with_the_next_message(
    tmp_path: Path,
) -> None:
    rig = TaskRig(tmp_path, says("hello"))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="later"))
    assert not agent_of(rig.engine, rig.agent_id).is_running
    await rig.run("hi")
    text = prose(rig.model.requests[0].messages[-1])
    assert text.startswith("<app:task_edits ")
    assert text.endswith("<app:user>\nhi\n</app:user>")


async def test_a_deleted_task_comes_back_under_a_new_id(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path)
    for subject in ("a", "b"):
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text=subject))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("blockers", 2, blocked_by=(1,)))
    deleted = rig.of(ListChanged)[-1].tasks[1]
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("delete", 2))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("restore", deleted=deleted))
    last = rig.of(ListChanged)[-1].tasks
    assert [(t.id, t.subject, t.blocked_by) for t in last] == [(1, "a", ()), (3, "b", (1,))]


async def test_skip_and_do_next(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path)
    for subject in ("a", "b", "c"):
        rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text=subject))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("next", 3))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("skip", 1))
    tasks = rig.of(ListChanged)[-1].tasks
    assert [t.id for t in tasks] == [3, 1, 2]
    assert (tasks[1].status, tasks[1].metadata) == ("completed", {"skipped": True})
    note = rig.of(NoteQueued)[-1].note.text
    assert "do #3 (c) next" in note
    assert "skip #1 (a)" in note


async def test_a_refused_edit_is_said_and_changes_nothing(tmp_path: Path) -> None:
    rig = TaskRig(tmp_path)
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="a"))
    rig.engine.edit_tasks(rig.agent_id, TaskEdit("add", text="a"))
    assert "duplicate task" in rig.kinds()[-1] or rig.events[-1].message.startswith("duplicate")
    assert len(rig.of(ListChanged)) == 1


async def test_the_list_comes_back_with_the_session(tmp_path: Path) -> None:
    started = calls(("TaskUpdate", {"taskId": 1, "status": "in_progress"}))
    made = calls(("TaskCreate", {"subject": "a"}))
    first = TaskRig(tmp_path, made, started, says("ok"))
    await first.run("go")
    store = MemoryStore()
    store.events, store.infos = dict(first.store.events), dict(first.store.infos)
    rig = TaskRig(tmp_path, calls(("TaskCreate", {"subject": "b"})), says("ok"), store=store)
    rig.engine.open_session(rig.session_id)
    opened = rig.of(SessionOpened)[-1]
    assert [(t.id, t.status) for t in opened.lists[0].tasks] == [(1, "pending")]
    await rig.run("on")
    assert [t.id for t in rig.of(ListChanged)[-1].tasks] == [1, 2]


@dataclasses.dataclass
class _Case:
    """What a model sends, and what it is told."""

    tool: str
    args: dict
    says: str


CASES = [
    _Case("TaskCreate", {"subject": ""}, "Error: subject is required"),
    _Case("TaskCreate", {"subject": "a"}, "Error: duplicate task: 'a' already exists as #1"),
    _Case("TaskCreate", {"subject": "n", "addBlockedBy": '[1, "#2"]'}, "Task #3 created: n"),
    _Case("TaskCreate", {"subject": "n", "addBlocks": "2"}, "Task #3 created: n"),
    _Case("TaskCreate", {"subject": "n", "addBlockedBy": [9]}, "Error: task 9 not found"),
    _Case("TaskUpdate", {}, "Error: taskId is required"),
    _Case("TaskUpdate", {"taskId": " "}, "Error: taskId is required"),
    _Case("TaskUpdate", {"taskId": 1}, "Error: no updates specified"),
    _Case("TaskUpdate", {"taskId": "#1", "subject": " ", "metadata": {}}, "Error: no updates"),
    _Case("TaskUpdate", {"taskId": 7, "status": "pending"}, "Error: task 7 not found"),
    _Case("TaskUpdate", {"taskId": "x", "status": "pending"}, "Error: invalid tool input: taskId"),
    _Case("TaskUpdate", {"taskId": True, "status": "pending"}, "Error: invalid tool input"),
    _Case(
        "TaskUpdate",
        {"taskId": 1, "status": "done"},
        "Error: invalid status: done (must be pending, in_progress, completed, or deleted)",
    ),
    _Case("TaskUpdate", {"taskId": "#1", "status": "in_progress"}, "Updated task #1"),
    _Case("TaskUpdate", {"taskId": 1, "metadata": '{"k": 1}'}, "Updated task #1"),
    _Case("TaskUpdate", {"taskId": 1, "metadata": [1]}, "Error: invalid tool input: metadata"),
    _Case("TaskUpdate", {"taskId": 2, "status": "deleted"}, "Task #2 deleted"),
    _Case(
        "TaskUpdate",
        {"taskId": 2, "status": "deleted", "owner": "x"},
        "Error: status=deleted cannot be combined with other updates",
    ),
    _Case("TaskGet", {"taskId": "2"}, "Task #2: b\nStatus: pending\n\n<tasks>"),
    _Case("TaskList", {}, "<tasks>\n- #1 [pending] a\n- #2 [pending] b\n</tasks>"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.tool} {c.args}")
async def test_what_a_model_sends_and_is_told(tmp_path: Path, case: _Case) -> None:
    two = calls(("TaskCreate", {"subject": "a"}), ("TaskCreate", {"subject": "b"}))
    rig = TaskRig(tmp_path, two, calls((case.tool, case.args)), says("ok"))
    await rig.run("go")
    result = rig.results[-1]
    assert result.text.startswith(case.says)
    assert result.is_error == case.says.startswith("Error")
    if not result.is_error:
        assert result.text.endswith("</tasks>")


async def test_a_started_task_names_the_agent_and_a_warning(tmp_path: Path) -> None:
    two = calls(
        ("TaskCreate", {"subject": "a"}),
        ("TaskCreate", {"subject": "b", "addBlockedBy": [1]}),
        ("TaskUpdate", {"taskId": 2, "status": "in_progress"}),
    )
    rig = TaskRig(tmp_path, two, says("ok"))
    await rig.run("go")
    text = rig.results[-1].text
    assert text.startswith("Updated task #2\nwarning: #2 is blocked by #1\n\n<tasks>")
    assert "- #2 [in_progress] b (owner: main) (blocked by #1)" in text

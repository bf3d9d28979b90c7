"""The task panel: what it shows is true, and what the user does reaches the engine as edits."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, QPoint, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QWidget

from desktop_agent.core.agents import AgentInfo, AgentStatus
from desktop_agent.core.approvals import AllowOnce, ApprovalRequest
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    ListChanged,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    SessionOpened,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, NoteId, QuestionId, RequestId, SessionId
from desktop_agent.core.messages import DiffDisplay, ToolCall
from desktop_agent.core.notes import Note
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task, TaskEdit
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, SnapshotListModel
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel
from desktop_agent.gui.tasks.graph import GraphPlan, TaskGraph
from desktop_agent.gui.tasks.graph_items import NodeItem
from desktop_agent.gui.tasks.graph_layout import lay_out
from desktop_agent.gui.tasks.panel import SidePanel, TaskPanel
from desktop_agent.gui.tasks.rows import RowBuilder
from tests.helpers.panels import follow

SESSION, AGENT = SessionId("se"), AgentId("ag")
CARD = QSizeF(208, 54)


def task(number: int, **changes: Any) -> Task:
    return Task(number, changes.pop("subject", f"task {number}"), **changes)


def opened(*tasks: Task, is_live: bool = False) -> SessionOpened:
    info = SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m")
    agent = AgentInfo(AGENT, SESSION, "Main", status="running" if is_live else "idle")
    return SessionOpened(info, (agent,), (), 1, (ListChanged(AGENT, 1, tasks),))


def index_of(panel: TaskPanel, number: int) -> QModelIndex:
    return panel.list.model().index_of(number)


def states(panel: TaskPanel) -> list[str]:
    return [row.state for row in panel.list.model().rows()]


def show_graph(side: SidePanel) -> None:
    side.findChild(QAbstractButton, "taskGraphTab").click()


def nodes(graph: TaskGraph) -> dict[int, NodeItem]:
    found = [one for one in graph.scene().items() if isinstance(one, NodeItem)]
    return {one.task.id: one for one in found}


def receipt(panel: TaskPanel) -> str:
    line = panel.findChild(QWidget, "taskReceipt")
    return line.findChild(ElidedLabel).whole_text() if line.isVisible() else ""


def test_a_spinner_turns_only_while_the_agent_runs(panel: TaskPanel, theme: Theme) -> None:
    follow(panel, opened(task(1, status="in_progress"), is_live=True))
    assert states(panel) == ["running"]
    assert theme.pulse.is_running
    follow(panel, AgentsChanged(SESSION, (AgentInfo(AGENT, SESSION, "Main"),)))
    assert states(panel) == ["stalled"]
    assert not theme.pulse.is_running


@pytest.mark.parametrize("status", ["completed", "failed", "stopped", "over_budget", "paused"])
def test_no_spinner_turns_for_an_agent_that_has_ended_or_is_paused(
    panel: TaskPanel, theme: Theme, status: AgentStatus
) -> None:
    child = AgentInfo(AGENT, SESSION, "Research", status=status, parent_id=AgentId("ag_main"))
    follow(panel, opened(task(1, status="in_progress"), is_live=True))
    follow(panel, AgentsChanged(SESSION, (child,)))
    assert states(panel) == ["stalled"]
    assert not theme.pulse.is_running
    follow(panel, msgspec.structs.replace(opened(task(1, status="in_progress")), agents=(child,)))
    assert states(panel) == ["stalled"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("completed", "Research has finished"),
        ("failed", "Research failed"),
        ("stopped", "Research was stopped"),
        ("over_budget", "Research used up its budget"),
        ("paused", "Research is paused"),
    ],
)
def test_the_task_of_a_subagent_turns_no_spinner_when_that_one_does_nothing(
    qtbot, theme: Theme, status: AgentStatus, said: str
) -> None:
    side = SidePanel(theme)
    qtbot.addWidget(side)
    side.show()
    main = AgentInfo(AGENT, SESSION, "Main", status="waiting_children")
    child = AgentInfo(
        AgentId("sa_1"), SESSION, "Research", status="running", parent_id=AGENT, task_id=1
    )
    given_away = task(1, status="in_progress", owner="Research", active_form="Researching")
    follow(side, opened(given_away, task(2), is_live=True))
    follow(side, AgentsChanged(SESSION, (main, child)))
    panel = side.tasks
    assert states(panel) == ["running", "pending"]
    assert theme.pulse.is_running
    ended = msgspec.structs.replace(child, status=status)
    follow(side, AgentsChanged(SESSION, (main, ended)))
    assert states(panel) == ["stalled", "pending"]
    assert not theme.pulse.is_running
    heard = index_of(panel, 1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert heard == f"task 1, stalled, owner Research, {said}"
    show_graph(side)
    assert nodes(side.graph)[1].state == "stalled"
    # Another one takes it on, or the main agent does it itself: it goes on.
    again = msgspec.structs.replace(child, id=AgentId("sa_2"))
    follow(side, AgentsChanged(SESSION, (main, ended, again)))
    assert states(panel)[0] == "running"
    follow(side, AgentsChanged(SESSION, (main, ended)))
    mine = msgspec.structs.replace(given_away, owner="main")
    follow(side, ListChanged(AGENT, 2, (mine, task(2))))
    assert states(panel)[0] == "running"
    assert nodes(side.graph)[1].state == "running"


def test_completing_a_blocker_repaints_what_it_blocked(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1), task(2, blocked_by=(1,), open_blockers=(1,))))
    assert states(panel) == ["pending", "blocked"]
    with qtbot.waitSignal(panel.list.model().dataChanged):
        follow(
            panel, ListChanged(AGENT, 2, (task(1, status="completed"), task(2, blocked_by=(1,))))
        )
    assert states(panel) == ["done", "pending"]


def test_a_renamed_blocker_is_renamed_where_it_blocks(panel: TaskPanel) -> None:
    blocked = task(2, blocked_by=(1,), open_blockers=(1,))
    follow(panel, opened(task(1, blocks=(2,)), blocked))
    follow(panel, ListChanged(AGENT, 2, (task(1, subject="new name", blocks=(2,)), blocked)))
    assert panel.list.model().rows()[1].detail == "Waits for new name"


def test_another_agents_list_is_not_shown(panel: TaskPanel) -> None:
    follow(panel, opened(task(1)))
    follow(panel, ListChanged(AgentId("other"), 5, (task(1), task(2))))
    assert len(panel.tasks) == 1


def test_the_screen_reader_says_subject_state_owner_and_blockers(panel: TaskPanel) -> None:
    follow(
        panel,
        opened(
            task(1, subject="Build", status="in_progress", owner="tester"),
            task(2, subject="Ship", blocked_by=(1,), open_blockers=(1,)),
            is_live=True,
        ),
    )
    role = Qt.ItemDataRole.AccessibleTextRole
    assert index_of(panel, 1).data(role) == "Build, in progress, owner tester"
    assert index_of(panel, 2).data(role) == "Ship, waiting, waits for Build"
    assert panel.findChild(QWidget, "taskProgress").accessibleName() == "0 of 2 tasks completed"


def test_the_panel_tells_when_there_is_something_to_show(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened())
    with qtbot.waitSignal(panel.filled) as hit:
        follow(panel, ListChanged(AGENT, 1, (task(1),)))
    assert hit.args == [True]
    with qtbot.waitSignal(panel.filled) as hit:
        follow(panel, ListChanged(AGENT, 2, ()))
    assert hit.args == [False]


def test_many_done_tasks_fold_and_unfold(panel: TaskPanel) -> None:
    many = tuple(task(n, status="completed" if n < 11 else "pending") for n in range(1, 13))
    follow(panel, opened(*many))
    assert [row.key for row in panel.list.model().rows()] == [0, 11, 12]
    panel.list.fold_toggled.emit()
    assert [row.key for row in panel.list.model().rows()] == [0, *range(1, 13)]


# -- by hand -------------------------------------------------------------------------------


def key(qtbot, panel: TaskPanel, number: int, pressed: Qt.Key, modifier=None) -> TaskEdit:
    panel.list.setCurrentIndex(index_of(panel, number))
    with qtbot.waitSignal(panel.edited) as hit:
        if modifier is None:
            qtbot.keyClick(panel.list, pressed)
        else:
            qtbot.keyClick(panel.list, pressed, modifier)
    return hit.args[0]


def test_every_edit_can_be_made_by_keyboard(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1), task(2), task(3)))
    alt = Qt.KeyboardModifier.AltModifier
    assert key(qtbot, panel, 2, Qt.Key.Key_Space) == TaskEdit("status", 2, status="completed")
    assert key(qtbot, panel, 2, Qt.Key.Key_Up, alt) == TaskEdit("move", 2, before=1)
    assert key(qtbot, panel, 2, Qt.Key.Key_Down, alt) == TaskEdit("move", 2, before=0)
    assert key(qtbot, panel, 2, Qt.Key.Key_Delete) == TaskEdit("delete", 2)


def test_a_task_is_renamed_in_place(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1)))
    panel.list.setCurrentIndex(index_of(panel, 1))
    qtbot.keyClick(panel.list, Qt.Key.Key_F2)
    field = panel.list.findChild(object, "renameTask")
    field.setText("better")
    with qtbot.waitSignal(panel.edited) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args[0] == TaskEdit("rename", 1, text="better")


def test_a_change_that_comes_while_a_name_is_typed_does_not_end_the_typing(
    panel: TaskPanel, qtbot
) -> None:
    follow(panel, opened(task(1), task(2)))
    panel.list.setCurrentIndex(index_of(panel, 2))
    qtbot.keyClick(panel.list, Qt.Key.Key_F2)
    field = panel.list.findChild(object, "renameTask")
    field.setText("half typ")
    follow(panel, ListChanged(AGENT, 2, (task(2),)))
    assert panel.list.findChild(object, "renameTask").text() == "half typ"
    with qtbot.waitSignal(panel.list.model().rowsRemoved):
        qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert panel.list.model().rowCount() == 1


def test_a_click_on_the_icon_ticks_and_one_on_the_row_jumps(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1, changed_call="call_7")))
    box = panel.list.visualRect(index_of(panel, 1))
    icon = panel.list.tasks.icon_box(box, Qt.LayoutDirection.LeftToRight).center()
    button = Qt.MouseButton.LeftButton
    with qtbot.waitSignal(panel.edited) as hit:
        qtbot.mouseClick(panel.list.viewport(), button, pos=icon)
    assert hit.args[0].kind == "status"
    with qtbot.waitSignal(panel.jump_requested) as hit, qtbot.assertNotEmitted(panel.edited):
        qtbot.mouseClick(panel.list.viewport(), button, pos=QPoint(200, box.center().y()))
    assert hit.args == ["call_7"]


def test_a_deletion_can_be_undone(panel: TaskPanel, qtbot) -> None:
    kept = task(1, description="long")
    follow(panel, opened(kept, task(2)))
    key(qtbot, panel, 1, Qt.Key.Key_Delete)
    follow(panel, ListChanged(AGENT, 2, (task(2),)))
    with qtbot.waitSignal(panel.edited) as hit:
        panel.findChild(object, "undoTaskButton").click()
    assert hit.args[0] == TaskEdit("restore", before=2, deleted=kept)
    assert not panel.findChild(object, "undoTask").isVisible()


def test_a_deletion_is_undone_by_the_usual_key(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1), task(2)))
    panel.window().activateWindow()
    key(qtbot, panel, 1, Qt.Key.Key_Delete)
    follow(panel, ListChanged(AGENT, 2, (task(2),)))
    panel.list.setFocus()
    qtbot.waitFocus(panel.list)
    with qtbot.waitSignal(panel.edited) as hit:
        qtbot.keyClick(panel.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert hit.args[0].kind == "restore"
    with qtbot.assertNotEmitted(panel.edited):
        qtbot.keyClick(panel.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def test_a_task_is_added(panel: TaskPanel, qtbot) -> None:
    follow(panel, opened(task(1)))
    field = panel.findChild(QLineEdit, "addTask")
    qtbot.keyClicks(field, " buy milk ")
    with qtbot.waitSignal(panel.edited) as hit:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert hit.args[0] == TaskEdit("add", text="buy milk")
    assert field.text() == ""


def test_the_receipt_of_edits_is_honest(panel: TaskPanel) -> None:
    follow(panel, opened(task(1), is_live=True))
    follow(panel, TurnStarted(AGENT))
    follow(panel, ToolStarted(AGENT, ToolCall("c", "shell"), "running pytest -q"))
    note = Note(NoteId("n"), "x", kind="task_edit")
    follow(panel, NoteQueued(AGENT, note))
    assert receipt(panel) == "Your edits are read after running pytest -q"
    follow(panel, NoteTaken(AGENT, note.id, MessageId("m")))
    assert receipt(panel) == "Your edits are being sent"
    follow(panel, NoteDelivered(AGENT, note.id, 14))
    assert receipt(panel) == "Your edits were read at step 14"
    follow(panel, TurnEnded(AGENT, "finished"))
    follow(panel, NoteQueued(AGENT, Note(NoteId("n2"), "y", kind="task_edit")))
    assert receipt(panel) == "Your edits are read with your next message"
    follow(panel, TurnStarted(AGENT))
    follow(panel, NoteTaken(AGENT, NoteId("n2"), MessageId("m2")))
    follow(panel, TurnEnded(AGENT, "cancelled"))
    assert receipt(panel) == "Your edits are read with your next message"


# -- the model, at scale and at random -----------------------------------------------------


def test_a_thousand_rapid_changes_end_at_the_last_snapshot(panel: TaskPanel) -> None:
    follow(panel, opened())
    rng = random.Random(7)
    tasks = [task(n) for n in range(1, 60)]
    for _ in range(1000):
        what = rng.randrange(4)
        if what == 0 and len(tasks) > 2:
            tasks.pop(rng.randrange(len(tasks)))
        elif what == 1:
            tasks.insert(rng.randrange(len(tasks) + 1), task(1000 + rng.randrange(10**9)))
        elif what == 2:
            tasks.insert(0, tasks.pop(rng.randrange(len(tasks))))
        else:
            place = rng.randrange(len(tasks))
            tasks[place] = task(tasks[place].id, status=rng.choice(["pending", "in_progress"]))
        follow(panel, ListChanged(AGENT, 1, tuple(tasks)))
    assert [row.task for row in panel.list.model().rows()] == tasks


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[Task, ...]:
    numbers = draw(st.lists(st.integers(1, 15), unique=True, max_size=15))
    statuses = st.sampled_from(["pending", "in_progress", "completed"])
    return tuple(
        task(n, subject=draw(st.sampled_from("ab")) + str(n), status=draw(statuses))
        for n in numbers
    )


@given(st.lists(st.tuples(snapshots(), st.booleans(), st.booleans()), max_size=12))
@settings(max_examples=60)
def test_any_history_keeps_the_model_whole(qapp, history) -> None:
    maker = RowBuilder()
    model: SnapshotListModel = SnapshotListModel(lambda row: row.key, {})
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert tester.model() is model
    for tasks, is_live, is_unfolded in history:
        rows = maker.rows(tasks, is_live=is_live, is_unfolded=is_unfolded)
        model.set_rows(rows)
        assert tuple(model.index(n).data(ROW_ROLE) for n in range(model.rowCount())) == rows


def test_an_unchanged_task_keeps_its_row() -> None:
    maker = RowBuilder()
    tasks = tuple(task(n) for n in range(1, 100))
    first = maker.rows(tasks, is_live=True, is_unfolded=False)
    changed = (*tasks[:50], task(51, subject="x"), *tasks[51:])
    second = maker.rows(changed, is_live=True, is_unfolded=False)
    assert sum(a is not b for a, b in zip(first, second, strict=True)) == 1


# -- the graph -----------------------------------------------------------------------------


def _edges(n: int, seed: int) -> tuple[Task, ...]:
    rng = random.Random(seed)
    blockers = {
        i: tuple(sorted(rng.sample(range(1, i), min(i - 1, rng.randrange(3)))))
        for i in range(1, n + 1)
    }
    blocks = {i: tuple(j for j in blockers if i in blockers[j]) for i in blockers}
    return tuple(task(i, blocked_by=blockers[i], blocks=blocks[i]) for i in blockers)


@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_blocker_stands_before_what_it_blocks_and_nothing_overlaps(seed, is_down, qapp) -> None:
    tasks = _edges(60, seed)
    layout = lay_out(tasks)
    for one in tasks:
        assert all(layout.places[b][0] < layout.places[one.id][0] for b in one.blocked_by)
    plan = GraphPlan(layout, CARD, is_down=is_down)
    cards = {one.id: QRectF(plan.corner(one.id), CARD) for one in tasks}
    for number, card in cards.items():
        assert plan.box.contains(card)
        assert not any(card.intersects(cards[other]) for other in cards if other < number)


@pytest.mark.parametrize("is_down", [False, True])
def test_an_arrow_runs_behind_no_other_task(is_down, qapp) -> None:
    tasks = _edges(50, 3)
    plan = GraphPlan(lay_out(tasks), CARD, is_down=is_down)
    cards = {one.id: QRectF(plan.corner(one.id), CARD) for one in tasks}
    for one in tasks:
        for blocker in one.blocked_by:
            path = plan.path((blocker, one.id))
            points = [path.pointAtPercent(n / 300) for n in range(301)]
            for number, card in cards.items():
                if number not in (blocker, one.id):
                    assert not any(card.contains(point) for point in points)


def shown_graph(qtbot, theme: Theme, *tasks: Task) -> SidePanel:
    side = SidePanel(theme)
    qtbot.addWidget(side)
    side.resize(348, 600)
    side.show()
    follow(side, opened(*tasks, is_live=True))
    show_graph(side)
    return side


def test_a_click_in_the_graph_selects_the_task_in_the_list(qtbot, theme: Theme) -> None:
    side = shown_graph(qtbot, theme, *_edges(6, 1))
    graph = side.graph
    graph.select(1)
    place = graph.mapFromScene(nodes(graph)[2].sceneBoundingRect().center())
    with qtbot.waitSignal(graph.selected) as hit, qtbot.assertNotEmitted(side.owner_chosen):
        qtbot.mouseClick(graph.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert hit.args == [2]
    assert side.tasks.list.currentIndex().data(ROW_ROLE).key == 2
    assert "task 2" in graph.accessibleDescription()


def test_the_arrow_keys_walk_along_the_graph(qtbot, theme: Theme) -> None:
    side = shown_graph(qtbot, theme, *_edges(12, 1))
    graph = side.graph
    walked = set()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down) * 6:
        qtbot.keyClick(graph, key)
        walked.add(graph.accessibleDescription())
    assert len(walked) > 3


def test_panning_selects_nothing(qtbot, theme: Theme) -> None:
    side = shown_graph(qtbot, theme, *_edges(50, 1))
    graph = side.graph
    seen = graph.mapToScene(graph.viewport().rect()).boundingRect()
    cards = [node.sceneBoundingRect() for node in nodes(graph).values()]
    start = graph.mapFromScene(next(one for one in cards if seen.contains(one)).center())
    button = Qt.MouseButton.LeftButton
    with qtbot.assertNotEmitted(graph.selected):
        qtbot.mousePress(graph.viewport(), button, pos=start)
        qtbot.mouseMove(graph.viewport(), start + QPoint(60, 40))
        qtbot.mouseRelease(graph.viewport(), button, pos=start + QPoint(60, 40))


def test_a_click_on_the_working_agent_shows_it(qtbot, theme: Theme) -> None:
    worked = task(1, status="in_progress", owner="explorer", blocks=(2,))
    waits = task(2, blocked_by=(1,), open_blockers=(1,), owner="later")
    side = shown_graph(qtbot, theme, worked, waits)
    graph = side.graph
    box = nodes(graph)[1].sceneBoundingRect()
    name = graph.mapFromScene(box.center().x(), box.center().y() + box.height() / 4)
    with qtbot.waitSignal(side.owner_chosen) as hit:
        qtbot.mouseClick(graph.viewport(), Qt.MouseButton.LeftButton, pos=name)
    assert hit.args == ["explorer"]


def test_a_large_graph_opens_readable_where_the_work_is_and_shows_all_when_asked(
    qtbot, theme: Theme
) -> None:
    tasks = [*_edges(50, 1)]
    tasks[30] = msgspec.structs.replace(tasks[30], status="in_progress")
    side = shown_graph(qtbot, theme, *tasks)
    graph = side.graph
    seen = graph.mapToScene(graph.viewport().rect()).boundingRect()
    assert graph.transform().m11() > 0.54
    assert seen.contains(nodes(graph)[31].sceneBoundingRect())
    graph.fit()
    cards = [node.sceneBoundingRect() for node in nodes(graph).values()]

    def is_all_shown() -> bool:
        seen = graph.mapToScene(graph.viewport().rect()).boundingRect()
        return all(seen.contains(card) for card in cards)

    qtbot.waitUntil(is_all_shown)


def test_many_changes_of_a_large_graph_are_laid_out_once_and_end_at_the_last(
    qtbot, theme: Theme
) -> None:
    tasks = _edges(130, 1)
    side = shown_graph(qtbot, theme, *tasks[:110])
    graph = side.graph
    laid_out = []
    graph.scene().sceneRectChanged.connect(laid_out.append)
    for count in range(111, 131):
        follow(side, ListChanged(AGENT, count, tasks[:count]))
    done = (msgspec.structs.replace(tasks[0], status="completed"), *tasks[1:])
    follow(side, ListChanged(AGENT, 200, done))
    assert nodes(graph)[1].state == "done", "states are shown at once"
    qtbot.waitUntil(lambda: set(nodes(graph)) == {one.id for one in tasks})
    assert len(laid_out) <= 1


def test_two_lines_fit_a_task_of_the_graph_at_every_text_size(qtbot, theme: Theme) -> None:
    side = shown_graph(qtbot, theme, *_edges(4, 1))
    graph = side.graph
    before = nodes(graph)[1].sceneBoundingRect().height()
    theme.configure(text_scale=200)
    lines = 2 * QFontMetrics(theme.font("small")).height()
    assert nodes(graph)[1].sceneBoundingRect().height() > max(before, lines)
    theme.configure(text_scale=100)


def test_the_graph_follows_the_list(qtbot, theme: Theme) -> None:
    side = SidePanel(theme)
    qtbot.addWidget(side)
    side.show()
    follow(side, opened(*_edges(10, 2)))
    show_graph(side)
    follow(side, ListChanged(AGENT, 2, _edges(4, 2)))
    assert set(nodes(side.graph)) == {1, 2, 3, 4}
    follow(side, ListChanged(AGENT, 3, ()))
    assert not nodes(side.graph)


def details(panel: TaskPanel) -> list[tuple[str, str]]:
    return [(row.state, row.detail) for row in panel.list.model().rows()]


def test_a_task_that_waits_for_the_user_says_so_and_for_what(panel) -> None:
    child = AgentId("sa_1")
    main = AgentInfo(AGENT, SESSION, "Main", status="waiting_approval")
    under = AgentInfo(child, SESSION, "tester", status="waiting_answer", parent_id=AGENT, task_id=2)
    own = task(1, status="in_progress", owner="main", active_form="Writing")
    handed = task(2, status="in_progress", owner="tester", active_form="Testing")
    info = SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m")
    lists = (ListChanged(AGENT, 1, (own, handed)),)
    follow(panel, SessionOpened(info, (main, under), (), 1, lists))
    assert details(panel) == [("running", "Writing"), ("running", "Testing")]
    change = DiffDisplay("OVERVIEW.md", "@@ -0,0 +1 @@\n+x\n", 1, 0)
    asked = ApprovalRequest(RequestId("rq"), AGENT, ToolCall("c", "write"), "Write?", change)
    follow(panel, ApprovalRequested(AGENT, asked))
    follow(panel, QuestionAsked(child, Question(QuestionId("qu"), child, "c", "Which?", (), 1.0)))
    assert details(panel) == [
        ("asking", "Waits for your word: OVERVIEW.md"),
        ("asking", "Waits for your answer"),
    ]
    assert "Waits for your word: OVERVIEW.md" in index_of(panel, 1).data(
        Qt.ItemDataRole.AccessibleTextRole
    )
    follow(panel, ApprovalResolved(AGENT, RequestId("rq"), AllowOnce()))
    assert details(panel)[0] == ("running", "Writing")


def test_the_graph_turns_no_spinner_for_a_task_that_waits_for_the_user(qtbot, theme) -> None:
    side = SidePanel(theme)
    qtbot.addWidget(side)
    side.show()
    child = AgentId("sa_1")
    main = AgentInfo(AGENT, SESSION, "Main", status="running")
    under = AgentInfo(child, SESSION, "tester", status="waiting_answer", parent_id=AGENT, task_id=2)
    tasks = (
        task(1, status="in_progress", owner="main"),
        task(2, status="in_progress", owner="tester"),
    )
    info = SessionInfo(SESSION, AGENT, "t", Workspace("/w"), "m")
    follow(side, SessionOpened(info, (main, under), (), 1, (ListChanged(AGENT, 1, tasks),)))
    show_graph(side)
    asked = Question(QuestionId("qu"), child, "c", "Which?", (), 1.0)
    follow(side, QuestionAsked(child, asked))
    assert {n: node.state for n, node in nodes(side.graph).items()} == {1: "running", 2: "asking"}
    follow(side, QuestionAnswered(child, QuestionId("qu"), "This", "user"))
    assert nodes(side.graph)[2].state == "running"


def test_a_task_that_is_added_is_scrolled_to(panel, qtbot) -> None:
    many = [task(number) for number in range(1, 60)]
    many[0] = task(1, status="in_progress")
    follow(panel, opened(*many, is_live=True))
    field = panel.findChild(QLineEdit, "addTask")
    field.setText("One more")
    with qtbot.waitSignal(panel.edited):
        qtbot.keyClick(field, Qt.Key.Key_Return)
    follow(panel, ListChanged(AGENT, 2, (*many, task(60, subject="One more"))))
    view = panel.list

    def is_seen() -> bool:
        return view.viewport().rect().contains(view.visualRect(index_of(panel, 60)))

    qtbot.waitUntil(is_seen)
    # It stays in sight while the work goes on.
    follow(panel, ListChanged(AGENT, 3, (*many, task(60, subject="One more"), task(61))))
    assert is_seen()

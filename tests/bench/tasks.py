"""A list of 10,000 tasks and a graph of 500: one change, opening, many changes, spinners."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import AgentsChanged, Event, ListChanged, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.tasks import Task, TaskChanges, TaskEdit, TaskState
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.tasks.task_list import TaskList
from desktop_agent.gui.tasks.graph import TaskGraph
from desktop_agent.gui.tasks.panel import SidePanel
from tests.bench.report import report
from tests.bench.stage import Stage, pause, run, settled
from tests.helpers.panels import follow

_TASKS, _EDITS, _ROUNDS, _NODES, _FRAMES = 10_000, 1_000, 15, 500, 120
_SESSION, _AGENT = SessionId("se_bench"), AgentId("ag_bench")


class _PaintCount(QObject):
    """Counts the paint events of one widget and the pixels that they ask for."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__()
        self.events, self.pixels = 0, 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.events += 1
            box = event.rect()  # type: ignore[attr-defined]
            self.pixels += box.width() * box.height()
        return False


def _long_list(count: int) -> TaskState:
    """Return tasks in chains of ten, each waiting for the one before."""
    return TaskState(
        tuple(
            Task(
                id=number,
                subject=f"Task number {number} of many",
                blocked_by=(number - 1,) if number % 10 != 1 else (),
            )
            for number in range(1, count + 1)
        ),
        count + 1,
    )


def _opened(changed: ListChanged, *, is_running: bool) -> SessionOpened:
    info = SessionInfo(
        id=_SESSION, main_agent=_AGENT, title="Bench", workspace=Workspace("/"), model="m"
    )
    return SessionOpened(info, agents=(_main(is_running=is_running),), lists=(changed,))


def _main(*, is_running: bool) -> AgentInfo:
    return AgentInfo(_AGENT, _SESSION, "Main", status="running" if is_running else "idle")


def _took(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def _painted(panel: SidePanel) -> None:
    panel.tasks.list.viewport().repaint()
    QApplication.processEvents()


def _measure_list(stage: Stage) -> SidePanel:
    told: list[ListChanged] = []
    tasks = TaskList(_AGENT, _long_list(_TASKS), told.append)
    panel = SidePanel(stage.theme)
    panel.resize(340, 800)
    panel.show()
    QApplication.processEvents()
    first = ListChanged(_AGENT, 1, tasks.tasks)

    def open_list() -> None:
        follow(panel, _opened(first, is_running=True))
        _painted(panel)

    report("tasks_open", _took(open_list))
    changes: Sequence[Callable[[int], object]] = (
        lambda n: tasks.update(5 + n, TaskChanges(subject=f"Renamed {n}")),
        lambda n: tasks.update(5_001 + 10 * n, TaskChanges(status="completed")),
        lambda n: tasks.create(f"Another one {n}", blocked_by=[3]),
        lambda n: tasks.update(100 + n, TaskChanges(status="deleted")),
        lambda n: tasks.move(8_000 + n, 3),
    )
    in_engine: list[float] = []
    applied: list[float] = []
    painted: list[float] = []
    for change in changes:
        for number in range(_ROUNDS):
            in_engine.append(_took(lambda c=change, n=number: c(n)))
            taken = _took(lambda: follow(panel, told[-1]))
            applied.append(taken)
            painted.append(taken + _took(lambda: _painted(panel)))
    assert panel.tasks.tasks == tasks.tasks
    report("tasks_change_engine", statistics.median(in_engine))
    report("tasks_change_applied", statistics.median(applied))
    report("tasks_change_painted", statistics.median(painted))
    report("tasks_change_painted_p90", sorted(painted)[int(len(painted) * 0.9)])
    tasks.update(1, TaskChanges(status="in_progress"))
    follow(panel, told[-1])
    panel.tasks.list.scrollToTop()
    _painted(panel)
    return panel


def _measure_spinner(stage: Stage, panel: SidePanel) -> None:
    viewport = panel.tasks.list.viewport()
    count = _PaintCount(viewport)
    costs: list[float] = []
    for _ in range(24):
        costs.append(_took(lambda: (stage.theme.pulse._on_timeout(), QApplication.processEvents())))
    row = stage.theme.size("row2") * viewport.width()
    assert count.events, "no spinner turned"
    report("tasks_spinner_frame", statistics.median(costs))
    report("tasks_spinner_rows", count.pixels / count.events / row)
    follow(panel, AgentsChanged(_SESSION, (_main(is_running=False),)))
    QApplication.processEvents()
    before = count.events
    QTest.qWait(500)
    report("tasks_spinner_idle", count.events - before)


def _measure_graph(stage: Stage) -> None:
    tasks = TaskList(_AGENT, _long_list(_NODES), lambda _: None)
    for number in range(1, _NODES - 40, 7):
        tasks.update(number + 37, TaskChanges(add_blocked_by=(number,)))
    graph = TaskGraph(stage.theme)
    graph.resize(1040, 680)
    graph.show()
    QApplication.processEvents()
    report("tasks_graph_open", _took(lambda: graph.set_tasks(tasks.tasks, is_live=True)))
    graph._zoom(0.5 / graph.transform().m11())
    viewport = graph.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=QPoint(500, 340))
    frames: list[float] = []
    for number in range(_FRAMES):
        turn = number / _FRAMES * math.tau
        where = QPoint(500 + round(400 * math.cos(turn)), 340 + round(300 * math.sin(turn)))
        frames.append(_took(lambda at=where: (QTest.mouseMove(viewport, at), viewport.repaint())))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton)
    graph.hide()
    report("tasks_graph_pan", statistics.median(frames))
    report("tasks_graph_pan_p99", sorted(frames)[int(len(frames) * 0.99)])


async def _measure_rapid(stage: Stage) -> None:
    """Make changes on the engine's thread as fast as it takes them."""
    changed: list[ListChanged] = []

    def hear(event: Event) -> None:
        if isinstance(event, ListChanged):
            changed.append(event)

    stage.heard.append(hear)
    agent = await stage.new_session("demo")
    stage.meter.start()
    start = time.perf_counter()
    for number in range(_EDITS):
        stage.bridge.engine.edit_tasks(agent, TaskEdit("add", text=f"Task {number}"))
    # Of the changes of one batch the window gets the newest.
    await stage.until(lambda: bool(changed) and changed[-1].revision == _EDITS)
    report("tasks_rapid_seconds", time.perf_counter() - start)
    stage.meter.stop()
    panel = stage.window.side._panel.tasks.tasks
    is_equal = panel.tasks == changed[-1].tasks and len(panel.tasks) == _EDITS
    rows = [row.task for row in panel._model.rows()]
    report("tasks_rapid_equal", float(is_equal and tuple(rows) == changed[-1].tasks))
    report("tasks_rapid_gap_max", max(stage.meter.gaps_ms))


async def _play(stage: Stage) -> None:
    await stage.new_session("demo")
    await settled()
    # No task comes before somebody has written.
    stage.window.frame.composer.set_text("Plan the garden.")
    while not stage.window.side._preload.is_done:
        await pause(0.1)
    panel = _measure_list(stage)
    _measure_spinner(stage, panel)
    panel.close()
    _measure_graph(stage)
    await _measure_rapid(stage)


if __name__ == "__main__":
    run(_play, Settings(model="demo"))

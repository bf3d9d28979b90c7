"""The graph of tasks at every size: it comes to rest."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from desktop_agent.core.tasks import Task
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.tasks.graph import TaskGraph

_MOST = 50
_CHAIN = [(n - 1,) if n > 1 else () for n in range(1, 9)]
_FAN = [() if n == 1 else (1,) for n in range(1, 9)]
_WIDE = [(), (1,), (), (1, 3), (), (4,), (2,), (5,), (1, 2)]


class Resizes(QObject):
    """Counts how often the view is resized; beyond reason it is not told any more."""

    def __init__(self, graph: TaskGraph) -> None:
        super().__init__()
        self.count = 0
        graph.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Resize
        return event.type() == QEvent.Type.Resize and self.count > _MOST


@pytest.mark.parametrize("blockers", [_CHAIN, _FAN, _WIDE], ids=["chain", "fan", "wide"])
def test_at_no_size_do_scroll_bars_come_and_go_for_ever(
    theme: Theme, qtbot: QtBot, blockers: list[tuple[int, ...]]
) -> None:
    """The window would stand still."""
    tasks = [Task(n, f"task {n}", blocked_by=by) for n, by in enumerate(blockers, 1)]
    graph = TaskGraph(theme)
    qtbot.addWidget(graph)
    graph.set_tasks(tasks, is_live=True)
    graph.show()
    qtbot.waitExposed(graph)
    graph.select(1)
    endless: list[tuple[int, int]] = []
    for width in range(120, 900, 31):
        for height in range(20, 300, 8):
            resizes = Resizes(graph)
            graph.resize(width, height)
            QApplication.processEvents()
            if resizes.count > _MOST:
                endless.append((width, height))
            graph.viewport().removeEventFilter(resizes)
    assert endless == []

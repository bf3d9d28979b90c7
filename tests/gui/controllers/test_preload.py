"""What the first tasks and subagents need is ready before they come."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Qt, QTimer

from desktop_agent.gui.controllers import side_panel as controller
from desktop_agent.gui.kit import preload
from desktop_agent.gui.kit.preload import Preload
from desktop_agent.gui.tasks.panel import SidePanel
from tests.helpers.patience import HANG_MS
from tests.helpers.windows import has_running_timer, side_panel


@pytest.fixture
def in_no_time(monkeypatch):
    monkeypatch.setattr(controller, "_WAIT_MS", 0)
    monkeypatch.setattr(preload, "_PAUSE_MS", 0)


def test_all_that_the_first_tasks_need_is_got_ready_in_order_and_once(qtbot, in_no_time):
    owner, made = QObject(), []
    loading = Preload(owner, controller.MODULES, (lambda: made.append(1), lambda: made.append(2)))
    loading.start()
    qtbot.waitUntil(lambda: loading.is_done, timeout=HANG_MS)
    assert {f"desktop_agent.gui.{name}" for name in controller.MODULES} <= sys.modules.keys()
    assert made == [1, 2]
    loading.start()
    assert not has_running_timer(loading)


def test_nothing_is_got_ready_between_two_keys(qtbot):
    owner, made = QObject(), []
    loading = Preload(owner, (), (lambda: made.append(1),), wait_ms=20_000)
    loading.put_off()
    assert not has_running_timer(loading)
    loading.start()
    loading.findChild(QTimer).setInterval(30)
    loading.put_off()
    assert loading.findChild(QTimer).interval() == 20_000
    assert made == []


def test_a_step_that_fails_is_tried_once_and_not_for_ever(qtbot, in_no_time):
    owner, tried = QObject(), []

    def fail():
        tried.append(1)
        raise OSError("no such part")

    loading = Preload(owner, (), (fail,))
    with qtbot.captureExceptions() as failures:
        loading.start()
        qtbot.waitUntil(lambda: bool(failures), timeout=HANG_MS)
    assert tried == [1]
    assert not has_running_timer(loading)


def test_a_window_takes_no_room_for_tasks_before_somebody_writes(
    qtbot, in_no_time, open_window, project
):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    assert side_panel(window) is None
    assert not has_running_timer(window.side.findChild(Preload))
    window.frame.composer.focus_text()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_A)
    qtbot.waitUntil(lambda: side_panel(window) is not None, timeout=HANG_MS)
    panel = side_panel(window)
    # Those of windows that were closed before may not be gone yet.
    assert window.findChildren(SidePanel) == [panel.tasks]
    assert not panel.has_content

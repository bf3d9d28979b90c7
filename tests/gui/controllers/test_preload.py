"""What the first tasks and subagents need is ready before they come."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Qt

from desktop_agent.gui.controllers import preload


@pytest.fixture
def in_no_time(monkeypatch):
    monkeypatch.setattr(preload, "_WAIT_MS", 0)
    monkeypatch.setattr(preload, "_PAUSE_MS", 0)


def test_all_that_the_first_tasks_need_is_got_ready_in_order_and_once(qtbot, in_no_time):
    owner, made = QObject(), []
    loading = preload.Preload(owner, (lambda: made.append(1), lambda: made.append(2)))
    loading.start()
    qtbot.waitUntil(lambda: loading.is_done, timeout=20_000)
    assert {f"desktop_agent.gui.{name}" for name in preload._MODULES} <= sys.modules.keys()
    assert made == [1, 2]
    loading.start()
    assert not loading._timer.isActive()


def test_nothing_is_got_ready_between_two_keys(qtbot, monkeypatch):
    monkeypatch.setattr(preload, "_WAIT_MS", 20_000)
    owner, made = QObject(), []
    loading = preload.Preload(owner, (lambda: made.append(1),))
    loading.put_off()
    assert not loading._timer.isActive()
    loading.start()
    loading._timer.setInterval(preload._PAUSE_MS)
    loading.put_off()
    assert loading._timer.interval() == 20_000
    assert made == []


def test_a_step_that_fails_is_tried_once_and_not_for_ever(qtbot, in_no_time):
    owner, tried = QObject(), []

    def fail():
        tried.append(1)
        raise OSError("no such part")

    loading = preload.Preload(owner, (fail,))
    with qtbot.captureExceptions() as failures:
        loading.start()
        qtbot.waitUntil(lambda: bool(failures), timeout=20_000)
    assert tried == [1]
    assert not loading._timer.isActive()


def test_a_window_takes_no_room_for_tasks_before_somebody_writes(
    qtbot, in_no_time, open_window, project
):
    window = open_window(project, model="demo")
    qtbot.waitUntil(lambda: window.flow.info is not None, timeout=60_000)
    assert window.side._panel is None
    assert not window.side._preload._timer.isActive()
    window.frame.composer.focus_text()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_A)
    qtbot.waitUntil(lambda: window.side._panel is not None, timeout=60_000)
    panel = window.side._panel
    assert window.side._parts == {"tasks": panel.tasks, "agents": panel.agents}
    assert panel.tasks.window() is window
    assert not panel.has_content

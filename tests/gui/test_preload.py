"""What the first message needs is loaded before it comes."""

from __future__ import annotations

import sys

from PySide6.QtCore import QObject

from desktop_agent.gui import preload


def test_all_that_the_first_message_needs_is_loaded_while_nothing_happens(qtbot, monkeypatch):
    monkeypatch.setattr(preload, "_WAIT_MS", 0)
    monkeypatch.setattr(preload, "_PAUSE_MS", 0)
    owner = QObject()
    loading = preload.Preload(owner)
    with qtbot.waitSignal(loading.loaded, timeout=20_000):
        loading.start()
    assert {f"desktop_agent.gui.{name}" for name in preload._MODULES} <= sys.modules.keys()
    loading.start()
    assert not loading._timer.isActive()

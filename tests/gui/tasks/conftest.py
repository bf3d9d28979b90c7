from __future__ import annotations

import pytest

from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.tasks.panel import TaskPanel


@pytest.fixture
def panel(qtbot, theme: Theme) -> TaskPanel:
    panel = TaskPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(348, 600)
    panel.show()
    return panel

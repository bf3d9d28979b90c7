"""A team whose answers a test decides, and all that the window hears of it."""

from __future__ import annotations

import pytest

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested
from tests.gui.agents.test_window_agents import Team
from tests.helpers.windows import bridge_of


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def heard(window):
    """Every event the window got; what is asked is allowed."""
    events = []

    def take(batch):
        events.extend(batch)
        for event in batch:
            if isinstance(event, ApprovalRequested):
                bridge_of(window).engine.decide(event.request.id, AllowOnce())

    bridge_of(window).received.connect(take)
    return events

"""What a test looks at inside an engine, in one place."""

from __future__ import annotations

from typing import Any


def agent_of(engine: Any, agent_id: str) -> Any:
    """Return an agent as the engine has it, whole."""
    return engine._agent(agent_id)


def history_of(engine: Any, agent_id: str) -> Any:
    """Return the history of an agent that runs; from any thread, while it is at rest."""
    return engine._agents.find(agent_id).history

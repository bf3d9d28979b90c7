"""What a test looks at inside an engine, in one place."""

from __future__ import annotations

from typing import Any


def agent_of(engine: Any, agent_id: str) -> Any:
    """Return an agent as the engine has it, whole."""
    return engine._agent(agent_id)

"""What a test looks at inside an engine, in one place."""

from __future__ import annotations

from typing import Any

from desktop_agent.core.ids import AgentId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.tree.agents import Agents
from desktop_agent.engine.tree.messaging import Steering


def tree_of(engine: Any) -> Agents:
    """Return the registry of the agents."""
    return engine._agents


def agent_of(engine: Any, agent_id: str) -> Any:
    """Return an agent as the engine has it, whole."""
    return engine._agent(agent_id)


def history_of(engine: Any, agent_id: str) -> Any:
    """Return the history of an agent that runs; from any thread, while it is at rest."""
    agent = tree_of(engine).find(AgentId(agent_id))
    assert agent is not None
    return agent.history


def steering_of(engine: Any) -> Steering:
    """Return what agents say to each other through."""
    return engine._steering


def questions_of(engine: Any) -> Questions:
    """Return what agents have asked, and who is to answer."""
    return engine._questions


def info_of(engine: Any, session_id: str) -> SessionInfo:
    """Return what the engine knows of a session, also while no disk takes it."""
    return engine._sessions.session(session_id).info

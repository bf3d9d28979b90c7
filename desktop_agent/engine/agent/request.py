"""What is sent to the model for one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.requests import ModelRequest, ToolSpec
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import Tool
from desktop_agent.engine.agent.prompt import Prompt
from desktop_agent.engine.permissions.scope import Scope, offered
from desktop_agent.engine.skills.catalog import Catalog


def request_for(
    agent_id: AgentId,
    scope: Scope,
    history: Sequence[Message],
    *,
    spec: AgentSpec | None,
    known: Mapping[str, Tool],
    catalog: Catalog,
    prompt: Prompt,
    settings: Settings,
) -> ModelRequest:
    """Return the request of an agent's next step; without `known` tools it is the last."""
    tools = offered(known, scope, has_subagents=settings.has_subagents)
    if not catalog.section:
        tools.pop("skill", None)
    return ModelRequest(
        agent_id=agent_id,
        model=scope.model,
        system=prompt.text(scope, spec, tools, catalog),
        messages=tuple(history),
        tools=tuple(ToolSpec(t.name, t.description, dict(t.schema)) for t in tools.values()),
        api_base=scope.api_base,
        limits=settings.limits,
    )

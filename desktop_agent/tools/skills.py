"""`skill`: the text of a skill, when the agent's work matches its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from desktop_agent.core.tool import Access, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.tools.define import Arguments, tool


class SkillArguments(Arguments, frozen=True):
    """Which skill."""

    name: Annotated[str, Meta(description="Its name, exactly as in the list of skills.")] = ""


def _describe(raw: Mapping[str, Any]) -> str:
    return f"loading the skill {str(raw.get('name', ''))[:64]}"


@tool(access=Access.INTERNAL, describe=_describe)
async def skill(args: SkillArguments, ctx: ToolContext) -> ToolOutput:
    """Load the whole text of a skill, before you do the work that it is for.

    The files it speaks of lie in its folder, which you may read.
    """
    if not isinstance(ctx.agent, Agent):
        raise ToolError("skills are not available here")
    text, facts = await ctx.agent.skills.load(args.name.strip())
    return ToolOutput(text, facts=facts)

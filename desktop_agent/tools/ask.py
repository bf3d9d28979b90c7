"""`ask_user`: a question for the user, with answers to pick from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from desktop_agent.core.tool import Access, ToolContext, ToolError, ToolOutput
from desktop_agent.tools.define import Arguments, tool

_MOST_OPTIONS = 8


class AskArguments(Arguments, frozen=True):
    """What to ask."""

    question: Annotated[str, Meta(description="One clear question.")]
    options: Annotated[
        tuple[str, ...], Meta(description="Answers to pick from, if there are any.")
    ] = ()


def _describe(raw: Mapping[str, Any]) -> str:
    return "asking you"


@tool(access=Access.INTERNAL, describe=_describe)
async def ask_user(args: AskArguments, ctx: ToolContext) -> ToolOutput:
    """Ask the user a question and wait for the answer.

    Only for what you can't find out yourself and must know to go on. The user can always
    answer in their own words.
    """
    if not args.question.strip():
        raise ToolError("question is required")
    options = tuple(dict.fromkeys(option.strip() for option in args.options if option.strip()))
    answer = await ctx.ask_user(args.question.strip(), options[:_MOST_OPTIONS])
    return ToolOutput(answer)

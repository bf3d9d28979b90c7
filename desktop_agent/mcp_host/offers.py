"""What a server offers, listed page by page within bounds: tools, prompts, resources."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types
from mcp import Client, MCPError

from desktop_agent.core.mcp import McpArgument, McpOffer, McpPrompt, McpResource
from desktop_agent.mcp_host.bounds import LONGEST_NAME, cut, tool_of

T = TypeVar("T")

MOST_TOOLS = 500
MOST_PROMPTS = 200
MOST_RESOURCES = 500
MOST_PAGES = 50
MOST_ARGUMENTS = 20
LONGEST_TITLE = 200
LONGEST_LINE = 300
LONGEST_ADDRESS = 2_000
# Prompts and resources are only an addition: who does not list them in time has none.
_MORE_S = 60.0

# Any: a page of a list, each kind of which is a type of its own.
_Page = Callable[..., Awaitable[Any]]


async def list_tools(client: Client) -> McpOffer:
    """Return the tools of a server alone. Raises what the SDK raises."""
    if client.server_capabilities.tools is None:
        return McpOffer()
    found, left_out = await _listed(client.list_tools, "tools", tool_of, MOST_TOOLS)
    return McpOffer(tuple({tool.name: tool for tool in found}.values()), left_out=left_out)


async def list_more(client: Client) -> tuple[tuple[McpPrompt, ...], tuple[McpResource, ...]]:
    """Return the prompts and the resources of a server; none of what it fails to list."""
    able = client.server_capabilities
    prompts: list[McpPrompt] = []
    resources: list[McpResource] = []
    if able.prompts is not None:
        prompts = await _or_none(client.list_prompts, "prompts", _prompt_of, MOST_PROMPTS)
    if able.resources is not None:
        resources = await _or_none(client.list_resources, "resources", _resource_of, MOST_RESOURCES)
    return (
        tuple({one.name: one for one in prompts}.values()),
        tuple({one.uri: one for one in resources}.values()),
    )


async def _or_none(page: _Page, kind: str, take: Callable[[Any], T | None], most: int) -> list[T]:
    try:
        async with asyncio.timeout(_MORE_S):
            return (await _listed(page, kind, take, most))[0]
    except (MCPError, TimeoutError, ValueError):
        return []


async def _listed(
    page: _Page, kind: str, take: Callable[[Any], T | None], most: int
) -> tuple[list[T], int]:
    """Return at most so many entries, and how many of those that were seen were left out."""
    found: list[T] = []
    left_out, cursor = 0, None
    for _ in range(MOST_PAGES):
        answer = await page(cursor=cursor)
        for one in getattr(answer, kind):
            value = take(one) if len(found) < most else None
            left_out += value is None
            if value is not None:
                found.append(value)
        cursor = answer.next_cursor
        if not cursor or len(found) >= most:
            break
    return found, left_out


def _prompt_of(prompt: mcp_types.Prompt) -> McpPrompt | None:
    asked = prompt.arguments or []
    names = [one.name for one in asked]
    is_sound = all(0 < len(name) <= LONGEST_TITLE for name in (prompt.name, *names))
    if not is_sound or len(asked) > MOST_ARGUMENTS or len(set(names)) < len(names):
        return None
    about = cut((prompt.description or prompt.title or "").strip(), LONGEST_LINE)
    return McpPrompt(prompt.name, about, tuple(map(_argument_of, asked)))


def _argument_of(argument: mcp_types.PromptArgument) -> McpArgument:
    about = cut((argument.description or "").strip(), LONGEST_LINE)
    return McpArgument(argument.name, about, bool(argument.required))


def _resource_of(resource: mcp_types.Resource) -> McpResource | None:
    if not 0 < len(resource.uri) <= LONGEST_ADDRESS or len(resource.name) > LONGEST_NAME:
        return None
    name = cut((resource.title or resource.name).strip() or resource.uri, LONGEST_TITLE)
    about = cut((resource.description or "").strip(), LONGEST_LINE)
    kind = cut(resource.mime_type or "", LONGEST_TITLE)
    size = resource.size if resource.size is not None and 0 <= resource.size < 2**53 else None
    return McpResource(resource.uri, name, about, kind, size)

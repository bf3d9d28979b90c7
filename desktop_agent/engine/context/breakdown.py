"""What fills a request, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from desktop_agent.core.messages import ImagePart, Message, Part, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.origins import AttachedFile, PickedSkill, ServerResource
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.tool import Access, Tool
from desktop_agent.core.usage import ContextUse
from desktop_agent.engine.context.estimate import (
    Estimate,
    message_tokens,
    part_tokens,
    text_tokens,
    tools_tokens,
)


def breakdown(
    request: ModelRequest, skill_list: str, estimate: Estimate, known: Mapping[str, Tool]
) -> ContextUse:
    """Return what a request takes; `skill_list` is the part of its system prompt about skills.

    The parts add up to the estimate of the whole.
    """
    counts = Counter(system=text_tokens(request.system), tools=tools_tokens(request.tools))
    if skill_list and skill_list in request.system:
        counts["skills"] = text_tokens(skill_list)
        counts["system"] -= counts["skills"]
    reading = _calls_that_read(request.messages, known)
    for message in request.messages:
        whole = message_tokens(message)
        for part in message.parts:
            if kind := _kind_of(part, reading):
                counts[kind] += part_tokens(part)
                whole -= part_tokens(part)
        counts["messages"] += whole
    total, raw = estimate.tokens(request), counts.total()
    shares = {name: count * total // raw for name, count in counts.items()}
    shares["messages"] = shares.get("messages", 0) + total - sum(shares.values())
    return msgspec.convert(shares, ContextUse)


def _kind_of(part: Part, reading: set[str]) -> str:
    match part:
        case TextPart(origin=PickedSkill()) | ToolResult(facts=PickedSkill()):
            return "skills"
        case TextPart(origin=AttachedFile() | ServerResource()) | ImagePart():
            return "files"
        case ToolResult(call_id=call_id) if call_id in reading:
            return "files"
        case _:
            return ""


def _calls_that_read(messages: tuple[Message, ...], known: Mapping[str, Tool]) -> set[str]:
    """Return the calls whose results are what stands in a file."""
    calls = (part for one in messages for part in one.parts if isinstance(part, ToolCall))
    return {call.id for call in calls if _reads(call, known.get(call.name))}


def _reads(call: ToolCall, tool: Tool | None) -> bool:
    is_reader = tool is not None and tool.access is Access.READ
    return is_reader and isinstance(call.arguments.get("path"), str)

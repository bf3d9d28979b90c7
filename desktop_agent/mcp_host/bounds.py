"""What servers send, cut to what the app takes: tools, results, words about failures."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

import mcp_types

from desktop_agent.core.mcp import McpTool
from desktop_agent.core.messages import ImagePart
from desktop_agent.core.parts.pictures import whole_picture_type
from desktop_agent.core.pipes.mcp_pipe import CallAnswered
from desktop_agent.mcp_host.schemas import plain_schema

LONGEST_NAME = 1_000
LONGEST_DESCRIPTION = 2_000
LARGEST_SCHEMA = 30_000
LONGEST_TEXT = 2_000_000
# What goes with a message, or into it, is for a person to look through.
LONGEST_MESSAGE = 200_000
MOST_MESSAGES = 50
LONGEST_FAILURE = 2_000
MOST_IMAGES = 8
LARGEST_IMAGE = 8_000_000
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


def tool_of(tool: mcp_types.Tool) -> McpTool | None:
    """Return a tool as the app takes it; None for one that is beyond all bounds."""
    schema: dict[str, Any] = {**tool.input_schema, "type": "object"}
    text = json.dumps(schema, sort_keys=True)
    if not 0 < len(tool.name) <= LONGEST_NAME or len(text) > LARGEST_SCHEMA:
        return None
    hints = tool.annotations
    said = (tool.name, tool.description or "", text, hints.model_dump_json() if hints else "")
    digest = hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()
    description = cut((tool.description or tool.title or "").strip(), LONGEST_DESCRIPTION)
    mark = "unknown"
    if hints is not None and hints.read_only_hint is not None:
        mark = "reads" if hints.read_only_hint else "changes"
    elif hints is not None and hints.destructive_hint is not None:
        mark = "changes"
    return McpTool(tool.name, description, plain_schema(schema), mark, digest)


def answer_of(id_: int, result: mcp_types.CallToolResult) -> CallAnswered:
    """Return a result as the app takes it: text once, though it comes in two forms."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in result.content:
        image = _image(block) if isinstance(block, mcp_types.ImageContent) else None
        if image is not None and len(images) < MOST_IMAGES:
            images.append(image)
        else:
            texts.append(_text(block))
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = cut("\n\n".join(filter(None, texts)), LONGEST_TEXT)
    return CallAnswered(id_, text, tuple(images), bool(result.is_error))


def prompt_answer(id_: int, result: mcp_types.GetPromptResult) -> CallAnswered:
    """Return a prompt as one text; who speaks is named where it is not the user alone."""
    told = result.messages[:MOST_MESSAGES]
    is_plain = all(one.role == "user" for one in told)
    texts = [_text(one.content) for one in told]
    if not is_plain:
        names = [one.role.capitalize() for one in told]
        texts = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    return CallAnswered(id_, _whole("\n\n".join(texts)))


def resource_answer(id_: int, result: mcp_types.ReadResourceResult) -> CallAnswered:
    """Return what a resource holds: its texts as one, and its images."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for one in result.contents:
        if isinstance(one, mcp_types.TextResourceContents):
            texts.append(one.text)
        elif len(images) < MOST_IMAGES and (image := _decoded(one.mime_type or "", one.blob)):
            images.append(image)
    return CallAnswered(id_, _whole("\n\n".join(texts)), tuple(images))


def _whole(text: str) -> str:
    if len(text) <= LONGEST_MESSAGE:
        return text
    left = len(text) - LONGEST_MESSAGE
    return f"{text[:LONGEST_MESSAGE]}\n\n[… {left:,} characters left out]"


def _text(block: Any) -> str:
    match block:
        case mcp_types.TextContent(text=text):
            return text
        case mcp_types.ResourceLink(uri=uri, name=name):
            return f"[A resource: {name} at {uri}]"
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(text=text)):
            return text
        case mcp_types.EmbeddedResource(resource=other):
            return f"[A resource that is no text: {other.uri}]"
        case _:
            return f"[{getattr(block, 'type', 'something')} that can't be shown was left out]"


def _image(block: mcp_types.ImageContent) -> ImagePart | None:
    return _decoded(block.mime_type, block.data)


def _decoded(kind: str, data: str) -> ImagePart | None:
    if kind not in _IMAGES or len(data) > LARGEST_IMAGE * 4 // 3:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    # A server may call it something else, and providers compare.
    found = whole_picture_type(content)
    return ImagePart(found, content) if found else None


def failure_text(error: BaseException) -> str:
    """Return what went wrong in the words of the innermost error: groups say nothing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "It did not answer in time."
    words = " ".join(str(error).split()) or type(error).__name__
    return cut(words, LONGEST_FAILURE)


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters, with a mark where something was left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

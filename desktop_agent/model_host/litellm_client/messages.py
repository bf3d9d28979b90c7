"""An agent's history in litellm's form, kept so that each message is converted once."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from desktop_agent.core.messages import (
    ImagePart,
    Message,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.parts.origins import AppNotice
from desktop_agent.core.prose.framing import for_model, framed
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host.litellm_client.call_ids import mistral_id, plain_name, short_id
from desktop_agent.model_host.litellm_client.patches import OPENAI_HOST

Family = Literal["anthropic", "gemini", "responses", "deepseek", "kimi", "mistral", "chat"]

# Their models, wherever they are served, are as strict as they are themselves.
_MISTRALS = ("mistral", "mixtral", "ministral", "codestral", "devstral", "magistral", "pixtral")

# Kimi itself refuses a history whose calls come without what was thought before them.
_KIMIS_OWN = ("moonshot/", "openai/")
_MARK = {"type": "ephemeral"}


def family_of(model: str) -> Family:
    """Return who reads a history: it goes back with its signatures, and in the form it takes."""
    name = model.lower()
    if name.startswith(("openai/responses/", "responses/")):
        return "responses"
    if "claude" in name or name.startswith("anthropic/"):
        return "anthropic"
    if name.startswith(("gemini/", "vertex_ai/gemini")):
        return "gemini"
    if "kimi" in name and name.startswith(_KIMIS_OWN):
        return "kimi"
    if "deepseek" in name:
        return "deepseek"
    return "mistral" if any(word in name for word in _MISTRALS) else "chat"


def maker_of(model: str, api_base: str = "") -> str:
    """Return who makes this model's signatures, and takes them back.

    Many speak Anthropic's language, and OpenAI's: what they sign is refused by those two.
    """
    family, name = family_of(model), model.lower()
    if family == "anthropic" and "claude" not in name:
        return f"{family} {name} {api_base}".replace(":", "-")
    if family == "responses" and api_base and OPENAI_HOST not in api_base:
        return f"{family} {api_base}".replace(":", "-")
    return family


def seal(maker: str, signature: str) -> str:
    """Mark a signature with who made it: another provider would refuse it."""
    return f"{maker}:{signature}" if signature else ""


def unseal(maker: str, sealed: str) -> str:
    """Return the signature unchanged when this one made it, else nothing."""
    owner, _, signature = sealed.partition(":")
    return signature if owner == maker else ""


class _Entry(msgspec.Struct):
    message: Message
    converted: list[dict[str, Any]]
    call_ids: tuple[str, ...]


class Conversation(msgspec.Struct):
    """What the host keeps of one agent between requests."""

    model: str
    entries: list[_Entry] = []

    def has(self, model: str, kept: int) -> bool:
        """Whether the first `kept` messages are here, converted for this model."""
        return kept == 0 or (self.model == model and len(self.entries) >= kept)

    def advance(self, request: ModelRequest, kept: int) -> None:
        """Keep the first messages, and add those of the request."""
        self.model = request.model
        del self.entries[kept:]
        family = family_of(request.model)
        maker = maker_of(request.model, request.api_base)
        is_demo = request.model == DEMO_MODEL
        for message in request.messages:
            converted = [] if is_demo else convert(message, family, maker)
            ids = tuple(call.id for call in message.tool_calls)
            self.entries.append(_Entry(message, converted, ids))

    def history(self) -> tuple[Message, ...]:
        """Return the messages as they came."""
        return tuple(entry.message for entry in self.entries)

    def call_ids(self) -> set[str]:
        """Return the ids of all tool calls so far."""
        return {id_ for entry in self.entries for id_ in entry.call_ids}

    def prompt(self, system: str) -> list[dict[str, Any]]:
        """Return the whole history for litellm, in dicts of its own."""
        # litellm may add to a message it was given; what is kept must not change.
        said = [dict(each) for entry in self.entries for each in entry.converted]
        family = family_of(self.model)
        if family == "anthropic":
            return _with_cache_marks(system, said)
        if family == "mistral":
            said = _in_mistrals_order(said)
        return [{"role": "system", "content": system}, *said] if system else said


def convert(message: Message, family: Family, maker: str = "") -> list[dict[str, Any]]:
    """Convert one message; tool results become one message each.

    `maker` is whose signatures go back, the family itself where nobody is named.
    """
    if message.role == "assistant":
        return [_assistant(message, family, maker or family)]
    if message.role == "tool":
        return _results(message.results, family)
    return [{"role": "user", "content": _content(for_model(message))}]


def _content(said: Sequence[str | ImagePart]) -> str | list[dict[str, Any]]:
    texts = [one for one in said if isinstance(one, str)]
    if len(texts) == len(said):
        return "\n\n".join(texts)
    return [
        {"type": "text", "text": one} if isinstance(one, str) else _image(one)
        for one in said
        if one
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    encoded = base64.b64encode(part.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{encoded}"}}


def _assistant(message: Message, family: Family, maker: str) -> dict[str, Any]:
    calls = [_call(call, family, maker) for call in message.tool_calls]
    # Providers refuse texts of blanks, and litellm would put words of its own in their place.
    text = message.text if message.text.strip() else None
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = calls
    elif text is None:
        # A message of thinking alone: providers refuse one without any content.
        said["content"] = "…"
    _add_thinking(said, message, family, maker)
    return said


def _add_thinking(said: dict[str, Any], message: Message, family: Family, maker: str) -> None:
    thoughts = [part for part in message.parts if isinstance(part, ThinkingPart)]
    if family == "anthropic":
        blocks = [block for part in thoughts if (block := _thinking_block(part, maker))]
        if blocks:
            said["thinking_blocks"] = blocks
    elif family == "responses":
        items = [
            item
            for part in thoughts
            if (sealed := unseal(maker, part.signature))
            for item in json.loads(sealed)
        ]
        if items:
            said["reasoning_items"] = items
    elif family == "gemini":
        signatures = [s for part in thoughts if (s := unseal(maker, part.signature))]
        if signatures:
            said["provider_specific_fields"] = {"thought_signatures": signatures}
    elif family in {"deepseek", "kimi"} and message.tool_calls:
        text = "".join(part.text for part in thoughts)
        if thoughts or family == "kimi":
            said["reasoning_content"] = text or " "


def _thinking_block(part: ThinkingPart, maker: str) -> dict[str, Any] | None:
    signature = unseal(maker, part.signature)
    if not signature:
        return None
    if part.is_redacted:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": part.text, "signature": signature}


def _call(call: ToolCall, family: Family, maker: str) -> dict[str, Any]:
    # Some providers read the arguments of old calls as JSON: raw text goes inside an object.
    arguments = {"unreadable_arguments": call.raw} if call.raw else call.arguments
    converted: dict[str, Any] = {
        "id": _id_for(family, call.id),
        "type": "function",
        "function": {"name": plain_name(call.name), "arguments": json.dumps(arguments)},
    }
    signature = unseal(maker, call.signature)
    if signature:
        converted["provider_specific_fields"] = {"thought_signature": signature}
    return converted


def _results(results: Sequence[ToolResult], family: Family) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    images: list[ImagePart] = []
    for result in results:
        content: Any = _result_text(result)
        if result.images and family == "anthropic":
            content = [{"type": "text", "text": content}, *map(_image, result.images)]
        elif result.images:
            images += result.images
        id_ = _id_for(family, result.call_id)
        said.append({"role": "tool", "tool_call_id": id_, "content": content})
    if images:
        # Only Anthropic takes images in a tool's result; the others see them right after.
        note = {"type": "text", "text": framed("The images that the tools gave:", AppNotice())}
        said.append({"role": "user", "content": [note, *map(_image, images)]})
    return said


def _id_for(family: Family, id_: str) -> str:
    if family == "mistral":
        return mistral_id(id_)
    # Of older sessions they hold signatures for Gemini, which sets no limit.
    return id_ if family == "gemini" else short_id(id_)


def _in_mistrals_order(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let a message follow between results and what a user says: else Mistral refuses them."""
    ordered: list[dict[str, Any]] = []
    for one in said:
        if one["role"] == "user" and ordered and ordered[-1]["role"] == "tool":
            ordered.append({"role": "assistant", "content": "…"})
        ordered.append(one)
    return ordered


def _result_text(result: ToolResult) -> str:
    text = result.text
    if not text.strip():
        text = "(no text)" if result.images else "(no output)"
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _with_cache_marks(system: str, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask Anthropic to keep the prompt so far: a step then pays for what is new.

    It looks for what it kept no more than 20 blocks before a mark, and a step of many calls is
    longer: so the end of the request before is marked again.
    """
    answers = [place for place, one in enumerate(said) if one["role"] == "assistant"]
    ends = {len(said), answers[-1] if answers else 0} - {0}
    for end in ends:
        _mark(said[end - 1])
    if not system:
        return said
    block = {"type": "text", "text": system, "cache_control": dict(_MARK)}
    return [{"role": "system", "content": [block]}, *said]


def _mark(last: dict[str, Any]) -> None:
    """Mark the end of a message that is not the model's own; an empty text can't be marked."""
    content = last["content"]
    if last["role"] == "tool":
        last["cache_control"] = dict(_MARK)
    elif last["role"] == "user":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if blocks and (blocks[-1].get("text") or blocks[-1].get("image_url")):
            last["content"] = [*blocks[:-1], {**blocks[-1], "cache_control": dict(_MARK)}]

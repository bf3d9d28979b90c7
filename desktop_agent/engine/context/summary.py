"""The summary that stands for older messages: by the model in a side call, else by the app."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from functools import cache

from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import new_message_id
from desktop_agent.core.messages import Message, Part, TextPart, ToolCall, ToolResult
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.parts.origins import ContextSummary, PickedSkill, Spoken
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import Model
from desktop_agent.engine.context.estimate import text_tokens
from desktop_agent.paths import resource

# How many characters of one text go into the record, tried in this order.
_CAPS = (4_000, 1_500, 500, 150)
_EARLIER = "Summary of what was before"
_LEFT_OUT = "(what came between is left out here)"
_MOST_CALLS = 2_000
# What would fail the agent's own request in the same way; the turn ends with it.
_FATAL = frozenset({"auth", "billing", "not_found", "refused", "host_died", "rate_limit"})


@cache
def instructions() -> str:
    """Return the system prompt of the side call."""
    return resource("prompts/compaction.md").read_text(encoding="utf-8").strip()


def record_of(messages: Sequence[Message], room: int) -> str:
    """Return the messages as plain text of at most about `room` tokens.

    Long texts are cut in their middle; then what is oldest is left out, but for the summary of
    an earlier compaction. Labels stand at the beginning of a line and texts never do, so that no
    text can pass for somebody else's.
    """
    entries: list[str] = []
    for cap in _CAPS:
        entries = [entry for message in messages for entry in _entries(message, cap)]
        if sum(map(text_tokens, entries)) <= room:
            return "\n".join(entries)
    earlier = [entry for entry in entries if entry.startswith(_EARLIER)][-1:]
    room -= sum(map(text_tokens, earlier))
    newest: list[str] = []
    for entry in reversed(entries):
        room -= text_tokens(entry)
        if room < 0:
            break
        if not entry.startswith(_EARLIER):
            newest.append(entry)
    return "\n".join([*earlier, _LEFT_OUT, *reversed(newest)])


async def summarised(
    model: Model, request: ModelRequest, messages: Sequence[Message], keep: str, room: int
) -> tuple[str, Usage]:
    """Ask the model for the summary of these messages, in a request of at most `room` tokens.

    `request` is what the side call is made like, without messages. Returns an empty text when
    there is none to be had from this model. Raises ModelError when nothing is to be had from it.
    """
    if request.model == DEMO_MODEL:  # it only tells a story
        return "", Usage()
    room -= text_tokens(request.system)
    while room > _MOST_CALLS // 4:
        asked = f"The conversation:\n\n{record_of(messages, room)}"
        if keep.strip():
            asked += f"\n\nThe person asks that this be kept above all:\n{_inset(keep.strip())}"
        said = Message(new_message_id(), "user", (TextPart(asked),), created_at=time.time())
        try:
            answer = await _answer(model, request, said)
        except ModelError as error:
            if error.fault.kind in _FATAL:
                raise
            if error.fault.kind != "too_large":
                return "", Usage()
            room //= 2
            continue
        texts = [part.text for part in answer.parts if isinstance(part, TextPart)]
        return "".join(texts).strip(), answer.usage
    return "", Usage()


async def _answer(model: Model, request: ModelRequest, said: Message) -> Answer:
    wanted = ModelRequest(
        agent_id=request.agent_id,
        model=request.model,
        system=request.system,
        messages=(said,),
        api_base=request.api_base,
        limits=request.limits,
    )
    async with aclosing(model.stream(wanted)) as items:
        async for item in items:
            if isinstance(item, Answer):
                return item
    return Answer(())


def bounded(text: str, tokens: int) -> str:
    """Return a text of at most about so many tokens; its middle goes first."""
    return _cut(text, max(200, tokens * 3))


def _entries(message: Message, cap: int) -> list[str]:
    return [entry for part in message.parts if (entry := _entry(message, part, cap))]


def _entry(message: Message, part: Part, cap: int) -> str:
    match part:
        case TextPart(text=text, origin=ContextSummary()):
            return f"{_EARLIER}:\n{_inset(_cut(text, 4 * _CAPS[0]))}"
        case TextPart(origin=PickedSkill()):
            return ""
        case TextPart(text=text, origin=origin) if message.role == "user":
            who = "User" if origin is None or isinstance(origin, Spoken) else type(origin).__name__
            return f"{who}:\n{_inset(_cut(text, cap))}"
        case TextPart(text=text):
            return f"Agent:\n{_inset(_cut(text, cap))}"
        case ToolCall(name=name, raw=raw):
            given = raw or json.dumps(part.arguments, ensure_ascii=False)
            return f"Agent calls {name}:\n{_inset(_cut(given, min(cap, _MOST_CALLS)))}"
        case ToolResult(text=text) if not isinstance(part.facts, PickedSkill):
            return f"Result{' (an error)' if part.is_error else ''}:\n{_inset(_cut(text, cap))}"
        case _:
            return ""


def _inset(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _cut(text: str, cap: int) -> str:
    if len(text) <= cap:
        return text
    head = cap * 2 // 3
    return f"{text[:head]} […] {text[head - cap :]}"

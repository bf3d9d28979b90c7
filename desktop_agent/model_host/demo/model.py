"""The demo model: offline, deterministic, and honest that it is a script and not an AI."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator

import msgspec

from desktop_agent.core.messages import TextPart, ThinkingPart, ToolCall
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from desktop_agent.core.usage import Usage
from desktop_agent.model_host.demo.plan import plan
from desktop_agent.model_host.demo.step import Step, seconds

# Slow enough that streaming is seen, fast enough that nobody waits.
_PAUSE_S = 0.015
_WORDS_AT_ONCE = 3
_MOST_PAUSES = 120
_WORD = re.compile(r"\S+\s*|\s+")


async def stream(request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    """Answer as a provider would: accepted, deltas with pauses, then the whole answer."""
    step = plan(request)
    yield Accepted()
    deltas: list[Delta] = []
    for part in (ThinkingPart(step.thinking), TextPart(step.text)):
        words = _WORD.findall(part.text)
        for start in range(0, len(words), _WORDS_AT_ONCE):
            text = "".join(words[start : start + _WORDS_AT_ONCE])
            deltas.append(Delta("text" if isinstance(part, TextPart) else "thinking", text))
    for number, delta in enumerate(deltas):
        yield delta
        if number < _MOST_PAUSES:
            await asyncio.sleep(_PAUSE_S)
    await asyncio.sleep(seconds(step.pause_s))
    yield _answer(request, step)


def _answer(request: ModelRequest, step: Step) -> Answer:
    parts: list[TextPart | ThinkingPart | ToolCall] = []
    if step.thinking:
        parts.append(ThinkingPart(step.thinking))
    if step.text or not step.wants:
        parts.append(TextPart(step.text))
    for number, want in enumerate(step.wants):
        parts.append(msgspec.structs.replace(want, id=_call_id(request, number)))
    # It counts no tokens, so it names none; what is certain is that it costs nothing.
    return Answer(tuple(parts), "tool_calls" if step.wants else "stop", Usage(cost=0.0))


def _call_id(request: ModelRequest, number: int) -> str:
    """Return an id that no other step of the history has, and always the same for this one."""
    last = request.messages[-1].id if request.messages else ""
    place = f"{request.agent_id}\n{len(request.messages)}\n{last}\n{number}"
    return f"demo_{hashlib.sha256(place.encode()).hexdigest()[:16]}"

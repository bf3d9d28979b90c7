"""The demo model: offline, deterministic, and honest that it is a script and not an AI."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Iterator

from desktop_agent.core.messages import TextPart, ThinkingPart, ToolCall
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from desktop_agent.core.usage import Usage
from desktop_agent.model_host.demo.pace import seconds
from desktop_agent.model_host.demo.plan import plan
from desktop_agent.model_host.demo.step import Step

# Slow enough that streaming is seen, fast enough that nobody waits.
_PAUSE_S = 0.015
_WORDS_AT_ONCE = 3
_MOST_PAUSES = 120
_WORD = re.compile(r"\s*\S+\s*")


async def stream(request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    """Answer as a provider would: accepted, deltas with pauses, then the whole answer."""
    step = plan(request)
    yield Accepted()
    pauses = 0
    for kind, text in (("thinking", step.thinking), ("text", step.text)):
        for piece in _pieces(text):
            yield Delta("thinking" if kind == "thinking" else "text", piece)
            if pauses < _MOST_PAUSES:
                pauses += 1
                await asyncio.sleep(_PAUSE_S)
    await asyncio.sleep(seconds(step.pause_s))
    yield _answer(request, step)


def _pieces(text: str) -> Iterator[str]:
    words = _WORD.findall(text)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        yield "".join(words[start : start + _WORDS_AT_ONCE])


def _answer(request: ModelRequest, step: Step) -> Answer:
    parts: list[TextPart | ThinkingPart | ToolCall] = []
    if step.thinking:
        parts.append(ThinkingPart(step.thinking))
    if step.text or not step.wants:
        parts.append(TextPart(step.text))
    for number, want in enumerate(step.wants):
        parts.append(ToolCall(_call_id(request, number), want.name, want.arguments))
    # It counts no tokens, so it names none; what is certain is that it costs nothing.
    return Answer(tuple(parts), "tool_calls" if step.wants else "stop", Usage(cost=0.0))


def _call_id(request: ModelRequest, number: int) -> str:
    """Return an id that no other step of the history has, and always the same for this one."""
    last = request.messages[-1].id if request.messages else ""
    place = f"{request.agent_id}\n{len(request.messages)}\n{last}\n{number}"
    return f"demo_{hashlib.sha256(place.encode()).hexdigest()[:16]}"

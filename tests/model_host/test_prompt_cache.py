"""What Anthropic finds in its cache of a long turn: else each step is paid for as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desktop_agent.core.ids import new_agent_id, new_message_id
from desktop_agent.core.messages import ImagePart, Message, ToolResult
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say
from tests.model_host.conftest import Ask, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

# What Anthropic documents.
MOST_MARKS = 4
LOOKS_BACK = 20
STEPS = 4


def blocks_of(request: Received) -> tuple[list[str], list[int]]:
    """Return all blocks of a request, as Anthropic counts them, and which of them are marked."""
    body = request.body
    blocks: list[dict[str, Any]] = [*body["tools"], *body["system"]]
    for message in body["messages"]:
        blocks += [{**block, "role": message["role"]} for block in message["content"]]
    marked = [place for place, block in enumerate(blocks) if block.pop("cache_control", None)]
    return [json.dumps(block, sort_keys=True) for block in blocks], marked


@pytest.mark.parametrize("calls", [1, 9, 10, 30])
async def test_a_step_of_many_calls_finds_all_of_the_step_before(calls: int, ask: Ask) -> None:
    agent_id = new_agent_id()
    step = [Say("I look."), Calls(*(("read", {"path": f"{n}.txt"}) for n in range(calls)))]
    history = [user("Read them")]
    with LoopbackProvider("anthropic", [step] * STEPS) as provider:
        for number in range(STEPS):
            heard = await ask(provider, history, agent_id=agent_id)
            images = (ImagePart("image/png", b"x"),) if number == 1 else ()
            results = (ToolResult(one.id, f"{number}", images=images) for one in heard.calls)
            history += [said(heard.answer), Message(new_message_id(), "tool", tuple(results))]
            if number == 2:
                history.append(user("And be quick"))
        await ask(provider, history, agent_id=agent_id)
    before: list[str] = []
    for request in provider.requests:
        blocks, marked = blocks_of(request)
        assert len(marked) <= MOST_MARKS
        assert marked[-1] == len(blocks) - 1
        assert blocks[: len(before)] == before
        looked_at = {place - back for place in marked for back in range(LOOKS_BACK)}
        assert not before or len(before) - 1 in looked_at
        before = blocks

"""Histories: every provider refuses one with an open call, so closing them is exact."""

from __future__ import annotations

import itertools
import pickle

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.events import Event, MessageAdded
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.messages import (
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    ToolResult,
    close_open_calls,
    open_calls,
    owes_reply,
)
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace


def _assistant(*ids: str) -> Message:
    return Message(MessageId("m"), "assistant", tuple(ToolCall(i, "t") for i in ids))


def _results(*ids: str) -> Message:
    return Message(MessageId("r"), "tool", tuple(ToolResult(i, "ok") for i in ids))


USER = Message(MessageId("u"), "user", (TextPart("hi"),))


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    history: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(0, 5))):
        history.append(USER)
        ids = [f"c{number + n}" for n in range(draw(st.integers(0, 3)))]
        number += len(ids)
        history.append(_assistant(*ids))
        answered = draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
        if answered:
            history.append(_results(*answered))
    return history


@given(histories())
def test_closing_answers_every_call_and_keeps_every_message(history: list[Message]) -> None:
    closed = close_open_calls(history)
    assert not open_calls(closed)
    kept = [result for message in history for result in message.results]
    assert [r for m in closed for r in m.results if r in kept] == kept
    assert [m for m in closed if m.role != "tool"] == [m for m in history if m.role != "tool"]
    for call, after in itertools.pairwise(closed):
        if call.tool_calls:
            assert {c.id for c in call.tool_calls} == {r.call_id for r in after.results}


@given(histories())
def test_a_sendable_history_is_left_as_it_is(history: list[Message]) -> None:
    closed = close_open_calls(history)
    assert close_open_calls(closed) == closed


def test_who_speaks_next() -> None:
    assert not owes_reply([])
    assert owes_reply([USER])
    assert not owes_reply([USER, _assistant()])
    assert owes_reply([USER, _assistant("a"), _results("a")])


def test_events_survive_the_disk_and_a_pickle() -> None:
    event = MessageAdded(
        AgentId("a"), Message(MessageId("m"), "user", (ImagePart("image/png", b"\x00\xff"),))
    )
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event
    assert pickle.loads(pickle.dumps(event)) == event


def test_an_unknown_cost_is_not_zero() -> None:
    assert (Usage() + Usage()).cost is None
    assert (Usage(cost=0.5) + Usage()).cost == 0.5
    assert (Usage(input_tokens=2) + Usage(input_tokens=3)).input_tokens == 5


def test_rights_only_narrow() -> None:
    wide = Workspace("/w", readable=("/r",), writable=("/x",))
    assert Workspace("/w/sub").is_within(wide)
    assert Workspace("/x", readable=("/r/a",)).is_within(wide)
    assert not Workspace("/r").is_within(wide)
    assert not Workspace("/w", writable=("/r",)).is_within(wide)
    assert not Workspace("/wide").is_within(wide)

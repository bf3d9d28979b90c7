"""Joining text below litellm changes nothing but the number of events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.model_host.litellm_client.sse import JOIN_S, EventJoiner, text_slot
from tests.helpers.provider_wire import WRITERS, Writer

TEXTS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=12)


def answer_of(dialect: str, texts: list[str]) -> tuple[Writer, bytes]:
    writer = WRITERS[dialect]("m")
    frames = [*writer.start(), *writer.think("hm ", "c2ln")]
    for text in texts:
        frames += writer.text(text)
    frames += writer.call("id_1", "read", '{"path": "a b"}')
    frames += writer.finish("tool_calls")
    return writer, b"".join(frames)


def events(raw: bytes, *, is_lines: bool) -> list[Any]:
    if is_lines:
        return [json.loads(line) for line in raw.splitlines() if line.strip()]
    found = []
    for block in raw.decode().split("\n\n"):
        for line in block.split("\n"):
            if line.startswith("data:") and line[5:].strip() != "[DONE]":
                found.append(json.loads(line[5:]))
    return found


def text_of(dialect: str, all_events: list[Any]) -> str:
    said = []
    for event in all_events:
        if dialect == "openai":
            said += [c["delta"].get("content") or "" for c in event["choices"]]
        elif dialect == "anthropic":
            said.append(event.get("delta", {}).get("text", ""))
        elif dialect == "gemini":
            parts = event["candidates"][0].get("content", {}).get("parts", [])
            said += [part.get("text", "") for part in parts if not part.get("thought")]
        elif dialect == "ollama":
            said.append(event["message"]["content"])
        elif event["type"] == "response.output_text.delta":
            said.append(event["delta"])
    return "".join(said)


ARGUMENTS = "response.function_call_arguments."


def is_passed_on(event: Any) -> bool:
    return text_slot(event) is None and not str(event.get("type")).startswith(ARGUMENTS)


def arguments_of(all_events: list[Any]) -> str:
    return "".join(e["delta"] for e in all_events if e.get("type") == f"{ARGUMENTS}delta")


@pytest.mark.parametrize("dialect", list(WRITERS))
@given(texts=TEXTS, cuts=st.lists(st.integers(1, 400), max_size=30), step=st.floats(0, 0.05))
def test_no_text_is_lost_however_the_bytes_are_cut(dialect, texts, cuts, step) -> None:
    _, raw = answer_of(dialect, texts)
    is_lines = dialect == "ollama"
    joiner = EventJoiner(is_lines=is_lines)
    out, now, rest = b"", 0.0, raw
    for size in cuts:
        block, rest = rest[:size], rest[size:]
        now += step
        out += joiner.feed(block, now)
    out += joiner.feed(rest, now) + joiner.finish(now)
    before, after = events(raw, is_lines=is_lines), events(out, is_lines=is_lines)
    assert text_of(dialect, after) == text_of(dialect, before) == "".join(texts)
    assert len(after) <= len(before)
    others = [[e for e in each if is_passed_on(e)] for each in (before, after)]
    assert others[0] == others[1]
    assert arguments_of(before) == arguments_of(after)
    assert joiner.has_end
    assert joiner.error is None


@pytest.mark.parametrize("dialect", list(WRITERS))
def test_many_small_texts_become_few_events_and_the_first_is_not_held(dialect) -> None:
    writer = WRITERS[dialect]("m")
    joiner = EventJoiner(is_lines=dialect == "ollama")
    joiner.feed(b"".join(writer.start()), 0.0)
    first = joiner.feed(b"".join(writer.text("now ")), 0.0)
    assert b"now " in first
    passed = [joiner.feed(b"".join(writer.text("x")), i / 1000) for i in range(1, 98)]
    assert sum(bool(block) for block in passed) <= 5
    assert joiner.waits_until is not None
    last = b"".join(passed) + joiner.flush(1.0)
    assert text_of(dialect, events(last, is_lines=dialect == "ollama")) == "x" * 97
    assert pytest.approx(0.033) == JOIN_S


def test_windows_line_ends_are_read_even_when_a_pair_is_split() -> None:
    raw = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\r\n\r\n'
    joiner = EventJoiner()
    out = b"".join(joiner.feed(raw[i : i + 1], 0.0) for i in range(len(raw)))
    out += joiner.finish(0.0)
    assert text_of("openai", events(out, is_lines=False)) == "a"


def test_what_is_not_json_passes_unchanged_so_that_litellm_may_judge_it() -> None:
    joiner = EventJoiner()
    raw = b': comment\n\ndata: {"broken": tru\n\nevent: x\ndata: one\ndata: two\n\n'
    assert joiner.feed(raw, 0.0) + joiner.finish(0.0) == raw


def test_only_the_first_choice_is_kept() -> None:
    joiner = EventJoiner()
    chunks = [
        {"choices": [{"index": 1, "delta": {"content": "B"}}]},
        {"choices": [{"index": 0, "delta": {"content": "A"}}]},
    ]
    raw = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    out = joiner.feed(raw, 0.0) + joiner.finish(0.0)
    assert text_of("openai", events(out, is_lines=False)) == "A"


def test_chunks_of_usage_alone_pass() -> None:
    joiner = EventJoiner()
    raw = b'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n'
    assert joiner.feed(raw, 0.0) == raw
    assert joiner.has_usage

"""Reads a provider's event stream before litellm does: joins text, notes its end and errors.

litellm spends 0.2 to 0.3 ms on every chunk; thirty chunks a second look the same to a user
as a hundred. What is not plain text of the answer passes unchanged, and at once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from desktop_agent.model_host.litellm_client.anthropic_calls import AnthropicCalls
from desktop_agent.model_host.litellm_client.repairs import end_of, mend
from desktop_agent.model_host.litellm_client.responses_calls import ResponsesCalls
from desktop_agent.model_host.litellm_client.responses_texts import ResponsesTexts
from desktop_agent.model_host.litellm_client.whole_answers import events_of

JOIN_S = 0.033
_MOST_HELD = 64 * 1024
_TELLING = 64
_MARK = b"\xef\xbb\xbf"

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

# Which part of an event holds its text: equal keys may be joined. (key, container, field)
Slot = tuple[tuple[Any, ...], dict[str, Any], str]

_END_TYPES = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)
_BLOCK_TYPES = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning")


class EventJoiner:
    """Cuts bytes into events and joins neighbouring text deltas of one kind.

    `feed` and `flush` return what is to be passed on now. `waits_until` is when `flush` is
    due, or None when nothing is held. The first text is never held.
    """

    def __init__(self, *, is_lines: bool = False) -> None:
        self.has_end = False
        self.is_over = False
        self.has_usage = False
        self.is_damaged = False
        self.error: dict[str, Any] | None = None
        self.reason = self.reason_words = ""
        self.has_held = False
        self.waits_until: float | None = None
        self._is_lines = is_lines
        self._tail = bytearray()
        self._half_end = b""
        # Whether it came in one piece; None before the first byte that tells.
        self._is_whole: bool | None = None
        self._calls = ResponsesCalls()
        self._blocks = AnthropicCalls()
        self._late = ResponsesTexts()
        self._held: dict[str, Any] | None = None
        self._head = b""
        self._slot: Slot | None = None
        self._texts: list[str] = []
        self._held_size = 0
        self._flushed_at = float("-inf")

    def feed(self, block: bytes, now: float) -> bytes:
        """Take more bytes."""
        out: list[bytes] = []
        if self._is_whole is not False:
            block = self._begin(block)
            if self._is_whole is not False:
                return b""
        for raw in self._cut(block):
            self._take(raw, now, out)
        return b"".join(out)

    def flush(self, now: float) -> bytes:
        """Give out the text that is held, as one event."""
        if self._held is None or self._slot is None:
            return b""
        _, container, name = self._slot
        container[name] = "".join(self._texts)
        joined = self._head + _encode(self._held) + self._end
        self._held = self._slot = self.waits_until = None
        self._texts = []
        self._held_size = 0
        self._flushed_at = now
        return joined

    def finish(self, now: float) -> bytes:
        """Give out all that is left: the stream has ended, in the middle of an event or not."""
        tail = bytes(self._tail) + self._half_end
        self._tail, self._half_end = bytearray(), b""
        out = [self.flush(now)]
        if tail.strip() and self._is_whole is not False:
            self._take_whole(tail, now, out)
        elif tail.strip():
            self._take(tail, now, out)
            out.append(self.flush(now))
        return b"".join(out)

    def _begin(self, block: bytes) -> bytes:
        """Find out from the first bytes whether these are events, or one whole answer."""
        self._tail += block
        start = bytes(self._tail[:_TELLING]).removeprefix(_MARK).lstrip()
        if self._is_whole or not start or start in _MARK:
            return b""
        if self._is_lines and b"\n" not in block:
            return b""  # what was looked through is not looked at again
        if self._is_lines:
            first, newline, _ = bytes(self._tail).lstrip().partition(b"\n")
            if not newline:
                return b""
            line = _parse(first)
            self._is_whole = line is None or not ("message" in line or "error" in line)
        else:
            self._is_whole = start[:1] in (b"{", b"[", b"<")
        if self._is_whole:
            return b""
        block = bytes(self._tail).removeprefix(_MARK).lstrip()
        self._tail.clear()
        return block

    def _take_whole(self, body: bytes, now: float, out: list[bytes]) -> None:
        found = _events_in(body.removeprefix(_MARK).strip())
        if not found:
            self.is_damaged = True
            out.append(body)
        for event in found:
            head = b"" if self._is_lines else b"data: "
            self._take_event(event, b"", head, now, out)
        out.append(self.flush(now))
        if any("choices" in event for event in found):
            out.append(b"data: [DONE]\n\n")

    @property
    def _end(self) -> bytes:
        return b"\n" if self._is_lines else b"\n\n"

    def _cut(self, block: bytes) -> list[bytes]:
        if not self._is_lines:
            # A pair may be split between two blocks: the last byte waits for the next.
            block = self._half_end + block
            self._half_end = b"\r" if block.endswith(b"\r") else b""
            block = block.removesuffix(b"\r").replace(b"\r\n", b"\n")
        # An event may come in very many blocks: what was looked through is not looked at again.
        start = max(0, len(self._tail) - 1)
        self._tail += block
        if self._tail.find(self._end, start) < 0:
            return []
        *events, rest = bytes(self._tail).split(self._end)
        self._tail = bytearray(rest)
        return [event + self._end for event in events if event.strip()]

    def _take(self, raw: bytes, now: float, out: list[bytes]) -> None:
        head, body, is_in_order = (b"", raw, True) if self._is_lines else _payload(raw)
        event = _parse(body)
        if event is not None:
            self._take_event(event, b"" if not is_in_order else raw, head, now, out)
        elif not is_in_order and all(map(_is_event, lines := body.split(b"\n"))):
            for line in lines:  # a server that leaves out the empty line between events
                self._take(b"data: " + line + self._end, now, out)
        else:
            if body.strip() == b"[DONE]":
                self.has_end = self.is_over = True
            elif body.strip():
                self.is_damaged = True
            out += [self.flush(now), raw]

    def _take_event(
        self, event: dict[str, Any], raw: bytes, head: bytes, now: float, out: list[bytes]
    ) -> None:
        """Pass an event on; encoded again only where it changed, so that `raw` stays as it is."""
        had_choices = bool(event.get("choices"))
        is_changed = mend(event) or not raw
        self._note(event)
        kind = event.get("type")
        instead = None
        if isinstance(kind, str):
            instead = (self._blocks if kind in _BLOCK_TYPES else self._calls).take(event)
            if said := self._late.take(event):
                instead = [*said, *([event] if instead is None else instead)]
        if instead is not None:
            self.has_held = True
            encoded = b"".join(b"data: " + _encode(each) + self._end for each in instead)
            out += [self.flush(now), encoded]
            return
        if is_changed and had_choices and not event.get("choices"):
            return
        slot = text_slot(event)
        if slot is None:
            out += [self.flush(now), head + _encode(event) + self._end if is_changed else raw]
            return
        self._join(event, slot, head, now, out)

    def _join(
        self, event: dict[str, Any], slot: Slot, head: bytes, now: float, out: list[bytes]
    ) -> None:
        key, container, name = slot
        if self._slot is not None and self._slot[0] != key:
            out.append(self.flush(now))
        if self._held is None:
            self._held, self._slot, self._head = event, slot, head
            self.waits_until = self._flushed_at + JOIN_S
        elif "usageMetadata" in event:
            self._held["usageMetadata"] = event["usageMetadata"]
        self._texts.append(container[name])
        self._held_size += len(container[name])
        if now >= (self.waits_until or now) or self._held_size > _MOST_HELD:
            out.append(self.flush(now))

    def _note(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind in _END_TYPES or event.get("done") is True:
            self.has_end = self.is_over = True
        finish, words = end_of(event)
        if finish:
            # The counts may come in an event of their own after this one.
            self.has_end = True
            self.reason, self.reason_words = finish, words
        self.has_usage = self.has_usage or _has_usage(event)
        error = event.get("error")
        if kind == "response.failed":
            error = (event.get("response") or {}).get("error")
        elif kind == "error" and not error:
            error = event
        if error:
            self.error = error if isinstance(error, dict) else {"message": str(error)}


def _payload(raw: bytes) -> tuple[bytes, bytes, bool]:
    """Split an event into what stands before its JSON, and the JSON; whether it was in order.

    The data need not be the last field, and may stand in several lines.
    """
    start = 0 if raw.startswith(b"data:") else raw.find(b"\ndata:") + 1
    if start == 0 and not raw.startswith(b"data:"):
        return b"", b"", True
    body = raw[start + 5 :]
    if b"\n" not in body.rstrip():
        return raw[:start] + b"data: ", body, True
    lines = raw.strip(b"\n").split(b"\n")
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    others = [line + b"\n" for line in lines if not line.startswith(b"data:")]
    return b"".join(others) + b"data: ", b"\n".join(data), False


def _events_in(body: bytes) -> list[dict[str, Any]]:
    try:
        return events_of(_decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        lines = [_parse(line) for line in body.split(b"\n") if line.strip()]
    events = [line for line in lines if line is not None]
    return events if len(events) == len(lines) else []


def _is_event(line: bytes) -> bool:
    return line.strip() == b"[DONE]" or _parse(line) is not None


def _parse(body: bytes) -> dict[str, Any] | None:
    try:
        event = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _has_usage(event: dict[str, Any]) -> bool:
    inner = event.get("response") or event.get("message")
    places = [each for each in (event, inner, event.get("x_groq")) if isinstance(each, dict)]
    if any(place.get("usage") or place.get("usageMetadata") for place in places):
        return True
    return "eval_count" in event or "prompt_eval_count" in event


def text_slot(event: dict[str, Any]) -> Slot | None:
    """Find the text of an event that holds nothing else; None for any other event."""
    if "choices" in event:
        return _chat_slot(event)
    if "candidates" in event:
        return _gemini_slot(event)
    kind = event.get("type")
    if kind == "content_block_delta":
        delta = event.get("delta") or {}
        name = {"text_delta": "text", "thinking_delta": "thinking"}.get(str(delta.get("type")))
        return _slot((name, event.get("index")), delta, name) if name else None
    if isinstance(kind, str) and kind.startswith("response.") and kind.endswith("text.delta"):
        places = ("item_id", "output_index", "content_index", "summary_index")
        return _slot((kind, *(event.get(place) for place in places)), event, "delta")
    if isinstance(event.get("message"), dict) and event.get("done") is False:
        message = event["message"]
        return _only_text("ollama", message, ("content", "thinking"))
    return None


def _slot(key: tuple[Any, ...], container: dict[str, Any], name: str) -> Slot | None:
    return (key, container, name) if isinstance(container.get(name), str) else None


def _only_text(kind: str, container: dict[str, Any], names: tuple[str, ...]) -> Slot | None:
    filled = [name for name, value in container.items() if value and name != "role"]
    if len(filled) != 1 or filled[0] not in names:
        return None
    return _slot((kind, filled[0]), container, filled[0])


def _chat_slot(event: dict[str, Any]) -> Slot | None:
    choices = event["choices"]
    if not isinstance(choices, list) or len(choices) != 1 or event.get("usage"):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if not isinstance(delta, dict) or choice.get("finish_reason") or choice.get("logprobs"):
        return None
    return _only_text("chat", delta, _TEXT_FIELDS)


def _gemini_slot(event: dict[str, Any]) -> Slot | None:
    candidates = event["candidates"]
    if not isinstance(candidates, list) or len(candidates) != 1:
        return None
    candidate = candidates[0]
    parts = (candidate.get("content") or {}).get("parts")
    if candidate.get("finishReason") or not isinstance(parts, list) or len(parts) != 1:
        return None
    part = parts[0]
    if not isinstance(part, dict) or set(part) - {"text", "thought"}:
        return None
    return _slot(("gemini", bool(part.get("thought"))), part, "text")

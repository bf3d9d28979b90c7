"""Replaces work that litellm does for each message of each request, with the same results.

A history of 600 messages goes out with each step of a long turn: what costs microseconds a
message is what makes the three-hundredth step slower than the fifth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


class FastJson:
    """Stands for the `json` module where litellm encodes a request's body."""

    loads = staticmethod(json.loads)
    JSONDecodeError = json.JSONDecodeError

    @staticmethod
    def dumps(value: Any, **options: Any) -> str:
        """Return JSON as UTF-8 without blanks; what msgspec refuses goes the usual way."""
        if options:
            return json.dumps(value, **options)
        try:
            return _encode(value).decode()
        except (TypeError, ValueError, msgspec.MsgspecError):
            return json.dumps(value)


def install() -> None:
    """Put the shortcuts in place; what litellm no longer has is left alone."""
    handler = import_module("litellm.llms.custom_httpx.llm_http_handler")
    if getattr(handler, "json", None) is json:
        setattr(handler, "json", FastJson)  # noqa: B010  (a module in its eyes)
    utils = import_module("litellm.utils")
    original = getattr(utils, "_remove_thought_signatures_from_messages", None)
    if original is not None:
        setattr(utils, original.__name__, only_when_signed(original))


Strip = Callable[[list[Any], str], list[Any]]


def only_when_signed(strip: Strip) -> Strip:
    """Return `strip` for histories in which an id holds a signature; it copies every message."""

    def strip_if_signed(messages: list[Any], separator: str) -> list[Any]:
        if any(_is_signed(message, separator) for message in messages):
            return strip(messages, separator)
        return list(messages)

    return strip_if_signed


def _is_signed(message: Any, separator: str) -> bool:
    if not isinstance(message, dict):
        return True
    calls: Sequence[Any] = message.get("tool_calls") or ()
    ids = [call.get("id") if isinstance(call, dict) else separator for call in calls]
    return any(separator in str(id_) for id_ in (*ids, message.get("tool_call_id")))

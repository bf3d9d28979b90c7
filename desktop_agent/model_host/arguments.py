"""Reads a tool call's arguments, as streamed by models and servers of all kinds."""

from __future__ import annotations

import json
from typing import Any


def read_arguments(text: str) -> tuple[dict[str, Any], str]:
    """Return the arguments, and the text itself when it can't be read as an object.

    Only what has one meaning is repaired: a second coding as a string, line breaks inside
    strings, the same object sent twice. Text that was cut off is never completed.
    """
    stripped = text.strip()
    if stripped in {"", "null", "None"}:
        return {}, ""
    try:
        parsed, end = _decoder.raw_decode(stripped)
    except (ValueError, RecursionError):
        return {}, text
    rest = stripped[end:].strip()
    if rest and rest != stripped[:end]:
        return {}, text
    if isinstance(parsed, str) and parsed.strip().startswith("{"):
        return read_arguments(parsed)
    return (parsed, "") if isinstance(parsed, dict) else ({}, text)


_decoder = json.JSONDecoder(strict=False)

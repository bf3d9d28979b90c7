"""Reads a tool call's arguments, as streamed by models and servers of all kinds."""

from __future__ import annotations

import json
from typing import Any

from desktop_agent.model_host.litellm_client.surrogates import whole


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
    if not isinstance(parsed, dict):
        return {}, text
    return _encodable(parsed), ""


def _encodable(parsed: dict[str, Any]) -> dict[str, Any]:
    """Escapes may stand for half a character, which can be neither stored nor sent."""
    plain = json.dumps(parsed, ensure_ascii=False)
    mended = whole(plain)
    return parsed if mended == plain else json.loads(mended)


_decoder = json.JSONDecoder(strict=False)

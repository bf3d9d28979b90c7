"""Picking values out of other programs' JSON, whose shape is never to be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def record(raw: object) -> Json:
    """Return the object, or an empty one for anything else."""
    return raw if isinstance(raw, dict) else {}


def records(raw: object) -> list[Json]:
    """Return the objects of an array, or nothing."""
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def text(raw: Json, *names: str) -> str:
    """Return the first of these fields that is a text with something in it, or an empty one."""
    for name in names:
        value = raw.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def count(raw: Json, *names: str) -> int | None:
    """Return the first of these fields that is a positive whole number."""
    for name in names:
        value = raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def price(raw: Json, name: str, *, scale: float) -> float | None:
    """Return a field times `scale`; prices come as numbers and as texts."""
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value) * scale
    except ValueError:
        return None
    return number if number >= 0 else None


def truth(raw: Json, name: str) -> bool | None:
    """Return a field that is true or false, else None."""
    value = raw.get(name)
    return value if isinstance(value, bool) else None


def names(raw: Json, name: str) -> list[str] | None:
    """Return a field that is an array, its texts only; else None."""
    value = raw.get(name)
    if not isinstance(value, list):
        return None
    return [item for item in value if isinstance(item, str)]

"""Halves of characters, which some providers stream apart and no encoder takes."""

from __future__ import annotations


def joined(carried: str, text: str) -> tuple[str, str]:
    """Return the text with pairs joined, and the half at its end that waits for the other."""
    text = carried + text
    if text.isascii():
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    return whole(text[: len(text) - len(half)]), half


def whole(text: str) -> str:
    """Return the text with pairs joined and lonely halves replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

"""English plurals: what stands in for a translation that knows its own."""

from __future__ import annotations


def with_plural(shown: str, number: int) -> str:
    """Return the text with every `(s)` replaced according to the number."""
    return shown.replace("(s)", "" if number == 1 else "s")

"""English plurals: what stands in for a translation that knows its own."""

from __future__ import annotations


def with_plural(shown: str, number: int) -> str:
    """Return words in which every `(s)` is settled by the number."""
    return shown.replace("(s)", "" if number == 1 else "s")

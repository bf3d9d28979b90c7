"""Cells of tables, as text."""

from __future__ import annotations


def in_a_row(text: str) -> str:
    """Return the text of a cell on one line, or its rest would be taken for another row."""
    return text.replace("\n", "<br>")

"""Markdown made of text from outside, none of which can break out of its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def plain(text: str, limit: int = 120) -> str:
    """Return one line without control or hidden characters, cut with `…`."""
    words = (_visible(word, {"Cc", "Cf", "Cs", "Co"}) for word in text[: limit * 4].split())
    return _cut(" ".join(word for word in words if word), limit)


def code(text: str, limit: int = 120) -> str:
    """Return inline code that holds whatever backticks the text has."""
    line = plain(text, limit)
    around = backticks(line, 1)
    pad = " " if "`" in line[:1] + line[-1:] else ""
    return f"{around}{pad}{line}{pad}{around}" if line else "(nothing)"


def codes(names: Iterable[str], limit: int = 80) -> str:
    """Return names as inline code, with commas between them."""
    return ", ".join(code(name, limit) for name in names)


def quote(text: str, limit: int = 300) -> str:
    """Return the text as a quotation that can be neither a heading, a list nor a link."""
    return "> " + re.sub(r"([\\`*_\[\]<>#|!~])", r"\\\1", plain(text, limit))


def fence(lines: Sequence[str], language: str = "text", *, limit: int = 40) -> str:
    """Return a code block; backticks inside can't close it."""
    shown = [_cut(_visible(line[:800], {"Cc", "Cf"})) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"… and {len(lines) - limit:,} more")
    around = backticks("\n".join(shown), 3)
    return "\n".join((f"{around}{language}", *shown, around))


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 file` or `1,200 files`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Return `a, b`, or `a, b and 3 more`."""
    shown = between.join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def joined(*parts: str) -> str:
    """Return the paragraphs that are not empty, joined."""
    return "\n\n".join(part for part in parts if part)


def backticks(text: str, least: int) -> str:
    """Return at least so many backticks, more than stand anywhere in a row in the text."""
    return "`" * max(least, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)


def _visible(line: str, hidden: set[str]) -> str:
    return "".join(c for c in line if c == "\t" or unicodedata.category(c) not in hidden)


def _cut(line: str, limit: int = 200) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"

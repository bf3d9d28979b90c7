"""Markdown made of names and lines from a folder, none of which can break out of its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def plain(text: str, limit: int = 120) -> str:
    """Return one line without control or hidden characters, cut with `…`."""
    line = "".join(" " if char.isspace() else char for char in text[: limit * 4])
    return _cut(" ".join(_visible(line, {"Cc", "Cf", "Cs", "Co"}).split()), limit)


def code(text: str, limit: int = 120) -> str:
    """Return inline code that holds whatever backticks the text has."""
    line = plain(text, limit)
    ticks = _ticks(line, 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else "(nothing)"


def codes(names: Iterable[str], limit: int = 80) -> str:
    """Return names as inline code, with commas between them."""
    return ", ".join(code(name, limit) for name in names)


def quote(text: str, limit: int = 300) -> str:
    """Return the text as a quotation that can be neither a heading, a list nor a link."""
    return "> " + re.sub(r"([\\`*_\[\]<>#|!~])", r"\\\1", plain(text, limit))


def fence(lines: Sequence[str], language: str = "text", *, limit: int = 40) -> str:
    """Return a code block; backticks inside can't close it."""
    shown = [
        _cut("\t".join(_visible(part, {"Cc", "Cf"}) for part in line[:800].split("\t")))
        for line in lines[:limit]
    ]
    if len(lines) > limit:
        shown.append(f"… and {len(lines) - limit:,} more")
    ticks = _ticks("\n".join(shown), 3)
    return "\n".join((f"{ticks}{language}", *shown, ticks))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose last column is aligned to the right."""
    rule = ["---"] * (len(titles) - 1) + ["---:"]
    lines = [titles, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 file` or `1,200 files`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def joined(*parts: str) -> str:
    """Return the paragraphs that are not empty, joined."""
    return "\n\n".join(part for part in parts if part)


def _visible(line: str, hidden: set[str]) -> str:
    return "".join(char for char in line if unicodedata.category(char) not in hidden)


def _ticks(text: str, least: int) -> str:
    return "`" * max(least, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)


def _cut(line: str, limit: int = 200) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"

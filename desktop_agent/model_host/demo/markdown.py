"""Markdown made of names and lines from a folder, none of which can break out of its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_SUFFIXES = (
    ".py:python .js:javascript .ts:typescript .json:json .toml:toml .yaml:yaml .yml:yaml "
    ".md:markdown .sh:bash .css:css .html:html .sql:sql .rs:rust .go:go .c:c .java:java"
)
_LANGUAGES = {suffix: name for suffix, _, name in (p.partition(":") for p in _SUFFIXES.split())}


def plain(text: str, limit: int = 120) -> str:
    """Return one line without control or hidden characters, cut with `…`."""
    visible = "".join(
        " " if char.isspace() else char
        for char in text[: limit * 4]
        if char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co"}
    )
    return _cut(" ".join(visible.split()), limit)


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


def fence(lines: Sequence[str], path: str = "", *, limit: int = 40) -> str:
    """Return a code block, in the language of the path; backticks inside can't close it."""
    language = _LANGUAGES.get(f".{path.rpartition('.')[2].lower()}", "text")
    shown = [
        _cut(
            "".join(
                c for c in line[:800] if c == "\t" or unicodedata.category(c) not in {"Cc", "Cf"}
            )
        )
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


def _ticks(text: str, least: int) -> str:
    return "`" * max(least, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)


def _cut(line: str, limit: int = 200) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"

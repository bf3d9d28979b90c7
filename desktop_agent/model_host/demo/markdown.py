"""Markdown made of names and lines from a folder, none of which can break out of its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".ts": "typescript",
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".md": "markdown",
    ".sh": "bash",
    ".css": "css",
    ".html": "html",
    ".sql": "sql",
    ".rs": "rust",
    ".go": "go",
    ".c": "c",
    ".java": "java",
}


def plain(text: str, limit: int = 120) -> str:
    """Return one line without control or hidden characters, cut with `…`."""
    visible = "".join(
        " " if char.isspace() else char
        for char in text[: limit * 4]
        if char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co"}
    )
    line = " ".join(visible.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def code(text: str, limit: int = 120) -> str:
    """Return inline code that holds whatever backticks the text has."""
    line = plain(text, limit)
    if not line:
        return "(nothing)"
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def quote(text: str, limit: int = 300) -> str:
    """Return the text as a quotation that can be neither a heading, a list nor a link."""
    line = plain(text, limit)
    return "> " + re.sub(r"([\\`*_\[\]<>#|!~])", r"\\\1", line)


def fence(lines: Sequence[str], language: str = "text", *, limit: int = 40) -> str:
    """Return a code block of at most `limit` lines; backticks inside can't close it."""
    shown = [_block_line(line) for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(f"… and {len(lines) - limit:,} more")
    longest = max((len(run) for run in re.findall(r"`+", "\n".join(shown))), default=0)
    ticks = "`" * max(3, longest + 1)
    return "\n".join((f"{ticks}{language}", *shown, ticks))


def _block_line(line: str) -> str:
    kept = "".join(
        char
        for char in line[:800]
        if char == "\t" or unicodedata.category(char) not in {"Cc", "Cf"}
    )
    return kept if len(kept) <= 200 else f"{kept[:199]}…"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose last column is aligned to the right."""
    rule = ["---"] * (len(titles) - 1) + ["---:"]
    lines = [titles, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def language_of(path: str) -> str:
    """Return the name a code block gives the file's language."""
    suffix = f".{path.rsplit('.', 1)[-1].lower()}" if "." in path else ""
    return _LANGUAGES.get(suffix, "text")


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 file` or `1,200 files`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"

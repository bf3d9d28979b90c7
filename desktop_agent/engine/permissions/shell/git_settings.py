"""The plain form of git's settings files, which every judge of a repository can read."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION = re.compile(r'\[([a-z0-9-]+)(?: "((?:[^"\\]|\\["\\])*)")?\]')
_ENTRY = re.compile(r"([a-z][a-z0-9-]*)(?:\s*=\s*(.*))?")


def plain_entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of each entry, in lower case, without a section's name.

    Raises ValueError at the first line of another form.
    """
    section = ""
    for line in text.split("\n"):
        words = line.strip(" \t\r").lower()
        if not words or words[0] in "#;":
            continue
        head = _SECTION.fullmatch(words)
        if head is not None:
            section = head[1]
            continue
        # A backslash may join a line with the next one.
        entry = _ENTRY.fullmatch(words)
        if entry is None or "\\" in words:
            raise ValueError("a line is of no plain form")
        yield section, entry[1], entry[2] or ""

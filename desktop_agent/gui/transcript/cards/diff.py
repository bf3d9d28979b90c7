"""A unified diff as numbered lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line; a number is None on the side where the line does not exist."""

    kind: Literal["hunk", "same", "added", "removed", "note"]
    text: str
    old: int | None = None
    new: int | None = None


def diff_lines(patch: str) -> tuple[DiffLine, ...]:
    """Return the lines of a patch of one file, without its file header."""
    return tuple(_lines(patch))


def _lines(patch: str) -> Iterator[DiffLine]:
    old = new = 0
    is_in_hunk = False
    for line in patch.split("\n"):
        found = _HUNK.match(line)
        if found is not None:
            old, new = int(found[1]), int(found[2])
            is_in_hunk = True
            yield DiffLine("hunk", line)
        elif not is_in_hunk or not line:
            continue
        elif line[0] == "+":
            yield DiffLine("added", line[1:], None, new)
            new += 1
        elif line[0] == "-":
            yield DiffLine("removed", line[1:], old, None)
            old += 1
        elif line[0] == "\\":
            yield DiffLine("note", line)
        else:
            yield DiffLine("same", line[1:], old, new)
            old += 1
            new += 1

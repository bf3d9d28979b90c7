"""Unified diffs of exactly what will be written, quick also for large files."""

from __future__ import annotations

from difflib import SequenceMatcher

from desktop_agent.core.messages import DiffDisplay
from desktop_agent.tools.files.text_files import lines_of

# Beyond this many lines the middle is shown as replaced whole: finding the best diff of two
# unlike texts takes time with the product of their lengths.
_MATCHED_LINES = 3000

_Opcode = tuple[str, int, int, int, int]


def diff_of(path: str, old: str | None, new: str) -> DiffDisplay:
    """Return the change from `old` (None: no file) to `new`."""
    before, after = lines_of(old or ""), lines_of(new)
    opcodes = _opcodes(before, after)
    added = sum(j2 - j1 for tag, _, _, j1, j2 in opcodes if tag in {"replace", "insert"})
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in opcodes if tag in {"replace", "delete"})
    head = f"--- {'/dev/null' if old is None else 'a/' + path}\n+++ b/{path}\n"
    body = "".join(_hunks(before, after, opcodes))
    return DiffDisplay(path, head + body if body else "", added, removed, is_new=old is None)


def _opcodes(before: list[str], after: list[str]) -> list[_Opcode]:
    start = 0
    shortest = min(len(before), len(after))
    while start < shortest and before[start] == after[start]:
        start += 1
    end = 0
    while end < shortest - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    middle: list[_Opcode]
    if len(old) > _MATCHED_LINES or len(new) > _MATCHED_LINES:
        middle = [("replace", 0, len(old), 0, len(new))]
    else:
        middle = list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    codes: list[_Opcode] = [("equal", 0, start, 0, start)] if start else []
    codes += [(t, i1 + start, i2 + start, j1 + start, j2 + start) for t, i1, i2, j1, j2 in middle]
    if end:
        codes.append(("equal", len(before) - end, len(before), len(after) - end, len(after)))
    return codes


def _hunks(before: list[str], after: list[str], opcodes: list[_Opcode]) -> list[str]:
    if not any(code[0] != "equal" for code in opcodes):
        return []
    matcher = SequenceMatcher(None, "", "")
    matcher.opcodes = opcodes  # pyright: ignore[reportAttributeAccessIssue]
    pieces: list[str] = []
    for group in matcher.get_grouped_opcodes(3):
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        pieces.append(f"@@ -{_span(i1, i2)} +{_span(j1, j2)} @@\n")
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                pieces.extend(map(_line, " " * (a2 - a1), before[a1:a2]))
                continue
            pieces.extend(_line("-", line) for line in before[a1:a2])
            pieces.extend(_line("+", line) for line in after[b1:b2])
    return pieces


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _span(start: int, stop: int) -> str:
    length = stop - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"

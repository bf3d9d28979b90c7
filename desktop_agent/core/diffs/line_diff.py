"""Unified diffs of two lists of lines, with a bound on the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

Opcode = tuple[str, int, int, int, int]

# Pairs of equal lines that are looked at. The best diff of texts whose lines repeat takes the cube
# of their length; what is left when this is used up is shown as replaced.
_MOST_PAIRS = 3_000_000


def opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """Return what turns one into the other, as difflib has it."""
    start = 0
    shortest = min(len(before), len(after))
    while start < shortest and before[start] == after[start]:
        start += 1
    end = 0
    while end < shortest - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    codes: list[Opcode] = [("equal", 0, start, 0, start)] if start else []
    middle = _Matcher(old, new).get_opcodes()
    codes += [(t, i1 + start, i2 + start, j1 + start, j2 + start) for t, i1, i2, j1, j2 in middle]
    if end:
        codes.append(("equal", len(before) - end, len(before), len(after) - end, len(after)))
    return codes


def hunks(before: Sequence[str], after: Sequence[str], codes: list[Opcode]) -> Iterator[str]:
    """Yield the lines of a unified diff, without its head."""
    if not any(code[0] != "equal" for code in codes):
        return
    matcher = SequenceMatcher(None, "", "")
    matcher.opcodes = codes  # pyright: ignore[reportAttributeAccessIssue]
    for group in matcher.get_grouped_opcodes(3):
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        yield f"@@ -{_span(i1, i2)} +{_span(j1, j2)} @@\n"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in before[a1:a2])
                continue
            yield from (_line("-", line) for line in before[a1:a2])
            yield from (_line("+", line) for line in after[b1:b2])


class _Matcher(SequenceMatcher[str]):
    """Looks for the longest runs of equal lines until the work is used up."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, before, after, autojunk=False)
        places: dict[str, list[int]] = getattr(self, "b2j")  # noqa: B009 - it has no type
        self._pairs = [0, *accumulate(1 + len(places.get(line, ())) for line in before)]
        self._left = _MOST_PAIRS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        self._left -= self._pairs[ahi if ahi is not None else -1] - self._pairs[alo]
        if self._left < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _span(start: int, stop: int) -> str:
    length = stop - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"

"""The numbers of a Word document's headings, clauses and lists: its text does not hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
# Of styles that are based on one another.
_DEEPEST = 20


class Numbers:
    """Counts the paragraphs of a document in their order."""

    def __init__(self, document: Any) -> None:
        styles = document.styles.element.iter(f"{_WORD}style")
        self._styles = {_of(style, "styleId"): style for style in styles}
        found = (
            r.target_part for r in document.part.rels.values() if r.reltype.endswith("/numbering")
        )
        part = next(found, None)
        root = part.element if part is not None else ()
        self._lists = {_of(e, "numId"): e for e in root if e.tag == f"{_WORD}num"}
        self._shapes = {_of(e, "abstractNumId"): e for e in root if e.tag == f"{_WORD}abstractNum"}
        self._counts: dict[str, dict[int, int]] = {}
        self._overridden: set[tuple[str, int]] = set()

    def of(self, paragraph: Any) -> str:
        """Return the number of the next paragraph with a blank, a dash for a bullet, or nothing."""
        number, level = self._place(paragraph)
        key, shape = self._shape(number)
        levels = {int(_of(e, "ilvl") or 0): e for e in shape if e.tag == f"{_WORD}lvl"}
        if level not in levels:
            return ""
        counts = self._counted(key, number, level, levels)
        kind, text = _value(levels[level], "numFmt"), _value(levels[level], "lvlText")
        if kind == "bullet":
            return "- "
        is_plain = levels[level].find(f"{_WORD}isLgl") is not None

        def filled(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            shown = "decimal" if is_plain or at not in levels else _value(levels[at], "numFmt")
            return _written(counts.get(at, 1), shown)

        whole = "" if kind == "none" else re.sub(r"%([1-9])", filled, text).strip()
        return f"{whole} " if whole else ""

    def _counted(self, key: str, number: str, level: int, levels: dict[int, Any]) -> dict[int, int]:
        counts = self._counts.setdefault(key, {})
        anew = self._start_of(number, level)
        if anew is not None and (number, level) not in self._overridden:
            self._overridden.add((number, level))
            counts[level] = anew
        elif level in counts:
            counts[level] += 1
        else:
            counts[level] = _start(levels[level])
        for at in [at for at in counts if at > level]:
            del counts[at]
        for at in range(level):
            if at in levels:
                counts.setdefault(at, _start(levels[at]))
        return counts

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """Return list and level of a paragraph, from its own marks or those of its style."""
        number, level = "", None
        for marks, style in self._marks(paragraph):
            own = marks.find(f"{_WORD}numPr") if marks is not None else None
            if own is None:
                continue
            depth = own.find(f"{_WORD}ilvl")
            level = int(_of(depth, "val") or 0) if level is None and depth is not None else level
            number = _value(own, "numId")
            if number:
                return number, self._level_of(number, style) if level is None else level
        return number, level or 0

    def _marks(self, paragraph: Any) -> Iterator[tuple[Any, str]]:
        marks = paragraph.find(f"{_WORD}pPr")
        yield marks, ""
        style = _value(marks, "pStyle") if marks is not None else ""
        for _ in range(_DEEPEST):
            found = self._styles.get(style)
            if found is None:
                return
            yield found.find(f"{_WORD}pPr"), style
            style = _value(found, "basedOn")

    def _level_of(self, number: str, style: str) -> int:
        """Return the level that a list has for a style."""
        for level in self._shape(number)[1]:
            if style and level.tag == f"{_WORD}lvl" and _value(level, "pStyle") == style:
                return int(_of(level, "ilvl") or 0)
        return 0

    def _shape(self, number: str) -> tuple[str, Any]:
        """Return what a list looks like, with its id; lists that go on share one."""
        for _ in range(_DEEPEST):
            key = _value(self._lists.get(number, ()), "abstractNumId")
            shape = self._shapes.get(key, ())
            style = self._styles.get(_value(shape, "numStyleLink"))
            if style is None:
                return key, shape
            number = next((_of(e, "val") for e in style.iter(f"{_WORD}numId")), "")
        return "", ()

    def _start_of(self, number: str, level: int) -> int | None:
        for override in self._lists.get(number, ()):
            if _of(override, "ilvl") == str(level):
                start = _value(override, "startOverride")
                return int(start) if start else None
        return None


def _of(element: Any, name: str) -> str:
    return element.get(f"{_WORD}{name}", "")


def _value(element: Any, name: str) -> str:
    """Return the value of what stands in an element, nothing if it doesn't."""
    found = element.find(f"{_WORD}{name}") if len(element) else None
    return _of(found, "val") if found is not None else ""


def _start(level: Any) -> int:
    return int(_value(level, "start") or 1)


def _written(number: int, kind: str) -> str:
    if kind in {"lowerLetter", "upperLetter"} and number > 0:
        letters = chr(97 + (number - 1) % 26) * min((number - 1) // 26 + 1, 9)
        return letters if kind == "lowerLetter" else letters.upper()
    if kind in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        letters = ""
        for value, sign in _ROMAN:
            letters += sign * (number // value)
            number %= value
        return letters if kind == "lowerRoman" else letters.upper()
    return f"{number:02}" if kind == "decimalZero" else str(number)

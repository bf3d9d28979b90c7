"""Texts that make an expression try again and again, made out of the expression itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import _constants as codes  # pyright: ignore[reportAttributeAccessIssue]
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

# What stands in texts of all kinds, alone and again and again.
_COMMON = (
    *" \n\t\r#<>`*[](){}|-_=:/\\\"'aZ0.,@&;!?$~+%^\x1b\x00é",
    "\r\n", "a ", " \n", "#\n", "<a ", "a.", "a:", "a/", "-a", "``", "*a", "[a", "a=", "](", "](a",
    "\x1b[", "\x1b]", "https://", "a@", "//", "\"a", ": ", "a-", "0:", "{a", "(a", "\\a", "`a",
)  # fmt: skip
# Behind them a word begins anew.
_JOINTS = "- ./_:"
_TAILS = ("", "\x00", "\n", "!", "a")
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_NOT_DIGIT: "x",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "x",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: "-",
}


@dataclass(frozen=True, slots=True)
class Text:
    """`head`, then `unit` again and again, then `tail`."""

    head: str
    unit: str
    tail: str

    def at(self, size: int) -> str:
        """Return the text at about this many characters."""
        return self.head + self.unit * max(1, size // len(self.unit)) + self.tail

    def __str__(self) -> str:
        return f"{self.head!r} + {self.unit!r} * n + {self.tail!r}"


def common() -> Iterator[Text]:
    """Yield texts for a parser of which no expression is known."""
    for unit in _COMMON:
        for tail in _TAILS[:2]:
            yield Text("", unit, tail)


def texts(pattern: re.Pattern[Any]) -> Iterator[Text]:
    """Yield texts that fit a part of the pattern, many times over, and then do not fit."""
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    pieces = _pieces(parser.parse(source, pattern.flags & ~re.UNICODE))
    heads = list(dict.fromkeys("".join(pieces[:end]) for end in range(len(pieces) + 1)))
    spans = [
        "".join(pieces[start:end])
        for start in range(len(pieces))
        for end in range(start + 1, min(len(pieces), start + 3) + 1)
    ]
    joined = [span + sign for span in spans for sign in _JOINTS]
    units = [unit for unit in dict.fromkeys((*spans, "".join(pieces), *heads)) if unit]
    seen: set[tuple[str, str, str]] = set()
    for head, unit, tail in (
        *(("", unit, tail) for unit in (*_COMMON, *units, *joined) for tail in _TAILS[:2]),
        *((head, unit, tail) for head in heads[:8] for unit in units[:10] for tail in _TAILS),
        *((head, unit, "\x00") for head in heads[1:6] for unit in _COMMON),
    ):
        if (head, unit, tail) not in seen:
            seen.add((head, unit, tail))
            yield Text(head, unit, tail)


def _pieces(tree: Any) -> list[str]:
    """Return a text that fits, piece by piece as the pattern has them; one of each branch."""
    found: list[str] = []
    is_open = False
    for code, value in tree:
        if code is codes.SUBPATTERN:
            found += _pieces(value[3])
        elif code is codes.ATOMIC_GROUP:
            found += _pieces(value)
        elif code is codes.BRANCH:
            for branch in value[1]:
                found += _pieces(branch)
        elif code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
            found += ["".join(_pieces(value[2])) * min(max(value[0], 1), 200)]
        elif code is codes.LITERAL and is_open:
            found[-1] += chr(value)
        else:
            found.append(_one(code, value))
        is_open = code is codes.LITERAL
    return [piece for piece in found if piece]


def _one(code: Any, value: Any) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _member(value)
    return ""


def _member(entries: Any) -> str:
    if entries[0][0] is not codes.NEGATE:
        return _of(entries[0])
    taken = {_of(entry) for entry in entries[1:]}
    return next(one for one in "a -0.é" if one not in taken)


def _of(entry: Any) -> str:
    code, value = entry
    if code is codes.RANGE:
        return chr(value[0])
    return _CATEGORIES.get(value, "a") if code is codes.CATEGORY else chr(value)

"""Fuzzy matching for the command palette and the pickers. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_START, _WORD, _RUN, _ANY = 12, 8, 5, 1


def match_score(query: str, text: str) -> int | None:
    """Return how well the letters of `query` occur in order in `text`, or None.

    A whole run beats scattered letters, the start of a word beats its middle, and a short
    text beats a long one.
    """
    wanted, searched = query.casefold().replace(" ", ""), text.casefold()
    if not wanted:
        return 0
    run = searched.find(query.casefold().strip())
    if run >= 0:
        return 1000 - run - len(searched) // 8 + (_WORD if _starts_word(searched, run) else 0)
    score, place, previous = 0, 0, -2
    for letter in wanted:
        place = searched.find(letter, place)
        if place < 0:
            return None
        score += _worth(searched, place, previous)
        previous, place = place, place + 1
    return score - len(searched) // 8


def _worth(text: str, place: int, previous: int) -> int:
    if place == 0:
        return _START
    if _starts_word(text, place):
        return _WORD
    return _RUN if place == previous + 1 else _ANY


def _starts_word(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()


def ranked(query: str, rows: Iterable[T], text_of: Callable[[T], str]) -> tuple[T, ...]:
    """Return the rows that match, best first; equal ones keep their order."""
    scored = ((match_score(query, text_of(row)), row) for row in rows)
    found = [(score, row) for score, row in scored if score is not None]
    found.sort(key=lambda pair: -pair[0])
    return tuple(row for _, row in found)

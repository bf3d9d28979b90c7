"""What of a sequence is the same or in order already, so that as little as possible moves.

Ends are compared by halves: for slices of the same objects that takes no step of Python each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

_MOST_PLACES = 16


class SameEnds(msgspec.Struct, frozen=True):
    """`head` and `tail` are how many are the same; those at `places` in the head changed.

    `moved` tells that one moved from one end of the middle to the other: 1 down, -1 up.
    """

    head: int
    tail: int
    places: tuple[int, ...] = ()
    moved: int = 0


def same_ends(
    old: Sequence[Any], new: Sequence[Any], key: Callable[[Any], Hashable] | None = None
) -> SameEnds:
    """Compare from both ends; with `key`, a few that changed but kept it are stepped over."""
    most = min(len(old), len(new))
    places: list[int] = []
    head = _same_head(old, new, 0, most)
    while key and head < most and len(places) < _MOST_PLACES and key(old[head]) == key(new[head]):
        places.append(head)
        head = _same_head(old, new, head + 1, most)
    tail = _same_tail(old, new, most - head)
    moved = _moved(old[head : len(old) - tail], new[head : len(new) - tail])
    return SameEnds(head, tail, tuple(places), moved)


def _moved(old: Sequence[Any], new: Sequence[Any]) -> int:
    if new[1:] == old[:-1] and new[:1] == old[-1:]:
        return -1 if old else 0
    return 1 if new[:-1] == old[1:] and new[-1:] == old[:1] else 0


def _same_head(old: Sequence[Any], new: Sequence[Any], low: int, high: int) -> int:
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_tail(old: Sequence[Any], new: Sequence[Any], high: int) -> int:
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """Return the members of one longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, value in enumerate(numbers):
        length = bisect_left(tails, value)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [value]
        ends[length : length + 1] = [number]
    found: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        found.add(numbers[at])
        at = before[at]
    return found

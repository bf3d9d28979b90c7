"""What the demo model makes of the files of a folder: their kinds, and which are worth a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from posixpath import basename, splitext
from typing import Any

from desktop_agent.model_host.demo.markdown import counted, fence, plain, table
from desktop_agent.model_host.demo.script import SCRIPT

FILES: Mapping[str, Any] = SCRIPT["files"]
_KIND_OF = {suffix: kind for kind, suffixes in FILES["kinds"].items() for suffix in suffixes}
_RANK_OF = {ending: rank for rank, some in enumerate(FILES["worth"]) for ending in some}
_NEVER = 9


def kinds(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return each kind of file, in words, with its number of files, the most common first."""
    suffixes = Counter(splitext(path)[1].lower() for path in paths)
    counts: Counter[str] = Counter()
    for suffix, count in suffixes.items():
        other = f"Other ({suffix})" if 1 < len(suffix) <= 8 else "Other"
        counts[_KIND_OF.get(suffix, other)] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def kinds_table(paths: Sequence[str], most: int) -> str:
    """Return a table of the kinds of files, those beyond the first `most` taken together."""
    found = kinds(paths) or [("None", 0)]
    if rest := sum(count for _, count in found[most:]):
        found[most:] = [("Everything else", rest)]
    return table(("Kind of file", "Files"), [(plain(kind), f"{n:,}") for kind, n in found])


def tree(paths: Sequence[str], limit: int) -> str:
    """Return the names at the top in a code block, folders first with their number of files."""
    counts: Counter[str] = Counter()
    for path in paths:
        first, slash, _ = path.partition("/")
        counts[first + slash] += len(slash)
    top = sorted(counts.items(), key=lambda item: (not item[1], item[0].lower()))
    names = [plain(name, 60) + (f"  {counted(n, 'file')}" if n else "") for name, n in top]
    return fence(names or ["(empty)"], limit=limit)


def worth_reading(paths: Sequence[str]) -> list[str]:
    """Return four readable files, different in kind: the README first, then notes, code, data."""
    ranked = sorted((rank, p.count("/"), len(p), p) for p in paths if (rank := _rank(p)) < _NEVER)
    seen: Counter[int] = Counter()
    turns: list[tuple[int, int, str]] = []
    for rank, _, _, path in ranked:
        turns.append((seen[rank], rank, path))
        seen[rank] += 1
    return [path for turn, _, path in sorted(turns)[:4] if turn < 2]


def _rank(path: str) -> int:
    name = basename(path).lower()
    # Files that start with a dot may hold secrets, and are asked about.
    if "/." in f"/{path}" or name.endswith(tuple(FILES["never_read"])):
        return _NEVER
    rank = _RANK_OF.get(name, _RANK_OF.get(splitext(name)[1], _NEVER))
    is_test = "test" in name and rank == 2
    return 0 if name.startswith("readme") else 6 if is_test else rank

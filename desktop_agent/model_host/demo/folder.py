"""What the demo model makes of lists of files, and which files are worth a look."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from posixpath import basename, splitext
from typing import Any

from desktop_agent.core.prose.markdown import counted, fence, plain
from desktop_agent.model_host.demo.script import SCRIPT

FILES: Mapping[str, Any] = SCRIPT["files"]
_KIND_OF = {suffix: kind for kind, suffixes in FILES["kinds"].items() for suffix in suffixes}
_RANK_OF = {ending: rank for rank, some in enumerate(FILES["worth"]) for ending in some}
_NEVER = 9
# A longer result is not looked at: the demo has to stay quick in any folder.
MAX_LINES = 20_000
_LONGEST_HIT = 2_000
_MORE_FILES = re.compile(r"\[There are more; go on with offset=(\d{1,9})\.\]")
_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d{1,9})[:\-\t] ?(?P<text>.*)$")


def listed(text: str) -> tuple[str, ...]:
    """Return the paths in a `glob` result, relative and sorted; remarks in it are left out."""
    lines = [line.strip() for line in text.splitlines()[:MAX_LINES]]
    paths = {_path(line) for line in lines if line != "No file matches." and not is_cut(line)}
    files = (path for path in paths if path and not path.endswith("/"))
    return tuple(sorted(files, key=lambda path: (path.count("/"), path.lower(), path)))


def hits(text: str) -> list[dict[str, str]]:
    """Return `path`, `line` and `text` of what a `grep` result names."""
    found = [_HIT.match(line[:_LONGEST_HIT]) for line in text.splitlines()[:MAX_LINES]]
    return [one.groupdict() | {"path": _path(one["path"])} for one in found if one]


def is_cut(text: str) -> bool:
    """Whether a result ends with the remark that it does not name everything."""
    last = text.rstrip().rpartition("\n")[2]
    return last.startswith("[") and last.endswith(".]")


def next_offset(text: str) -> int:
    """Return where the next page of a `glob` result begins, or 0 when there is none."""
    match = _MORE_FILES.search(text[-300:])
    return int(match[1]) if match else 0


def kinds(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return each kind of file, in words, with its number of files, the most common first."""
    counts = Counter[str]()
    for suffix, count in Counter(splitext(path)[1].lower() for path in paths).items():
        other = f"Other ({suffix})" if 1 < len(suffix) <= 8 else "Other"
        counts[_KIND_OF.get(suffix, other)] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def kinds_table(paths: Sequence[str], most: int) -> str:
    """Return a table of the kinds of files, those beyond the first `most` taken together."""
    found = kinds(paths) or [("None", 0)]
    if rest := sum(count for _, count in found[most:]):
        found[most:] = [("Everything else", rest)]
    cells = [(plain(kind).replace("|", "\\|"), count) for kind, count in found]
    rows = [f"| {kind} | {count:,} |" for kind, count in cells]
    return "\n".join(("| Kind of file | Files |", "| --- | ---: |", *rows))


def tree(paths: Sequence[str], limit: int) -> str:
    """Return the names at the top in a code block, folders first with their number of files."""
    counts = Counter[str]()
    for path in paths:
        first, slash, _ = path.partition("/")
        counts[first + slash] += len(slash)
    top = sorted(counts.items(), key=lambda item: (not item[1], item[0].lower()))
    names = [plain(name, 60) + (f"  {counted(n, 'file')}" if n else "") for name, n in top]
    return fence(names or ["(empty)"], limit=limit)


def worth_reading(paths: Sequence[str]) -> list[str]:
    """Return four readable files, different in kind: the README first, then notes, code, data."""
    ranked = sorted((rank, p.count("/"), len(p), p) for p in paths if (rank := _rank(p)) < _NEVER)
    best = [[one[-1] for one in some][:2] for _, some in groupby(ranked, lambda one: one[0])]
    return [*(some[0] for some in best), *(some[1] for some in best if len(some) > 1)][:4]


def _rank(path: str) -> int:
    name = basename(path).lower()
    # Files that start with a dot may hold secrets, and are asked about.
    if "/." in f"/{path}" or name.endswith(tuple(FILES["never_read"])):
        return _NEVER
    rank = _RANK_OF.get(name, _RANK_OF.get(splitext(name)[1], _NEVER))
    is_test = "test" in name and rank == 2
    return 0 if name.startswith("readme") else 6 if is_test else rank


def _path(name: str) -> str:
    return name.removeprefix("./").replace("\\", "/")

"""Rules about files: what a pattern covers, and which files deny rules keep from commands.

A deny rule means the files, however they are reached: by a name of another case, through a link,
and where the sandbox holds by a command that runs in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import PurePath

from desktop_agent.core.approvals import Rule
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions.protected_files import folded

_HIDING = frozenset({"read"})
# The tools that change files: a rule that refuses one of them refuses all.
CHANGING = frozenset({"write", "edit"})
_GLOB = re.compile(r"[*?\[]")
_MOST_ENTRIES = 200_000
# Each is a mount of its own.
_MOST_FOUND = 100


def refuses(pattern: str, paths: Sequence[str], root: str) -> bool:
    """Whether a deny rule's pattern covers one of the names that a file goes by.

    One that covers a folder by its bare name covers all in it, as it does for commands.
    """
    patterns, top = _folded_patterns(pattern, root), folded(root)
    names = [name for path in paths for name in _with_folders(folded(path), top)]
    return any(matches(name, one, top) for name in names for one in patterns)


def speaks_of_files(rule: Rule) -> bool:
    """Whether a rule keeps files from being read or changed."""
    return rule.is_deny and bool(rule.pattern) and rule.tool in _HIDING | CHANGING


def is_unreadable(boundary: Boundary, path: str) -> bool:
    """Whether a rule keeps a real path from being read."""
    patterns = unreadable_patterns(boundary)
    return any(refuses(pattern, (path,), boundary.root) for pattern in patterns)


def unreadable_patterns(boundary: Boundary) -> tuple[str, ...]:
    """Return what rules keep from being read; one about the tool itself is not about files."""
    return unreadable_by(boundary.refusals)


def unreadable_by(refusals: Sequence[Rule]) -> tuple[str, ...]:
    """Return the patterns of deny rules that keep files from being read."""
    return tuple(rule.pattern for rule in refusals if rule.tool in _HIDING and rule.pattern)


def unreadable(boundary: Boundary) -> tuple[str, ...]:
    """Return the files and folders that a command must not read, as real paths.

    Raises ToolError where that can't be found out, or would be too many.
    """
    found = tuple(_found(boundary, _HIDING, boundary.read_roots))
    if len(found) > _MOST_FOUND:
        raise ToolError(
            f"the rules that refuse reading cover more than {_MOST_FOUND} files, which the sandbox "
            "can't hide one by one. A rule for the folder that they lie in works."
        )
    return tuple(map(os.path.realpath, found))


def unwritable(boundary: Boundary) -> tuple[str, ...]:
    """Return the files and folders that a command must not change, by the paths they were found at.

    They are those that exist: of a link its own path. Raises ToolError where that can't be found
    out.
    """
    return tuple(_found(boundary, CHANGING, boundary.write_roots))


def few_of(found: Sequence[str]) -> tuple[str, ...]:
    """Return real paths; where they are many, the folders that they lie in."""
    few = dict.fromkeys(map(os.path.realpath, found))
    while len(few) > _MOST_FOUND:
        deepest = max(path.count("/") for path in few)
        few = dict.fromkeys(
            os.path.dirname(path) if path.count("/") == deepest else path  # noqa: PTH120
            for path in few
        )
    return tuple(few)


def _patterns(boundary: Boundary, tools: frozenset[str]) -> tuple[str, ...]:
    return tuple(rule.pattern for rule in boundary.refusals if rule.tool in tools and rule.pattern)


def _found(boundary: Boundary, tools: frozenset[str], roots: Sequence[str]) -> Iterator[str]:
    wanted, root = _patterns(boundary, tools), boundary.root
    if not wanted:
        return
    patterns = [one for pattern in wanted for one in _folded_patterns(pattern, root)]
    top, room = folded(root), _MOST_ENTRIES
    folders = list(dict.fromkeys(roots))
    for folder in folders:
        if _is_covered(folder, patterns, top, is_folder=True):
            yield folder
            continue
        for entry in _entries(folder):
            room -= 1
            if room < 0:
                raise ToolError("there are too many files to find those that a rule refuses.")
            is_folder = entry.is_dir()
            if _is_covered(entry.path, patterns, top, is_folder=is_folder):
                yield entry.path
            elif is_folder and not entry.is_symlink() and _may_hold(entry.path, patterns, top):
                folders.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # a command can't read it either


def _is_covered(path: str, patterns: Sequence[str], top: str, *, is_folder: bool) -> bool:
    """Whether a pattern covers it, or all that may ever be in it."""
    name = folded(path)
    for pattern in patterns:
        if matches(name, pattern, top):
            return True
        if is_folder and pattern.endswith("*") and matches(f"{name}/", pattern, top):
            return True
    return False


def _may_hold(folder: str, patterns: Sequence[str], top: str) -> bool:
    """Whether a pattern may cover something below: one that names a folder means that one."""
    name = PurePath(folded(folder))
    name = name.relative_to(top) if name.is_relative_to(top) else name
    named = (PurePath(_plain(pattern)) for pattern in patterns)
    return any(place.is_relative_to(name) or name.is_relative_to(place) for place in named)


def _plain(pattern: str) -> str:
    """Return the folder that a pattern names before its first wildcard; without one, all of it."""
    found = _GLOB.search(pattern)
    return pattern if found is None else pattern[: found.start()].rpartition("/")[0]


def _with_folders(path: str, top: str) -> list[str]:
    """Return a path and the folders that it lies in, but for the session's own and those above."""
    above = PurePath(top)
    holding = (str(folder) for folder in PurePath(path).parents)
    return [path, *(folder for folder in holding if not above.is_relative_to(folder))]


def matches(path: str, pattern: str, root: str) -> bool:
    """Whether a rule's pattern covers a resolved path."""
    pure, pattern = PurePath(path), _with_slashes(pattern)
    if not pure.is_relative_to(root):
        return fnmatchcase(_with_slashes(path), pattern)
    relative = pure.relative_to(root).as_posix()
    return fnmatchcase(f"{relative}/" if path.endswith("/") else relative, pattern)


def _with_slashes(text: str) -> str:
    """Return a path or a pattern as it is written elsewhere: both are typed on Windows."""
    return text.replace("\\", "/") if os.name == "nt" else text


def _folded_patterns(pattern: str, root: str) -> tuple[str, ...]:
    """Return the pattern, and as what it means where the folders that it names are links.

    `~/` is the home, a `/` at the end says no more, and `**/` may be no folder at all.
    """
    pattern = _with_slashes(os.path.expanduser(pattern)).rstrip("/") or pattern  # noqa: PTH111
    spelt = dict.fromkeys((pattern, pattern.replace("**/", "")))
    return tuple(dict.fromkeys(one for each in spelt for one in _meant(each, root)))


def _meant(pattern: str, root: str) -> tuple[str, str]:
    plain = _plain(pattern)
    rest = pattern[len(plain) :]
    real = os.path.realpath(os.path.join(root, plain))  # noqa: PTH118
    if PurePath(real).is_relative_to(root):
        real = os.path.relpath(real, root)
    meant = f"{escape(real)}{rest}" if plain else pattern
    return folded(pattern), folded(meant)

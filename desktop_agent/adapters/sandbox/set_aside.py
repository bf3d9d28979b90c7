"""What a command left that would run by itself the next time somebody uses git."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from desktop_agent.adapters.sandbox import git_places, git_settings
from desktop_agent.adapters.sandbox.folder_walk import Found, identity
from desktop_agent.engine.workspace.safe_open import open_beneath, open_root

_SUFFIX = ".set-aside"
_MOST_MODULES = 400


@dataclass(frozen=True, slots=True)
class Before:
    """How git's places were before a command: of each root all of them, by path.

    `known` is what made git run programs already: the person's own.
    """

    found: dict[str, Found]
    git: git_places.Protected
    known: dict[str, tuple[int, int]]


def remember(found: dict[str, Found], git: git_places.Protected) -> Before:
    """Return how it is now."""
    return Before(found, git, {path: identity(path) for path in _in_known(git)})


def set_aside(before: Before, after: dict[str, Found]) -> tuple[str, ...]:
    """Rename what is new and makes git run programs; return a line for each."""
    lines: list[str] = []
    for root, path in dict.fromkeys(_new_hazards(before, after)):
        try:
            kept = _rename(root, path)
            lines.append(f"{path} could make git run a program: it was renamed to {kept}.")
        except OSError as error:
            words = error.strerror or str(error)
            lines.append(f"{path} could make git run a program, and can't be renamed: {words}.")
    if not all(found.is_whole for found in after.values()):
        lines.append("There are too many folders: not all were searched for new repositories.")
    return tuple(lines)


def _new_hazards(before: Before, after: dict[str, Found]) -> Iterator[tuple[str, str]]:
    for path in _in_known(before.git):
        if before.known.get(path) != identity(path):
            yield _root_of(path, before.found), path
    for root, found in after.items():
        was = before.found[root].git
        known = {os.path.realpath(place) for place in (*was, *found.git)} | set(before.git.folders)
        for place, now in found.git.items():
            if was.get(place) != now:
                yield from ((root, path) for path in _in_new(place, known))


def _in_known(git: git_places.Protected) -> Iterator[str]:
    """Yield what makes git run programs in the repositories that were there before."""
    for folder in git.opened:
        yield from git_settings.hazards(folder)
        if os.path.lexists(f"{folder}/modules"):
            yield f"{folder}/modules"
    yield from (path for path in git.named if os.path.lexists(path))


def _in_new(place: str, known: set[str]) -> Iterator[str]:
    """Yield what makes git run a program in a repository that was not there before."""
    if os.path.islink(place):  # noqa: PTH114
        yield place
    elif os.path.isdir(place):  # noqa: PTH112
        yield from git_settings.hazards(place)
        for folder in _modules(f"{place}/modules"):
            yield from git_settings.hazards(folder)
    else:
        folders = git_places.folders_of(place)
        *shared, own = folders or ("",)
        if not own or any(folder not in known for folder in shared):
            yield place
            return
        links = {f"{own}/gitdir", f"{own}/commondir"} if shared else set[str]()
        yield from (path for path in git_settings.hazards(own) if path not in links)


def _modules(folder: str) -> Iterator[str]:
    """Yield the repositories of submodules, which may have slashes in their names."""
    for number, (path, names, files) in enumerate(os.walk(folder)):
        if "HEAD" in files or number > _MOST_MODULES:
            yield path
            names.clear()


def _root_of(path: str, roots: dict[str, Found]) -> str:
    inner = [root for root in roots if PurePath(path).is_relative_to(root)]
    # Of a linked work tree the repository lies elsewhere.
    return max(inner, key=len) if inner else os.path.dirname(path)  # noqa: PTH120


def _rename(root: str, path: str) -> str:
    """Rename below a root, through no link that something left running could put in the way."""
    folder, name = os.path.split(path)
    top = open_root(root)
    try:
        relative = os.path.relpath(folder, root)
        where = open_beneath(top, relative, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(top)
    try:
        kept, number = f"{name}{_SUFFIX}", 1
        while _is_taken(kept, where):
            number += 1
            kept = f"{name}{_SUFFIX}-{number}"
        os.rename(name, kept, src_dir_fd=where, dst_dir_fd=where)
    finally:
        os.close(where)
    return kept


def _is_taken(name: str, folder: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        return True
    return False

"""Where a repository's own files are, and what of them a command may change.

`.git` is a folder, a link, or a file that names a folder (a submodule, a linked work tree).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import PurePath

import msgspec

from desktop_agent.adapters.sandbox.git_settings import named_in
from desktop_agent.adapters.sandbox.mounts import Mounts
from desktop_agent.adapters.sandbox.small_file import read_small

# What makes git run a program, or read its settings from elsewhere.
RUNS_BY_ITSELF = ("config", "config.worktree", "commondir", "gitdir", "hooks", "modules")
_KEPT = (*RUNS_BY_ITSELF, "info", "worktrees")
_POINTER = "gitdir: "


class Protected(msgspec.Struct, frozen=True):
    """The folders with git's own files, those of them that a command may write to, and what their
    settings name in folders that it may change: hooks, more settings.
    """

    folders: tuple[str, ...]
    opened: tuple[str, ...]
    named: tuple[str, ...]


def protect(
    mounts: Mounts, found: Iterable[str], opened: Collection[str], hooks: str = ""
) -> Protected:
    """Make what belongs to git read-only; of what is `opened` only what would run by itself.

    `found` are `.git` entries and bare repositories, as real paths, `opened` some of them.
    `hooks` is where the person's own settings say that hooks are, in every work tree.
    """
    found = tuple(found)
    folders: list[str] = []
    writable: list[str] = []
    for place in found:
        if os.path.islink(place):  # noqa: PTH114 - one call, hundreds of places
            # A link may name any folder of the person's: it opens none, and shows none.
            if mounts.is_writable(os.path.realpath(place)):
                mounts.show(os.path.realpath(place))
            continue
        if not os.path.isdir(place):  # noqa: PTH112
            mounts.show(place)
        behind = folders_of(place)
        folders += behind
        writable += behind if place in opened else ()
    unique = tuple(dict.fromkeys(folders))
    # Before the folders themselves are mounts, and say nothing about what they lie in.
    named = [path for folder in unique for path in named_in(folder)]
    named += [_beside(place, hooks) for place in found if hooks]
    named = [path for path in named if mounts.is_writable(path)]
    for folder in unique:
        _protect_folder(mounts, folder, is_writable=folder in writable)
    for path in named:
        real = os.path.realpath(path)
        # Hooks that are said to be in the folder itself would make all of it read-only.
        if os.path.exists(real) and mounts.is_writable(real) and not mounts.holds(real):  # noqa: PTH110
            mounts.show(real)
    return Protected(unique, tuple(dict.fromkeys(writable)), tuple(dict.fromkeys(named)))


def _beside(place: str, name: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(place), name))  # noqa: PTH118, PTH120


def folders_of(place: str) -> tuple[str, ...]:
    """Return the folders behind a `.git`: its own, and the one it shares with other work trees.

    A pointer counts only when the repository agrees: the folder it names points back.
    """
    if os.path.isdir(place):  # noqa: PTH112
        return (os.path.realpath(place),)
    named = _pointer(place)
    if not named:
        return ()
    own = os.path.realpath(os.path.join(os.path.dirname(place), named))  # noqa: PTH118, PTH120
    if not _points_back(own, place):
        return ()
    if not _read_path(f"{own}/commondir"):
        return (own,)
    common = shared_by(own)
    return (common, own) if common else ()


def shared_by(own: str) -> str:
    """Return the folder that a linked work tree's own shares with others, which it lies in.

    Nothing where it names none, or one that it does not lie in.
    """
    shared = _read_path(f"{own}/commondir")
    common = os.path.realpath(os.path.join(own, shared)) if shared else ""  # noqa: PTH118
    return common if common and PurePath(own).is_relative_to(f"{common}/worktrees") else ""


def enclosing(folder: str, homes: tuple[str, ...]) -> str:
    """Return the top of the repository that a folder lies in, nothing if it is its own.

    A home that is a repository is not shown for that.
    """
    if os.path.lexists(f"{folder}/.git"):
        return ""
    for step in map(str, PurePath(folder).parents):
        if step == "/" or any(PurePath(home).is_relative_to(step) for home in homes):
            return ""
        if os.path.lexists(f"{step}/.git"):
            return step
    return ""


def _protect_folder(mounts: Mounts, folder: str, *, is_writable: bool) -> None:
    if not is_writable:
        mounts.show(folder)
        return
    # Mounted over itself: a folder that is a mount can't be moved away and replaced.
    mounts.open(folder)
    for name in _KEPT:
        if os.path.exists(f"{folder}/{name}"):  # noqa: PTH110 - one call, hundreds of places
            mounts.show(os.path.realpath(f"{folder}/{name}"))


def _points_back(own: str, place: str) -> bool:
    """Whether a repository names the `.git` file that names it, or has it as a submodule."""
    back = _read_path(f"{own}/gitdir")
    if back:
        joined = os.path.join(own, back)  # noqa: PTH118
        return os.path.realpath(joined) == os.path.realpath(place)
    lines = (line.strip().partition("=") for line in read_small(f"{own}/config").splitlines())
    trees = (value.strip() for name, _, value in lines if name.strip().lower() == "worktree")
    wanted = os.path.realpath(os.path.dirname(place))  # noqa: PTH120
    return any(os.path.realpath(os.path.join(own, tree)) == wanted for tree in trees if tree)  # noqa: PTH118


def _pointer(place: str) -> str:
    named = _read_path(place)
    return named.removeprefix(_POINTER) if named.startswith(_POINTER) else ""


def _read_path(path: str) -> str:
    """Return the path in a small plain file exactly as git takes it, nothing if there is none.

    Spaces at its end, and line feeds in it, belong to it; of what holds a zero byte git reads
    a part, so that is nothing here.
    """
    held = read_small(path, follows=False)
    return "" if "\ufffd" in held else held.rstrip("\r\n")

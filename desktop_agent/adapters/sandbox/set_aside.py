"""What a command left that would run by itself: the next time somebody uses git, or comes by."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

import msgspec

from desktop_agent.adapters.sandbox import git_places, git_settings
from desktop_agent.adapters.sandbox.deleting import open_up
from desktop_agent.adapters.sandbox.folder_walk import Found, identity
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions.file_rules import unwritable
from desktop_agent.engine.workspace.safe_open import open_beneath, open_root

_SUFFIX = ".set-aside"
_REFUSED = "is what a rule of the person's refuses to write"
_MOST_TOLD = 20
_MOST_MODULES = 400
# What runs when somebody enters the folder, or opens it or a file in it.
_RUN_NAMES = frozenset({
    ".envrc", ".env.zsh", ".autoenv.zsh", "mise.toml", ".mise.toml", ".nvim.lua", ".nvimrc",
    ".exrc", ".vimrc", ".dir-locals.el", ".gdbinit", ".lldbinit", ".pdbrc", ".tmux.conf",
})  # fmt: skip
# The same within a folder that is protected as a whole.
_RUN_WITHIN = {".vscode": ("tasks.json",), ".mise": ("config.toml",), ".zed": ("tasks.json",)}


class Before(msgspec.Struct, frozen=True):
    """How git's places were before a command: of each root all of them, by path.

    `known` is what made git run programs already: the person's own. `named` are patterns of what
    the command was to make, as it was asked about. `refused` is what rules kept it from changing.
    `protected` has each protected file's identity and that of the folder it lay in, by path,
    `behind` what `.git` files led to, by theirs.
    """

    found: dict[str, Found]
    git: git_places.Protected
    known: dict[str, tuple[int, int]]
    named: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    protected: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {}
    behind: dict[str, tuple[tuple[int, int], ...]] = {}


def remember(
    found: dict[str, Found],
    git: git_places.Protected,
    named: tuple[str, ...] = (),
    refused: tuple[str, ...] = (),
) -> Before:
    """Return how it is now."""
    known = {path: identity(path) for path in _in_known(git)}
    paths = (path for each in found.values() for path in _with_inner(each.protected))
    protected = {path: (identity(path), identity(os.path.dirname(path))) for path in paths}  # noqa: PTH120
    behind = {place: _behind(place) for each in found.values() for place in each.git}
    return Before(found, git, known, named, refused, protected, behind)


def set_aside_refused(boundary: Boundary, before: tuple[str, ...]) -> tuple[str, ...]:
    """Rename what is new and a rule refuses to write; return a line for each.

    What was there before was read-only.
    """
    if not boundary.is_changing:
        return ()
    try:
        found = unwritable(boundary)
    except ToolError as error:
        return (f"What a rule refuses to write was not looked for: {error}",)
    new = sorted(set(found).difference(before))
    return few_of_lines(
        [_put_away(_deepest(path, boundary.write_roots), path, _REFUSED) for path in new]
    )


def few_of_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first lines, and how many there are besides."""
    shown = (*lines[:_MOST_TOLD],)
    return (*shown, f"And {len(lines) - len(shown)} more.") if len(lines) > len(shown) else shown


def set_aside(before: Before, after: dict[str, Found]) -> tuple[str, ...]:
    """Rename what is new and runs by itself, or makes git run programs; return a line for each."""
    lines = [
        _put_away(root, path, "could make git run a program, or work elsewhere")
        for root, path in dict.fromkeys(_new_hazards(before, after))
    ]
    lines += [
        _put_away(root, path, "would run by itself when somebody opens the folder")
        for root, path in _new_starters(before, after)
    ]
    if not all(found.is_whole for found in after.values()):
        lines.append("There are too many folders: not all were searched for new repositories.")
    return tuple(lines)


def make_readable(root: str, path: str) -> str:
    """Let the person list a folder of theirs that a command has closed; return a line for it."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        top = os.open(root, flags)
        try:
            folder = open_beneath(top, os.path.relpath(path, root), flags)
        finally:
            os.close(top)
        try:
            open_up(folder)
        finally:
            os.close(folder)
    except OSError as error:
        return f"{path} was not searched for what runs by itself: {error.strerror or error}."
    return f"{path} could not be searched for what runs by itself: it was made readable."


def _put_away(root: str, path: str, why: str) -> str:
    try:
        return f"{path} {why}: it was renamed to {_rename(root, path)}."
    except OSError as error:
        return f"{path} {why}, and can't be renamed: {error.strerror or error}."


def _new_starters(before: Before, after: dict[str, Found]) -> Iterator[tuple[str, str]]:
    """Yield what is new and runs when somebody comes by, unless the command names it."""
    names = [os.path.basename(one.rstrip("/")).casefold() for one in before.named]  # noqa: PTH119
    moved = frozenset(own for own, _ in before.protected.values())
    for root, found in after.items():
        for path in _with_inner(found.protected):
            if not _is_starter(path) or _was_there(before, path) or identity(path) in moved:
                continue
            if not any(_is_named(path, name) for name in names):
                yield root, path


def _with_inner(protected: Sequence[str]) -> Iterator[str]:
    """Yield what is protected, and of protected folders what in them runs."""
    for path in protected:
        yield path
        if os.path.islink(path):  # noqa: PTH114
            continue
        for inner in _RUN_WITHIN.get(os.path.basename(path).casefold(), ()):  # noqa: PTH119
            if os.path.lexists(f"{path}/{inner}"):
                yield f"{path}/{inner}"


def _is_starter(path: str) -> bool:
    """Whether it runs when somebody comes by; a link by a folder's name may lead to any."""
    name = os.path.basename(path).casefold()  # noqa: PTH119
    if name in _RUN_WITHIN:
        return os.path.islink(path)  # noqa: PTH114
    return name in _RUN_NAMES or name in _RUN_WITHIN.get(path.casefold().split("/")[-2], ())


def _was_there(before: Before, path: str) -> bool:
    """Whether a path is what it was: a command moves no protected file, but the folder it is in."""
    was = before.protected.get(path)
    return was is not None and was[1] == identity(os.path.dirname(path))  # noqa: PTH120


def _is_named(path: str, name: str) -> bool:
    return any(fnmatchcase(part, name) for part in path.casefold().split("/")[-2:])


def _new_hazards(before: Before, after: dict[str, Found]) -> Iterator[tuple[str, str]]:
    for path in _in_known(before.git):
        if before.known.get(path) != identity(path):
            yield _root_of(path, before.found), path
    for root, found in after.items():
        was = before.found[root].git
        known = {os.path.realpath(place) for place in (*was, *found.git)} | set(before.git.folders)
        moved = {now: place for place, now in was.items()}
        for place, now in found.git.items():
            if was.get(place) == now and before.behind.get(place) == _behind(place):
                continue
            is_moved = now in moved and _is_folder(place)
            new = _in_moved(before, moved[now], place) if is_moved else _in_new(place, known)
            yield from ((root, path) for path in new)
            if not is_moved:
                yield from ((root, path) for path in _working_outside(place, root))


def _in_known(git: git_places.Protected) -> Iterator[str]:
    """Yield what makes git run programs in the repositories that were there before."""
    for folder in git.opened:
        yield from _in_opened(folder)
    yield from (path for path in git.named if os.path.lexists(path))


def _in_opened(folder: str) -> Iterator[str]:
    yield from git_settings.hazards(folder)
    if os.path.islink(f"{folder}/modules"):  # noqa: PTH114
        yield f"{folder}/modules"
        return
    for inner in _modules(f"{folder}/modules"):
        yield from git_settings.hazards(inner)


def _in_moved(before: Before, was: str, place: str) -> Iterator[str]:
    """Yield what is new in a repository that lay at `was`: the person's own went with it."""
    if was not in before.git.opened:
        return
    own = frozenset(before.known.values())
    yield from (path for path in _in_opened(place) if identity(path) not in own)


def _in_new(place: str, known: set[str]) -> Iterator[str]:
    """Yield what makes git run a program in a repository that was not there before."""
    if os.path.islink(place):  # noqa: PTH114
        yield place
    elif os.path.isdir(place):  # noqa: PTH112
        # A bare repository shows the folders of its linked work trees.
        is_linked = git_places.shared_by(place) in known
        yield from _in_own(place, is_linked=is_linked)
        for folder in _modules(f"{place}/modules"):
            yield from git_settings.hazards(folder)
    else:
        folders = git_places.folders_of(place)
        *shared, own = folders or ("",)
        if not own or any(folder not in known for folder in shared):
            yield place
            return
        yield from _in_own(own, is_linked=bool(shared))


def _working_outside(place: str, root: str) -> Iterator[str]:
    """Yield the settings of a new repository that have git work outside of the root."""
    if os.path.islink(place):  # noqa: PTH114
        return
    for folder in (*git_places.folders_of(place), *_modules(f"{place}/modules")):
        if git_settings.works_outside(folder, root):
            yield f"{folder}/config"


def _behind(place: str) -> tuple[tuple[int, int], ...]:
    """Return which folders a `.git` file leads to now: what lies on its way may be replaced."""
    if not os.path.isfile(place) or os.path.islink(place):  # noqa: PTH113, PTH114
        return ()
    return tuple(map(identity, git_places.folders_of(place)))


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _in_own(folder: str, *, is_linked: bool) -> Iterator[str]:
    """Yield what makes git run a program in a folder of its own; a linked one names another."""
    links = {f"{folder}/gitdir", f"{folder}/commondir"} if is_linked else set[str]()
    yield from (path for path in git_settings.hazards(folder) if path not in links)


def _modules(folder: str) -> Iterator[str]:
    """Yield the repositories of submodules, which may have slashes in their names."""
    for number, (path, names, files) in enumerate(os.walk(folder)):
        if "HEAD" in files or number > _MOST_MODULES:
            yield path
            names.clear()


def _root_of(path: str, roots: dict[str, Found]) -> str:
    # Of a linked work tree the repository lies elsewhere.
    return _deepest(path, tuple(roots)) or os.path.dirname(path)  # noqa: PTH120


def _deepest(path: str, roots: tuple[str, ...]) -> str:
    inner = [root for root in roots if PurePath(path).is_relative_to(root)]
    return max(inner, key=len, default="")


def _rename(root: str, path: str) -> str:
    """Rename below a root, through no link that something left running could put in the way."""
    folder, name = os.path.split(path)
    top = open_root(root)
    try:
        relative = os.path.relpath(folder, root)
        # Named, not read: a command may have closed it to whoever lists it.
        where = open_beneath(top, relative, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
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

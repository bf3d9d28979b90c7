"""Finds what must be protected in a folder: places of git, and protected files.

A folder is walked for each command, so what was found in a subfolder is kept for as long as the
time of its last change stays the same: the one that no program can set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import msgspec

# A folder that changed this recently may change again without its time telling.
_UNSETTLED_NS = 50_000_000
_MOST_FOLDERS = 100_000
# What a folder holds that git takes for a repository: one of these. The second has the rest in
# another folder, which that file names.
_BARE = ({"HEAD", "objects", "refs"}, {"HEAD", "commondir"})
# What installers write and delete as a whole: a protected file in it would be in their way, and
# nobody opens it. Deeper than this neither editors nor agents look for what is theirs.
_INSTALLED = frozenset({
    "node_modules", "site-packages", ".venv", "venv", "vendor", "target", "bower_components",
    ".tox", ".nox", "__pycache__", ".gradle", "dist", "build",
})  # fmt: skip
_DEEPEST_PROTECTED = 4


class Found(msgspec.Struct, frozen=True):
    """`git` are `.git` entries and bare repositories, with `(device, inode)` of each.

    `protected` are files and folders. `is_whole` is false when there were too many folders,
    `closed` are those that could not be listed.
    """

    git: dict[str, tuple[int, int]] = {}
    protected: tuple[str, ...] = ()
    is_whole: bool = True
    closed: tuple[str, ...] = ()


class _Folder(msgspec.Struct, frozen=True):
    changed: int
    inode: int
    folders: tuple[str, ...]
    git: tuple[str, ...]
    protected: tuple[str, ...]


class FolderWalk:
    """Walks a root again and again; one thread at a time.

    `is_protected` judges a folder and a name in it. Links are not followed, and nothing is
    looked for inside a place of git. Inside a protected folder places of git alone are.
    """

    def __init__(self, root: str, is_protected: Callable[[str, str], bool]) -> None:
        self._root = root
        self._is_protected = is_protected
        self._known: dict[str, _Folder] = {}
        self._closed: list[str] = []
        self._last = Found()

    def walk(self) -> Found:
        """Return what is there now."""
        known, self._known, self._closed = self._known, {}, []
        git: dict[str, tuple[int, int]] = {}
        protected: list[str] = []
        # By depth: where there are too many folders, the deepest are left out.
        level, depth = [(self._root, False)], 0
        while level and len(self._known) < _MOST_FOLDERS:
            depth += 1
            below: list[tuple[str, bool]] = []
            for path, is_inside in level:
                folder = self._look(path, known.get(path))
                if folder is None:
                    continue
                self._known[path] = folder
                closed = folder.protected
                below += [(f"{path}/{n}", is_inside or n in closed) for n in folder.folders]
                if depth <= _DEEPEST_PROTECTED and not is_inside:
                    protected += [f"{path}/{name}" for name in folder.protected]
                for name in folder.git:
                    place = f"{path}/{name}" if name else path
                    git[place] = identity(place)
            level = below
        self._last = self._with_last(git, protected, is_whole=not level)
        return self._last

    def _with_last(
        self, git: dict[str, tuple[int, int]], protected: list[str], *, is_whole: bool
    ) -> Found:
        """Put first what was found before: what a command makes does not displace it."""
        last, now = self._last, set(protected)
        if not is_whole:
            # Whoever makes too many folders hides nothing in them that was known.
            now.update(path for path in last.protected if os.path.lexists(path))
            for place in last.git:
                if place not in git and os.path.lexists(place):
                    git[place] = identity(place)
        kept = [path for path in last.protected if path in now]
        unique = tuple(dict.fromkeys((*kept, *protected)))
        return Found(git, unique, is_whole=is_whole, closed=tuple(self._closed))

    def _look(self, path: str, known: _Folder | None) -> _Folder | None:
        try:
            state = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - thousands of them
            if known and (known.changed, known.inode) == (state.st_ctime_ns, state.st_ino):
                return known
            is_settled = time.time_ns() - state.st_ctime_ns > _UNSETTLED_NS
            changed = state.st_ctime_ns if is_settled else -1
        except OSError:
            return None
        try:
            with os.scandir(path) as entries:
                return self._read(path, list(entries), changed, state.st_ino)
        except PermissionError:
            self._closed.append(path)
        except OSError:
            pass
        return None

    def _read(
        self, path: str, entries: list[os.DirEntry[str]], changed: int, inode: int
    ) -> _Folder:
        names = [entry.name for entry in entries]
        git = [name for name in names if name.casefold() == ".git"]
        is_own = not _INSTALLED.intersection(path[len(self._root) :].split("/"))
        others = [name for name in names if name not in git] if is_own else []
        protected = [name for name in others if self._is_protected(path, name)]
        folders = tuple(
            entry.name
            for entry in entries
            if entry.name not in git and entry.is_dir(follow_symlinks=False)
        )
        # A folder that looks like a bare repository is one to git, whatever else is in it.
        bare = ("",) if any(each.issubset(names) for each in _BARE) else ()
        return _Folder(changed, inode, folders, (*git, *bare), tuple(protected))


def identity(path: str) -> tuple[int, int]:
    """Return the device and inode of what is there itself, zeros when nothing is."""
    try:
        state = os.lstat(path)
    except OSError:
        return (0, 0)
    return state.st_dev, state.st_ino

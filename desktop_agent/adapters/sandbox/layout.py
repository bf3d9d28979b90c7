"""From a boundary to what is mounted for one command."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from desktop_agent.adapters.sandbox import git_places
from desktop_agent.adapters.sandbox.folder_walk import FolderWalk, Found
from desktop_agent.adapters.sandbox.git_places import Protected
from desktop_agent.adapters.sandbox.kept_for_root import kept_for_root
from desktop_agent.adapters.sandbox.made_files import MadeFiles
from desktop_agent.adapters.sandbox.mounts import Mounts, is_in
from desktop_agent.adapters.sandbox.pipes import NamedPipes
from desktop_agent.adapters.sandbox.set_aside import (
    Before,
    few_of_lines,
    make_readable,
    remember,
    set_aside,
    set_aside_refused,
)
from desktop_agent.adapters.sandbox.sockets import BoundSockets
from desktop_agent.adapters.sandbox.visible import Homes
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions.file_rules import few_of, unreadable, unwritable
from desktop_agent.engine.workspace.containment import as_text

_MOST_GIT = 400
# Each that is opened takes seven mounts, and bubblewrap looks through all of them for each.
_MOST_OPENED = 40
_MOST_PROTECTED = 200
# The system's own: as the sandbox makes them, and no folder of a session.
_SYSTEM = ("/dev", "/proc", "/sys")
# Others' memory, by name; what lies in a folder there can be worked in.
_SHARED_MEMORY = "/dev/shm"
_HIDDEN = ("/run", _SHARED_MEMORY)
_TEMPORARY = ("/tmp", "/var/tmp")
_GRAPHICS = ("dri", "kfd", "nvidia*", "dxg")


class Places(msgspec.Struct, frozen=True):
    """Folders of the app's for one command: its `/tmp`, and its caches."""

    temporary: Path
    caches: Path


class Plan(msgspec.Struct, frozen=True):
    """What one command sees, what is set in its environment, and how git's places were before.

    `copied` are files of ours, by the path that a copy of each is made at.
    """

    boundary: Boundary
    mounts: Mounts
    copied: dict[str, str]
    directory: str
    environment: dict[str, str]
    before: Before


class Layout:
    """Makes plans; may be asked from several threads. `protects` judges a name in a folder."""

    def __init__(self, protects: Callable[[str], bool], made: MadeFiles) -> None:
        self._made = made
        self._protects = lru_cache(65_536)(protects)
        self._walks: dict[str, FolderWalk] = {}
        self._sockets = BoundSockets()
        self._pipes = NamedPipes()
        self._lock = threading.Lock()

    def plan(
        self, boundary: Boundary, directory: str, environment: dict[str, str], places: Places
    ) -> Plan:
        """Return what a command sees. Raises ToolError for a boundary that can't be kept."""
        _require(boundary, directory)
        mounts = Mounts()
        for path in _HIDDEN:
            mounts.hide(path)
        for path in _TEMPORARY:
            mounts.open(path, str(places.temporary))
        roots = (*boundary.write_roots, *boundary.read_roots)
        for path in kept_for_root():
            if not _is_in_any(path, roots):
                mounts.hide(path)
        if boundary.options.has_gpu:
            _open_graphics(mounts)
        homes = Homes(environment, roots, boundary.options.hidden)
        homes.hide(mounts)
        homes.show_programs(mounts)
        more = homes.add_caches(mounts, places.caches)
        self._show_roots(mounts, boundary, homes)
        copied = homes.add_settings(mounts, self._made)
        homes.hide_secrets(mounts)
        _hide_own(mounts, boundary)
        changing = boundary.write_roots if boundary.is_changing else ()
        before = {root: self.find(root) for root in changing}
        git = _protect(mounts, boundary, directory, before, self._hooks(homes, roots))
        refused = unwritable(boundary) if boundary.is_changing else ()
        _refuse(mounts, boundary, refused)
        with self._lock:
            self._sockets.hide(mounts)
            self._pipes.hide(mounts)
        more["TMPDIR"] = "/tmp"
        # What git brings is a repository's own, and not made by the command.
        named = ("*",) if boundary.is_git_writable else boundary.named
        kept = remember(before, git, named, refused)
        return Plan(boundary, mounts, copied, directory, more, kept)

    def set_aside(self, plan: Plan) -> tuple[str, ...]:
        """Put right what a command left that has ended; return a line for each thing."""
        found = plan.before.found
        lines = set_aside_refused(plan.boundary, plan.before.refused)
        after, opened = dict[str, Found](), dict[str, str]()
        for root in found:
            after[root] = self._find_all(root, found[root].closed, opened)
        lines += (*set_aside(plan.before, after), *few_of_lines([*opened.values()]))
        return tuple(map(as_text, lines))

    def _find_all(self, root: str, closed: tuple[str, ...], opened: dict[str, str]) -> Found:
        """Look also into the folders that a command has closed: git needs no list of them."""
        found = self.find(root)
        while new := set(found.closed).difference(closed, opened):
            opened |= {path: make_readable(root, path) for path in sorted(new)}
            found = self.find(root)
        return found

    def find(self, root: str) -> Found:
        """Return what must be protected below a folder."""
        with self._lock:
            walk = self._walks.setdefault(root, FolderWalk(root, self._is_protected))
            return walk.walk()

    def look_ahead(self, roots: Sequence[str]) -> None:
        """Walk folders that were not walked yet: a first walk takes long, the next ones do not."""
        for root in roots:
            if root not in self._walks:
                self.find(root)

    def _hooks(self, homes: Homes, roots: tuple[str, ...]) -> str:
        found = (self._made.hooks(home, root) for home in homes.paths for root in roots[:1])
        return next(filter(None, found), "")

    def _is_protected(self, folder: str, name: str) -> bool:
        # Names of the folders above are the person's choice; what counts is the last two.
        return self._protects(f"{os.path.basename(folder)}/{name}")  # noqa: PTH119 - thousands

    def _show_roots(self, mounts: Mounts, boundary: Boundary, homes: Homes) -> None:
        for root in boundary.write_roots:
            if top := git_places.enclosing(root, homes.paths):
                mounts.show(top)
                git_places.protect(mounts, [f"{top}/.git"], ())
        for root in boundary.read_roots:
            # Elsewhere the system's own tree is seen already.
            if mounts.at(root) is not None and not _is_in_any(root, boundary.write_roots):
                mounts.show(root)
        for root in boundary.write_roots:
            if boundary.is_changing:
                mounts.open(root)
            else:
                mounts.show(root)


def _protect(
    mounts: Mounts, boundary: Boundary, directory: str, found: dict[str, Found], hooks: str
) -> Protected:
    # What is hidden for another reason stays hidden.
    git = [place for each in found.values() for place in each.git if not mounts.is_hidden(place)]
    protected = tuple(place for each in found.values() for place in each.protected)
    if len(git) > _MOST_GIT:
        raise ToolError(
            f"the folder has more than {_MOST_GIT} repositories in it, which the sandbox can't "
            "protect one by one. Work in one of them."
        )
    for path in protected[:_MOST_PROTECTED]:
        if mounts.is_writable(path) and not os.path.islink(path):  # noqa: PTH114
            mounts.show(path)
    near = [place for place in git if _is_in_any(directory, (os.path.dirname(place),))]  # noqa: PTH120
    few = git if len(git) <= _MOST_OPENED else near
    # What lies in a protected folder is as that is.
    opened = [place for place in few if not _is_in_any(place, protected)]
    result = git_places.protect(mounts, git, opened if boundary.is_git_writable else (), hooks)
    # What is only read still has to be found: the repository of a linked work tree, say.
    others = [f"{root}/.git" for root in boundary.read_roots if root not in found]
    others += [f"{root}/.git" for root in boundary.write_roots if root not in found]
    git_places.protect(mounts, filter(os.path.isfile, others), ())
    return result


def _open_graphics(mounts: Mounts) -> None:
    for name in _GRAPHICS:
        for path in Path("/dev").glob(name):
            mounts.open_device(str(path))


def _hide_own(mounts: Mounts, boundary: Boundary) -> None:
    """Hide the app's own places, where they are not hidden by what they lie in."""
    roots = (*boundary.write_roots, *boundary.read_roots)
    for path in boundary.own.kept:
        is_folder = os.path.isdir(path)  # noqa: PTH112 - it never raises
        if path not in roots and is_folder and not mounts.is_hidden(path):
            mounts.hide(path)
            mounts.keep_in_place(path)
    names: dict[str, list[str]] = {}
    for beginning in boundary.own.private:
        folder, _, name = beginning.rpartition("/")
        if folder not in names:
            names[folder] = _names_in(folder)
        for path in (f"{folder}/{one}" for one in names[folder] if one.startswith(name)):
            if not mounts.is_hidden(path):
                mounts.hide(os.path.realpath(path))
                mounts.keep_in_place(os.path.realpath(path))


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - only names, for each command
    except OSError:
        return []


def _refuse(mounts: Mounts, boundary: Boundary, refused: tuple[str, ...]) -> None:
    """Keep the command from what rules refuse, and from changing the app itself."""
    for path in (*boundary.own.program, *few_of(refused)):
        mounts.refuse_writing(path)
    for path in unreadable(boundary):
        mounts.refuse_reading(path)


def _require(boundary: Boundary, directory: str) -> None:
    for root in boundary.write_roots:
        if root == "/" or _is_of_system(root) or not Path(root).is_dir():
            raise ToolError(f"the sandbox can't open '{root}' for writing.")
    if not Path(directory).is_dir():
        raise ToolError(f"'{directory}' is not a folder.")


def _is_of_system(path: str) -> bool:
    if is_in(path, _SHARED_MEMORY):
        return path == _SHARED_MEMORY
    return _is_in_any(path, _SYSTEM)


def _is_in_any(path: str, folders: tuple[str, ...]) -> bool:
    return any(is_in(path, folder) for folder in folders)

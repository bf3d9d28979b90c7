"""What lies in one folder: names and what tells whether something is still the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

import msgspec

from desktop_agent.core.changes import FileKind
from desktop_agent.engine.workspace.birth import born_ns, is_named_late
from desktop_agent.engine.workspace.junctions import is_junction
from desktop_agent.engine.workspace.replacing import is_temporary
from desktop_agent.engine.workspace.safe_open import open_beneath
from desktop_agent.file_history.names import LONGEST, parents
from desktop_agent.file_history.values import Entry, PathChange

CACHE_TAG = b"CACHEDIR.TAG"
IGNORE_FILE = b".gitignore"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
# A file system's clock may stand still for so long.
CLOCK_NS = 20_000_000
# git's own files are never touched.
_LEFT_OUT = b".git"
_OTHERS = {b".hg", b".jj", b".svn", b".bzr"}
_Identity = tuple[str, int, int, int]


def flags(*names: str) -> int:
    """Return those flags for opening that this system knows."""
    found = os.O_RDONLY
    for name in names:
        found |= getattr(os, name, 0)
    return found


_IS_WINDOWS = os.name == "nt"
_READ = flags("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")


class Listing(msgspec.Struct):
    """What a folder holds: entries that were not read (no digest), by name.

    `.git` is left out, and what a tool is still writing, which is a file only under its own name.
    `linked` are the files that have other names as well. `is_readable` is False where the system
    refuses to list it, or to tell what is in it.
    """

    entries: dict[bytes, Entry] = {}
    linked: set[bytes] = set()
    is_readable: bool = True


def list_folder(path: bytes, device: int) -> Listing:
    """List one folder.

    What lies on another device than `device`, or has too long a path, is of the kind `other`.
    """
    listing = Listing()
    try:
        with os.scandir(path) as found:
            for one in found:
                if len(path) + 1 + len(one.name) >= LONGEST:
                    listing.entries[one.name] = Entry("other")
                elif one.name != _LEFT_OUT and not is_temporary(one.name):
                    try:
                        # On Windows what the folder says of an entry tells no number and device.
                        status = os.lstat(one) if _IS_WINDOWS else one.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # it went while it was listed
                    listing.entries[one.name] = entry_of(status, device)
                    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                        listing.linked.add(one.name)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it went, and its parent tells what is there instead
    except OSError:
        listing.is_readable = False
    return listing


def entry_of(status: os.stat_result, device: int) -> Entry:
    """Return an entry that is not read yet."""
    mode = status.st_mode
    kind: FileKind = "other"
    if stat.S_ISREG(mode):
        kind = "file"
    elif stat.S_ISDIR(mode):
        # Another file system is named, and not entered; nor is what a junction leads to.
        is_here = status.st_dev == device and not is_junction(status)
        kind = "folder" if is_here else "other"
        return Entry(kind, mode & 0o7777, ino=status.st_ino, is_held=kind == "folder")
    elif stat.S_ISLNK(mode):
        kind = "link"
    # By place: there may be a hundred thousand of them.
    return Entry(
        kind, mode & 0o7777, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    )


def kind_at(path: bytes) -> FileKind | None:
    """Return what is at a path, None for nothing."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return entry_of(status, status.st_dev).kind


def is_same(known: Entry, found: Entry) -> bool:
    """Whether nothing tells that an entry changed since it was read."""
    if known.kind == "folder" or known.kind == "other":
        return known.kind == found.kind and known.mode == found.mode
    return known[:6] == found[:6]


def open_file(root: int, path: bytes, relative: bytes) -> int:
    """Open a file of a folder, over no link; raises OSError. `root` is the open folder."""
    if _IS_WINDOWS:
        return os.open(path, _READ)
    return open_beneath(root, os.fsdecode(relative), _READ)


def read_beginning(root: int, path: bytes, relative: bytes, most: int) -> bytes:
    """Return up to `most` bytes of a regular file; empty where there is none."""
    try:
        return _beginning(open_file(root, path, relative), most)
    except OSError:
        return b""


def git_head(root: bytes) -> bytes:
    """Return what tells which commit the repository around a folder is at; empty without one."""
    place = _git_place(root)
    head = _small_file(place + b"/HEAD") if place else b""
    if head.startswith(b"ref: refs/") and b".." not in head and b"\0" not in head:
        common = _small_file(place + b"/commondir").strip().replace(b"\0", b"")
        shared = os.path.join(place, common)  # noqa: PTH118 - bytes
        head += _small_file(shared + b"/" + head[5:].strip())
    return head


class Repositories:
    """Which paths are what version control keeps for itself, as long as it stands.

    git's own files may have any name: those of a bare repository, of which worktrees are used.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, bool | None] = {}

    def own(self, path: bytes) -> bool:
        """Whether a path lies in what is a repository's own; a worktree in it does not."""
        for above in parents(path):
            if above not in self._known:
                self._known[above] = _is_own(above)
            if (is_own := self._known[above]) is not None:
                return is_own
        return False


def _is_own(folder: bytes) -> bool | None:
    """Return None where the folder above has to tell."""
    if os.path.lexists(folder + b"/" + _LEFT_OUT):
        return False
    if os.path.basename(folder) in _OTHERS:  # noqa: PTH119 - bytes
        return kind_at(folder) == "folder" or None
    parts = [kind_at(folder + b"/" + name) for name in (b"HEAD", b"objects", b"refs")]
    return parts == ["file", "folder", "folder"] or None


def _git_place(root: bytes) -> bytes:
    """Return where git keeps what it knows of a folder: a worktree and a submodule name it."""
    for above in (root, *parents(root)):
        git = above + b"/" + _LEFT_OUT
        if os.path.isdir(git):  # noqa: PTH112 - bytes
            return git
        named = _small_file(git)
        if named.startswith(b"gitdir: ") and b"\0" not in named:
            return os.path.join(above, named[8:].strip())  # noqa: PTH118
    return b""


def _small_file(path: bytes) -> bytes:
    try:
        return _beginning(os.open(path, _READ), 4096)
    except OSError:
        return b""


def _beginning(descriptor: int, most: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def is_cache(root: int, path: bytes, relative: bytes) -> bool:
    """Whether this `CACHEDIR.TAG` marks its folder as one that can be made again."""
    length = len(_CACHE_SIGNATURE)
    return read_beginning(root, path, relative, length) == _CACHE_SIGNATURE


class Moved:
    """Finds what a command moved: it is not new where it is now.

    Of one look at a folder; `since` is when it was last looked at, in seconds since 1970. What was
    moved before it was read holds what is where it is now. What was moved here from where nothing
    is kept (an ignored folder, or one that was not looked at yet) is not to be removed, nor
    replaced unasked: it would be nowhere any more. While a part of the folder `is_unlisted`, what
    happened outside of calls may come from there as well.
    """

    def __init__(self, since: float, *, is_unlisted: bool, is_outside: bool) -> None:
        self._since_ns = int(since * 1e9) - CLOCK_NS
        self._is_unlisted = is_unlisted
        self._is_judged = is_unlisted or not is_outside
        # By absolute path, of what was not read and of what is there now.
        self._gone: dict[bytes, _Identity] = {}
        self._come: dict[bytes, Entry] = {}
        # Of what was known, and is not at its path any more.
        self._left: set[int] = set()
        self._left_paths: set[bytes] = set()
        self._moved_folders: dict[bytes, bool] = {}

    def went(self, path: bytes, entry: Entry, *, is_unread: bool) -> None:
        """An entry is not at this absolute path any more."""
        self._left_paths.add(path)
        if entry.kind != "folder" or entry.is_held:
            self._left.add(entry.ino)
        if is_unread or not entry.digest:
            self._gone[path] = _identity(entry)

    def came(self, path: bytes, entry: Entry, unread: Entry | None) -> None:
        """Another entry is at this absolute path than before, which was `unread` if it is given."""
        self._come[path] = entry
        if unread is not None:
            self.went(path, unread, is_unread=True)

    def found(self, changes: Iterable[PathChange]) -> list[PathChange]:
        """Return the changes: what moved has its bytes, or is said not to be new."""
        by_identity = {_identity(entry): entry for entry in self._come.values() if entry.digest}
        return [self._found(change, by_identity) for change in changes]

    def _found(self, change: PathChange, come: Mapping[_Identity, Entry]) -> PathChange:
        path, before, after = change.path, change.before, change.after
        if path in self._gone and (entry := come.get(self._gone[path])) is not None:
            before = msgspec.structs.replace(before, digest=entry.digest, is_held=True)
        elif self._is_judged and before.kind == "absent" and path in self._come:
            is_held = not self._is_from_elsewhere(path, self._come[path])
            before = msgspec.structs.replace(before, is_held=is_held)
        elif self._is_judged and path in self._come and path in self._left_paths:
            is_moved_in = self._is_from_elsewhere(path, self._come[path])
            after = msgspec.structs.replace(after, is_moved_in=is_moved_in)
        return PathChange(path, before, after)

    def _is_from_elsewhere(self, path: bytes, entry: Entry) -> bool:
        """Whether a file that came was there before, at a path of which nothing is kept."""
        if entry.kind not in ("file", "link") or entry.ino in self._left:
            return False
        try:
            status = os.lstat(path)
        except OSError:
            return False  # it went again
        if status.st_nlink > 1:
            return False  # its other name stays
        if self._is_unlisted and entry.mtime_ns < self._since_ns:
            return True
        made_ns = born_ns(path, status)
        if made_ns is None or made_ns >= self._since_ns:
            return False
        return is_named_late(path, made_ns, status) or self._is_in_moved_folder(path)

    def _is_in_moved_folder(self, path: bytes) -> bool:
        """Whether a folder above came from elsewhere: what is in it kept its own times."""
        above = os.path.dirname(path)  # noqa: PTH120 - bytes
        while (entry := self._come.get(above)) is not None:
            if above not in self._moved_folders:
                self._moved_folders[above] = self._is_moved_folder(above, entry)
            if self._moved_folders[above]:
                return True
            above = os.path.dirname(above)  # noqa: PTH120
        return False

    def _is_moved_folder(self, path: bytes, entry: Entry) -> bool:
        try:
            status = os.lstat(path)
        except OSError:
            return False
        made_ns = born_ns(path, status)
        if entry.ino in self._left or made_ns is None or made_ns >= self._since_ns:
            return False
        return is_named_late(path, made_ns, status)


def _identity(entry: Entry) -> _Identity:
    """Return what a file keeps when it is moved, and loses when it is written to."""
    return entry.kind, entry.ino, entry.size, entry.mtime_ns

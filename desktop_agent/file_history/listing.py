"""What lies in one folder: names and what tells whether something is still the same."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from desktop_agent.core.changes import FileKind
from desktop_agent.engine.workspace.safe_open import open_beneath
from desktop_agent.file_history.values import Entry

CACHE_TAG = b"CACHEDIR.TAG"
IGNORE_FILE = b".gitignore"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
# git's own files are never touched.
_LEFT_OUT = b".git"


def flags(*names: str) -> int:
    """Return those flags for opening that this system knows."""
    found = os.O_RDONLY
    for name in names:
        found |= getattr(os, name, 0)
    return found


_READ = flags("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")


@dataclass(slots=True)
class Listing:
    """What a folder holds: entries that were not read (no digest), by name, without `.git`.

    `is_readable` is False where the system refuses to list it.
    """

    entries: dict[bytes, Entry] = field(default_factory=dict[bytes, Entry])
    is_readable: bool = True


def list_folder(path: bytes, device: int) -> Listing:
    """List one folder; what lies on another device than `device` is of the kind `other`."""
    listing = Listing()
    try:
        with os.scandir(path) as found:
            for one in found:
                if one.name != _LEFT_OUT:
                    try:
                        status = one.stat(follow_symlinks=False)
                    except OSError:
                        continue  # it went while it was listed
                    listing.entries[one.name] = entry_of(status, device)
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
        # Another file system is named, and not entered.
        kind = "folder" if status.st_dev == device else "other"
        return Entry(kind, mode & 0o7777, ino=status.st_ino, is_held=kind == "folder")
    elif stat.S_ISLNK(mode):
        kind = "link"
    # By place: there may be a hundred thousand of them.
    return Entry(
        kind, mode & 0o7777, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    )


def is_same(known: Entry, found: Entry) -> bool:
    """Whether nothing tells that an entry changed since it was read."""
    if known.kind == "folder" or known.kind == "other":
        return known.kind == found.kind and known.mode == found.mode
    return known[:6] == found[:6]


def open_file(root: int, path: bytes, relative: bytes) -> int:
    """Open a file of a folder, over no link; raises OSError. `root` is the open folder."""
    if os.name == "nt":
        return os.open(path, _READ)
    return open_beneath(root, os.fsdecode(relative), _READ)


def read_beginning(root: int, path: bytes, relative: bytes, most: int) -> bytes:
    """Return up to `most` bytes of a regular file; empty where there is none."""
    try:
        return _beginning(open_file(root, path, relative), most)
    except OSError:
        return b""


def git_head(root: bytes) -> bytes:
    """Return what tells which commit the repository of a folder is at; empty without one."""
    head = _small_file(root + b"/.git/HEAD")
    if head.startswith(b"ref: refs/") and b".." not in head and b"\0" not in head:
        head += _small_file(root + b"/.git/" + head[5:].strip())
    return head


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

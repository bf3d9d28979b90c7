"""Looking at paths and changing them, so that no link is followed and nothing is half done.

Paths are absolute and real when they are recorded. A link that stands on the way later was put
there since, and is not followed: behind it there is nothing, and nothing can be put there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import hashlib
import itertools
import os
import stat
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from typing import NamedTuple

from desktop_agent.core.changes import FileState
from desktop_agent.engine.workspace.attributes import keep_attributes
from desktop_agent.engine.workspace.replacing import replace
from desktop_agent.engine.workspace.safe_open import open_beneath
from desktop_agent.engine.workspace.to_disk import to_disk
from desktop_agent.file_history import names
from desktop_agent.file_history.packs import CHUNK, write_all

ABSENT = FileState()
OTHER = FileState("other")
_IS_WINDOWS = os.name == "nt"
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOLDER = os.O_RDONLY | _FLAGS | getattr(os, "O_DIRECTORY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
_ALL = 0o7777
_RENAME_EXCHANGE = 2
# Fewer are flushed one by one: that waits for nothing else that was written to the file system.
MANY = 16
# Of the folder of a path: missing, a file, or behind a link.
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


class Changed(Exception):
    """A path is not as it has to be for what was to be done."""


class Place(NamedTuple):
    """A name in an open folder. On Windows `name` is the whole path and `folder` None."""

    folder: int | None
    name: bytes

    def beside(self, name: bytes) -> bytes:
        """Return how another name in the same folder is called."""
        return name if self.folder is not None else os.path.join(os.path.dirname(self.name), name)  # noqa: PTH118, PTH120


@contextlib.contextmanager
def place_of(path: bytes) -> Generator[Place]:
    """Hold the folder of a path open; raises OSError, also for a link on the way."""
    if _IS_WINDOWS:
        if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):  # noqa: PTH120
            raise OSError(errno.ELOOP, "a link is on the way")
        yield Place(None, path)
        return
    parent, _, name = path.rpartition(b"/")
    root = os.open("/", _FOLDER)
    try:
        folder = open_beneath(root, os.fsdecode(parent.lstrip(b"/")) or ".", _FOLDER)
    finally:
        os.close(root)
    try:
        yield Place(folder, name)
    finally:
        os.close(folder)


def state_of(path: bytes, largest: int | None = None) -> FileState:
    """Return what is at a path now, nothing if a link stands on the way; `other` can't be read.

    A file of more bytes than `largest` is not read, as that takes minutes: it has no digest.
    """
    try:
        with place_of(path) as place:
            return _state_at(place, largest)
    except OSError as error:
        return ABSENT if error.errno in _NOT_THERE else OTHER


def read_link(path: bytes) -> bytes:
    """Return the target of a link; raises OSError."""
    with place_of(path) as place:
        return os.fsencode(os.readlink(place.name, dir_fd=place.folder))


@contextlib.contextmanager
def opened(path: bytes) -> Generator[int]:
    """Open a regular file for reading; raises OSError."""
    with place_of(path) as place:
        descriptor = os.open(place.name, _READ, dir_fd=place.folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def status_of(path: bytes) -> os.stat_result:
    """Return the status of a path itself; raises OSError."""
    with place_of(path) as place:
        return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)


def names_in(path: bytes) -> set[bytes]:
    """Return the names in a folder; raises OSError."""
    with place_of(path) as place:
        if place.folder is None:
            return set(os.listdir(path))  # noqa: PTH208
        folder = os.open(place.name, _FOLDER, dir_fd=place.folder)
    try:
        return {os.fsencode(name) for name in os.listdir(folder)}  # noqa: PTH208
    finally:
        os.close(folder)


def respelled(paths: Iterable[bytes]) -> frozenset[bytes]:
    """Return those of these paths that are there under the spelling of another of them alone.

    Where a file system takes upper and lower case for one, or both ways to write an accent, a
    renamed file is found under its old name too.
    """
    groups: dict[str, list[bytes]] = defaultdict(list)
    for path in paths:
        groups[names.folded(path)].append(path)
    return frozenset(
        path
        for group in groups.values()
        for path in group
        if any(_is_respelled(path, other) for other in group if other != path)
    )


def _is_respelled(path: bytes, other: bytes) -> bool:
    sep = os.sep.encode()
    pairs = zip(path.split(sep), other.split(sep), strict=False)
    above = list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    ours, theirs = path.split(sep)[len(above)], other.split(sep)[len(above)]
    try:
        listed = names_in(sep.join(name for name, _ in above) or sep)
    except OSError:
        return False
    return ours not in listed and theirs in listed


def same(one: FileState, two: FileState) -> bool:
    """Whether two states are the same for certain."""
    if one.kind != two.kind or one.kind == "other":
        return False
    if one.kind == "absent":
        return True
    if one.kind == "folder":
        return one.mode == two.mode
    is_same = bool(one.digest) and one.digest == two.digest
    return is_same and (one.kind == "link" or one.mode == two.mode)


# -- changing; each raises Changed, or OSError, and then the path is as it was


class Staged(NamedTuple):
    """A temporary file beside a path. It and the folder are open: a swapped one is not followed.

    It gets the date of when it was written, unless that is now.
    """

    place: Place
    temporary: bytes
    descriptor: int
    mode: int
    written_ns: int | None = None


def stage_file(path: bytes, mode: int, content: Iterable[bytes], name: bytes) -> Staged:
    """Write a temporary file of this name beside a path; it is not flushed yet."""
    with place_of(path) as place:
        temporary = place.beside(name)
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=place.folder)
        try:
            for chunk in content:
                write_all(descriptor, chunk)
            _set_owner_and_mode(descriptor, place, mode)
            folder = None if place.folder is None else os.dup(place.folder)
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=place.folder)
            raise
        return Staged(Place(folder, place.name), temporary, descriptor, mode)


def put_staged(staged: Staged, expected: FileState | None) -> None:
    """Put a flushed temporary file where `expected` is, or remove it; it is closed."""
    place = staged.place
    os.close(staged.descriptor)
    try:
        if expected is not None:
            _date(staged)
            _put(place, staged.temporary, expected)
            if _IS_WINDOWS:  # not before: what is read-only can't be removed, should that fail
                with contextlib.suppress(OSError):
                    os.chmod(place.name, staged.mode)  # noqa: PTH101
        else:
            os.unlink(staged.temporary, dir_fd=place.folder)
    finally:
        if place.folder is not None:
            os.close(place.folder)


def _date(staged: Staged) -> None:
    if staged.written_ns is None:
        return
    times = (time.time_ns(), staged.written_ns)
    is_followed = os.utime not in os.supports_follow_symlinks
    with contextlib.suppress(OSError):
        os.utime(
            staged.temporary, ns=times, dir_fd=staged.place.folder, follow_symlinks=is_followed
        )


def put_link(path: bytes, expected: FileState, target: bytes, name: bytes) -> None:
    """Put a link where `expected` is; `name` is that of a temporary file."""
    with place_of(path) as place:
        temporary = place.beside(name)
        os.symlink(target, temporary, dir_fd=place.folder)
        _put(place, temporary, expected)


def put_folder(path: bytes, expected: FileState, name: bytes) -> None:
    """Make a folder that its owner may use where `expected` is, nothing or a file.

    The file goes once there is room for the folder, which is called `name` until then.
    """
    with place_of(path) as place:
        _require(place, expected)
        made = place.name if expected.kind == "absent" else place.beside(name)
        os.mkdir(made, 0o700, dir_fd=place.folder)
        if made != place.name:
            try:
                _unlink(place)
                os.rename(made, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            except BaseException:
                os.rmdir(made, dir_fd=place.folder)
                raise


def remove(path: bytes, expected: FileState) -> None:
    """Remove a file, a link, or a folder that is empty."""
    with place_of(path) as place:
        _require(place, expected)
        if expected.kind == "folder":
            os.rmdir(place.name, dir_fd=place.folder)
        else:
            _unlink(place)


def _unlink(place: Place) -> None:
    with _writable(place):
        os.unlink(place.name, dir_fd=place.folder)


@contextlib.contextmanager
def _writable(place: Place) -> Generator[None]:
    """Windows removes and replaces nothing that is read-only: it isn't while this holds."""
    mode = os.lstat(place.name).st_mode if _IS_WINDOWS and os.path.lexists(place.name) else None
    if mode is None or not stat.S_ISREG(mode) or mode & stat.S_IWRITE:
        yield
        return
    os.chmod(place.name, stat.S_IREAD | stat.S_IWRITE)  # noqa: PTH101
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.chmod(place.name, stat.S_IMODE(mode))  # noqa: PTH101
        raise


def set_mode(path: bytes, mode: int) -> None:
    """Change the mode of a file or folder."""
    with place_of(path) as place:
        if place.folder is None:
            os.chmod(path, mode)  # noqa: PTH101
            return
        try:
            descriptor = os.open(place.name, _READ, dir_fd=place.folder)
        except PermissionError:
            _set_mode_unread(place, mode)
            return
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _set_mode_unread(place: Place, mode: int) -> None:
    """Change the mode of what its owner may not open; a link is not followed."""
    if not sys.platform.startswith("linux"):
        os.chmod(place.name, mode, dir_fd=place.folder, follow_symlinks=False)
        return
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    with _closing(descriptor := os.open(place.name, flags, dir_fd=place.folder)):
        if stat.S_ISLNK(os.fstat(descriptor).st_mode):
            raise Changed
        os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101


def remove_temporaries(path: bytes, token: str) -> None:
    """Remove what was left beside a path when a process that used this token was killed."""
    beginning = f".{token}.".encode("ascii")
    with contextlib.suppress(OSError), place_of(path) as place:
        parent = place.folder if place.folder is not None else os.path.dirname(path)  # noqa: PTH120
        for name in map(os.fsencode, os.listdir(parent)):  # noqa: PTH208
            if name.startswith(beginning):
                for remove_it in (os.unlink, os.rmdir):
                    with contextlib.suppress(OSError):
                        remove_it(place.beside(name), dir_fd=place.folder)


def temporary_name(token: str, number: int) -> bytes:
    """Return the name of a file that is renamed when it is complete."""
    return f".{token}.{number}.tmp".encode("ascii")


# -- flushing to the disk: many together take about as long as one


def flush(descriptors: Sequence[int]) -> list[int]:
    """Flush open files; returns those for which it failed."""
    synced: set[int] = set()
    failed: list[int] = []
    for descriptor in descriptors:
        try:
            _flush(descriptor, synced, is_one_of_many=len(descriptors) > MANY)
        except OSError:
            failed.append(descriptor)
    if len(descriptors) > MANY and not synced:
        with contextlib.suppress(OSError):
            to_disk(descriptors[-1])  # what the drive still keeps of the others goes with it
    return failed


def flush_folders(paths: Collection[bytes]) -> None:
    """Flush the names in the folders of these paths; where that fails nothing can be done."""
    synced: set[int] = set()
    for path in paths:
        with contextlib.suppress(OSError), place_of(path) as place:
            if place.folder is not None:
                _flush(place.folder, synced, is_one_of_many=len(paths) > MANY)


def _flush(descriptor: int, synced: set[int], *, is_one_of_many: bool) -> None:
    """Flush a file, and with many of them the whole file system it is in; raises OSError."""
    device = os.fstat(descriptor).st_dev
    if device in synced:
        return
    if is_one_of_many and sync_file_system(descriptor):
        synced.add(device)
    elif is_one_of_many:
        os.fsync(descriptor)
    else:
        to_disk(descriptor)


def sync_file_system(descriptor: int) -> bool:
    """Flush all of the file system that an open file is in; False where it can't be."""
    call = _syncfs()
    return call is not None and call(descriptor) == 0


@functools.cache
def _syncfs() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "syncfs", None)


# -- within


def _state_at(place: Place, largest: int | None = None) -> FileState:
    try:
        status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return ABSENT
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return FileState("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(place.name, dir_fd=place.folder))
        return FileState("link", 0, len(target), hashlib.sha256(target).hexdigest())
    if not stat.S_ISREG(status.st_mode):
        return OTHER
    descriptor = os.open(place.name, _READ, dir_fd=place.folder)
    with _closing(descriptor):
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return OTHER
        if largest is not None and found.st_size > largest:
            return FileState("file", stat.S_IMODE(found.st_mode), found.st_size)
        digest, size = hashlib.sha256(), 0
        while chunk := os.read(descriptor, CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return FileState("file", stat.S_IMODE(found.st_mode), size, digest.hexdigest())


def _require(place: Place, expected: FileState) -> None:
    if not same(_state_at(place), expected):
        raise Changed


def _put(place: Place, temporary: bytes, expected: FileState) -> None:
    try:
        _require(place, expected)
        _replace(place, temporary, expected)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)


def _replace(place: Place, temporary: bytes, expected: FileState) -> None:
    """Give the temporary file its name; where nothing is expected, it replaces nothing."""
    folder = place.folder
    if expected.kind in {"file", "link"} and exchange(place, temporary):
        # Written since it was looked at: it goes back where it was.
        if not same(_state_at(Place(folder, temporary)), expected):
            exchange(place, temporary)
            raise Changed
        return
    if expected.kind in {"file", "link"}:
        _require(place, expected)  # the file system can't do that, or it is gone by now
    if expected.kind == "folder":
        os.rmdir(place.name, dir_fd=folder)
    if expected.kind in {"absent", "folder"} and not _IS_WINDOWS:
        try:
            os.link(
                temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False
            )
            return
        except FileExistsError:
            raise Changed from None
        except OSError:
            # A file system without hard links: looked at once more, then renamed.
            _require(place, ABSENT)
    if folder is None:
        with _writable(place):
            replace(temporary, place.name)
    else:
        os.replace(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)


def exchange(place: Place, temporary: bytes) -> bool:
    """Have two names in a folder change places in one step; False where that can't be done."""
    call = _renameat2()
    if call is None or place.folder is None:
        return False
    return call(place.folder, temporary, place.folder, place.name, _RENAME_EXCHANGE) == 0


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "renameat2", None)


def _set_owner_and_mode(descriptor: int, place: Place, mode: int) -> None:
    if _IS_WINDOWS:
        return
    with contextlib.suppress(OSError):
        old = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        mine = os.fstat(descriptor)
        if (old.st_uid, old.st_gid) != (mine.st_uid, mine.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        if stat.S_ISREG(old.st_mode):
            before = os.open(place.name, _READ, dir_fd=place.folder)
            with _closing(before):
                keep_attributes(before, descriptor)
    os.fchmod(descriptor, mode & _ALL)


@contextlib.contextmanager
def _closing(descriptor: int) -> Generator[None]:
    try:
        yield
    finally:
        os.close(descriptor)

"""Opening and replacing files so that the check and the use are one step.

Callers resolve a path first (`containment`); here the resolved path is opened below the open
folder of its root, and no link is followed any more: what was swapped in since is refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import stat
import sys
import threading
from collections.abc import Generator
from pathlib import Path, PurePath
from typing import BinaryIO

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Folders
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.workspace import safe_open_windows
from desktop_agent.engine.workspace.attributes import keep_attributes
from desktop_agent.engine.workspace.containment import (
    OutsideWorkspace,
    root_of,
    shown,
    with_temporary,
)
from desktop_agent.engine.workspace.replacing import temporary_name
from desktop_agent.engine.workspace.to_disk import to_disk

_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_BENEATH = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS
_IS_WINDOWS = sys.platform == "win32"
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_READ = _FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_CHUNK = 1 << 20
# Held from the last look at a file until it is replaced.
_RENAMING = threading.Lock()


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_read(folders: Folders, resolved: Path) -> BinaryIO:
    """Open a regular file for reading; raises ToolError for anything else, and never waits."""
    if _IS_WINDOWS:
        return safe_open_windows.open_read(folders, resolved)
    with (
        _words_for(shown(folders, resolved)),
        _root_open(with_temporary(folders, folders.read_roots), resolved) as (root, relative),
    ):
        descriptor = open_beneath(root, relative, os.O_RDONLY | _READ)
        try:
            require_regular(os.fstat(descriptor), resolved)
        except ToolError:
            os.close(descriptor)
            raise
        return os.fdopen(descriptor, "rb")


@contextlib.contextmanager
def open_folder(folders: Folders, resolved: Path) -> Generator[int, None, None]:
    """Hold a folder open (POSIX): its descriptor stays the same folder whatever is renamed."""
    with (
        _words_for(shown(folders, resolved)),
        _root_open(with_temporary(folders, folders.read_roots), resolved) as (root, relative),
    ):
        descriptor = open_beneath(root, relative, os.O_RDONLY | _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_atomic(
    folders: Folders, resolved: Path, content: bytes, *, expected: str | None = None
) -> None:
    """Put `content` at the resolved path by a rename, keeping what the file there had besides.

    Missing folders are made. A hard link is replaced, not written through. `expected` is the
    digest the file must still have (empty: there must be no file), else ToolError.
    """
    if _IS_WINDOWS:
        safe_open_windows.write_atomic(folders, resolved, content, expected=expected)
        return
    with (
        _words_for(shown(folders, resolved)),
        _root_open(with_temporary(folders, folders.write_roots), resolved) as (root, relative),
    ):
        if relative == ".":
            raise ToolError(f"'{resolved}' is a folder.")
        with _made_folders(root, PurePath(relative).parent) as folder:
            _replace(folder, resolved, content, expected)


def digest(content: bytes) -> str:
    """Return the hex SHA-256 by which contents are compared."""
    return sha256(content).hexdigest()


def require_regular(status: os.stat_result, path: Path) -> None:
    """Raise ToolError unless it is an ordinary file: pipes and devices could wait for ever."""
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"'{path}' is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"'{path}' is not a regular file.")


def open_beneath(root: int, relative: str, flags: int) -> int:
    """Open below an open folder, following no link at all; raises OSError."""
    descriptor = _openat2(root, relative, flags)
    if descriptor is not None:
        return descriptor
    return _open_step_by_step(root, PurePath(relative), flags)


def open_root(root: str) -> int:
    """Open a folder by its real path; raises OSError when a part of it became a link since.

    An agent may write above a folder that it, or another one, was given.
    """
    top = os.open("/", os.O_RDONLY | _DIRECTORY)
    try:
        descriptor = _openat2(top, root.lstrip("/") or ".", os.O_RDONLY | _DIRECTORY)
    finally:
        os.close(top)
    if descriptor is not None:
        return descriptor
    descriptor = os.open(root, os.O_RDONLY | _DIRECTORY)
    if os.path.realpath(root) != root:
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return descriptor


@contextlib.contextmanager
def _root_open(roots: tuple[str, ...], resolved: Path) -> Generator[tuple[int, str], None, None]:
    root = root_of(roots, resolved)
    if root is None:
        raise OutsideWorkspace(
            f"Error: path '{resolved}' is outside the workspace (roots: {', '.join(roots)})"
        )
    descriptor = open_root(root)
    try:
        yield descriptor, str(resolved.relative_to(root))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _words_for(path: str) -> Generator[None, None, None]:
    """Say in words what the system refused."""
    try:
        yield
    except OSError as error:
        words = {
            errno.ENOENT: f"'{path}' doesn't exist.",
            errno.EISDIR: f"'{path}' is a folder.",
            errno.ENOTDIR: f"a part of '{path}' is not a folder, or was replaced by a link.",
            errno.ELOOP: f"'{path}' was replaced by a link while it was used.",
            errno.EXDEV: f"'{path}' leads out of the workspace.",
            errno.EACCES: f"no permission for '{path}'.",
            errno.EPERM: f"no permission for '{path}'.",
            errno.ENXIO: f"'{path}' is not a regular file.",
            errno.ENOSPC: "the disk is full.",
        }
        text = words.get(error.errno or 0) or f"'{path}': {error.strerror or error}."
        raise ToolError(text) from None


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _openat2(root: int, relative: str, flags: int) -> int | None:
    """Return a descriptor, or None where the kernel doesn't know the call."""
    if not sys.platform.startswith("linux"):
        return None
    call = _libc().syscall
    how = _OpenHow(flags, 0, _BENEATH)
    for _ in range(64):
        descriptor = call(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(root),
            ctypes.c_char_p(os.fsencode(relative)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        code = ctypes.get_errno()
        if code in {errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL}:
            return None
        # EAGAIN: something on the way was renamed during the walk.
        if code not in {errno.EINTR, errno.EAGAIN}:
            raise OSError(code, os.strerror(code))
    raise OSError(errno.EAGAIN, "it is being renamed all the time")


def _open_step_by_step(root: int, relative: PurePath, flags: int) -> int:
    parts = relative.parts or (".",)
    if ".." in parts:
        raise OSError(errno.EXDEV, "leads upwards")
    current = os.dup(root)
    try:
        for name in parts[:-1]:
            deeper = os.open(name, os.O_RDONLY | _DIRECTORY, dir_fd=current)
            os.close(current)
            current = deeper
        return os.open(parts[-1], flags, dir_fd=current)
    finally:
        os.close(current)


@contextlib.contextmanager
def _made_folders(root: int, relative: PurePath) -> Generator[int, None, None]:
    """Hold a folder open that is made if need be; what was made goes again if the block fails."""
    made: list[PurePath] = []
    try:
        for folder in (*reversed(relative.parents), relative)[1:]:
            with _opened(root, folder.parent) as above, contextlib.suppress(FileExistsError):
                os.mkdir(folder.name, dir_fd=above)
                made.append(folder)
        with _opened(root, relative) as descriptor:
            yield descriptor
    except BaseException:
        for folder in reversed(made):
            with contextlib.suppress(OSError), _opened(root, folder.parent) as above:
                os.rmdir(folder.name, dir_fd=above)
        raise


@contextlib.contextmanager
def _opened(root: int, folder: PurePath) -> Generator[int, None, None]:
    descriptor = open_beneath(root, str(folder), os.O_RDONLY | _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _replace(folder: int, resolved: Path, content: bytes, expected: str | None) -> None:
    name = resolved.name
    old = _status(folder, name)
    if old is not None:
        require_regular(old, resolved)
    temporary = temporary_name()
    try:
        _write_beside(folder, temporary, name, old, content)
        # Looked at last of all: the disk may take its time, and other agents write too.
        with _RENAMING:
            if expected is not None and _digest_at(folder, name) != expected:
                raise ToolError(f"'{resolved}' changed in the meantime, so nothing was written.")
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    # It has its name: where that can't be flushed, as in some file systems of a network, the file
    # is written all the same.
    with contextlib.suppress(OSError):
        to_disk(folder)


def _write_beside(
    folder: int, temporary: str, name: str, old: os.stat_result | None, content: bytes
) -> None:
    """Write a new file, which has no name before it is whole where the system can do that.

    An app that is killed meanwhile leaves nothing in the folder then.
    """
    if sys.platform == "linux":
        flags = os.O_WRONLY | os.O_TMPFILE | _FLAGS
        with (
            contextlib.suppress(OSError),
            os.fdopen(os.open(".", flags, 0o666, dir_fd=folder), "wb") as file,
        ):
            _fill(file, folder, name, old, content)
            os.link(f"/proc/self/fd/{file.fileno()}", temporary, dst_dir_fd=folder)
            return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
    with os.fdopen(os.open(temporary, flags, 0o666, dir_fd=folder), "wb") as file:
        _fill(file, folder, name, old, content)


def _fill(
    file: BinaryIO, folder: int, name: str, old: os.stat_result | None, content: bytes
) -> None:
    file.write(content)
    file.flush()
    if old is not None:
        _keep_all_but_content(folder, name, old, file.fileno())
    to_disk(file.fileno())


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _digest_at(folder: int, name: str) -> str:
    if _status(folder, name) is None:
        return ""
    descriptor = open_beneath(folder, name, os.O_RDONLY | _READ)
    found = sha256()
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _keep_all_but_content(folder: int, name: str, old: os.stat_result, descriptor: int) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (old.st_uid, old.st_gid):
        # Only root may give a file away; anyone else keeps it as its own.
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):  # a file that may be replaced need not be readable
        before = open_beneath(folder, name, os.O_RDONLY | _READ)
        try:
            keep_attributes(before, descriptor)
        finally:
            os.close(before)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))

"""The files of a skill's folder: listed within bounds, digested, read without being led away."""

from __future__ import annotations

import codecs
import contextlib
import functools
import logging
import os
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.workspace.containment import resolve_for_read
from desktop_agent.engine.workspace.safe_open import (
    open_beneath,
    open_folder,
    open_read,
    require_regular,
)

_log = logging.getLogger(__name__)

MOST_FILES = 2_000
MOST_BYTES = 20_000_000
LARGEST_TEXT = 1_000_000
DEEPEST = 6

# What tools leave behind in a folder, and is no part of the skill: they write it at every use.
_LEFT_BEHIND = frozenset({".git", "__pycache__", ".DS_Store"})
# What of a repository tells git what to run. The rest changes with every use of git.
_OBEYED_BY_GIT = frozenset({"config", "config.worktree", "commondir", "hooks", "info"})
# Where a link may not end: what lies there is no part of any digest.
_NEVER_DIGESTED = frozenset({".git", ".ds_store"})
_CHUNK = 1 << 20
_READ = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY")
)


class Entry(msgspec.Struct, frozen=True):
    """A file below a folder. `mark` changes when the file does; a link is never followed.

    `end` is where a link ends, as seen from the folder; empty for anything else.
    """

    path: str
    size: int
    mark: tuple[int, int, int]
    kind: int
    end: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is an ordinary file."""
        return stat.S_ISREG(self.kind)

    @property
    def is_program(self) -> bool:
        """Whether it may be run as it is."""
        return self.is_file and os.name != "nt" and bool(self.kind & 0o111)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.kind)

    @property
    def leads_out(self) -> bool:
        """Whether it is a link to what no digest of the folder covers."""
        parts = self.end.split("/")
        if os.path.isabs(self.end) or parts[0] == "..":  # noqa: PTH117 - a thousand of them
            return True
        return any(part.lower() in _NEVER_DIGESTED for part in parts)

    @property
    def is_left_behind(self) -> bool:
        """Whether a tool generated it and no agent reads it."""
        return not _LEFT_BEHIND.isdisjoint(self.path.split("/"))


class TooLarge(Exception):
    """The folder holds more than a skill may; the text says what."""


def entries(folder: str, *, is_whole: bool = False) -> tuple[Entry, ...]:
    """Return all files below a folder, by path. Raises TooLarge and OSError.

    `is_whole`: also what tools left behind, as far as some program uses it without being asked to.
    """
    return tuple(sorted(_walk(folder, is_whole), key=lambda entry: entry.path))


def _walk(folder: str, is_whole: bool) -> Iterator[Entry]:
    waiting = [("", 0)]
    count = total = 0
    while waiting:
        prefix, depth = waiting.pop()
        with os.scandir(os.path.join(folder, prefix)) as found:  # noqa: PTH118 - a thousand of them
            listed = [entry for entry in found if _counts(prefix, entry, is_whole)]
        for entry in listed:
            count += 1
            if count > MOST_FILES:
                raise TooLarge(f"It has more than {MOST_FILES:,} files.")
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if depth >= DEEPEST:
                    raise TooLarge(f"Its folders are nested more than {DEEPEST} deep.")
                waiting.append((path + "/", depth + 1))
                continue
            status = entry.stat(follow_symlinks=False)
            total += status.st_size
            if total > MOST_BYTES:
                raise TooLarge(f"Its files have more than {MOST_BYTES // 1_000_000} MB.")
            mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            end = _end_of(folder, path) if stat.S_ISLNK(status.st_mode) else ""
            yield Entry(path, status.st_size, mark, status.st_mode, end)


def _counts(prefix: str, entry: os.DirEntry[str], is_whole: bool) -> bool:
    name = entry.name
    if not is_whole:
        return name not in _LEFT_BEHIND
    if f"/{prefix}".endswith("/.git/"):
        return name in _OBEYED_BY_GIT
    if name == ".DS_Store":  # the system's own notes on how a folder is shown
        return not entry.is_file(follow_symlinks=False)
    # Samples of hooks come with every repository, and are never run.
    return not (name.endswith(".sample") and f"/{prefix}".endswith("/.git/hooks/"))


def _end_of(folder: str, path: str) -> str:
    end = os.path.realpath(os.path.join(folder, path))  # noqa: PTH118
    try:
        return os.path.relpath(end, os.path.realpath(folder)).replace(os.sep, "/")
    except ValueError:  # another drive
        return end


class Held(msgspec.Struct, frozen=True):
    """A folder that is held open: what is read is below it, whatever is renamed meanwhile.

    Where folders can't be held (Windows), each file is looked up on its own.
    """

    folder: str
    descriptor: int | None

    def open(self, path: str) -> BinaryIO:
        """Open an ordinary file below the folder, through no link. Raises OSError, ToolError."""
        if self.descriptor is None:
            return open_read(Workspace(self.folder), Path(self.folder, path))
        descriptor = open_beneath(self.descriptor, path, _READ)
        file = os.fdopen(descriptor, "rb")
        try:
            require_regular(os.fstat(descriptor), Path(path))
        except ToolError:
            file.close()
            raise
        return file

    def text(self, path: str, limit: int = LARGEST_TEXT) -> tuple[str, bool]:
        """Return a text, with its byte order mark if it has one, and whether it was UTF-8.

        Raises OSError, ToolError.
        """
        with self.open(path) as file:
            return _text(file, path, limit)

    def digest(self, listed: tuple[Entry, ...]) -> str:
        """Return the hex SHA-256 over names and contents. Raises OSError, ToolError.

        Of a link it holds where it ends: what lies there counts where it lies.
        """
        return self.digest_and_content(listed, "")[0]

    def digest_and_content(self, listed: tuple[Entry, ...], wanted: str) -> tuple[str, bytes]:
        """Return the digest and the digested content of one file, both from one read.

        The content is empty when no ordinary file is called so.
        """
        found = sha256()
        content = b""
        for entry in listed:
            name = entry.path.encode("utf-8", "surrogateescape")
            found.update(b"%d:%s:" % (len(name), name))
            if entry.is_link:
                end = entry.end.encode("utf-8", "surrogateescape")
                found.update(b"link:%d:%s" % (len(end), end))
            elif entry.is_file:
                inner = sha256()
                chunks: list[bytes] = []
                with self.open(entry.path) as file:
                    while chunk := file.read(_CHUNK):
                        inner.update(chunk)
                        if entry.path == wanted:
                            chunks.append(chunk)
                found.update(b"file:" + inner.digest())
                content = b"".join(chunks) or content
            else:
                found.update(b"other")
        return found.hexdigest(), content


@contextlib.contextmanager
def held(folder: str, bounds: str | None = None) -> Generator[Held, None, None]:
    """Hold a real folder open; with `bounds`, none of the way to it below those is a link."""
    if os.name == "nt":
        yield Held(folder, None)
        return
    if bounds is None:
        descriptor = os.open(folder, _READ | getattr(os, "O_DIRECTORY", 0))
        try:
            yield Held(folder, descriptor)
        finally:
            os.close(descriptor)
        return
    with open_folder(Workspace(bounds), Path(folder)) as descriptor:
        yield Held(folder, descriptor)


def read_text(bounds: str, path: str, limit: int = LARGEST_TEXT) -> tuple[str, bool]:
    """Return a text, with its byte order mark if it has one, and whether it was UTF-8.

    Links may lead anywhere below `bounds` only. Raises ToolError in words: outside, not a regular
    file, larger than `limit` bytes, missing.
    """
    workspace = Workspace(bounds)
    resolved = resolve_for_read(workspace, path)
    with open_read(workspace, resolved) as file:
        return _text(file, path, limit)


@functools.lru_cache(maxsize=1_000)
def warn_once(text: str) -> None:
    """Log a sentence the first time only: the same files are looked at every two seconds."""
    _log.warning("%s", text)


def is_utf8(name: str) -> bool:
    """Whether a file's name is text that can be sent and kept."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(file: BinaryIO, path: str, limit: int) -> tuple[str, bool]:
    # Asked for a megabyte, Python makes room for a megabyte first.
    return decoded(file.read(min(limit, os.fstat(file.fileno()).st_size) + 1), path, limit)


def decoded(content: bytes, path: str, limit: int = LARGEST_TEXT) -> tuple[str, bool]:
    """Return the text of a file, and whether it was UTF-8. Raises ToolError when too large.

    UTF-16 with its mark is read as well: PowerShell writes it.
    """
    if len(content) > limit:
        raise ToolError(f"{os.path.basename(path)} is larger than {limit // 1000:,} kB.")  # noqa: PTH119
    try:
        return content.decode(), True
    except UnicodeDecodeError:
        is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return content.decode("utf-16" if is_wide else "utf-8", "replace"), False

"""Contents by their SHA-256, appended to pack files and compressed.

A pack is flushed to the disk before the rows that point into it are committed; what stands behind
the last row of a pack is the rest of a write that was cut off, and is cut off at the next start.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.changes import UndoError
from desktop_agent.engine.workspace.to_disk import to_disk
from desktop_agent.file_history.schema import FULL_DISK, transaction
from desktop_agent.file_history.values import MEGABYTE, HistoryFull, Limits

CHUNK = 1 << 20
# Larger files are not copied, but shared with the file system's help where it has any.
LARGEST_COPY = 16 * MEGABYTE
_FICLONE = 0x40049409  # of linux/fs.h
_SUFFIX = ".pack"
_LEVEL = 1
_CHANGING = "The file changed while it was read."
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Blob(NamedTuple):
    """Where the bytes of one content stand: `length` bytes in the pack, `size` in reality."""

    digest: bytes
    pack: int
    offset: int
    length: int
    size: int
    is_packed: bool


class Packs:
    """The pack files. What was added is only found by others after `save`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, limits: Limits) -> None:
        self._folder = folder
        self._connection = connection
        self._limits = limits
        self._unsaved: dict[bytes, Blob] = {}
        self._recent: dict[bytes, float] = {}
        self._pack: tuple[int, int] | None = None  # its number and descriptor
        self._number = self._tidy()
        self._is_sealed = self._number not in self.numbers()
        self.written = 0
        # Raises HistoryFull unless so many bytes more may be kept.
        self.require_room: Callable[[int], None] = lambda _: None

    def close(self) -> None:
        """Close the pack that is open for writing."""
        if self._pack is not None:
            os.close(self._pack[1])
            self._pack = None

    def find(self, digest: str) -> Blob | None:
        """Return where a content stands, or None if it isn't kept."""
        key = bytes.fromhex(digest)
        if (unsaved := self._unsaved.get(key)) is not None:
            return unsaved
        row = self._connection.execute("SELECT * FROM blob WHERE hash = ?", (key,)).fetchone()
        return None if row is None else Blob(*row)

    def add(self, content: bytes) -> str:
        """Keep these bytes unless they are; returns their digest."""
        digest = hashlib.sha256(content).digest()
        if not self._has(digest):
            packed = zlib.compress(content, _LEVEL)
            is_packed = len(packed) < len(content)
            data = packed if is_packed else content
            self._append(digest, len(content), is_packed, lambda: iter((data,)))
        return digest.hex()

    def add_file(self, descriptor: int, size: int) -> str:
        """Keep the bytes of an open file unless they are; returns their digest."""
        if size <= CHUNK:
            return self.add(b"".join(_chunks(descriptor, size)))
        whole = hashlib.sha256()
        for chunk in _chunks(descriptor, size):
            whole.update(chunk)
        digest = whole.digest()
        if not self._has(digest):
            chunks = functools.partial(_same, descriptor, size, digest)
            self._append(digest, size, True, lambda: _packed(chunks()))
        return digest.hex()

    def clone_file(self, descriptor: int) -> str:
        """Keep the bytes of a large open file without writing them; returns their digest.

        The file system shares them with a pack of their own. Raises UndoError where it can't; the
        digest is empty where large files already take what they may.
        """
        size = os.fstat(descriptor).st_size
        self.require_room(size)
        if self._cloned() + size > self._limits.cloned:
            return ""
        self._seal()
        self._number += 1
        path = self._path(self._number)
        with _readable_errors():
            try:
                digest, size = _clone(descriptor, path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        if self._has(digest):
            path.unlink()
        else:
            sync_folder(self._folder)
            self.written += size
            self._unsaved[digest] = Blob(digest, self._number, 0, size, size, is_packed=False)
        return digest.hex()

    def read(self, digest: str) -> Iterator[bytes]:
        """Yield the bytes of a content; raises UndoError if they are not what they were."""
        blob = self.find(digest)
        if blob is None:
            raise UndoError("What was there is not kept any more.")
        check = hashlib.sha256()
        try:
            for chunk in self._stored(blob):
                check.update(chunk)
                yield chunk
        except (OSError, zlib.error):
            raise UndoError("What is kept of a file can't be read.") from None
        if check.digest() != blob.digest:
            raise UndoError("What is kept of a file is damaged.")

    @contextlib.contextmanager
    def saving(self) -> Generator[None]:
        """Hold a transaction in which everything that was added is saved; raises UndoError."""
        with transaction(self._connection):
            if self._unsaved and self._pack is not None:
                with _readable_errors():
                    to_disk(self._pack[1])
            self._connection.executemany(
                "INSERT OR IGNORE INTO blob VALUES (?, ?, ?, ?, ?, ?)", self._unsaved.values()
            )
            yield
        self._unsaved.clear()

    def size(self) -> int:
        """Return how many bytes all packs take."""
        return sum(path.stat().st_size for path in self._folder.glob(f"*{_SUFFIX}"))

    def recent(self, now: float) -> list[bytes]:
        """Return what was added or asked for lately: it may be about to be recorded."""
        self._recent = {
            digest: at for digest, at in self._recent.items() if at > now - self._limits.grace
        }
        return list(self._recent)

    def rewrite(self, number: int) -> None:
        """Copy what is alive in a pack to another one, and delete it; raises UndoError."""
        rows = self._connection.execute("SELECT * FROM blob WHERE pack = ?", (number,)).fetchall()
        if number == self._number:
            self._seal()
        moved: list[Blob] = []
        for row in rows:
            old = Blob(*row)
            target, offset = self._write(functools.partial(self._slices, old), old.length)
            moved.append(old._replace(pack=target, offset=offset))
        with transaction(self._connection):
            if self._pack is not None:
                to_disk(self._pack[1])
            self._connection.executemany(
                "UPDATE blob SET pack = ?, off = ? WHERE hash = ?",
                ((blob.pack, blob.offset, blob.digest) for blob in moved),
            )
        self.delete(number)

    def numbers(self) -> list[int]:
        """Return the numbers of the packs there are."""
        return sorted(
            int(path.stem) for path in self._folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()
        )

    def pack_size(self, number: int) -> int:
        """Return how many bytes a pack takes."""
        return self._path(number).stat().st_size

    def delete(self, number: int) -> None:
        """Delete a pack to which no row points any more."""
        if number == self._number:
            self._seal()
        self._path(number).unlink(missing_ok=True)

    # -- within

    def _cloned(self) -> int:
        """Return how many bytes are kept of files that are larger than what is copied."""
        found = self._connection.execute(
            "SELECT coalesce(sum(size), 0) FROM blob WHERE size > ?", (LARGEST_COPY,)
        ).fetchone()
        unsaved = (one.size for one in self._unsaved.values() if one.size > LARGEST_COPY)
        return int(found[0]) + sum(unsaved)

    def _has(self, digest: bytes) -> bool:
        self._recent[digest] = self._limits.clock()
        return self.find(digest.hex()) is not None

    def _append(
        self, digest: bytes, size: int, is_packed: bool, chunks: Callable[[], Iterator[bytes]]
    ) -> None:
        self.require_room(size)
        before = self.written
        number, offset = self._write(chunks, size)
        length = self.written - before
        self._unsaved[digest] = Blob(digest, number, offset, length, size, is_packed)

    def _write(self, chunks: Callable[[], Iterator[bytes]], size: int) -> tuple[int, int]:
        with _readable_errors():
            number, descriptor = self._open_pack(size)
            offset = os.lseek(descriptor, 0, os.SEEK_END)
            try:
                for chunk in chunks():
                    write_all(descriptor, chunk)
                    self.written += len(chunk)
            except BaseException:
                os.ftruncate(descriptor, offset)
                raise
        return number, offset

    def _open_pack(self, size: int) -> tuple[int, int]:
        if self._pack is not None:
            end = os.fstat(self._pack[1]).st_size
            if end == 0 or end + size <= self._limits.pack:
                return self._pack
            to_disk(self._pack[1])
            self._seal()
        flags = os.O_RDWR | os.O_CREAT | _FLAGS
        if self._is_sealed or self.pack_size(self._number) + size > self._limits.pack:
            self._number += 1
            flags |= os.O_EXCL
        self._pack = (self._number, os.open(self._path(self._number), flags, 0o600))
        self._is_sealed = False
        if flags & os.O_EXCL:
            sync_folder(self._folder)
        return self._pack

    def _seal(self) -> None:
        """Append to a new pack from now on."""
        self.close()
        self._is_sealed = True

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08}{_SUFFIX}"

    def _stored(self, blob: Blob) -> Iterator[bytes]:
        if not blob.is_packed:
            yield from self._slices(blob)
            return
        unpack = zlib.decompressobj()
        left = blob.size
        for data in self._slices(blob):
            while data and left > 0:
                chunk = unpack.decompress(data, min(left, CHUNK))
                left -= len(chunk)
                yield chunk
                data = unpack.unconsumed_tail
        # What came in may be used up before all of it has come out.
        while left > 0 and (chunk := unpack.decompress(b"", min(left, CHUNK))):
            left -= len(chunk)
            yield chunk

    def _slices(self, blob: Blob) -> Iterator[bytes]:
        with self._path(blob.pack).open("rb") as file:
            file.seek(blob.offset)
            left = blob.length
            while left > 0 and (data := file.read(min(left, CHUNK))):
                left -= len(data)
                yield data

    def _tidy(self) -> int:
        """Cut off what no row points to at the ends of packs; returns the newest one's number.

        Of a pack that is missing, or was cut off by somebody else, what is gone is kept no more.
        """
        ends = dict(self._connection.execute("SELECT pack, max(off + len) FROM blob GROUP BY pack"))
        sizes = {number: self.pack_size(number) for number in self.numbers()}
        lost = [(n, sizes.get(n, 0)) for n, end in ends.items() if sizes.get(n, 0) < end]
        if lost:
            with transaction(self._connection):
                delete = "DELETE FROM blob WHERE pack = ? AND off + len > ?"
                self._connection.executemany(delete, lost)
        for number in sizes:
            path = self._path(number)
            if number not in ends:
                path.unlink()
            elif path.stat().st_size > ends[number]:
                os.truncate(path, ends[number])
        return max(ends, default=0)


def _chunks(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield the bytes of an open file; raises UndoError unless there are so many."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    left = size
    while chunk := os.read(descriptor, min(CHUNK, left + 1)):
        left -= len(chunk)
        if left < 0:
            break
        yield chunk
    if left:
        raise UndoError(_CHANGING)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk (not on Windows, which has no call for it)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        to_disk(descriptor)
    finally:
        os.close(descriptor)


def _clone(descriptor: int, path: Path) -> tuple[bytes, int]:
    """Make a file that shares the bytes of an open one; returns their digest and number."""
    if sys.platform != "linux":
        raise OSError(errno.EOPNOTSUPP, "no call for it is known here")
    import fcntl  # which Windows has not

    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    with os.fdopen(made, "r+b") as pack:
        fcntl.ioctl(made, _FICLONE, descriptor)
        to_disk(made)
        # What is written to the file from now on is not seen here.
        return hashlib.file_digest(pack, "sha256").digest(), os.fstat(made).st_size


def _packed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    pack = zlib.compressobj(_LEVEL)
    for chunk in chunks:
        yield pack.compress(chunk)
    yield pack.flush()


def _same(descriptor: int, size: int, digest: bytes) -> Iterator[bytes]:
    """Yield the bytes of an open file; raises UndoError at the end unless they have this digest."""
    check = hashlib.sha256()
    for chunk in _chunks(descriptor, size):
        check.update(chunk)
        yield chunk
    if check.digest() != digest:
        raise UndoError(_CHANGING)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _readable_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise HistoryFull(FULL_DISK) from error
        raise UndoError(f"The file history can't be written: {error.strerror}.") from error

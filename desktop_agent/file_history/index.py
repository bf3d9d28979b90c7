"""What was in folders at the last look."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable, Mapping

from desktop_agent.file_history import disk, names
from desktop_agent.file_history.values import Entry

_SELECT = "SELECT path, kind, mode, size, mtime, ctime, ino, hash, is_held FROM entry"
_DELETE = "DELETE FROM entry WHERE folder = ? AND path = ?"
_INSERT = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Index:
    """Reads and writes entries, within transactions of the caller's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def load(self, root: bytes) -> dict[bytes, Entry]:
        """Return the entries of a folder by path relative to it; none if they are not all."""
        rows = self._connection.execute(
            f"{_SELECT} WHERE folder = (SELECT id FROM folder WHERE root = ?)"
            " AND folder NOT IN (SELECT folder FROM listing)",
            (root,),
        )
        return {
            path: Entry(kind, mode, size, mtime, ctime, _number(ino), digest.hex(), bool(held))
            for path, kind, mode, size, mtime, ctime, ino, digest, held in rows
        }

    def save(
        self,
        folder: int,
        changed: Mapping[bytes, Entry],
        removed: Iterable[bytes],
        *,
        is_whole: bool = True,
    ) -> None:
        """Write what is different in a folder, and whether that is all that is in it by now."""
        mark = "DELETE FROM listing WHERE folder = ?"
        if not is_whole:
            mark = "INSERT OR IGNORE INTO listing VALUES (?)"
        self._connection.execute(mark, (folder,))
        self._connection.executemany(_DELETE, ((folder, path) for path in removed))
        self._connection.executemany(
            _INSERT, (_row(folder, path, entry) for path, entry in changed.items())
        )

    def digest_of(self, path: bytes, status: os.stat_result) -> str:
        """Return the digest that a file had at the last look if it is the same since, or ""."""
        for folder, relative in self._homes(path):
            row = self._connection.execute(
                "SELECT mode, size, mtime, ctime, ino, hash FROM entry"
                " WHERE folder = ? AND path = ? AND kind = 'file'",
                (folder, relative),
            ).fetchone()
            if row is not None and (*row[:4], _number(row[4])) == _key(status):
                return row[5].hex()
        return ""

    def follow(self, paths: Iterable[bytes]) -> None:
        """Bring the entries of these paths up to date; folders come before what is in them."""
        paths = sorted(paths)
        respelled = disk.respelled(paths)
        for path in paths:
            for folder, relative in self._homes(path):
                if path in respelled:
                    self._connection.execute(_DELETE, (folder, relative))
                else:
                    self._follow(path, folder, relative)

    def _follow(self, path: bytes, folder: int, relative: bytes) -> None:
        try:
            state, status = disk.state_of(path), disk.status_of(path)
        except OSError:
            self._connection.execute(_DELETE, (folder, relative))
            return
        if self._is_known(folder, relative):
            mode, size, mtime, ctime, ino = _key(status)
            entry = Entry(state.kind, mode, size, mtime, ctime, ino, state.digest, is_held=True)
            self._connection.execute(_INSERT, _row(folder, relative, entry))

    def _is_known(self, folder: int, relative: bytes) -> bool:
        """Whether a look finds the path: it found it before, or it looks into its folder."""
        above = os.path.dirname(relative)  # noqa: PTH120 - bytes
        where, given = "", (folder,)  # at the top: whether it was looked at at all
        if above:
            where = " AND (path = ? OR path = ? AND kind = 'folder' AND is_held)"
            given = (folder, relative, above)
        query = f"SELECT 1 FROM entry WHERE folder = ?{where} LIMIT 1"
        return self._connection.execute(query, given).fetchone() is not None

    def _homes(self, path: bytes) -> list[tuple[int, bytes]]:
        """Return the known folders in which a path lies, and what it is called there."""
        above = names.parents(path)
        marks = ", ".join("?" * len(above))
        return [
            (folder, names.below(path, root) or b"")
            for folder, root in self._connection.execute(
                f"SELECT id, root FROM folder WHERE root IN ({marks})", above
            )
        ]


def _row(folder: int, path: bytes, entry: Entry) -> tuple[object, ...]:
    digest = bytes.fromhex(entry.digest)
    return (folder, path, *entry[:5], str(entry.ino), digest, entry.is_held)


def _key(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return (
        stat.S_IMODE(status.st_mode),
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
    )


def _number(text: object) -> int:
    # An inode number may need all of 64 bits, which SQLite has only with a sign.
    return int(text) if isinstance(text, (str, bytes, int)) else 0

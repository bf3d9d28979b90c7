"""How much is kept: what is over the limits goes, the oldest first."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from desktop_agent.core.changes import UndoUsage
from desktop_agent.file_history.packs import Packs
from desktop_agent.file_history.schema import NAME, transaction
from desktop_agent.file_history.values import HistoryFull, Limits

# The contents that the sets and the entries of a folder refer to.
_HASHES_OF_FOLDER = """
SELECT c.before_hash AS hash FROM change c JOIN change_set s USING (seq) WHERE s.folder = :folder
UNION SELECT c.after_hash FROM change c JOIN change_set s USING (seq) WHERE s.folder = :folder
UNION SELECT hash FROM entry WHERE folder = :folder AND is_held
"""
_SIZE_OF_LOOK = """
SELECT coalesce(sum(len), 0) FROM blob
WHERE hash IN (SELECT hash FROM entry WHERE folder = :folder AND is_held)
"""
_SIZE_OF_FOLDER = f"SELECT coalesce(sum(len), 0) FROM blob WHERE hash IN ({_HASHES_OF_FOLDER})"
_LIVE = """
SELECT before_hash FROM change UNION SELECT after_hash FROM change
UNION SELECT hash FROM entry WHERE is_held
"""
# Of the limit of a folder, which sets may take however much the last look would.
_FOR_SETS = 4
# What is deleted at a time, in parts of all sets of a folder.
_PART = 16
_FULL = "What is kept for undo has reached its limit on this disk, so no more is kept."
_LOW = "The disk is almost full, so nothing more is kept for undo. Free some space."


class Bounds:
    """Keeps to the limits."""

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, packs: Packs, limits: Limits
    ) -> None:
        self._folder = folder
        self._connection = connection
        self._packs = packs
        self._limits = limits
        self._collected_at = 0
        self._room: tuple[int, int] | None = None  # at `written`, so much more may be written

    def require_room(self, size: int) -> None:
        """Raise HistoryFull unless so many bytes more may be kept."""
        free = self._limits.free(self._folder)
        if free - size < self._limits.reserve:
            raise HistoryFull(_LOW)
        if size <= self._left():
            return
        self.collect(self._limits.clock(), max(size, self._whole() // _PART))
        if size > self._left():
            raise HistoryFull(_FULL)

    def is_due(self) -> bool:
        """Whether enough was written since the last `collect` to look at the limits again."""
        return self._packs.written - self._collected_at > self._limits.folder // 8

    def usage(self) -> tuple[UndoUsage, ...]:
        """Return what each folder takes, the largest first."""
        found = [
            UndoUsage(os.fsdecode(root), self._size_of(number), seen if since is None else since)
            for number, root, seen, since in self._connection.execute(
                "SELECT id, root, seen, (SELECT min(ended) FROM change_set WHERE folder = id)"
                " FROM folder"
            ).fetchall()
        ]
        return tuple(sorted(found, key=lambda usage: -usage.size))

    def empty(self, root: bytes | None) -> None:
        """Forget everything of a folder, or of all of them."""
        with transaction(self._connection):
            if root is None:
                self._connection.execute("DELETE FROM folder")
            else:
                self._connection.execute("DELETE FROM folder WHERE root = ?", (root,))
        self.collect(self._limits.clock())

    def collect(self, now: float, room: int = 0) -> None:
        """Delete what is too old or too much, and let the packs shrink.

        Older sets make room for so many bytes more.
        """
        with self._packs.saving():
            self._delete_old(now)
        for (folder,) in self._connection.execute("SELECT id FROM folder").fetchall():
            self._shrink_folder(folder)
        self._shrink_all(now, room)
        self._sweep(now)
        self._connection.execute("PRAGMA incremental_vacuum")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._collected_at = self._packs.written
        self._room = None

    # -- within

    def _left(self) -> int:
        """Return how many bytes more may be kept in all."""
        written = self._packs.written
        if self._room is None or self._room[0] > written:
            self._room = (written, self._whole() - self._own_size())
        return self._room[1] - (written - self._room[0])

    def _whole(self) -> int:
        """Return how many bytes may be kept in all."""
        free = self._limits.free(self._folder) + self._own_size()
        return min(self._limits.total, int(self._limits.share * free))

    def _own_size(self) -> int:
        database = self._folder / NAME
        return self._packs.size() + database.stat().st_size

    def _size_of(self, folder: int, what: str = _SIZE_OF_FOLDER) -> int:
        found = self._connection.execute(what, {"folder": folder}).fetchone()
        return int(found[0])

    def _delete_old(self, now: float) -> None:
        oldest = now - self._limits.age
        self._connection.execute(
            "DELETE FROM change_set WHERE ended < ? AND seq NOT IN (SELECT seq FROM restore)",
            (oldest,),
        )
        self._connection.execute(
            "DELETE FROM folder WHERE seen < ? AND id NOT IN (SELECT folder FROM change_set)",
            (oldest,),
        )

    def _shrink_folder(self, folder: int) -> None:
        """Delete sets of a folder that take much, then let go of files of its last look.

        A look may be over the limit by itself: then no deleted set would make room for it.
        """
        while (over := (size := self._size_of(folder)) - self._limits.folder) > 0:
            of_sets = size - self._size_of(folder, _SIZE_OF_LOOK)
            with transaction(self._connection):
                is_less = of_sets > self._limits.folder // _FOR_SETS and self._delete_oldest(folder)
                if not (is_less or self._let_go(folder, over) or self._delete_oldest(folder)):
                    return

    def _shrink_all(self, now: float, room: int) -> None:
        """Delete sets until there is room, and let go of files only for what is over the limit."""
        self._sweep(now)
        while self._left() < room:
            with transaction(self._connection):
                is_less = self._delete_oldest(None) or self._let_go_largest(-self._left())
            if not is_less:
                return
            self._sweep(now)

    def _let_go_largest(self, size: int) -> bool:
        """Let go of files of the folder that has the most."""
        row = self._connection.execute(
            "SELECT folder FROM entry WHERE is_held GROUP BY folder ORDER BY sum(size) DESC"
        ).fetchone()
        return row is not None and self._let_go(row[0], size)

    def _delete_oldest(self, folder: int | None) -> bool:
        """Delete a part of the sets, the oldest; tells whether there was one to delete."""
        where = "seq NOT IN (SELECT seq FROM restore)"
        where += "" if folder is None else f" AND folder = {folder:d}"
        select = f"FROM change_set WHERE {where}"
        count = self._connection.execute(f"SELECT count(*) {select}").fetchone()[0]
        self._connection.execute(
            f"DELETE FROM change_set WHERE seq IN (SELECT seq {select} ORDER BY seq LIMIT ?)",
            (max(1, count // _PART),),
        )
        return count > 0

    def _let_go(self, folder: int, size: int) -> bool:
        """Mark the largest files of the last look as not held, until so many bytes are free."""
        freed = 0
        rows = self._connection.execute(
            "SELECT e.path, b.len FROM entry e JOIN blob b USING (hash)"
            " WHERE e.folder = ? AND e.is_held ORDER BY b.len DESC",
            (folder,),
        ).fetchall()
        for path, length in rows:
            if freed >= size:
                break
            self._connection.execute(
                "UPDATE entry SET is_held = 0 WHERE folder = ? AND path = ?", (folder, path)
            )
            freed += length
        return freed > 0

    def _sweep(self, now: float) -> None:
        """Delete the contents that nothing refers to, and rewrite packs that are half dead."""
        recent = self._packs.recent(now)
        with transaction(self._connection):
            self._connection.execute("CREATE TEMP TABLE keep (hash BLOB PRIMARY KEY)")
            self._connection.execute(f"INSERT OR IGNORE INTO temp.keep {_LIVE}")
            self._connection.executemany(
                "INSERT OR IGNORE INTO temp.keep VALUES (?)", ((digest,) for digest in recent)
            )
            self._connection.execute("DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM keep)")
            self._connection.execute("DROP TABLE temp.keep")
        live = dict(self._connection.execute("SELECT pack, sum(len) FROM blob GROUP BY pack"))
        small: list[int] = []
        for number in self._packs.numbers():
            alive = live.get(number, 0)
            if alive == 0:
                self._packs.delete(number)
            elif alive * 2 < self._packs.pack_size(number):
                small.append(number)
        self._room = None
        for number in small:
            with contextlib.suppress(HistoryFull):  # no room to write it again: it stays
                self._packs.rewrite(number)

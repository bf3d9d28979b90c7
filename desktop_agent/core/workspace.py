"""The folders an agent may touch; engine/workspace/containment.py resolves paths against them."""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Protocol

from desktop_agent.core.messages import Value

# What commands in the sandbox have a folder of their session's for.
TEMPORARY = ("/tmp", "/var/tmp")


class Folders(Protocol):
    """What paths are resolved against: a workspace, or a boundary with its own `/tmp`."""

    @property
    def root(self) -> str:
        """Where relative paths start."""
        ...

    @property
    def read_roots(self) -> tuple[str, ...]:
        """Every folder that may be read."""
        ...

    @property
    def write_roots(self) -> tuple[str, ...]:
        """Every folder that may be written."""
        ...

    @property
    def temporary(self) -> str:
        """The real path of what is called `/tmp`; empty where that is the computer's own."""
        ...


class Workspace(Value, frozen=True):
    """`root` and the extra folders, as real absolute paths of existing directories.

    The read-set is root, readable and writable; the write-set is root and writable. Without
    `has_root` the root is in neither: relative paths start there, and that is all.
    """

    root: str
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    has_root: bool = True

    @property
    def read_roots(self) -> tuple[str, ...]:
        """Every folder that may be read, root first."""
        return (*self.write_roots, *self.readable)

    @property
    def write_roots(self) -> tuple[str, ...]:
        """Every folder that may be written, root first."""
        return (self.root, *self.writable) if self.has_root else self.writable

    @property
    def temporary(self) -> str:
        """`/tmp` is the computer's own."""
        return ""

    @property
    def name(self) -> str:
        """The folder's own name, for people."""
        return _name(self.root)

    @property
    def disk(self) -> str:
        """The top of the disk that the root is on."""
        return PurePath(self.root).anchor

    @property
    def has_whole_disk(self) -> bool:
        """Whether the write-set is everything there is."""
        return bool(self.disk) and self.disk in self.write_roots

    def is_within(self, other: Workspace) -> bool:
        """Whether this workspace gives no right that `other` lacks."""
        return _covered(self.read_roots, other.read_roots) and _covered(
            self.write_roots, other.write_roots
        )

    def limited_to(self, other: Workspace) -> Workspace:
        """Return the rights that both give, with the other's root: what paths are relative to."""
        if self.root == other.root and self.is_within(other):
            return self
        return Workspace(
            other.root,
            _common(self.read_roots, other.read_roots),
            _common(self.write_roots, other.write_roots),
            has_root=False,
        )


class OwnPlaces(Value, frozen=True):
    """Where the app keeps files of its own, as real absolute paths.

    `kept` are folders in which nothing is changed unasked. `private` are files and folders that
    are not even read unasked; a file whose name begins like one of them (`sessions.db-wal`)
    counts as well. In `program` is the code that runs with the person's rights.
    """

    kept: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    program: tuple[str, ...] = ()


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the deeper folder of each pair in which one lies in the other."""
    pairs = [(PurePath(one), PurePath(two)) for one in first for two in second]
    inner = [one for one, two in pairs if one.is_relative_to(two)]
    inner += [two for one, two in pairs if two.is_relative_to(one)]
    return tuple(dict.fromkeys(map(str, inner)))


def _covered(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return all(any(PurePath(path).is_relative_to(root) for root in outer) for path in inner)


@functools.lru_cache(256)  # a thousand sessions have few folders, and each row has its name
def _name(root: str) -> str:
    return PurePath(root).name or root

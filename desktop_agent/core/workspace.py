"""The folders an agent may touch; engine/workspace/containment.py resolves paths against them."""

from __future__ import annotations

from pathlib import PurePath

from desktop_agent.core.messages import Value


class Workspace(Value, frozen=True):
    """`root` and the extra folders, as real absolute paths of existing directories.

    The read-set is root, readable and writable; the write-set is root and writable.
    """

    root: str
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()

    @property
    def read_roots(self) -> tuple[str, ...]:
        """Every folder that may be read, root first."""
        return (self.root, *self.writable, *self.readable)

    @property
    def write_roots(self) -> tuple[str, ...]:
        """Every folder that may be written, root first."""
        return (self.root, *self.writable)

    @property
    def name(self) -> str:
        """The folder's own name, for people."""
        return PurePath(self.root).name or self.root

    def is_within(self, other: Workspace) -> bool:
        """Whether this workspace gives no right that `other` lacks."""
        return _covered(self.read_roots, other.read_roots) and _covered(
            self.write_roots, other.write_roots
        )


def _covered(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return all(any(PurePath(path).is_relative_to(root) for root in outer) for path in inner)

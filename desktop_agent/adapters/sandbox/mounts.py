"""What a command sees: places with a kind, as arguments of bubblewrap.

The most specific place decides: below a hidden folder one may be shown, below that one another
hidden again. So the arguments go from the top of the tree down, whatever the order of the rules.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Literal

import msgspec

Kind = Literal["read", "write", "device", "empty", "none"]
# Opens what is at a path now, for bubblewrap to mount that and nothing else; returns the
# descriptor's number, or nothing where that is not possible.
Hold = Callable[[str], str]


class Mount(msgspec.Struct, frozen=True):
    """A place (`target`), and what is there.

    `read` and `write` show `source`, `device` what the system has, `empty` is a fresh folder,
    `none` a file that holds nothing and answers nothing.
    """

    target: str
    kind: Kind
    source: str = ""

    def words(self, hold: Hold) -> tuple[str, ...]:
        """Return the arguments for bubblewrap."""
        if self.kind == "empty":
            return ("--tmpfs", self.target)
        if self.kind == "device":
            return ("--dev-bind", self.target, self.target)
        bind = "--bind" if self.kind == "write" else "--ro-bind"
        if self.kind == "none" or self.source:
            return (bind, self.source or "/dev/null", self.target)
        if descriptor := hold(self.target):
            return (f"{bind}-fd", descriptor, self.target)
        return (bind, self.target, self.target)


class Mounts:
    """Places by path; a later one replaces an earlier one of the same path.

    Paths are real ones: a link on the way would be followed when it is mounted.
    """

    def __init__(self) -> None:
        self._places: dict[str, Mount] = {}

    def show(self, target: str, source: str = "") -> None:
        """Make a place readable; `source` when something else is to be seen there."""
        self._places[target] = Mount(target, "read", source)

    def open(self, target: str, source: str = "") -> None:
        """Make a place writable; `source` when something else is to be written there."""
        self._places[target] = Mount(target, "write", source)

    def open_device(self, target: str) -> None:
        """Give a device, or a folder of them."""
        self._places[target] = Mount(target, "device")

    def hide(self, target: str) -> None:
        """Put something empty over a folder, or over a file, whatever kind of file."""
        is_folder = os.path.isdir(target)  # noqa: PTH112 - it never raises
        self._places[target] = Mount(target, "empty" if is_folder else "none")

    def refuse_writing(self, path: str) -> None:
        """Make what the person has at a path, and below it, read-only in every place."""
        if not self.is_writable(path):
            return
        self.show(path)
        for place in list(self._places.values()):
            if place.kind == "write" and not place.source and is_in(place.target, path):
                self.show(place.target)
        self.keep_in_place(path)

    def refuse_reading(self, path: str) -> None:
        """Hide what is at a path, in every place: it can't be moved to where it is not hidden."""
        if os.path.lexists(path) and not self.is_hidden(path):
            self._places = {p: at for p, at in self._places.items() if not is_in(p, path)}
            self.hide(path)
            self.keep_in_place(path)

    def keep_in_place(self, path: str) -> None:
        """Have the folders above a place be mounts: those can't be moved away, nor replaced."""
        for step in map(str, PurePath(path).parents):
            if not self.is_writable(step):
                return
            self._places.setdefault(step, Mount(step, "write"))

    def at(self, path: str) -> Mount | None:
        """Return the place that decides about a path, None where the system's own tree is."""
        while path:
            if found := self._places.get(path):
                return found
            path = path.rpartition("/")[0]
        return None

    def holds(self, path: str) -> bool:
        """Whether a writable place is at a path, or below it."""
        inner = (place for place in self._places.values() if place.kind == "write")
        return any(is_in(place.target, path) for place in inner)

    def is_hidden(self, path: str) -> bool:
        """Whether something else is seen there than what the person has."""
        place = self.at(path)
        return place is not None and (place.kind in ("empty", "none") or bool(place.source))

    def is_writable(self, path: str) -> bool:
        """Whether a command may change what the person has there."""
        place = self.at(path)
        return place is not None and place.kind == "write" and not place.source

    def shown(self) -> tuple[str, ...]:
        """Return the places that are readable, without those in others of them, by name."""
        found: list[str] = []
        for path in sorted(place.target for place in self._places.values() if place.kind == "read"):
            if not any(is_in(path, folder) for folder in found):
                found.append(path)
        return tuple(found)

    def words(self, hold: Hold) -> list[str]:
        """Return the arguments, parents before what is in them.

        A place that is not there is left out, unless it is made in a folder that is ours:
        bubblewrap would create it in the person's.
        """
        ordered = sorted(self._places.values(), key=lambda mount: mount.target.count("/"))
        return [word for mount in ordered if self._is_there(mount) for word in mount.words(hold)]

    def _is_there(self, mount: Mount) -> bool:
        if mount.kind in ("read", "write") and not _exists(mount.source or mount.target):
            return False
        above = self.at(os.path.dirname(mount.target))  # noqa: PTH120 - hundreds in a command
        if above is None or not (above.kind == "empty" or above.source):
            return _exists(mount.target)
        return above.kind == "empty" or _has_no_link(above, mount.target)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder, or below it; both are real, absolute paths."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _exists(path: str) -> bool:
    try:
        return not stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def _has_no_link(above: Mount, target: str) -> bool:
    """Whether no link that a command left in a folder of ours leads a mount elsewhere."""
    step = Path(above.source)
    for part in PurePath(target).relative_to(above.target).parts:
        step /= part
        if step.is_symlink():
            return False
    return True

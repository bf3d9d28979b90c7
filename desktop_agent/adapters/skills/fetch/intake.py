"""The one gate through which fetched files come onto the disk, whatever they come from.

Below a private folder, within limits, under plain names, as plain files; nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

import msgspec

from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.engine.workspace import windows_names

MEGABYTE = 1_000_000
_LONGEST_NAME = 200
_LONGEST_PATH = 400
_MOST_LISTED = 30
_DRIVE = re.compile(r"^[A-Za-z]:")
# A character that changes how its neighbours are shown, or shows as nothing.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_NEVER_WANTED = {".git", ".hg", ".svn", "node_modules", "__pycache__", "__macosx"}


class Limits(msgspec.Struct, frozen=True):
    """How much may be fetched: bytes and files of the skills, levels and folders looked at."""

    size: int = 20 * MEGABYTE
    files: int = 2_000
    depth: int = 6
    folders: int = 2_000


class HostilePath(SkillLibraryError):
    """A path that leads out of its folder, which no archive contains by mistake."""


def checked_path(path: str) -> PurePosixPath:
    """Return the path in parts; raises HostilePath for one that leads out, ValueError else.

    The text of a ValueError is the reason: `… was left out: it …`.
    """
    if "\0" in path or path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise HostilePath(f"It holds a file that would be written outside: {shown(path)}.")
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    if ".." in parts:
        raise HostilePath(f"It holds a file that would be written outside: {shown(path)}.")
    if not parts:
        raise ValueError("it has no name")
    if "\\" in path:
        raise ValueError("its name holds a backslash")
    if any(unicodedata.category(character) in _HIDDEN for character in path):
        raise ValueError("its name holds hidden characters")
    if len(path) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise ValueError("its name is too long")
    if reason := windows_names.refusal("\\".join(parts)):
        raise ValueError(f"it {reason.rstrip('.')}")
    return PurePosixPath(*parts)


def is_wanted(path: PurePosixPath) -> bool:
    """Whether the file is a skill's own, not a version control's or a package's."""
    return not any(part.casefold() in _NEVER_WANTED for part in path.parts)


def shown(path: str) -> str:
    """Return the path as it can be shown: hidden characters spelled out, not too long."""
    plain = "".join(
        character if unicodedata.category(character) not in _HIDDEN else f"\\u{ord(character):04x}"
        for character in path
    )
    return plain if len(plain) <= 120 else f"{plain[:117]}…"


def skill_folders(
    paths: Iterable[PurePosixPath], limits: Limits, within: str = ""
) -> frozenset[str]:
    """Return the folders that hold a SKILL.md; '' for the top.

    Only those at or below `within` count.
    """
    top = PurePosixPath(within)
    found: set[str] = set()
    for path in paths:
        if path.name.casefold() != "skill.md" or not path.is_relative_to(top):
            continue
        if len(path.relative_to(top).parts) - 1 <= limits.depth and is_wanted(path):
            found.add("" if len(path.parts) == 1 else str(path.parent))
    return frozenset(found)


def is_below(path: PurePosixPath, folders: Collection[str]) -> bool:
    """Whether the file belongs to one of the skills; a set of them is looked through at once."""
    return "" in folders or any(str(parent) in folders for parent in path.parents)


class Intake:
    """Takes files into `root`. Made for one source; used from one thread at a time."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.size = 0
        self.count = 0
        self._names: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._skipped: list[tuple[str, str]] = []
        self._notes: list[str] = []
        self._stopped = threading.Event()

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was left out, in words."""
        return self.skipped_of({""})

    def skipped_of(self, folders: Collection[str]) -> tuple[str, ...]:
        """Return what was left out of some skills, in words, and what might have been one."""
        listed = [
            words
            for path, words in self._skipped
            if is_below(PurePosixPath(path), folders) or path.casefold().endswith("skill.md")
        ]
        more = len(listed) - _MOST_LISTED
        rest = [f"{more} more were left out."] if more > 0 else []
        return (*listed[:_MOST_LISTED], *rest, *self._notes)

    def skip(self, path: str, reason: str) -> None:
        """Note that a file was left out, and why."""
        self._skipped.append((path, f"{shown(path)} was left out: {reason}."))

    def note(self, words: str) -> None:
        """Tell something else about what was not taken."""
        self._notes.append(words)

    def stop(self) -> None:
        """Take nothing more: the next file raises, in whatever thread it comes."""
        self._stopped.set()

    @property
    def room(self) -> int:
        """The bytes that may still come."""
        return self.limits.size - self.size

    def require_room(self, files: int, size: int) -> None:
        """Refuse before anything is taken what would be too much."""
        if files > self.limits.files:
            raise SkillLibraryError(
                f"The skills there have {files:,} files; {self.limits.files:,} is the limit. "
                "Give the address of one skill's folder instead."
            )
        if size > self.limits.size:
            raise too_large(self.limits)

    def add(
        self, path: PurePosixPath, chunks: Iterable[bytes], *, is_executable: bool = False
    ) -> None:
        """Write a file whose path was checked. Raises SkillLibraryError when it is too much."""
        clash = self._clash(path)
        if clash:
            self.skip(str(path), clash)
            return
        self.require_room(self.count + 1, self.size)
        target = self.root.joinpath(*path.parts)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        mode = 0o700 if is_executable else 0o600
        descriptor = os.open(target, flags | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                if self._stopped.is_set():
                    raise SkillLibraryError("It was cancelled.")
                self.size += len(chunk)
                self.require_room(self.count, self.size)
                file.write(chunk)
        self.count += 1

    def _clash(self, path: PurePosixPath) -> str:
        """Note the name; return why it can't be taken beside what is there already."""
        for parent in reversed(path.parents[:-1]):
            other = self._folders.setdefault(_folded(parent), str(parent))
            if other != str(parent):
                return f"its folder has the same name as {other}, but for upper and lower case"
            if _folded(parent) in self._names:
                return f"{parent} is a file and a folder"
        key = _folded(path)
        if key in self._folders:
            return "it is a file and a folder"
        if key in self._names:
            return f"it has the same name as {self._names[key]}, but for upper and lower case"
        self._names[key] = str(path)
        return ""


def too_large(limits: Limits) -> SkillLibraryError:
    """The refusal of what holds too many bytes."""
    return SkillLibraryError(
        f"The skills there are larger than {limits.size // MEGABYTE} MB, which is the limit. "
        "Give the address of one skill's folder instead."
    )


def size_of(folder: Path) -> int:
    """Return how many bytes are in a folder that may be changing."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - in a loop
    return size


def remove_tree(folder: Path) -> None:
    """Delete a folder of ours, read-only files too; what can't be deleted stays."""

    def again(_: object, path: str, __: object) -> None:
        try:
            Path(path).parent.chmod(0o700)
            if not os.path.islink(path):  # noqa: PTH114 - its target is not ours
                Path(path).chmod(0o700)
            os.unlink(path)  # noqa: PTH108 - a path as the library gives it
        except OSError:
            return

    if not folder.is_symlink():
        shutil.rmtree(folder, onerror=again)


def _folded(path: PurePosixPath) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()

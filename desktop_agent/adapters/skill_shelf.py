"""Putting a skill's folder where skills are looked for, and taking it away, each in one step."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.adapters.skill_intake import remove_tree
from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.engine.containment import is_within

# The folders of skills that belong to a workspace; a home's own belong to other apps.
_INCOMING, _OUTGOING = ".skill-incoming-", ".skill-outgoing-"
_FOLDERS = ((".agents", "skills"), (".claude", "skills"))


class Shelf:
    """A folder of installed skills. What is on its way lies beside it, where nobody looks."""

    def __init__(self, place: Path, removed: Path) -> None:
        self.place = place
        self._removed = removed

    def put(self, source: Path, name: str, replaced: Path | None = None) -> Path:
        """Copy a folder onto the shelf; return where it is.

        `replaced` is kept among the removed ones. Raises OSError; then nothing has changed.
        """
        self.place.mkdir(parents=True, exist_ok=True)
        self._recover()
        target = replaced or self.place / name
        staged = self._beside(_INCOMING, name)
        try:
            _copy(source, staged)
            if replaced is None:
                if os.path.lexists(target):
                    raise FileExistsError(f"{target} exists")
                staged.rename(target)
            else:
                self._swap(staged, target)
        except BaseException:
            remove_tree(staged)
            raise
        return target

    def take(self, directory: Path) -> Path:
        """Move a skill among the removed ones; return where it is kept. Raises OSError."""
        self._recover()
        aside = self._beside(_OUTGOING, directory.name)
        directory.rename(aside)
        try:
            return self._keep(aside, directory.name)
        except BaseException:
            aside.rename(directory)
            raise

    def bring_back(self, kept: Path, directory: Path) -> None:
        """Put what was taken where it was. Raises SkillLibraryError, OSError; nothing changed."""
        if not kept.is_dir():
            raise SkillLibraryError("What was removed is not there any more.")
        if os.path.lexists(directory):
            raise SkillLibraryError(
                f"There is another {directory.name} by now. The removed one is kept as {kept}."
            )
        if directory.parent.resolve() != directory.parent:
            raise SkillLibraryError(f"{directory.parent} is a link by now. Nothing was changed.")
        directory.parent.mkdir(parents=True, exist_ok=True)
        _move(kept, directory, self._beside(_INCOMING, directory.name))

    def _swap(self, staged: Path, target: Path) -> None:
        aside = self._beside(_OUTGOING, target.name)
        target.rename(aside)
        try:
            staged.rename(target)
        except BaseException:
            aside.rename(target)
            raise
        self._keep(aside, target.name)

    def _beside(self, word: str, name: str) -> Path:
        return self.place.parent / f"{word}{secrets.token_hex(6)}-{name}"

    def _recover(self) -> None:
        """Finish what a killed app left half done: a skill is in place, or among the removed."""
        for left in self.place.parent.glob(f"{_INCOMING}*"):
            remove_tree(left)
        for left in self.place.parent.glob(f"{_OUTGOING}*"):
            if left.is_symlink() or not left.is_dir():
                continue  # not of our making
            name = left.name.removeprefix(_OUTGOING).partition("-")[2]
            if name and not os.path.lexists(self.place / name):
                left.rename(self.place / name)
            else:
                self._keep(left, name or "skill")

    def _keep(self, folder: Path, name: str) -> Path:
        self._removed.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = self._removed / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        _move(folder, kept, self._removed / f"{_INCOMING}{secrets.token_hex(6)}")
        return kept


def _move(folder: Path, target: Path, copied: Path) -> None:
    """Rename; to another disk by a copy under another name, so that it is whole or not there."""
    try:
        folder.rename(target)
    except OSError:
        try:
            shutil.copytree(folder, copied, symlinks=True)
            copied.rename(target)
        except BaseException:
            remove_tree(copied)
            raise
        remove_tree(folder)


def folder_shelf(root: str) -> Path:
    """Return where a workspace's own skills are. Raises SkillLibraryError if a link leads away."""
    top = Path(root)
    if not root or not top.is_dir():
        raise SkillLibraryError("That folder doesn't exist any more. Open another one first.")
    real = top.resolve()
    place = (real / ".agents" / "skills").resolve()
    if not is_within(str(place), str(real)):
        raise SkillLibraryError(
            "The .agents folder in there is a link that leads out of it. Nothing was changed."
        )
    return place


def shelf_of(directory: Path, mine: Path) -> Path:
    """Return the place that holds an installed skill; raises SkillLibraryError for any other.

    What comes with the app, and what other apps installed, is not ours to change.
    """
    real = directory.resolve()
    own = mine.resolve()
    if is_within(str(real), str(own)) and real != own:
        return own
    home = Path.home().resolve()
    for first, second in _FOLDERS:
        for parent in real.parents:
            is_place = (parent.parent.name, parent.name) == (first, second)
            if is_place and parent.parent.parent != home:
                return parent
    raise SkillLibraryError(
        "This skill comes with the app or belongs to another app. It can be switched off, "
        "but not changed or removed here."
    )


def _copy(source: Path, target: Path) -> None:
    """Copy plain files, with the rights that new files get; no other mode comes along."""
    target.mkdir()
    for path, is_folder in _walk(source):
        place = target / path.relative_to(source)
        if is_folder:
            place.mkdir()
            continue
        mode = 0o777 if path.stat().st_mode & 0o100 else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with path.open("rb") as original, os.fdopen(os.open(place, flags, mode), "wb") as copy:
            shutil.copyfileobj(original, copy)


def _walk(source: Path) -> Iterator[tuple[Path, bool]]:
    for path in sorted(source.rglob("*")):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield path, True
        elif path.is_file():
            yield path, False

"""Putting a skill's folder where skills are looked for, and taking it away, each in one step."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from desktop_agent.adapters.skills.fetch.intake import remove_tree
from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.core.skills import SkillFile
from desktop_agent.engine.skills.scan import DEEPEST, Place, Scanner
from desktop_agent.engine.workspace.containment import is_within

_log = logging.getLogger(__name__)

_INCOMING, _OUTGOING = ".skill-incoming-", ".skill-outgoing-"
_KEPT_S = 30 * 24 * 3600.0
_TIME = "%Y%m%d-%H%M%S"
_REMOVED_AT = re.compile(r"-([0-9]{8}-[0-9]{6})-[0-9a-f]{4}\Z")
_OWN_NUMBER = re.compile(r"[0-9a-f]{12}")
# The folders of skills that belong to a workspace; a home's own belong to other apps.
_FOLDERS = ((".agents", "skills"), (".claude", "skills"))
_NOT_THERE = "This skill is not there any more."
_NOT_WHOLE = "What was fetched is not whole any more, so it was not installed. Fetch it again."
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class InstallFolder:
    """A folder of installed skills. What is on its way lies beside it, where nobody looks."""

    def __init__(self, place: Path, removed: Path) -> None:
        self.place = place
        self._removed = removed

    def holds(self, entry: Path) -> bool:
        """Whether it lies on the shelf as it is called: a link does, what is behind it does not."""
        return is_within(str(entry.parent.resolve()), str(self.place.resolve()))

    def put(
        self, source: Path, files: Sequence[SkillFile], name: str, replaced: Path | None = None
    ) -> Path:
        """Copy the files of a folder onto the shelf, all of them; return where they are.

        `replaced` is kept among the removed ones. Raises OSError, or SkillLibraryError when a
        file is missing; then nothing has changed.
        """
        target = replaced or self.place / name
        if not self.holds(target):
            raise SkillLibraryError(f"{target} is behind a link, so it can't be replaced there.")
        self.place.mkdir(parents=True, exist_ok=True)
        self._recover()
        staged = self._beside(_INCOMING, name)
        try:
            _copy(source, files, staged)
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
        if not os.path.lexists(kept):
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
            try:
                self._keep(aside, target.name)
            except BaseException:
                target.rename(staged)
                raise
        except BaseException:
            aside.rename(target)
            raise

    def _beside(self, word: str, name: str) -> Path:
        return self.place.parent / f"{word}{secrets.token_hex(6)}-{name}"

    def _recover(self) -> None:
        """Finish what a killed app left half done: a skill is in place, or among the removed.

        What can't be finished stays, and is in nobody's way.
        """
        for left in self.place.parent.glob(f"{_INCOMING}*"):
            remove_tree(left)
        for left in self.place.parent.glob(f"{_OUTGOING}*"):
            number, _, name = left.name.removeprefix(_OUTGOING).partition("-")
            is_link = left.is_symlink()
            if not (_OWN_NUMBER.fullmatch(number) if is_link else left.is_dir()):
                continue  # not of our making
            try:
                if name and not os.path.lexists(self.place / name):
                    left.rename(self.place / name)
                else:
                    self._keep(left, name or "skill")
            except OSError as error:
                _log.warning("%s was left half done and stays: %s", left, error)

    def _keep(self, folder: Path, name: str) -> Path:
        self._removed.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._delete_long_removed()
        kept = self._removed / f"{name}-{time.strftime(_TIME)}-{secrets.token_hex(2)}"
        _move(folder, kept, self._removed / f"{_INCOMING}{secrets.token_hex(6)}")
        return kept

    def _delete_long_removed(self) -> None:
        """Delete what was removed a month ago, and what a killed app had copied half."""
        for old in self._removed.iterdir():
            found = _REMOVED_AT.search(old.name)
            is_old = found is not None and _age(found.group(1)) > _KEPT_S
            if is_old and old.is_symlink():
                old.unlink()  # it alone: what it leads to is not ours
            elif is_old or old.name.startswith(_INCOMING):
                remove_tree(old)


def _age(moment: str) -> float:
    try:
        return time.time() - time.mktime(time.strptime(moment, _TIME))
    except (ValueError, OverflowError):  # somebody else's name
        return 0.0


def _move(folder: Path, target: Path, copied: Path) -> None:
    """Rename; to another disk by a copy under another name, so that it is whole or not there."""
    try:
        folder.rename(target)
    except OSError:
        if folder.is_symlink():  # it alone: what it leads to is not ours
            target.symlink_to(folder.readlink())
            folder.unlink()
            return
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


def entry_of(directory: str) -> Path:
    """Return the real place of a skill's folder. One that is a link stays it: that is ours."""
    path = Path(directory)
    if not path.is_dir() or path.name == os.pardir:
        raise SkillLibraryError(_NOT_THERE)
    return path.parent.resolve() / path.name


def shelf_of(directory: Path, mine: Path) -> Path:
    """Return the place that holds an installed skill; raises SkillLibraryError for any other.

    What comes with the app, and what other apps installed, is not ours to change. Of a link, the
    place is where it lies itself.
    """
    real = directory.parent.resolve() / directory.name
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


def installed(place: Path) -> dict[str, Path]:
    """Return the skills of a place by casefolded name, and by the name of their directory.

    Each as it is called there: for what a link brings that is the way through the link.
    """
    found: dict[str, Path] = {}
    if place.is_dir():
        for entry in sorted(place.iterdir()):
            found[entry.name.casefold()] = entry
    skills = [item.skill for item in Scanner().scan(Place(place, "mine"))]
    own = str(place.resolve())
    brought = any(not is_within(skill.directory, own) for skill in skills)
    links = _links(place) if brought else {}
    for skill in skills:
        path = Path(skill.directory)
        entry = path if is_within(skill.directory, own) else _as_called(path, links)
        found.setdefault(skill.name.casefold(), entry)
    return found


def _links(place: Path) -> dict[Path, Path]:
    """Return the links of a place to folders, by what they lead to."""
    found: dict[Path, Path] = {}
    for folder, names, _ in os.walk(place):
        path = Path(folder)
        for name in sorted(names):
            if (path / name).is_symlink():
                found.setdefault((path / name).resolve(), path / name)
        if len(path.relative_to(place).parts) >= DEEPEST:
            names.clear()
    return found


def _as_called(real: Path, links: Mapping[Path, Path]) -> Path:
    for target in (real, *real.parents):
        if target in links:
            return links[target] / real.relative_to(target)
    return real


def _copy(source: Path, files: Sequence[SkillFile], target: Path) -> None:
    """Copy plain files, with the rights that new files get; no other mode comes along."""
    target.mkdir()
    for file in files:
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(source / file.path, _READ)
        except FileNotFoundError as gone:
            raise SkillLibraryError(_NOT_WHOLE) from gone
        with os.fdopen(descriptor, "rb") as original:
            mode = 0o777 if os.fstat(descriptor).st_mode & 0o100 else 0o666
            with os.fdopen(os.open(place, _WRITE, mode), "wb") as copy:
                shutil.copyfileobj(original, copy)
                if copy.tell() != file.size:
                    raise SkillLibraryError(_NOT_WHOLE)

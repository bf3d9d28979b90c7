"""Skills out of a folder or a single file of this computer."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from desktop_agent.adapters.skills.fetch.intake import (
    MEGABYTE,
    Intake,
    checked_path,
    is_below,
    is_wanted,
    skill_folders,
)
from desktop_agent.core.skill_install import SkillLibraryError

_CHUNK = 1 << 16
_MOST_FILES_SEEN = 50_000
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_REPARSE_POINT = 0x400


def copy_folder(folder: Path, intake: Intake) -> None:
    """Take the skills' files below a folder, links and devices left out."""
    seen = list(_files(folder, intake))
    folders = skill_folders((path for path, _ in seen), intake.limits)
    chosen = [(path, place) for path, place in seen if is_below(path, folders)]
    intake.require_room(len(chosen), 0)
    for path, place in chosen:
        _copy(path, place, intake)


def copy_file(file: Path, intake: Intake) -> None:
    """Take a single Markdown file as the SKILL.md of a skill without other files."""
    if file.stat().st_size > MEGABYTE:
        raise SkillLibraryError("That file is larger than 1 MB: it can't be a SKILL.md.")
    _copy(PurePosixPath("SKILL.md"), file, intake)


def _files(top: Path, intake: Intake) -> Iterator[tuple[PurePosixPath, Path]]:
    """Walk breadth first, so that the skills near the top are found whatever lies below."""
    waiting = [(top, PurePosixPath())]
    folders = count = 0
    while waiting:
        folder, path = waiting.pop(0)
        folders += 1
        if folders > intake.limits.folders:
            intake.note(f"Only the first {intake.limits.folders:,} folders were looked at.")
            return
        for entry in _sorted(folder, str(path), intake):
            name = path / entry.name
            count += 1
            if count > _MOST_FILES_SEEN:
                intake.note(f"Only the first {_MOST_FILES_SEEN:,} files were looked at.")
                return
            if not is_wanted(name) or not _is_plain(entry, str(name), intake):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append((Path(entry.path), name))
            else:
                yield name, Path(entry.path)


def _sorted(folder: Path, shown: str, intake: Intake) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if shown == ".":
            raise SkillLibraryError(f"{folder} can't be read: {error.strerror}.") from None
        intake.skip(shown, f"it can't be read ({error.strerror})")
        return []


def _is_plain(entry: os.DirEntry[str], name: str, intake: Intake) -> bool:
    """Whether it is a file or a folder with a plain name; else that it isn't is noted."""
    try:
        checked_path(name)
        status = entry.stat(follow_symlinks=False)
    except (ValueError, SkillLibraryError) as odd:
        intake.skip(name, str(odd))
        return False
    except OSError:
        return False  # gone since
    if entry.is_symlink() or getattr(status, "st_file_attributes", 0) & _REPARSE_POINT:
        intake.skip(name, "it is a link")
        return False
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        intake.skip(name, "it is not a file")
        return False
    return True


def _copy(path: PurePosixPath, place: Path, intake: Intake) -> None:
    try:
        descriptor = os.open(place, _READ)
    except OSError as error:
        intake.skip(str(path), f"it can't be read ({error.strerror})")
        return
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            intake.skip(str(path), "it is not a file")
            return
        chunks = iter(lambda: file.read(_CHUNK), b"")
        intake.add(path, chunks, is_executable=bool(status.st_mode & 0o100))

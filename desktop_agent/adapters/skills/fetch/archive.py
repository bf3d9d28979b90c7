"""Skills out of a zip: its list is checked first, then only the skills' files are unpacked."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from desktop_agent.adapters.skills.fetch.intake import (
    MEGABYTE,
    HostilePath,
    Intake,
    checked_path,
    is_below,
    is_wanted,
    skill_folders,
)
from desktop_agent.core.skill_install import SkillLibraryError

_CHUNK = 1 << 16
# The list of 20,000 files takes about this much; Python holds all of it in memory.
_LARGEST_LIST = 3 * MEGABYTE
# Text packs to a fiftieth at best; only what is made for it packs to less than this.
_LARGEST_RATIO = 200
_RATIO_FROM = MEGABYTE
_END = b"PK\x05\x06"
_END_SIZE = 22
# In front of the end, in zips whose list is described a second time, for larger numbers.
_LARGE_END = b"PK\x06\x07"
_LARGE_END_SIZE = 20
_LONGEST_COMMENT = 65_535
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DAMAGED = "That zip is damaged. Download it again, or ask where it came from."
_LARGE_FORM = (
    "That zip is packed in the form for very large ones (zip64), which is not taken. Pack it again."
)
_NOT_SAFE = "That zip is not safe, so nothing was taken."
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error, ValueError)


def is_zip(path: Path) -> bool:
    """Whether the file begins as a zip does."""
    with path.open("rb") as file:
        return file.read(4) in {b"PK\x03\x04", _END}


def unpack(archive: Path, intake: Intake, *, within: str = "", has_top: bool = False) -> str:
    """Take the skills' files out of a zip; return the commit that its comment names, or ''.

    With `has_top` all of it lies in one folder, which is taken away. Raises SkillLibraryError
    for one that is damaged, hostile or too large.
    """
    if archive.stat().st_size > intake.limits.size:
        raise SkillLibraryError(
            f"That zip is larger than {intake.limits.size // MEGABYTE} MB, which is the limit."
        )
    try:
        _require_short_list(archive)
        with zipfile.ZipFile(archive) as opened:
            _take(opened, intake, within, has_top)
            return _commit(opened.comment)
    except (*_BROKEN, NotImplementedError, RuntimeError) as error:
        raise SkillLibraryError(_DAMAGED) from error


def _take(opened: zipfile.ZipFile, intake: Intake, within: str, has_top: bool) -> None:
    entries = _entries(opened, intake)
    if has_top:
        parts = ((path.parts[1:], entry) for path, entry in entries)
        entries = [(PurePosixPath(*rest), entry) for rest, entry in parts if rest]
    folders = skill_folders((path for path, _ in entries), intake.limits, within)
    chosen = [(path, entry) for path, entry in entries if is_below(path, folders)]
    intake.require_room(len(chosen), sum(entry.file_size for _, entry in chosen))
    for path, entry in chosen:
        mode = entry.external_attr >> 16
        intake.add(path, _content(opened, entry), is_executable=bool(mode & 0o100))


def _entries(
    opened: zipfile.ZipFile, intake: Intake
) -> list[tuple[PurePosixPath, zipfile.ZipInfo]]:
    """Return the plain files. One path that leads out condemns the whole."""
    found: list[tuple[PurePosixPath, zipfile.ZipInfo]] = []
    seen: set[PurePosixPath] = set()
    for entry in opened.infolist():
        name = entry.orig_filename.replace("\\", "/")
        try:
            path = checked_path(name)
        except HostilePath as hostile:
            raise SkillLibraryError(
                f"That zip is not safe, so nothing was taken. {hostile}"
            ) from None
        except ValueError as odd:
            if not entry.is_dir():
                intake.skip(name, str(odd))
            continue
        if entry.is_dir() or not is_wanted(path):
            continue
        if path in seen:
            raise SkillLibraryError(
                f"{_NOT_SAFE} It holds {path} twice, so what is shown need not be what is unpacked."
            )
        seen.add(path)
        if reason := _refusal(entry):
            intake.skip(name, reason)
        else:
            found.append((path, entry))
    return found


def _refusal(entry: zipfile.ZipInfo) -> str:
    """Return why an entry is left out, or nothing."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link"
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "it is not a file"
    if entry.flag_bits & 0x1:
        return "it needs a password"
    if entry.compress_type not in _METHODS:
        return "it is packed in a way that is not known here"
    return ""


def _content(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    size = 0
    with opened.open(entry) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > _RATIO_FROM and size > _LARGEST_RATIO * max(1, entry.compress_size):
                raise SkillLibraryError(
                    f"{_NOT_SAFE} {entry.filename} unpacks to far more than it holds."
                )
            yield chunk


def _require_short_list(archive: Path) -> None:
    """Look at the end of the zip before the library reads its whole list into memory."""
    with archive.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _LARGE_END_SIZE - _END_SIZE - _LONGEST_COMMENT))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise zipfile.BadZipFile("no end")
    # The library would believe that other description, and read as long a list as it names.
    if tail[max(0, at - _LARGE_END_SIZE) : at].startswith(_LARGE_END):
        raise SkillLibraryError(_LARGE_FORM)
    (list_size,) = struct.unpack_from("<L", tail, at + 12)
    if list_size > _LARGEST_LIST:
        raise SkillLibraryError(
            "That zip holds too many files. Give the address of one skill's folder instead."
        )


def _commit(comment: bytes) -> str:
    """GitHub and GitLab write the commit there."""
    text = comment.decode("ascii", "replace").strip()
    is_commit = len(text) in {40, 64} and all(letter in "0123456789abcdef" for letter in text)
    return text if is_commit else ""

"""What is kept about skills between runs: switches, uses, where they came from; trusted folders.

Three files beside the settings: `skills.json`, `trust.json`, `skill_origins.json`. A folder never
says anything about itself here: what it brings is trusted by its digests, which only the user adds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from desktop_agent.adapters.files.lenient_decode import convert_leniently
from desktop_agent.adapters.files.private_file import keep_copy, set_aside, write_private
from desktop_agent.adapters.files.unknown_fields import encode_keeping, what_is_in
from desktop_agent.engine.skills.trust import TrustRecord

_log = logging.getLogger(__name__)

_ORIGINS_FILE = "skill_origins.json"


class Origin(msgspec.Struct, frozen=True):
    """`source` can be fetched again; `folder` is the skill's place in there.

    `commit` is empty unless it is a git repository. `digest` is over the files as they were
    installed: it tells what the user changed since.
    """

    source: str
    commit: str = ""
    folder: str = ""
    digest: str = ""


class _Kept(msgspec.Struct, frozen=True):
    """The file of skills. `here` holds the folders' own switches."""

    switches: dict[str, bool] = {}
    here: dict[str, dict[str, bool]] = {}
    used: dict[str, int] = {}


class _Folder(msgspec.Struct, frozen=True):
    """What was said of one folder."""

    digests: dict[str, str] = {}
    is_ignored: bool = False


class _Trusted(msgspec.Struct, frozen=True):
    """The file of trust, by folder."""

    folders: dict[str, _Folder] = {}


_Record = TypeVar("_Record", bound=msgspec.Struct)


class SkillState:
    """What is known. May be called on any thread; every change is on disk when it returns.

    A change reads the file first, so that another copy of the app loses nothing by it.
    """

    def __init__(self, config_dir: Path) -> None:
        self._skills_file = config_dir / "skills.json"
        self._trust_file = config_dir / "trust.json"
        self._origins_file = config_dir / _ORIGINS_FILE
        self._origins: dict[str, Origin] = {}
        self._origins_mark = (0, 0)
        self._guard = threading.RLock()
        self._skills: _Kept | None = None
        self._trusted: _Trusted | None = None

    # -- skills ----------------------------------------------------------------------------

    def is_on(self, name: str, root: str) -> bool:
        """Return the user's switch: the folder's own, else the general one, else on."""
        kept = self._kept()
        own = kept.here.get(root, {}) if root else {}
        return own.get(name, kept.switches.get(name, True))

    def switch(self, name: str, root: str, *, is_on: bool, only_here: bool) -> None:
        """Set the folder's own switch, or the general one (which ends the folder's own)."""

        def changed(kept: _Kept) -> _Kept:
            own = dict(kept.here.get(root, {}))
            switches = dict(kept.switches)
            if only_here and root:
                own[name] = is_on
            else:
                own.pop(name, None)
                switches[name] = is_on
            here = {**kept.here, root: own}
            here = {folder: names for folder, names in here.items() if names}
            return msgspec.structs.replace(kept, switches=switches, here=here)

        self._change_skills(changed)

    def times_used(self, name: str) -> int:
        """Return how often a skill was loaded."""
        return self._kept().used.get(name, 0)

    def count_use(self, name: str) -> None:
        """Count one more time."""

        def changed(kept: _Kept) -> _Kept:
            used = {**kept.used, name: kept.used.get(name, 0) + 1}
            return msgspec.structs.replace(kept, used=used)

        self._change_skills(changed)

    def source_of(self, directory: str) -> tuple[str, str]:
        """Return where a skill was installed from and its commit; empty when unknown."""
        known = self._origin_of(directory)
        return known.source, known.commit

    def installed_digest(self, directory: str) -> str:
        """Return the digest of what the user installed there; empty for anything else."""
        return self._origin_of(directory).digest

    def _origin_of(self, directory: str) -> Origin:
        with self._guard:
            mark = _mark(self._origins_file)
            if mark != self._origins_mark:
                self._origins = read_origins(self._origins_file.parent)
                self._origins_mark = mark
            return self._origins.get(directory, Origin(""))

    def _kept(self) -> _Kept:
        with self._guard:
            if self._skills is None:
                self._skills = _load(self._skills_file, _Kept)
            return self._skills

    def _change_skills(self, change: Callable[[_Kept], _Kept]) -> None:
        with self._guard:
            self._skills = change(_load(self._skills_file, _Kept))
            _save(self._skills_file, self._skills)

    # -- trust -----------------------------------------------------------------------------

    def trust_of(self, root: str) -> TrustRecord | None:
        """Return what the user said of a folder."""
        with self._guard:
            if self._trusted is None:
                self._trusted = _load(self._trust_file, _Trusted)
            folder = self._trusted.folders.get(root)
        return TrustRecord(folder.digests, folder.is_ignored) if folder is not None else None

    def set_trust(self, root: str, record: TrustRecord | None) -> None:
        """Keep it; None forgets."""
        with self._guard:
            folders = dict(_load(self._trust_file, _Trusted).folders)
            folders.pop(root, None)
            if record is not None:
                folders[root] = _Folder(dict(record.digests), record.is_ignored)
            self._trusted = _Trusted(folders)
            _save(self._trust_file, self._trusted)


def _mark(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def _load(path: Path, kind: type[_Record]) -> _Record:
    """Return what a file holds; a damaged one is kept aside, and nothing of it counts."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return kind()
    except OSError as error:
        _log.error("%s can't be read: %s", path, error)
        return kind()
    try:
        kept, wrong = convert_leniently(msgspec.json.decode(body), kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.error("%s was damaged (%s); it is kept as %s", path, error, set_aside(path))
        return kind()
    if wrong:
        aside = keep_copy(path, body)
        _log.warning("%s in %s: wrong; the file is kept as %s", ", ".join(wrong), path, aside)
    return kept


def _save(path: Path, kept: msgspec.Struct) -> None:
    body = encode_keeping(kept, what_is_in(path))
    write_private(path, msgspec.json.format(body, indent=2) + b"\n")


# -- origins -----------------------------------------------------------------------------


def read_origins(config_dir: Path) -> dict[str, Origin]:
    """Return the origins by the real directory of the installed skill."""
    path = config_dir / _ORIGINS_FILE
    try:
        body = path.read_bytes()
        try:
            return msgspec.json.decode(body, type=dict[str, Origin])
        except msgspec.ValidationError:
            raw = msgspec.json.decode(body)  # one by one, then
    except FileNotFoundError:
        return {}
    except OSError as error:
        _log.error("the origins of skills can't be read: %s", error)
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        kept = set_aside(path)
        _log.error("the origins of skills were damaged (%s); they are kept as %s", error, kept)
        return {}
    found: dict[str, Origin] = {}
    for directory, fields in raw.items() if isinstance(raw, dict) else ():
        try:
            found[directory] = convert_leniently(fields, Origin)[0]
        except msgspec.ValidationError:
            _log.warning("the origin of %s was damaged and is forgotten", directory)
    return found


def record_origins(config_dir: Path, changes: Mapping[Path, Origin | None]) -> None:
    """Note where skills came from, or with None that they are gone. Raises OSError."""
    known = read_origins(config_dir)
    path = config_dir / _ORIGINS_FILE
    before = what_is_in(path)
    for directory, origin in changes.items():
        known.pop(str(directory), None)
        if origin is not None:
            known[str(directory)] = origin
    body = encode_keeping(known, before, dict[str, Origin])
    write_private(path, msgspec.json.format(body, indent=2) + b"\n")

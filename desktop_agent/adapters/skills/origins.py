"""Where installed skills came from: a small file beside the settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from desktop_agent.adapters.files.lenient_decode import convert_leniently
from desktop_agent.adapters.files.private_file import damaged_name, write_private

_log = logging.getLogger(__name__)

ORIGINS_FILE = "skill_origins.json"


class Origin(msgspec.Struct, frozen=True):
    """`source` can be fetched again; `folder` is the skill's place in there.

    `commit` is empty unless it is a git repository. `digest` is over the files as they were
    installed: it tells what the user changed since.
    """

    source: str
    commit: str = ""
    folder: str = ""
    digest: str = ""


def origins(config_dir: Path) -> dict[str, Origin]:
    """Return the origins by the real directory of the installed skill."""
    path = config_dir / ORIGINS_FILE
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
        kept = damaged_name(path)
        path.replace(kept)
        _log.error("the origins of skills were damaged (%s); they are kept as %s", error, kept)
        return {}
    found: dict[str, Origin] = {}
    for directory, fields in raw.items() if isinstance(raw, dict) else ():
        try:
            found[directory] = convert_leniently(fields, Origin)[0]
        except msgspec.ValidationError:
            _log.warning("the origin of %s was damaged and is forgotten", directory)
    return found


def record(config_dir: Path, changes: Mapping[Path, Origin | None]) -> None:
    """Note where skills came from, or with None that they are gone. Raises OSError."""
    known = origins(config_dir)
    for directory, origin in changes.items():
        known.pop(str(directory), None)
        if origin is not None:
            known[str(directory)] = origin
    body = msgspec.json.format(msgspec.json.encode(known), indent=2)
    write_private(config_dir / ORIGINS_FILE, body + b"\n")

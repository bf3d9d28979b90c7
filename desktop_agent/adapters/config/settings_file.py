"""Settings as a JSON file: written whole or not at all, never thrown away when damaged."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from desktop_agent.adapters.files.lenient_decode import convert_leniently
from desktop_agent.adapters.files.private_file import keep_copy, set_aside, write_through
from desktop_agent.core.settings import Settings

_log = logging.getLogger(__name__)


def load(path: Path) -> Settings:
    """Return the settings; defaults for what is missing or can't be read.

    A file that is not a JSON object is renamed with a date, so that nothing in it is lost
    by the next save. One with wrong fields is copied to such a name. Where the disk refuses that,
    the file stays as it is.
    """
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        _log.error("the settings can't be read: %s", error)
        return Settings()
    try:
        settings, wrong = convert_leniently(msgspec.json.decode(body), Settings)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.error("the settings were damaged (%s); kept as %s", error, set_aside(path))
        return Settings()
    if wrong:
        kept = keep_copy(path, body)
        _log.warning("settings %s were wrong; the file is kept as %s", ", ".join(wrong), kept)
    return settings


def save(path: Path, settings: Settings) -> None:
    """Replace the file, readable by this user alone. Raises OSError; the old one stays then."""
    body = msgspec.json.format(msgspec.json.encode(settings), indent=2)
    write_through(path, body + b"\n")

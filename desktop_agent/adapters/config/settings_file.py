"""Settings as a JSON file: written whole or not at all, never thrown away when damaged."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from desktop_agent.adapters.files.lenient_decode import convert_leniently
from desktop_agent.adapters.files.private_file import keep_copy, set_aside, write_through
from desktop_agent.adapters.files.unknown_fields import BOM, encode_keeping, what_is_in
from desktop_agent.core.settings import Settings, without_wrong_limits

_log = logging.getLogger(__name__)


def load(path: Path, tell: Callable[[str], None] = _log.error) -> Settings:
    """Return the settings; defaults for what is missing or can't be read, and `tell` of that.

    A file that is not a JSON object is renamed with a date, so that nothing in it is lost
    by the next save. One with wrong fields is copied to such a name. Where the disk refuses that,
    the file stays as it is.
    """
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        tell(f"Your settings can't be read, so the app's own are in use: {error}.")
        return Settings()
    try:
        settings, wrong = _decode(body.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        tell(
            f"The file of your settings was damaged ({error}), so the app's own are in use. It is "
            f"kept as {set_aside(path)}."
        )
        return Settings()
    if wrong:
        kept = keep_copy(path, body)
        tell(
            f"Some of your settings can't be used, so they are as at first: {', '.join(wrong)}. "
            f"The file is kept as {kept}."
        )
    return settings


def _decode(body: bytes) -> tuple[Settings, tuple[str, ...]]:
    # Where a number is too large for its type, msgspec by itself refuses the whole file.
    raw = msgspec.json.Decoder(float_hook=float).decode(body)
    settings, wrong = convert_leniently(raw, Settings)
    budget, in_budget = without_wrong_limits(settings.budget)
    subagent_budget, in_subagents = without_wrong_limits(settings.subagent_budget)
    wrong += tuple(f"budget.{name}" for name in in_budget)
    wrong += tuple(f"subagent_budget.{name}" for name in in_subagents)
    return msgspec.structs.replace(settings, budget=budget, subagent_budget=subagent_budget), wrong


def save(path: Path, settings: Settings) -> None:
    """Replace the file, readable by this user alone. Raises OSError; the old one stays then.

    What a newer version of the app wrote beside what this one knows stays in it.
    """
    body = msgspec.json.format(encode_keeping(settings, what_is_in(path)), indent=2)
    write_through(path, body + b"\n")

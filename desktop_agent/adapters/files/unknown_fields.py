"""Fields that a newer version of the app wrote into a record outlive a change by this one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from desktop_agent.core.keys.redaction import is_secret_name

# Some editors begin a file with it.
BOM = b"\xef\xbb\xbf"
_log = logging.getLogger(__name__)
# In characters of JSON, for one file or row: what is kept unread must not grow without end.
_LONGEST = 200_000


def encode_keeping(record: object, before: bytes | None, kind: Any = None) -> bytes:
    """Return the record as JSON, with the fields of `before` that its kind doesn't know.

    In lists a record is the one before that says the same where it has to say something. `kind`
    is needed where the record is none, but holds some.
    """
    body = msgspec.json.encode(record)
    try:
        old = msgspec.json.decode(before or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    kept = msgspec.json.encode(_joined(msgspec.json.decode(body), old, kind or type(record)))
    if len(kept) - len(body) > _LONGEST:
        _log.error("too much of a newer version's to keep it in a %s", kind or type(record))
        return body
    return kept


def what_is_in(path: Path) -> bytes:
    """Return what stands in a file that is about to be replaced, nothing where it can't be read."""
    try:
        return path.read_bytes().removeprefix(BOM)
    except OSError:
        return b""


def _joined(new: Any, old: Any, kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _joined_record(new, old, kind) if isinstance(old, dict) else new
    inside = get_args(kind)
    if get_origin(kind) is dict and isinstance(old, dict):
        return {
            name: _joined(value, old[name], inside[1]) if name in old else value
            for name, value in new.items()
        }
    if get_origin(kind) is tuple and isinstance(old, list):
        return [_joined(one, _same(one, old, inside[0]), inside[0]) for one in new]
    return new


# To look the types up takes longer than all else, and rows are written for each step.
@cache
def _kinds_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def _joined_record(
    new: dict[str, Any], old: Mapping[str, Any], kind: type[msgspec.Struct]
) -> dict[str, Any]:
    kinds = _kinds_of(kind)
    known = {
        name: _joined(value, old[name], kinds[name]) if name in old and name in kinds else value
        for name, value in new.items()
    }
    strange = (name for name in old if name not in kinds and name not in new)
    return known | {name: old[name] for name in strange if not _may_be_key(name, old[name])}


def _may_be_key(name: str, value: object) -> bool:
    """Whether it goes with the first change: keys are kept elsewhere. `max_tokens: 9` is none."""
    return is_secret_name(name) and not (value is None or isinstance(value, int | float))


def _same(new: Any, old: Sequence[Any], kind: Any) -> Any:
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return None
    fields = msgspec.structs.fields(kind)
    every = [field.encode_name for field in fields]
    needed = [field.encode_name for field in fields if field.required]
    records = [one for one in old if isinstance(one, dict)]
    for names in (every, needed):
        for one in records:
            if all(one.get(name, new[name]) == new[name] for name in names):
                return one
    return None

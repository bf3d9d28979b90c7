"""Events as rows: JSON with a checksum, and back."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from desktop_agent.adapters.files.lenient_decode import convert_leniently
from desktop_agent.adapters.files.unknown_fields import encode_keeping
from desktop_agent.adapters.store.indexing import spaced
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import AgentEvent, MessageAdded
from desktop_agent.core.messages import Message
from desktop_agent.core.sessions import SessionInfo

_Value = TypeVar("_Value", bound=msgspec.Struct)

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AgentEvent] = msgspec.json.Decoder(AgentEvent)
# A message of many megabytes (a pasted log) is found by its beginning.
_INDEXED_CHARACTERS = 20_000
# Of a newer version, which this one keeps without knowing what they say.
_MOST_STRANGE_RULES = 1000
_INFO = msgspec.json.Decoder(SessionInfo)


def encode(event: AgentEvent) -> tuple[bytes, int]:
    """Return the row's body and checksum."""
    body = _encoder.encode(event)
    return body, zlib.crc32(body)


def decode(body: object, crc: object) -> AgentEvent | None:
    """Return the event, or None for a row that is damaged or of an unknown kind.

    One bad row must never cost the user the rest of a session.
    """
    # Damage can change a value's type too.
    if not isinstance(body, bytes) or zlib.crc32(body) != crc:
        _log.warning("an event with a wrong checksum was left out")
        return None
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.warning("an event that can't be read was left out: %s", error)
        return None


def decode_all(rows: Iterable[tuple[object, object]]) -> tuple[AgentEvent, ...]:
    """Return the readable events, in order."""
    events = (decode(body, crc) for body, crc in rows)
    return tuple(event for event in events if event is not None)


def searchable(event: AgentEvent) -> str:
    """Return what a search finds the event by: a user's or a model's words, else nothing."""
    if not isinstance(event, MessageAdded) or event.message.role == "tool":
        return ""
    return spaced(words_of(event.message))


def words_of(message: Message) -> str:
    """Return the beginning of a message's text."""
    return message.text[:_INDEXED_CHARACTERS]


def read_rules(connection: sqlite3.Connection) -> tuple[Rule, ...]:
    """Return the approval rules that can be read, oldest first."""
    rows = connection.execute("SELECT body FROM rule ORDER BY position").fetchall()
    return tuple(rule for row in rows if (rule := read_value(row[0], Rule)) is not None)


def rule_rows(connection: sqlite3.Connection, rules: Sequence[Rule]) -> list[tuple[int, bytes]]:
    """Return the rows to save, with what a newer version wrote: fields, and whole rules."""
    before: dict[tuple[object, ...], bytes] = {}
    strange: list[bytes] = []
    for (body,) in connection.execute("SELECT body FROM rule ORDER BY position"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, TypeError):
            if isinstance(msgspec.json.decode(body), dict):
                rule = read_value(body, Rule)
                if rule is None:
                    strange.append(body)
                else:
                    before[_key(rule)] = body
    known = [encode_keeping(rule, before.get(_key(rule))) for rule in rules]
    return list(enumerate([*known, *strange[-_MOST_STRANGE_RULES:]]))


def _key(rule: Rule) -> tuple[object, ...]:
    return rule.tool, rule.pattern, rule.scope, rule.where, rule.is_deny


def info_row(connection: sqlite3.Connection, info: SessionInfo) -> bytes:
    """Return what to save of a session, with the fields that a newer version wrote."""
    found = connection.execute("SELECT info FROM session WHERE id = ?", (info.id,)).fetchone()
    body = found[0] if found is not None else None
    return encode_keeping(info, body if isinstance(body, bytes) else None)


def read_sessions(connection: sqlite3.Connection) -> tuple[SessionInfo, ...]:
    """Return all sessions that can be read, newest activity first."""
    rows = connection.execute("SELECT info FROM session ORDER BY updated_at DESC, key DESC")
    infos = (read_info(row[0]) for row in rows.fetchall())
    return tuple(info for info in infos if info is not None)


def read_info(body: object) -> SessionInfo | None:
    """Return a session's row as far as it can be read, None for one that is damaged."""
    # Damage can change a value's type too.
    if not isinstance(body, bytes):
        _log.error("a session's row can't be read: it holds %s", type(body).__name__)
        return None
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return _INFO.decode(body)
    try:
        info, wrong = convert_leniently(msgspec.json.decode(body), SessionInfo)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.error("a session's row can't be read: %s", error)
        return None
    if wrong:
        _log.warning("session %s: %s could not be read", info.id, ", ".join(wrong))
    return info


def read_value(body: object, kind: type[_Value]) -> _Value | None:
    """Return what a row without a checksum holds, None for one that is damaged."""
    try:
        return msgspec.json.decode(body if isinstance(body, bytes) else b"", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _log.error("a row of the kind %s can't be read: %s", kind.__name__, error)
        return None

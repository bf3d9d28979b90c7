"""Writes a session as JSON: all branches, nothing left out that another computer could use."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from desktop_agent.adapters.store.importing import EventRow
from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.core.messages import OutputDisplay
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.session_files import document

_Any = dict[str, object]


def pieces(reader: SessionReader, info: SessionInfo) -> Iterator[bytes]:
    """Yield the file in pieces: nothing for an event that is only looked at, then one for each."""
    ids = document.numbered()
    ids.learn(b'"%s"' % info.main_agent.encode())
    for row in reader.rows(info):
        if document.is_portable(row, info.main_agent):
            ids.learn(_event(row))
        yield b""
    head = _head(reader, info, ids)
    # The closing brace is written after the events.
    yield ids.replace(head)[:-2] + b',\n"events": ['
    is_first = True
    for row in reader.rows(info):
        if document.is_portable(row, info.main_agent):
            yield (b"\n" if is_first else b",\n") + ids.replace(_event(row))
            is_first = False
        else:
            yield b""
    yield b"\n]}\n"


def _head(reader: SessionReader, info: SessionInfo, ids: document.Ids) -> bytes:
    frame = reader.frame(info)
    root = info.workspace.root
    about = (info.title, info.created_at, info.updated_at, info.usage, info.model, root)
    head = document.Head(
        document.FORMAT,
        document.VERSION,
        document.About(*about),
        frame.main_agent,
        document.branch_entries(frame.branches),
        dict(sorted(frame.lists.items(), key=lambda item: ids.replace(item[0].encode()))),
        frame.versions,
        frame.marks,
    )
    clean = document.without_secrets(msgspec.json.decode(msgspec.json.encode(head)))
    ids.learn(msgspec.json.encode(clean))
    return msgspec.json.format(msgspec.json.encode(clean), indent=1)


def _event(row: EventRow) -> bytes:
    plain: _Any = msgspec.json.decode(msgspec.json.encode(row.event))
    _forget_files(plain)
    clean = document.without_secrets(plain)
    entry = {"seq": row.seq, "branch": row.branch, "at": row.at, "event": clean}
    return msgspec.json.encode(entry)


def _forget_files(value: object) -> None:
    """Take out the names of files that hold the whole of an output: they stay on this computer."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            named: _Any = one
            if named.get("type") == OutputDisplay.__name__:
                named.pop("file", None)
            left.extend(named.values())
        elif isinstance(one, list):
            items: list[object] = one
            left.extend(items)

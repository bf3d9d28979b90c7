"""The delivery state of the user's messages. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from desktop_agent.core.events import NoteDelivered, NoteReturned
from desktop_agent.gui.transcript.state.items import Item, UserItem


def after_note(items: Iterable[Item], event: NoteDelivered | NoteReturned) -> list[UserItem]:
    """Return the messages that hold a note, as they are after what happened to it."""
    said = [i for i in items if isinstance(i, UserItem) and event.note_id in i.note_ids]
    if isinstance(event, NoteReturned):
        return [replace(item, state="failed") for item in said if item.state != "delivered"]
    return [
        replace(item, state="delivered", step=event.step, at=event.at or item.at) for item in said
    ]


def undelivered(items: Iterable[Item]) -> list[UserItem]:
    """Return the messages that a turn's end left on their way, as failed."""
    said = [item for item in items if isinstance(item, UserItem) and item.state == "sending"]
    return [replace(item, state="failed") for item in said]

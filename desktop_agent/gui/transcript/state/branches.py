"""Where other branches of the session begin, as the transcript shows it."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.messages import Message
from desktop_agent.core.sessions import BranchPoint
from desktop_agent.gui.transcript.state.items import BranchItem


class BranchPoints:
    """The places by the message that the branch shown goes on with."""

    def __init__(self, points: Sequence[BranchPoint] = ()) -> None:
        self._points = {one.message_id: _item(one) for one in points if one.message_id is not None}
        # Of the branch that was begun last, until its message is written.
        unwritten = [_item(one) for one in points if one.message_id is None]
        self._unwritten: BranchItem | None = unwritten[0] if unwritten else None
        self._has_begun = False

    def begin(self) -> None:
        """A branch begins here: its message is the next of the user's."""
        self._has_begun = True

    def rewind(self) -> None:
        """The same events come again, and others before them."""
        self._has_begun = False

    def under(self, message: Message) -> list[BranchItem]:
        """Return what stands under a message of the user's: nothing if none is beside it."""
        has_begun, self._has_begun = self._has_begun, False
        item = self._points.get(message.id)
        if item is None and has_begun and self._unwritten is not None:
            item = self._points[message.id] = self._unwritten
            self._unwritten = None
        return [item] if item is not None else []


def _item(point: BranchPoint) -> BranchItem:
    return BranchItem(f"branch/{point.fork}", point.place, point.heads)

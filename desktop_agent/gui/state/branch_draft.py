"""A message that is being written to begin a branch. No Qt."""

from __future__ import annotations

import msgspec

from desktop_agent.core.ids import MessageId


class BranchDraft(msgspec.Struct, frozen=True):
    """What the next message stands in place of: the message `before`, whose words are `said`.

    With `is_edit` it is that message, edited: `skills` and the files named go with it.
    """

    before: MessageId
    said: str
    is_edit: bool = False
    skills: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()

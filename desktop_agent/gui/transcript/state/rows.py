"""From items to the rows that are shown: some items share a row, some have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.transcript.state.items import (
    AnswerItem,
    ChangesItem,
    Item,
    ThinkingItem,
    ToolItem,
    TurnItem,
    UserItem,
)

# Calls that go as expected share a quiet line with their neighbours of one kind. Those of "any"
# kind join whichever line there is: the panel beside the transcript shows what they do.
ACTIVITIES: dict[str, str] = {
    "read": "look",
    "glob": "look",
    "grep": "look",
    "skill": "look",
    "TaskCreate": "tasks",
    "TaskUpdate": "any",
    "TaskGet": "any",
    "TaskList": "any",
    "spawn": "team",
    "wait": "team",
    "probe": "team",
    "steer": "team",
    "stop": "team",
    "agent_result": "team",
    "answer_child": "team",
}
_FETCHES = {"web_fetch": "look"}
NOTABLE_TURN_S = 30.0
WORKING_KEY = "working"
EARLIER_KEY = "earlier"
_NOTHING: Mapping[str, bool] = MappingProxyType({})


class ActivityRow(msgspec.Struct, frozen=True):
    """What went as expected, in one line; when it `is_open`, its items follow as rows."""

    key: str
    items: tuple[ToolItem | ThinkingItem, ...]
    is_open: bool = False

    @property
    def calls(self) -> tuple[ToolItem, ...]:
        """The tool calls, without what was thought between them."""
        return tuple(item for item in self.items if isinstance(item, ToolItem))


class MadePicture(msgspec.Struct, frozen=True):
    """A picture in the session's folders, as it was made; at `until` it was there."""

    path: str
    until: float


class PicturesRow(msgspec.Struct, frozen=True):
    """Pictures below what they came with: calls, the line of changes that made them, or, if
    `is_said`, a message of the user's.
    """

    key: str
    pictures: tuple[ImagePart | MadePicture, ...]
    is_said: bool = False


class WorkingRow(msgspec.Struct, frozen=True):
    """The last row while the agent works, or is paused, and nothing else shows it."""

    key: str = WORKING_KEY
    is_paused: bool = False


class EarlierRow(msgspec.Struct, frozen=True):
    """The first row while there is more in the session's file."""

    key: str = EARLIER_KEY


Row = Item | ActivityRow | PicturesRow | WorkingRow | EarlierRow


def is_text(row: Row) -> bool:
    """Whether the row is text in the document, not a card over it."""
    return isinstance(row, UserItem | AnswerItem)


def build_rows(
    items: Iterable[Item], asked_calls: frozenset[str], unfolded: Mapping[str, bool] = _NOTHING
) -> list[Row]:
    """Return the rows, oldest first; `unfolded` tells by key which activities are open."""
    rows: list[Row] = []
    joined: list[ToolItem | ThinkingItem] = []
    kind = ""
    # What was seen since the user's message: it is not shown once more as what was made.
    seen: set[str] = set()
    for item in items:
        if _is_hidden(item, asked_calls):
            continue
        own = _activity(item, is_joining=bool(joined))
        if joined and own not in (kind, "any") and (kind != "any" or not own):
            rows += _activity_rows(joined, unfolded, seen)
            joined = []
        if own and isinstance(item, ToolItem | ThinkingItem):
            kind = own if not joined or own != "any" else kind
            joined.append(item)
        else:
            rows.append(item)
            rows += _pictures_rows([item], seen)
    return rows + _activity_rows(joined, unfolded, seen)


def activity_key(call_key: str) -> str:
    """Return the key of the activity that begins with this call, the same for its life."""
    return f"activity/{call_key}"


def _activity_rows(
    joined: Sequence[ToolItem | ThinkingItem], unfolded: Mapping[str, bool], seen: set[str]
) -> list[Row]:
    if not joined:
        return []
    key = activity_key(joined[0].key)
    is_open = unfolded.get(key, False)
    line = ActivityRow(key, tuple(joined), is_open)
    return [line, *(joined if is_open else ()), *_pictures_rows(joined, seen)]


def _pictures_rows(items: Sequence[Item], seen: set[str]) -> list[Row]:
    """Return one row with all pictures of the items, or none; `seen` grows by their names."""
    first = items[0]
    pictures: list[ImagePart | MadePicture] = []
    if isinstance(first, UserItem):
        seen.clear()
    for item in items:
        if isinstance(item, UserItem | ToolItem):
            pictures += item.pictures
            seen.update(one.name for one in item.pictures)
        elif isinstance(item, ChangesItem):
            new = (path for path in item.counts.pictures if path not in seen)
            pictures += (MadePicture(path, item.counts.until) for path in new)
    is_said = isinstance(first, UserItem)
    return [PicturesRow(f"pictures/{first.key}", tuple(pictures), is_said)] if pictures else []


def _activity(item: Item, *, is_joining: bool) -> str:
    """Return the kind of line the item goes into; empty for a row of its own."""
    match item:
        case ToolItem(state="ok", call=call):
            return ACTIVITIES.get(call.name, "") or _FETCHES.get(call.name, "")
        case ToolItem(state="queued" | "running", call=call):
            # A fetch may take long, and can be stopped at its card.
            return ACTIVITIES.get(call.name, "")
        case ThinkingItem(is_live=False) if is_joining:
            return "any"
        case _:
            return ""


def _is_hidden(item: Item, asked_calls: frozenset[str]) -> bool:
    match item:
        case ToolItem(state="waiting"):
            return True
        case ToolItem(key=key):
            return key in asked_calls
        case TurnItem(reason="finished", seconds=seconds, has_changes=has_changes):
            return has_changes or seconds < NOTABLE_TURN_S
        case AnswerItem(text=text) | ThinkingItem(text=text):
            return not text.strip()
        case _:
            return False


def changed_span(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """Return where two lists of keys begin to differ, and where that ends in each."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    old_end, new_end = len(old), len(new)
    while old_end > start and new_end > start and old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return start, old_end, new_end

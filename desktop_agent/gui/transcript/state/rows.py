"""From items to the rows that are shown: some items share a row, some have none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from desktop_agent.gui.transcript.state.items import (
    AnswerItem,
    Item,
    ThinkingItem,
    ToolItem,
    TurnItem,
    UserItem,
)

# Read-only calls are grouped: there are many, and each says little.
GROUPED_TOOLS = frozenset({"read", "glob", "grep", "web_fetch"})
_GROUP_FROM = 3
NOTABLE_TURN_S = 30.0
WORKING_KEY = "working"
EARLIER_KEY = "earlier"


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Calls of one kind that went well, one after the other."""

    key: str
    items: tuple[ToolItem, ...]


@dataclass(frozen=True, slots=True)
class WorkingRow:
    """The last row while the agent works, or is paused, and nothing else shows it."""

    key: str = WORKING_KEY
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class EarlierRow:
    """The first row while there is more in the session's file."""

    key: str = EARLIER_KEY


Row = Item | ToolGroup | WorkingRow | EarlierRow


def is_text(row: Row) -> bool:
    """Whether the row is text in the document, not a card over it."""
    return isinstance(row, UserItem | AnswerItem)


def build_rows(items: Iterable[Item], asked_calls: frozenset[str]) -> list[Row]:
    """Return the rows, oldest first."""
    shown = [item for item in items if not _is_hidden(item, asked_calls)]
    rows: list[Row] = []
    at = 0
    for kind, run in groupby(shown, key=_group_kind):
        calls = list(run)
        at += len(calls)
        # The newest calls stay apart: rows don't collapse under the pointer while work goes on.
        if kind and len(calls) >= _GROUP_FROM and at < len(shown):
            tools = tuple(call for call in calls if isinstance(call, ToolItem))
            rows.append(ToolGroup(f"group/{tools[0].key}", tools))
        else:
            rows.extend(calls)
    return rows


def _group_kind(item: Item) -> str:
    if isinstance(item, ToolItem) and item.state == "ok" and item.call.name in GROUPED_TOOLS:
        return item.call.name
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

"""Which results fit the folder as it is, and each other, in the order in which they came."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from desktop_agent.core.changes import (
    ChangeSet,
    FileState,
    JudgedResult,
    UndoError,
    UndoScope,
)
from desktop_agent.core.ids import SessionId
from desktop_agent.file_history import disk
from desktop_agent.file_history.merge import Merged, Merger
from desktop_agent.file_history.plan import Item, Planner, outlined

_BY_RESULT = "Another result, which came before, changes it too."


class _Ahead(msgspec.Struct, frozen=True):
    """What a path would hold when the results before were applied."""

    state: FileState
    content: bytes | None
    agent: str


class Judge:
    """Tells what applying would do; `content` reads what is kept, by digest."""

    def __init__(self, planner: Planner, merger: Merger, content: Callable[[str], bytes]) -> None:
        self._planner = planner
        self._merger = merger
        self._content = content

    def judged(self, session_id: SessionId, waiting: Iterable[ChangeSet]) -> list[JudgedResult]:
        """Judge results one after the other, each on top of those before it that fit."""
        ahead: dict[bytes, _Ahead] = {}
        found: list[JudgedResult] = []
        for made in waiting:
            detail = self._planner.plan_result(UndoScope(session_id, set_id=made.id))
            items = [self._on_top(item, ahead.get(item.path)) for item in detail.items]
            one = JudgedResult(made.id, outlined(items, detail.moved))
            if one.fits:
                ahead.update((item.path, _ahead(item, made.agent_id)) for item in items)
            found.append(one)
        return found

    def _on_top(self, item: Item, there: _Ahead | None) -> Item:
        if there is None or item.prospect == "lost":
            return item
        wanted, began = item.target, item.rows[0].after
        if disk.same(there.state, wanted):
            return replace(item, prospect="already", merged=None)
        if disk.same(there.state, began):
            return replace(item, prospect="restore", merged=None)
        merged = self._merged(there, wanted, began)
        if merged is not None and merged.is_as_now:
            return replace(item, prospect="already", merged=None)
        by = there.agent
        return replace(item, prospect="conflict", why=_BY_RESULT, by=by, merged=merged)

    def _merged(self, there: _Ahead, wanted: FileState, began: FileState) -> Merged | None:
        if there.state.kind != "file":
            return None
        try:
            content = there.content
            content = self._content(there.state.digest) if content is None else content
            return self._merger.without([(wanted, began)], there.state, content)
        except (OSError, UndoError):
            return None


def _ahead(item: Item, agent: str) -> _Ahead:
    if item.merged is None:
        return _Ahead(item.target, None, agent)
    content = item.merged.content
    digest = hashlib.sha256(content).hexdigest()
    return _Ahead(FileState("file", item.merged.mode, len(content), digest), content, agent)

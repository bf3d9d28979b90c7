"""What was told of changed files and is not kept any more: it was too old, too much, or emptied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from desktop_agent.core.changes import ChangeSet, UndoScope


def not_kept(told: Collection[ChangeSet], kept: Iterable[ChangeSet]) -> list[ChangeSet]:
    """Return what calls changed that no undo knows any more, and that none took back before."""
    known = {one.id for one in kept}
    known.update(undone for one in told for undone in one.undoes)
    return [one for one in told if one.kind in ("tool", "command") and one.id not in known]


def is_of(scope: UndoScope) -> Callable[[ChangeSet], bool]:
    """Return what tells whether a change set is of a scope, its `to_message` left aside."""

    def matches(one: ChangeSet) -> bool:
        wanted = (
            (scope.message_id or "", one.message_id),
            (scope.call_id, one.call_id),
            (scope.agent_id or "", one.agent_id),
            (scope.set_id, one.id),
        )
        paths = {scope.path, scope.was}
        is_there = not scope.path or any(file.path in paths for file in one.files)
        return is_there and all(want in ("", has) for want, has in wanted)

    return matches

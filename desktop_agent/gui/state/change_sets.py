"""What agents of one session changed in files, as the window knows it. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from desktop_agent.core.changes import ChangeSet, ChangeTotal, SessionChanges
from desktop_agent.core.ids import AgentId, MessageId

# Ends of names of what can be looked at.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_TABLES = (".csv", ".tsv")
_MOST_PICTURES, _MOST_TABLES = 24, 2
# So much is said of what can't be put back.
MOST_UNHELD = 8


class FileCounts(msgspec.Struct, frozen=True):
    """What some change sets did: `files` are how many, `added` and `removed` count lines.

    `is_undone` tells that all of them are taken back, last by the undo `undone_by`, which is
    empty where it is not known; `is_alone` tells that this undo took back nothing else. `unheld`
    says in words what can't be put back. `path` is the file where there is but one, `pictures`
    and `tables` are the paths of those that were made or changed and still stand; at `until` the
    last picture was.
    """

    files: int
    added: int
    removed: int
    unheld: tuple[str, ...] = ()
    is_undone: bool = False
    undone_by: str = ""
    is_alone: bool = False
    path: str = ""
    pictures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    until: float = 0.0


class ChangeSets:
    """Change sets by what made them, and which of them are taken back.

    They come one by one as events, in any order and more than once, and all at once.
    """

    def __init__(self) -> None:
        self._sets: dict[str, ChangeSet] = {}
        self._of_call: dict[tuple[AgentId, str], list[str]] = {}
        self._of_message: dict[MessageId, list[str]] = {}
        self._of_agent: dict[AgentId, list[str]] = {}
        # By what was taken back, the undo that did it.
        self._undone: dict[str, str] = {}
        # What sets come to that stand together, by what they are of.
        self._totals: dict[MessageId | AgentId, ChangeTotal] = {}

    def add(self, made: ChangeSet) -> None:
        """Take in one set."""
        self._keep(made)
        if made.kind == "undo":
            self._undone = self._taken_back()

    def learn(self, changes: SessionChanges) -> bool:
        """Take in all of a session; what it says of undone sets holds. Tell whether it is news."""
        known, before = len(self._sets), (self._undone, self._totals)
        self._totals = {
            one.message_id or one.agent_id or AgentId(""): one for one in changes.totals
        }
        for made in changes.sets:
            self._keep(made)
        undone = frozenset(changes.undone)
        by: dict[str, str] = {}
        for undo in self._undos():
            if undo.id not in undone:
                by.update((one, undo.id) for one in undo.undoes if one not in by)
        self._undone = {one: by.get(one, "") for one in undone}
        return len(self._sets) > known or (self._undone, self._totals) != before

    def _keep(self, made: ChangeSet) -> None:
        if made.id in self._sets:
            return
        self._sets[made.id] = made
        if made.kind == "undo":
            return
        self._of_agent.setdefault(made.agent_id, []).append(made.id)
        if made.call_id:
            self._of_call.setdefault((made.agent_id, made.call_id), []).append(made.id)
        if made.message_id is not None:
            self._of_message.setdefault(made.message_id, []).append(made.id)

    def _taken_back(self) -> dict[str, str]:
        """Return each set that is taken back with the undo that did it: newest undo first.

        An undo that was itself undone takes nothing back.
        """
        undone: dict[str, str] = {}
        for undo in self._undos():
            if undo.id not in undone:
                undone.update((one, undo.id) for one in undo.undoes if one not in undone)
        return undone

    def _undos(self) -> list[ChangeSet]:
        """Return all undos, the newest first."""
        undos = (made for made in self._sets.values() if made.kind == "undo")
        return sorted(undos, key=_when, reverse=True)

    def undone_by(self, set_id: str) -> str | None:
        """Return the undo that took a set back, empty if it is not known; None if it stands."""
        return self._undone.get(set_id)

    def is_redo(self, undo: ChangeSet) -> bool:
        """Whether an undo took back another undo."""
        first = self._sets.get(undo.undoes[0]) if undo.undoes else None
        return first is not None and first.kind == "undo"

    def ids_of_call(self, agent_id: AgentId, call_id: str) -> tuple[str, ...]:
        """Return the sets of one tool call, oldest first; ids of calls are an agent's own."""
        return tuple(self._of_call.get((agent_id, call_id), ()))

    def of_call(self, agent_id: AgentId, call_id: str) -> FileCounts | None:
        """Return what a tool call did to files; None if nothing."""
        return self._counts(self._of_call.get((agent_id, call_id), ()))

    def of_message(self, message_id: MessageId) -> FileCounts | None:
        """Return what was done to files for a message of the user's, subagents included."""
        return self._counts(self._of_message.get(message_id, ()), self._totals.get(message_id))

    def of_agent(self, agent_id: AgentId) -> FileCounts | None:
        """Return what one agent did to files, those below it not counted."""
        return self._counts(self._of_agent.get(agent_id, ()), self._totals.get(agent_id))

    def _counts(self, ids: Sequence[str], total: ChangeTotal | None = None) -> FileCounts | None:
        """Return what the sets that stand come to, or all of them if none does.

        They are added up while it is not known what they come to together.
        """
        standing = [one for one in ids if one not in self._undone]
        counted = _added_up(self._sets[one] for one in standing or ids)
        if counted is not None and total is not None and set(total.sets) == set(standing):
            if not total.count:
                return None
            return replace(counted, files=total.count, added=total.added, removed=total.removed)
        if counted is None or standing:
            return counted
        by = [self._undone[one] for one in ids]
        newest = max(by, key=lambda one: _when(self._sets[one]) if one in self._sets else 0.0)
        undo = self._sets.get(newest)
        is_alone = undo is not None and set(undo.undoes) == set(ids)
        return replace(
            counted, is_undone=True, undone_by=newest, is_alone=is_alone, pictures=(), tables=()
        )


def _when(made: ChangeSet) -> float:
    """Return when a set was made; undos of older versions have no end."""
    return made.ended or made.began


def _added_up(sets: Iterable[ChangeSet]) -> FileCounts | None:
    # By path, when it was changed last; None for what is gone.
    last: dict[str, float | None] = {}
    unlisted = added = removed = 0
    unheld: dict[str, None] = {}
    for made in sets:
        unheld.update(dict.fromkeys(made.unheld))
        for file in made.files:
            last[file.path] = None if file.kind == "deleted" else made.ended
            if file.was in last:
                last[file.was] = None
        # A set names only its first files.
        unlisted += max(0, made.count - len(made.files))
        added, removed = added + made.added, removed + made.removed
    files = len(last) + unlisted
    if not files:
        return None
    there = {path: at for path, at in last.items() if at is not None}
    pictures = tuple(path for path in there if path.lower().endswith(_PICTURES))[:_MOST_PICTURES]
    return FileCounts(
        files,
        added,
        removed,
        tuple(unheld)[:MOST_UNHELD],
        path=next(iter(last)) if files == 1 and last else "",
        pictures=pictures,
        tables=tuple(filter(is_table_file, there))[:_MOST_TABLES],
        until=max((there[one] for one in pictures), default=0.0),
    )


def is_table_file(path: str) -> bool:
    """Whether a file is a table by its name."""
    return path.lower().endswith(_TABLES)

"""What an undo would do, path by path."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from desktop_agent.core.changes import (
    ChangeKind,
    FileState,
    PlannedFile,
    Prospect,
    UndoError,
    UndoPlan,
    UndoScope,
)
from desktop_agent.file_history import disk, names, timeline
from desktop_agent.file_history.listing import Repositories
from desktop_agent.file_history.merge import LARGEST, Merged, Merger
from desktop_agent.file_history.packs import LARGEST_COPY, Packs
from desktop_agent.file_history.timeline import Row, Timeline
from desktop_agent.file_history.values import MEGABYTE, Limits

# One takes about two milliseconds, and its result is in memory until the undo is done.
_MOST_MERGES = 1000
_MOST_MERGED = 64 << 20


class Item(msgspec.Struct, frozen=True):
    """One path of a plan: what is there, what would be, and the changes that are taken back.

    `merged` is what is offered beside keeping and restoring. A folder that can't be removed as
    other files are in it is `already` what it will be, and `is_left`.
    """

    path: bytes
    text: str
    rows: tuple[Row, ...]
    now: FileState
    target: FileState
    prospect: Prospect
    why: str = ""
    by: str = ""
    merged: Merged | None = None
    is_left: bool = False

    @property
    def kind(self) -> ChangeKind:
        """What a restore does to the file."""
        return kind_of(self.now, self.target)


class Detail(msgspec.Struct, frozen=True):
    """A plan with all that is needed to carry it out; `root` is the newest set's.

    `moved` has for each path at which a renamed file comes back the one at which it is now.
    """

    plan: UndoPlan
    items: tuple[Item, ...]
    root: bytes
    moved: Mapping[bytes, bytes]


def kind_of(before: FileState, after: FileState) -> ChangeKind:
    """Return what turns one into the other."""
    if before.kind == "absent":
        return "created"
    return "deleted" if after.kind == "absent" else "changed"


class Planner:
    """Makes plans from what is recorded and what is on the disk."""

    def __init__(self, line: Timeline, packs: Packs, merger: Merger, limits: Limits) -> None:
        self._timeline = line
        self._packs = packs
        self._merger = merger
        self._limits = limits
        self._begin()

    def _begin(self) -> None:
        self._merges = self._merged = 0
        self._repositories = Repositories()

    def plan(self, scope: UndoScope) -> Detail:
        """Return what an undo of the scope would do now."""
        self._begin()
        rows = self._timeline.of_scope(scope)
        chosen = dict(timeline.selected(rows, scope))
        root = _newest_root(chosen.values())
        if scope.path:
            chosen = {
                path: found
                for path, found in chosen.items()
                if names.shown(path, root) in {scope.path, scope.was}
            }
        return self._detail(scope, rows, chosen, root)

    def plan_result(self, scope: UndoScope) -> Detail:
        """Return what applying a result would do now; its id is the set's of the scope."""
        self._begin()
        chosen, rows = self._timeline.of_result(scope.set_id)
        if not chosen:
            raise UndoError("That result is not kept any more.")
        return self._detail(scope, rows, chosen, _newest_root(chosen.values()))

    def _detail(
        self,
        scope: UndoScope,
        rows: Mapping[bytes, list[Row]],
        chosen: Mapping[bytes, list[Row]],
        root: bytes,
    ) -> Detail:
        respelled = disk.respelled(chosen)
        items = [
            self._item(path, rows.get(path, []), one, root, is_gone=path in respelled)
            for path, one in chosen.items()
        ]
        items = sorted(_with_folders(items), key=lambda item: item.path)
        moved = self._moved(items)
        planned = outlined(items, moved)
        plan = UndoPlan(scope, _set_ids(chosen.values()), planned, _blocked(items, root))
        return Detail(plan, tuple(items), root, moved)

    def _item(
        self, path: bytes, rows: list[Row], chosen: list[Row], root: bytes, *, is_gone: bool
    ) -> Item:
        text = names.shown(path, root)
        target = chosen[0].before
        stretches = timeline.stretches(chosen)
        now = disk.ABSENT if is_gone else disk.state_of(path, self._limits.largest)
        item = Item(path, text, tuple(chosen), now, target, "already")
        is_nothing = all(timeline.is_equal(before, after) for before, after in stretches)
        if is_nothing or disk.same(now, target):
            return item
        if why := self._why_lost(path, now, target, stretches[-1][1]):
            return replace(item, prospect="lost", why=why)
        if now.kind != "absent" and any(_is_moved_in(row) for row in chosen):
            why = "It may have been moved here from where nothing is kept."
            return replace(item, prospect="conflict", why=why)
        others = _others(rows, chosen)
        is_result = chosen[0].kind == "result"
        is_ours = disk.same(now, stretches[-1][1])
        ours = [row for row in chosen if row.kind != "outside"]
        if is_ours and len(stretches) == 1 and not others and len(ours) == len(chosen):
            return replace(item, prospect="restore")
        merged = self._merge(path, timeline.stretches(ours), now)
        if is_result and merged is not None and merged.is_as_now:
            return item
        return replace(
            item,
            prospect="conflict",
            why=_why(path, others, chosen, now, stretches[-1][1], is_ours=is_ours),
            by=others[-1].agent if others else "",
            merged=None if merged is not None and merged.is_as_now else merged,
        )

    def _moved(self, items: Iterable[Item]) -> dict[bytes, bytes]:
        """Return where renamed files are now that come back, both without a question."""
        restored = {i.text: i for i in items if i.prospect == "restore"}
        paths = {i.path: i.rows for i in restored.values()}
        moved = {old: new for new, old in timeline.renamed(paths).items()}
        by_undos = self._timeline.moved_by_undos(row for rows in paths.values() for row in rows)
        for new, old in by_undos.items():
            # Of an undo and its redo only one way is gone back.
            back, gone = restored.get(old), restored.get(new)
            if back and gone and (back.kind, gone.kind) == ("created", "deleted"):
                moved[back.path] = gone.path
        return moved

    def _why_lost(self, path: bytes, now: FileState, target: FileState, after: FileState) -> str:
        if why := self._why_never_kept(path):
            return why
        if target.kind == "absent" and not target.is_held:
            return "It may have been moved here from where nothing is kept, so it stays."
        if not self._is_kept(target):
            return _not_kept(target)
        if after.kind == "file" and not after.digest:
            why = "was too large to be looked into" if after.size > LARGEST_COPY else "was not read"
            return f"It {why}, so it stays."
        if now.kind == "other":
            return "What is there now is no file, or can’t be read, so it stays."
        if now.kind == "file" and now.size > self._limits.largest:
            return "What is there now is too large to be kept, so it stays."
        if now.kind == "folder" and not after.is_held:
            return "What is in the folder was not kept, so it stays."
        return ""

    def _why_never_kept(self, path: bytes) -> str:
        if names.is_git(path):
            return "It belongs to git, whose files are left alone."
        if self._repositories.own(path):
            return "It belongs to a repository, whose own files are left alone."
        return "Its path is too long for it to be kept." if len(path) >= names.LONGEST else ""

    def _is_kept(self, state: FileState) -> bool:
        if state.kind in {"file", "link"}:
            return state.is_held and self._packs.find(state.digest) is not None
        return state.is_held and state.kind != "other"

    def _merge(
        self, path: bytes, stretches: list[tuple[FileState, FileState]], now: FileState
    ) -> Merged | None:
        is_enough = self._merges >= _MOST_MERGES or self._merged >= _MOST_MERGED
        if not stretches or now.kind != "file" or now.size > LARGEST or is_enough:
            return None
        self._merges += 1
        self._merged += now.size
        try:
            with disk.opened(path) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
                current = file.read(LARGEST)
            return self._merger.without(stretches, now, current)
        except (OSError, UndoError):
            return None


def missing_folders(items: Iterable[Item], root: bytes) -> list[bytes]:
    """Return the folders above what is to be written that no longer exist, the topmost first."""
    items = tuple(items)
    known = {item.path for item in items}
    found: set[bytes] = set()
    for item in items:
        if item.target.kind == "absent":
            continue
        for above in names.parents(item.path):
            is_out = names.is_below(item.path, root) and not names.is_below(above, root)
            if above in found or above in known or is_out:
                break
            if disk.state_of(above, 0).kind != "absent":
                break
            found.add(above)
    return sorted(found)


def _is_moved_in(row: Row) -> bool:
    """Whether what a change left may be the only copy of what is not kept."""
    is_over_nothing = row.before.kind == "absent" and not row.before.is_held
    return row.after.is_moved_in or is_over_nothing


def _others(rows: list[Row], chosen: list[Row]) -> list[Row]:
    """Return what else agents changed since the first of what is taken back, and is in force."""
    own = {row.seq for row in chosen}
    return [
        row
        for row in rows
        if row.seq > chosen[0].seq
        and row.seq not in own
        and row.is_active
        and row.kind in timeline.BY_AGENTS
    ]


def _not_kept(target: FileState) -> str:
    """Return why what was there can't come back."""
    if target.kind == "folder":
        return "What was in the folder was not kept."
    if target.kind == "other":
        return "It was no file that could be kept."
    if target.is_held:
        return "What was there is not kept any more."
    if target.size > LARGEST_COPY:
        return f"{target.size / MEGABYTE:,.0f} MB: too large to be kept."
    return "What was there was not kept."


def _why(
    path: bytes,
    others: list[Row],
    chosen: list[Row],
    now: FileState,
    after: FileState,
    *,
    is_ours: bool,
) -> str:
    if others:
        other = others[-1]
        if other.session != chosen[-1].session:
            return "Another session changed it since."
        if other.agent != chosen[-1].agent:
            return "Another agent changed it since."
        return "A later call changed it again."
    if is_ours:
        return "It was changed by something else in between."
    if now.kind == "absent":
        return "It was deleted since."
    if after.kind == "absent":
        return "It was created since."
    saved = "" if now.digest == after.digest else _saved_at(path)  # its mode has no time
    return f"It was changed since{saved}."


def _saved_at(path: bytes) -> str:
    """Return when a file was written last, as an ending of a sentence; the day if not today."""
    try:
        saved = time.localtime(disk.status_of(path).st_mtime)
    except (OSError, OverflowError, ValueError):
        return ""
    is_today = saved[:3] == time.localtime()[:3]
    return time.strftime(", at %H:%M" if is_today else ", on %Y-%m-%d", saved)


def _with_folders(items: list[Item]) -> list[Item]:
    """Look at what folders stand in the way of: they are only replaced when they are empty."""
    by_path = {item.path: item for item in items}
    needed: set[bytes] = set()
    if any(_is_going(item) and item.now.kind == "folder" for item in items):
        back = (item.path for item in items if item.prospect == "restore" and not _is_going(item))
        needed.update(above for path in back for above in names.parents(path))
    for path in sorted(by_path, reverse=True):  # what is in a folder before the folder itself
        item = by_path[path]
        is_removed = item.now.kind == "folder" and item.target.kind != "folder"
        if not is_removed or item.prospect not in {"restore", "conflict"}:
            continue
        if path in needed and item.target.kind == "absent":
            # Somebody deleted it after what was in it, and another call made it again.
            by_path[path] = replace(item, prospect="already")
        elif _is_in_use(path, by_path):
            by_path[path] = _left(item)
    for path in sorted(by_path):  # a folder before what is in it
        item = by_path[path]
        is_put = item.prospect == "restore" and item.target.kind != "absent"
        if is_put and _is_obstructed(path, by_path):
            why = "Something else stands where its folder was."
            by_path[path] = replace(item, prospect="conflict", why=why, merged=None)
    return list(by_path.values())


def _left(item: Item) -> Item:
    why = "Other files are in it."
    if item.target.kind == "absent":
        return replace(item, prospect="already", why=why, is_left=True)
    return replace(item, prospect="conflict", why=why, merged=None)


def _is_in_use(path: bytes, items: Mapping[bytes, Item]) -> bool:
    try:
        inside = disk.names_in(path)
    except OSError:
        return True
    return any(not _is_going(items.get(path + os.sep.encode() + name)) for name in inside)


def _is_going(item: Item | None) -> bool:
    return item is not None and item.prospect == "restore" and item.target.kind == "absent"


def _is_obstructed(path: bytes, items: Mapping[bytes, Item]) -> bool:
    for above in names.parents(path):
        item = items.get(above)
        if item is not None and item.prospect == "restore":
            return item.target.kind != "folder"
        kind = item.now.kind if item is not None else disk.state_of(above, 0).kind
        if kind != "absent":
            return kind != "folder"
    return False


def outlined(items: list[Item], moved: Mapping[bytes, bytes]) -> tuple[PlannedFile, ...]:
    """Return what is shown of a plan."""
    texts = {item.path: item.text for item in items}
    gone = frozenset(moved.values())
    return tuple(
        PlannedFile(
            *(i.text, i.prospect, i.kind, i.why, i.by, i.merged is not None),
            was=texts[moved[i.path]] if i.path in moved else "",
        )
        for i in listed(items)
        if i.path not in gone
    )


def listed(items: Iterable[Item]) -> list[Item]:
    """Return what is shown: without the folders of which a file is shown as well."""
    items = tuple(items)
    implied = {above for item in items for above in names.parents(item.path)}
    return [i for i in items if not (is_folder(i) and i.path in implied and i.prospect != "lost")]


def is_folder(item: Item) -> bool:
    """Whether it is about nothing but a folder."""
    return {item.now.kind, item.target.kind} <= {"folder", "absent"}


def _newest_root(chosen: Iterable[list[Row]]) -> bytes:
    newest = max((rows[-1] for rows in chosen), key=lambda row: row.seq, default=None)
    return b"" if newest is None else newest.root


def _set_ids(chosen: Iterable[list[Row]]) -> tuple[str, ...]:
    found = {row.seq: row.set_id for rows in chosen for row in rows}
    return tuple(found[seq] for seq in sorted(found, reverse=True))


def _blocked(items: list[Item], root: bytes) -> str:
    if items and disk.state_of(root, 0).kind != "folder":
        return "The folder is not there any more, or a link stands in its place."
    return ""

"""One folder that commands may change: what was in it at the last look, and what differs now."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager

from desktop_agent.engine.workspace.ignored_files import IGNORE_FILE_LENGTH, IgnoreRules
from desktop_agent.file_history.history import History
from desktop_agent.file_history.listing import (
    CACHE_TAG,
    IGNORE_FILE,
    Listing,
    Moved,
    entry_of,
    flags,
    is_cache,
    is_same,
    list_folder,
    read_beginning,
)
from desktop_agent.file_history.names import absolute, below, joined, parted
from desktop_agent.file_history.reader import Reader, is_fresh, is_other, is_unsure, state_of
from desktop_agent.file_history.values import Entry, PathChange
from desktop_agent.file_history.watch import Watch

_DIRECTORY = flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
_SAVED_AT_ONCE = 2000
# Of entries in one folder; beyond it folders are known by their names.
_MOST = 300_000
# A smaller folder is listed as quickly, whatever its file system tells of changes.
_WATCHED_FROM = 5_000

_Tree = dict[bytes, dict[bytes, Entry]]


class _Gone(Exception):
    """The folder is not there any more."""


class TrackedFolder:
    """What is known of a folder. All paths are relative to it, with slashes, the top is empty.

    The first look at a folder of which nothing was stored only lists it, in slices; what was not
    listed yet has no changes. A file that was listed and not read yet is `unread`: what it held
    can't be put back when it changes. An ignored folder is known by its name alone, and stays so;
    what was known before it was ignored stays known, so that nothing gets out of sight by a line
    in `.gitignore`.
    """

    def __init__(self, root: bytes, history: History, own: Collection[bytes] = ()) -> None:
        """`own` are absolute paths of the app's own folders, which are not looked into."""
        self.root = root
        self.is_listed = False
        # Whether a command has waited for what is unread.
        self.was_waited_for = False
        self._is_stopped = False
        self.reader = Reader(history)
        self._history = history
        self._rules = IgnoreRules()
        self._tree: _Tree = {}
        self._unread: set[bytes] = set()
        self._queue: deque[bytes] = deque()
        # Folders that the first look has yet to list, the one that comes next at the end.
        self._unlisted: dict[bytes, None] = {}
        # Read so soon after a change that the next one may not show: read again at each look.
        self._fresh: set[bytes] = set()
        # Made by file tools and not listed yet, so not watched either.
        self._made: set[bytes] = set()
        # Whether a file changed that has other names, of which no watch tells.
        self._is_linked = False
        self._changed: dict[bytes, Entry] = {}
        self._removed: set[bytes] = set()
        self._own = frozenset(own)
        self._count = 0
        self._watch: Watch | None = None
        self._can_watch = True
        # Whether all that changed since the last look is told by the watch.
        self._is_watched = False
        self._looked_at = time.time()
        self._moved = Moved(self._looked_at, is_unlisted=False, is_outside=True)
        self._load(history.index(root))

    # -- what is known -------------------------------------------------------------------

    def entry(self, path: bytes) -> Entry | None:
        """Return what was at a path at the last look."""
        folder, name = parted(path)
        return self._tree.get(folder, {}).get(name)

    def is_tracked(self, path: bytes) -> bool:
        """Whether the folder of this path is known by more than its name."""
        folder = parted(path)[0]
        return folder in self._tree and folder not in self._unlisted

    def holds(self, path: bytes) -> bool:
        """Whether an undo could bring back a path, with all that is below it."""
        entry = self.entry(path)
        waiting = [(path, entry)] if entry is not None else []
        while waiting:
            here, known = waiting.pop()
            is_kept = known.is_held and (not known.digest or self._history.has(known.digest))
            if not is_kept or here in self._unread or here in self._unlisted:
                return False
            if known.kind == "folder":
                if os.path.lexists(self.absolute(joined(here, b".git"))):
                    return False  # a repository is not kept
                below = self._tree.get(here, {}).items()
                waiting += [(joined(here, name), inner) for name, inner in below]
        return entry is not None

    @property
    def has_unread(self) -> bool:
        """Whether there is something to list or to read yet."""
        return bool(self._queue or (self._unlisted and not self._is_stopped))

    @property
    def is_unknown(self) -> bool:
        """Whether there is something that the first look did not list or read, and may never."""
        return self.has_unread or (self._is_stopped and bool(self._unlisted or self._unread))

    @property
    def is_all_listed(self) -> bool:
        """Whether the first look has listed everything."""
        return not self._unlisted

    @property
    def progress(self) -> tuple[int, int]:
        """How many entries are known with what they hold, and how many there are."""
        return self._count - len(self._unread), self._count

    def relative(self, path: bytes) -> bytes | None:
        """Return a real absolute path as one below this folder, None if it is not below."""
        return below(path, self.root)

    def absolute(self, path: bytes) -> bytes:
        """Return the whole path."""
        return absolute(self.root, path)

    # -- looking -------------------------------------------------------------------------

    def look(
        self, until: float, busy: Collection[bytes] = (), *, is_outside: bool = False
    ) -> list[PathChange]:
        """Bring what is known up to date; return what differs, folders before what is in them.

        What is not read `until` then (time.monotonic) is unread; what is `busy` stays as known.
        With `is_outside` what was unread has no change. To be saved when that is recorded.
        """
        is_unlisted = bool(self._unlisted)
        self._moved = Moved(self._looked_at, is_unlisted=is_unlisted, is_outside=is_outside)
        self._looked_at = time.time()
        self.is_listed = True
        try:
            with self._open() as (root, device):
                changes = list(self._differences(root, device, until, busy, is_outside))
                return self._moved.found(changes)
        except _Gone:
            return []  # as with a disk: nothing is known of it

    def list_on(self, until: float) -> None:
        """Go on with the first look until then: a folder at least, each as a whole."""
        if not self._unlisted or self._is_stopped:
            return
        try:
            with self._open() as (root, device):
                while self._unlisted:
                    self._list_next(root, device)
                    if len(self._changed) >= _SAVED_AT_ONCE:
                        self.save()
                    if time.monotonic() >= until:
                        return
        except _Gone:
            self._unlisted.clear()
        self.save()

    def read_some(self, until: float) -> None:
        """Read what is unread, for a while; what changed since it was listed waits for a look."""
        if self._unlisted and not self._is_stopped:
            self.list_on(until)
            return
        try:
            with self._open() as (root, device):
                while self._queue and time.monotonic() < until:
                    self._read_listed(root, device, self._queue.popleft())
                    if len(self._changed) >= _SAVED_AT_ONCE:
                        self.save()
        except _Gone:
            self._queue.clear()
        if not self._queue:
            self.save()

    def stop(self) -> None:
        """End the first look: what it has not read is not kept before it changes."""
        self._is_stopped = True
        self._queue.clear()
        self.save()

    def save(self) -> None:
        """Write what is known to the history."""
        if self._changed or self._removed:
            removed = self._removed - self._changed.keys()
            is_whole = not self._unlisted
            self._history.save_index(self.root, self._changed, removed, is_whole=is_whole)
            self._changed, self._removed = {}, set()

    def note(self, path: bytes, digest: str) -> None:
        """Take what a file tool has put at a path; its new folders with it."""
        parts = path.split(b"/")
        if b"" in self._unlisted:
            return  # it is found when that is listed
        for count in range(1, len(parts)):
            folder = b"/".join(parts[:count])
            if folder in self._unlisted:
                return
            known = self.entry(folder)
            if known is not None and not known.is_held:
                return  # known by its name alone
            # A look in the middle of the write may have listed it, and left it to the tool.
            if known is None or folder not in self._tree:
                self._put_now(folder, "")
                self._tree.setdefault(folder, {})
                self._made.add(folder)
        self._put_now(path, digest)

    def _put_now(self, path: bytes, digest: str) -> None:
        try:
            status = os.lstat(self.absolute(path))
        except OSError:
            return
        found = entry_of(status, status.st_dev)
        if digest:
            found = found._replace(digest=digest, is_held=True)
            self._fresh.add(path)
        self._put(path, found)

    # -- inside --------------------------------------------------------------------------

    @contextmanager
    def _open(self) -> Generator[tuple[int, int]]:
        """Hold the folder open; yields its descriptor (-1 on Windows) and device."""
        try:
            device = os.stat(self.root).st_dev  # noqa: PTH116 - bytes
            root = os.open(self.root, _DIRECTORY) if os.name != "nt" else -1
        except OSError:
            raise _Gone from None
        try:
            yield root, device
        finally:
            if root >= 0:
                os.close(root)

    def _load(self, index: dict[bytes, Entry]) -> None:
        self._tree[b""] = {}
        if not index:
            self._unlisted[b""] = None
        for path, entry in index.items():
            folder, name = parted(path)
            self._tree.setdefault(folder, {})[name] = entry
            self._count += 1
            if entry.kind == "folder" and entry.is_held:
                self._tree.setdefault(path, {})

    def _differences(
        self,
        root: int,
        device: int,
        until: float,
        busy: Collection[bytes],
        is_outside: bool,
    ) -> Iterator[PathChange]:
        for path, found in self._found(root, device):
            if path in busy:
                continue
            old = self.entry(path)
            if found is None:
                yield from self._take_away(path, busy)
                continue
            if old is not None and old.kind == "folder" and found.kind != "folder":
                # The path itself has one change, from a folder to what is there now.
                yield from self._take_away_inside(path, busy)
                self._tree.pop(path, None)
                old = self._not_held_unless_listed(path, old)
            was_unread = path in self._unread or (old is not None and is_unsure(old))
            new = self._now(root, path, found, is_late=time.monotonic() > until)
            here = self.absolute(path)
            if old is not None and old.ino != new.ino:
                self._moved.went(here, old, is_unread=False)
            is_change = is_other(old, new) and not (is_outside and was_unread)
            if is_change or (old is not None and old.ino != new.ino):
                self._moved.came(here, new, old if was_unread else None)
            if is_change:
                yield PathChange(here, state_of(old), state_of(new))

    def _list_next(self, root: int, device: int) -> None:
        """List one more folder. Changes from now on are told by the watch."""
        self._begin_watch()
        folder = next(reversed(self._unlisted))
        inner: list[bytes] = []
        for path, found in self._found_in(root, device, folder, inner):
            if found is not None:
                self._now(root, path, found, is_late=True)
        del self._unlisted[folder]
        self._unlisted.update(dict.fromkeys(inner))

    def _found(self, root: int, device: int) -> Iterator[tuple[bytes, Entry | None]]:
        """Yield each path that may differ, with what is there now."""
        self._begin_watch()
        changed, self._is_linked = self._changed_folders(), False
        yield from self._found_among(root, device, changed)
        if changed is not None and self._is_linked:
            yield from self._found_among(root, device, None)

    def _found_among(
        self, root: int, device: int, changed: set[bytes] | None
    ) -> Iterator[tuple[bytes, Entry | None]]:
        # A folder before those in it: it may tell that something else stands in their place now.
        waiting = [b""] if changed is None else sorted(changed, reverse=True)
        done: set[bytes] = set()
        while waiting:
            folder = waiting.pop()
            if folder not in done and folder in self._tree and folder not in self._unlisted:
                done.add(folder)
                yield from self._found_in(root, device, folder, waiting, is_full=changed is None)

    def _found_in(
        self, root: int, device: int, folder: bytes, inner: list[bytes], *, is_full: bool = True
    ) -> Iterator[tuple[bytes, Entry | None]]:
        """Yield what may differ in one folder; `inner` gets the folders in it to be listed too."""
        self._add_watch(folder)
        listing = list_folder(self.absolute(folder), device)
        known = self._tree.get(folder, {})
        if not listing.is_readable:
            if not known:
                self._name_alone(folder)
            return  # what is known of it stays so, until it can be listed again
        self._note_rules(root, folder, listing, known)
        yield from ((joined(folder, name), None) for name in known.keys() - listing.entries)
        for name, found in listing.entries.items():
            path, old = joined(folder, name), known.get(name)
            if found.kind == "folder":
                found = self._as_folder(root, path, found, old)
                if found.is_held:
                    if is_full or old is None or old.ino != found.ino or not old.is_held:
                        inner.append(path)
                    self._tree.setdefault(path, {})
            if old is None or not is_same(old, found) or self._is_doubtful(path, old, found):
                self._is_linked = self._is_linked or name in listing.linked
                yield path, found

    def _changed_folders(self) -> set[bytes] | None:
        """Return the folders that have to be listed again; None for all of them."""
        told = self._watch.changed() if self._watch is not None else None
        was_watched, self._is_watched = self._is_watched, self._watch is not None
        made, self._made = self._made, set()
        if told is None or not was_watched or self._count <= _WATCHED_FROM:
            return None
        told |= made | {parted(path)[0] for path in self._fresh}
        return told & self._tree.keys()

    def _begin_watch(self) -> None:
        """Watch the folder from its first look on: nothing changes unseen after that."""
        if self._watch is None and self._can_watch:
            try:
                self._watch = Watch()
            except OSError:
                self._can_watch = False

    def _add_watch(self, folder: bytes) -> None:
        if self._watch is not None:
            try:
                self._watch.add(self.absolute(folder), folder)
            except OSError:  # the system has no more of them
                self._can_watch = self._is_watched = False
                self._watch.close()
                self._watch = None

    def look_closely(self) -> None:
        """Have the next look list all: what is written through memory is not told of."""
        self._is_watched = False

    def close(self) -> None:
        """Let go of the watch."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _is_doubtful(self, path: bytes, old: Entry, found: Entry) -> bool:
        if found.kind == "folder":
            return old.is_held != found.is_held or old.ino != found.ino
        return path in self._fresh

    def _as_folder(self, root: int, path: bytes, found: Entry, old: Entry | None) -> Entry:
        """Return whether a folder is looked into: decided once, when it is first seen."""
        known = old if old is not None and old.kind == "folder" else None
        if known is not None and (known.is_held or known.ino == found.ino):
            return found._replace(is_held=known.is_held)
        if self._count > _MOST or self.absolute(path) in self._own:
            return found._replace(is_held=False)
        tag = joined(path, CACHE_TAG)
        is_left_out = self._rules.is_ignored(os.fsdecode(path) + "/")
        is_left_out = is_left_out or is_cache(root, self.absolute(tag), tag)
        return found._replace(is_held=not is_left_out)

    def _note_rules(
        self, root: int, folder: bytes, listing: Listing, known: dict[bytes, Entry]
    ) -> None:
        prefix = os.fsdecode(folder) + "/" if folder else ""
        found, old = listing.entries.get(IGNORE_FILE), known.get(IGNORE_FILE)
        if found is None or found.kind != "file":
            self._rules.drop(prefix)
        elif prefix not in self._rules or old is None or not is_same(old, found):
            path = joined(folder, IGNORE_FILE)
            content = read_beginning(root, self.absolute(path), path, IGNORE_FILE_LENGTH)
            self._rules.note(prefix, content)

    def _now(self, root: int, path: bytes, found: Entry, *, is_late: bool) -> Entry:
        """Take in what is at a path now, read unless that is too late; return it."""
        self._fresh.discard(path)
        self._unread.discard(path)
        if found.kind in ("file", "link") and self.reader.is_kept(
            found, lambda: self._rules.is_ignored(os.fsdecode(path))
        ):
            if is_late:
                self._unread.add(path)
                self._queue.append(path)
            else:
                found = self.reader.read(root, self.absolute(path), path, found)
                if is_fresh(found):
                    self._fresh.add(path)
        self._put(path, found)
        return found

    def _read_listed(self, root: int, device: int, path: bytes) -> None:
        known = self.entry(path)
        if known is None or path not in self._unread:
            return
        try:
            found = entry_of(os.lstat(self.absolute(path)), device)
        except OSError:
            return
        if is_same(known, found):
            read = self.reader.read(root, self.absolute(path), path, found)
            if is_same(known, read):
                self._unread.discard(path)
                self._put(path, read)
                if is_fresh(read):
                    self._fresh.add(path)

    def _put(self, path: bytes, entry: Entry) -> None:
        folder, name = parted(path)
        names = self._tree.setdefault(folder, {})
        self._count += name not in names
        names[name] = entry
        self._removed.discard(path)
        # After a restart nobody knows that these have to be read again, but by this.
        is_unsure = path in self._fresh or path in self._unread
        self._changed[path] = entry._replace(mtime_ns=0) if is_unsure else entry

    def _take_away(self, path: bytes, busy: Collection[bytes] = ()) -> Iterator[PathChange]:
        """Forget a path and all below it; yield what was there, but for what is busy."""
        folder, name = parted(path)
        old = self._tree.get(folder, {}).pop(name, None)
        waiting = [(path, old)] if old is not None else []
        while waiting:
            path, old = waiting.pop()
            old = self._not_held_unless_listed(path, old)
            self._removed.add(path)
            self._changed.pop(path, None)
            self._moved.went(self.absolute(path), old, is_unread=path in self._unread)
            self._unread.discard(path)
            self._fresh.discard(path)
            self._count -= 1
            below = self._tree.pop(path, {}).items()
            waiting += [(joined(path, inner), entry) for inner, entry in below]
            if path not in busy:
                yield PathChange(self.absolute(path), state_of(old), state_of(None))

    def _take_away_inside(
        self, folder: bytes, busy: Collection[bytes] = ()
    ) -> Iterator[PathChange]:
        for name in list(self._tree.get(folder, ())):
            yield from self._take_away(joined(folder, name), busy)

    def _not_held_unless_listed(self, path: bytes, old: Entry) -> Entry:
        """Return what was there, and no more look for what was in it."""
        if path not in self._unlisted:
            return old
        del self._unlisted[path]
        return old._replace(is_held=False)

    def _name_alone(self, folder: bytes) -> None:
        """A folder that can't be listed is known by its name."""
        known = self.entry(folder) if folder else None
        if known is not None:
            self._tree.pop(folder, None)
            self._put(folder, known._replace(is_held=False))

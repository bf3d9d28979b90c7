"""Fetching, installing, updating and removing skills. Nothing that is fetched is ever run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from desktop_agent.adapters.skills.diff import compare, digest_of
from desktop_agent.adapters.skills.fetch.fetch import Fetcher, Kept, disk_error_text, to_the_end
from desktop_agent.adapters.skills.fetch.found import CLASH, directory_name, text_of
from desktop_agent.adapters.skills.fetch.intake import Limits, remove_tree
from desktop_agent.adapters.skills.install_folder import (
    InstallFolder,
    entry_of,
    folder_shelf,
    installed,
    shelf_of,
)
from desktop_agent.adapters.skills.state import Origin, read_origins, record_origins
from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.skill_install import (
    Fetched,
    FoundSkill,
    InstallTarget,
    SkillLibraryError,
    SkillUpdate,
)

_log = logging.getLogger(__name__)

_MOST_KEPT = 6
_GONE = "What was fetched is not there any more. Fetch it again."
_CLASH_HERE = "Replaces the skill {name} of this folder."
_TAKEN = "Nothing was installed: {names} is there already. Choose to replace it."
_ALL_TAKEN = "Nothing was installed: {names} are there already. Choose to replace them."
_BEHIND = (
    "Nothing was installed: {name} is there already, but behind a link ({place}), and what is "
    "there is not replaced from here."
)
_CLOSING = "The app is closing."
_MOST_NAMED = 5
_NOT_INSTALLED = (
    "This skill was not installed from an address, so there is nothing to compare it with."
)


class _Waiting(msgspec.Struct, frozen=True):
    directory: Path
    kept: Kept
    found: FoundSkill


class _Taken(msgspec.Struct, frozen=True):
    shelf: InstallFolder
    kept: Path
    directory: Path
    origin: Origin | None


class SkillLibrary:
    """The user's installed skills, and what may become one of them.

    `mine` is the folder of the user's own skills, `removed` takes what is removed or replaced,
    `changed` is called after every change. `allows_loopback_http` is for tests alone.
    """

    def __init__(
        self,
        *,
        mine: Path,
        removed: Path,
        config_dir: Path,
        changed: Callable[[], None],
        limits: Limits | None = None,
        allows_loopback_http: bool = False,
    ) -> None:
        self._mine = mine
        self._removed = removed
        self._config_dir = config_dir
        self._changed = changed
        self._fetcher = Fetcher(limits or Limits(), allows_loopback_http=allows_loopback_http)
        self._kept: dict[str, Kept] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._taken: dict[str, _Taken] = {}
        # Held by whatever changes the shelves, or deletes what was fetched for them.
        self._one_at_a_time = asyncio.Lock()
        self._is_closing = False

    async def fetch(self, address: str) -> Fetched:
        """Get the skills at an address into a private folder. Raises SkillLibraryError."""
        kept = await self._fetcher.fetch(address, lambda: _words_of(self._mine))
        await self._require_open(kept)
        self._kept[kept.fetched.id] = kept
        while len(self._kept) > _MOST_KEPT:
            await self.discard(next(iter(self._kept)))
        return kept.fetched

    async def fetch_progress(self, address: str) -> int:
        """Return how many bytes of an address that is being fetched are there."""
        return await self._fetcher.progress(address)

    async def preview(self, fetch_id: str, folder: str, path: str) -> str:
        """Return a fetched file as text, shortened when it is long. Raises SkillLibraryError."""
        kept = self._fetched(fetch_id)
        skill = _skill_in(kept, folder)
        if path not in {file.path for file in skill.files}:
            raise SkillLibraryError(f"There is no file {path} in that skill.")
        return await asyncio.to_thread(text_of, kept.files, folder, path)

    async def clashes(self, fetch_id: str, target: InstallTarget, root: str) -> dict[str, str]:
        """Return by folder what would be replaced in the target, in words like `clash`."""
        kept = self._fetched(fetch_id)
        place = self._place(target, root)
        names = await asyncio.to_thread(installed, place)
        found = {skill.folder: _clash(skill, names) for skill in kept.fetched.skills}
        words = CLASH if target == "mine" else _CLASH_HERE
        taken = {folder: old.name for folder, old in found.items() if old is not None}
        return {folder: words.format(name=name) for folder, name in taken.items()}

    async def install(
        self,
        fetch_id: str,
        folders: Sequence[str],
        *,
        target: InstallTarget,
        root: str = "",
        replace: bool = False,
    ) -> tuple[str, ...]:
        """Put fetched skills in place and return the names of those that were.

        Those whose name is taken are left out unless `replace`, which keeps the old ones among
        the removed. Each is installed whole or not at all. Raises SkillLibraryError, also when
        none could be.
        """
        async with self._one_at_a_time:
            kept = self._fetched(fetch_id)
            chosen = _one_of_each([_skill_in(kept, folder) for folder in folders])
            if broken := next((skill for skill in chosen if skill.problem), None):
                raise SkillLibraryError(f"{broken.name} can't be installed. {broken.problem}")
            shelf = InstallFolder(self._place(target, root), self._removed)
            return await to_the_end(self._install(shelf, kept, chosen, replace))

    async def _install(
        self, shelf: InstallFolder, kept: Kept, chosen: list[FoundSkill], replace: bool
    ) -> tuple[str, ...]:
        done: dict[Path, FoundSkill] = {}
        try:
            taken = await asyncio.to_thread(installed, shelf.place)
            if replace:
                _require_replaceable(shelf, chosen, taken)
            for skill in chosen:
                if self._is_closing:  # what is in place is whole; the rest is not begun
                    raise SkillLibraryError(_CLOSING)
                directory = await asyncio.to_thread(_put, shelf, kept, skill, taken, replace)
                if directory is not None:
                    done[directory] = skill
        except (OSError, SkillLibraryError) as error:
            words = disk_error_text(error) if isinstance(error, OSError) else str(error)
            names = listed([skill.name for skill in done.values()], _MOST_NAMED)
            installed_before = f" Installed before that: {names}." if names else ""
            raise SkillLibraryError(words + installed_before) from error
        finally:
            if done:
                await self._record(kept, done)
                self._changed()
        if chosen and not done:
            raise _all_taken([skill.name for skill in chosen])
        return tuple(skill.name for skill in done.values())

    async def discard(self, fetch_id: str) -> None:
        """Delete what was fetched, to be installed or as an update, and is not wanted any more.

        What is just being put in place is let come to its end first.
        """
        async with self._one_at_a_time:
            await self._drop(fetch_id)

    async def _drop(self, fetch_id: str) -> None:
        waiting = self._waiting.pop(fetch_id, None)
        kept = waiting.kept if waiting is not None else self._kept.pop(fetch_id, None)
        if kept is not None:
            await asyncio.to_thread(remove_tree, kept.folder)

    async def check_update(self, directory: str) -> SkillUpdate | None:
        """Fetch an installed skill again; None when it is the same. Raises SkillLibraryError."""
        path = await asyncio.to_thread(entry_of, directory)
        shelf_of(path, self._mine)
        origin = read_origins(self._config_dir).get(str(path))
        if origin is None:
            raise SkillLibraryError(_NOT_INSTALLED)
        kept = await self._fetcher.fetch(origin.source, dict, only=origin.folder)
        try:
            waiting = _Waiting(path, kept, _same_skill(kept, origin, path.name))
            with _disk_errors():
                update = await asyncio.to_thread(_update, waiting, origin)
        except BaseException:
            await asyncio.to_thread(remove_tree, kept.folder)
            raise
        if update is None:
            await asyncio.to_thread(remove_tree, kept.folder)
            return None
        await self._require_open(kept)
        self._waiting[update.id] = waiting
        while len(self._waiting) > _MOST_KEPT:
            await self.discard(next(iter(self._waiting)))
        return update

    async def update(self, update_id: str) -> None:
        """Put the newer version in place; the old one is kept among the removed."""
        async with self._one_at_a_time:
            waiting = self._waiting.get(update_id)
            if waiting is None:
                raise SkillLibraryError(_GONE)
            await to_the_end(self._put_newer(waiting))
        self._changed()

    async def _put_newer(self, waiting: _Waiting) -> None:
        directory, found = waiting.directory, waiting.found
        await asyncio.to_thread(entry_of, str(directory))
        shelf = InstallFolder(shelf_of(directory, self._mine), self._removed)
        source = waiting.kept.files / found.folder
        with _disk_errors():
            await asyncio.to_thread(shelf.put, source, found.files, directory.name, directory)
        await self._record(waiting.kept, {directory: found})
        await self._drop(waiting.kept.fetched.id)

    async def remove(self, directory: str) -> str:
        """Move a skill of the user's or the folder's own among the removed ones.

        What is returned brings it back, as long as the app runs.
        """
        path = await asyncio.to_thread(entry_of, directory)
        shelf = InstallFolder(shelf_of(path, self._mine), self._removed)
        async with self._one_at_a_time:
            kept = await to_the_end(self._remove(shelf, path))
        self._changed()
        return kept

    async def _remove(self, shelf: InstallFolder, path: Path) -> str:
        origin = read_origins(self._config_dir).get(str(path))
        with _disk_errors():
            kept = await asyncio.to_thread(shelf.take, path)
        self._taken[kept.name] = _Taken(shelf, kept, path, origin)
        await self._note(lambda: {path: None})
        return kept.name

    async def bring_back(self, key: str) -> None:
        """Put a removed skill where it was, as it was. Raises SkillLibraryError."""
        async with self._one_at_a_time:
            taken = self._taken.get(key)
            if taken is None:
                raise SkillLibraryError("That skill is back already.")
            await to_the_end(self._bring_back(key, taken))
        self._changed()

    async def _bring_back(self, key: str, taken: _Taken) -> None:
        with _disk_errors():
            await asyncio.to_thread(taken.shelf.bring_back, taken.kept, taken.directory)
        del self._taken[key]
        await self._note(lambda: {taken.directory: taken.origin})

    async def close(self) -> None:
        """Delete everything that was fetched and not installed.

        Waits for the skill that is just being put in place; no other one is begun.
        """
        self._is_closing = True
        async with self._one_at_a_time:
            for fetch_id in (*self._kept, *self._waiting):
                await self._drop(fetch_id)

    async def _require_open(self, kept: Kept) -> None:
        """Refuse after the end: nothing would delete what was fetched."""
        if self._is_closing:
            await asyncio.to_thread(remove_tree, kept.folder)
            raise SkillLibraryError(_CLOSING)

    def _fetched(self, fetch_id: str) -> Kept:
        if fetch_id not in self._kept:
            raise SkillLibraryError(_GONE)
        return self._kept[fetch_id]

    def _place(self, target: InstallTarget, root: str) -> Path:
        return self._mine if target == "mine" else folder_shelf(root)

    async def _record(self, kept: Kept, placed: Mapping[Path, FoundSkill]) -> None:
        source, commit = kept.fetched.source, kept.fetched.commit
        await self._note(
            lambda: {
                directory.resolve(): Origin(source, commit, skill.folder, digest_of(directory))
                for directory, skill in placed.items()
            }
        )

    async def _note(self, origins: Callable[[], Mapping[Path, Origin | None]]) -> None:
        """Note where skills came from. Without that they still work, so it is no failure."""

        def write() -> None:
            record_origins(self._config_dir, origins())

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            _log.error("where skills came from was not kept: %s", error)


def _put(
    shelf: InstallFolder, kept: Kept, skill: FoundSkill, taken: dict[str, Path], replace: bool
) -> Path | None:
    """Install one, unless its name is taken; `taken` is kept up to date."""
    old = _clash(skill, taken)
    if old is not None and not replace:
        return None
    name = directory_name(skill.name, skill.folder)
    directory = shelf.put(kept.files / skill.folder, skill.files, name, old)
    for known in (directory.name, skill.name):
        taken[known.casefold()] = directory
    return directory


def _require_replaceable(
    shelf: InstallFolder, chosen: list[FoundSkill], taken: dict[str, Path]
) -> None:
    for skill in chosen:
        old = _clash(skill, taken)
        if old is not None and not shelf.holds(old):
            raise SkillLibraryError(_BEHIND.format(name=skill.name, place=old))


def _one_of_each(skills: list[FoundSkill]) -> list[FoundSkill]:
    """Leave out those that would go where another of them goes, the twins first."""
    first: dict[str, FoundSkill] = {}
    for skill in sorted(skills, key=lambda one: bool(one.twin)):
        first.setdefault(directory_name(skill.name, skill.folder).casefold(), skill)
    return list(first.values())


def _all_taken(names: list[str]) -> SkillLibraryError:
    words = _TAKEN if len(names) == 1 else _ALL_TAKEN
    return SkillLibraryError(words.format(names=listed(names, _MOST_NAMED)))


def _skill_in(kept: Kept, folder: str) -> FoundSkill:
    for skill in kept.fetched.skills:
        if skill.folder == folder:
            return skill
    raise SkillLibraryError(f"There is no skill in {folder or 'the top folder'}.")


def _same_skill(kept: Kept, origin: Origin, name: str) -> FoundSkill:
    """Find what was installed once: at its place, or where its name is now."""
    skills = kept.fetched.skills
    by_place = [skill for skill in skills if skill.folder == origin.folder]
    by_name = [skill for skill in skills if directory_name(skill.name, skill.folder) == name]
    if not (by_place or by_name):
        raise SkillLibraryError("The skill is not there any more. Yours stays as it is.")
    found = (by_place or by_name)[0]
    if found.problem:
        raise SkillLibraryError(f"The newer version can't be used. {found.problem}")
    return found


def _update(waiting: _Waiting, origin: Origin) -> SkillUpdate | None:
    new = waiting.kept.files / waiting.found.folder
    diff, count = compare(waiting.directory, new)
    if not count:
        return None
    has_own = bool(origin.digest) and digest_of(waiting.directory) != origin.digest
    own = ("You changed this skill since it was installed. The update replaces your changes.",)
    return SkillUpdate(
        id=waiting.kept.fetched.id,
        directory=str(waiting.directory),
        name=waiting.found.name,
        commit=waiting.kept.fetched.commit,
        diff=diff,
        files_changed=count,
        warnings=(own if has_own else ()) + waiting.found.warnings,
    )


def _words_of(place: Path) -> dict[str, str]:
    return {name: path.name for name, path in installed(place).items()}


def _clash(skill: FoundSkill, names: dict[str, Path]) -> Path | None:
    own = directory_name(skill.name, skill.folder).casefold()
    return names.get(own) or names.get(skill.name.casefold())


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SkillLibraryError(disk_error_text(error)) from error

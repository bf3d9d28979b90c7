"""From an address to the skills at it, in a private folder of their own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

import msgspec

from desktop_agent.adapters.skills.fetch import git
from desktop_agent.adapters.skills.fetch.address import (
    Download,
    Local,
    Place,
    Repository,
    read_address,
)
from desktop_agent.adapters.skills.fetch.archive import is_zip, unpack
from desktop_agent.adapters.skills.fetch.download import download
from desktop_agent.adapters.skills.fetch.folder import copy_file, copy_folder
from desktop_agent.adapters.skills.fetch.found import found_skills
from desktop_agent.adapters.skills.fetch.git_command import GitMissing
from desktop_agent.adapters.skills.fetch.intake import Intake, Limits, remove_tree, size_of
from desktop_agent.core.skill_install import Fetched, SkillLibraryError

_Result = TypeVar("_Result")

_PREFIX = "desktop-agent-skills-"
_ABANDONED_S = 24 * 3600.0
_NOTHING_FOUND = "No skill was found there: a skill is a folder with a file called SKILL.md in it."
_ONLY_COMMITTED = "Of a git repository only what is committed counts."
# Where forges give a repository as a zip.
_ARCHIVES = ("{url}/archive/{name}.zip", "{url}/-/archive/{name}/archive.zip")


class Kept(msgspec.Struct, frozen=True):
    """What was fetched, and the private folder that holds it."""

    fetched: Fetched
    folder: Path

    @property
    def files(self) -> Path:
        """Where the skills' files lie."""
        return self.folder / "files"


class Fetcher:
    """Fetches within limits. `allows_loopback_http` is for tests alone."""

    def __init__(self, limits: Limits, *, allows_loopback_http: bool = False) -> None:
        self._limits = limits
        self._allows_loopback_http = allows_loopback_http
        # The folders of this run: they may lie there as long as the app is open.
        self._own: set[Path] = set()
        # Those that something is being fetched into, by its address.
        self._filling: dict[str, Path] = {}

    async def progress(self, address: str) -> int:
        """Return how many bytes of an address are there; 0 when it is not being fetched."""
        folder = self._filling.get(address)
        return await asyncio.to_thread(size_of, folder) if folder is not None else 0

    async def fetch(
        self, address: str, installed: Callable[[], Mapping[str, str]], only: str = ""
    ) -> Kept:
        """Get all skills at an address, or the `only` folder. Raises SkillLibraryError.

        `installed` gives the user's own skills by casefolded names, for the clashes.
        """
        place = read_address(address, allows_loopback_http=self._allows_loopback_http)
        folder = await asyncio.to_thread(_private_folder, self._own)
        self._filling[address] = folder
        intake = Intake(folder / "files", self._limits)
        try:
            commit = await self._take(place, folder, intake, only)
            root = intake.root
            skills = await in_thread(
                lambda: found_skills(root, self._limits, installed()), intake.stop
            )
            skipped = intake.skipped_of({skill.folder for skill in skills})
            if not skills:
                is_git = isinstance(place, Repository)
                problems = (_NOTHING_FOUND, _ONLY_COMMITTED if is_git else "", *intake.skipped[:3])
                raise SkillLibraryError(" ".join(filter(None, problems)))
        except OSError as error:
            await asyncio.to_thread(remove_tree, folder)
            raise SkillLibraryError(disk_error_text(error)) from error
        except BaseException:
            await asyncio.to_thread(remove_tree, folder)
            raise
        finally:
            # It may be fetched once more by now.
            if self._filling.get(address) == folder:
                del self._filling[address]
        number = f"fe_{secrets.token_hex(8)}"
        return Kept(Fetched(number, _source(place, address), commit, skills, skipped), folder)

    async def _take(self, place: Place, folder: Path, intake: Intake, only: str) -> str:
        """Take the skills' files in; return the commit if there is one."""
        if isinstance(place, Local):
            return await in_thread(lambda: _take_local(place, intake), intake.stop)
        if isinstance(place, Download):
            return await self._take_download(place.url, folder, intake, place.is_markdown)
        own = folder / "git"
        own.mkdir()
        try:
            return await git.fetch(place, own, intake, only)
        except GitMissing:
            if place.protocol not in {"https", "http"}:
                raise
            return await self._take_archive(place, folder, intake, only)
        except SkillLibraryError:
            is_web = place.protocol in {"https", "http"}
            if not is_web or place.tail or not await self._is_zip(place.url, folder):
                raise
            # No repository, but the address of a zip.
            return await in_thread(lambda: unpack(folder / "download", intake), intake.stop)
        finally:
            await asyncio.to_thread(remove_tree, own)

    async def _take_archive(
        self, place: Repository, folder: Path, intake: Intake, only: str
    ) -> str:
        """Without git: most forges also give a repository as a zip."""
        name, _, within = place.tail.partition("/")
        where = only or within
        file = folder / "download"
        for form in _ARCHIVES:
            url = form.format(url=place.url.removesuffix(".git"), name=quote(name or "HEAD"))
            if await self._is_zip(url, folder):
                return await in_thread(
                    lambda: unpack(file, intake, within=where, has_top=True), intake.stop
                )
        raise GitMissing

    async def _is_zip(self, url: str, folder: Path) -> bool:
        """Download what is at an address; whether it is a zip."""
        with contextlib.suppress(SkillLibraryError):
            await self._download(url, folder / "download")
            return await asyncio.to_thread(is_zip, folder / "download")
        return False

    async def _take_download(
        self, url: str, folder: Path, intake: Intake, is_markdown: bool
    ) -> str:
        file = folder / "download"
        await self._download(url, file)
        return await in_thread(lambda: _take_file(file, intake, is_markdown), intake.stop)

    async def _download(self, url: str, file: Path) -> None:
        allows = self._allows_loopback_http
        await download(url, file, limit=self._limits.size, allows_loopback_http=allows)


async def in_thread(work: Callable[[], _Result], stop: Callable[[], None]) -> _Result:
    """Run some work on a thread; when it is cancelled, stop it and wait for its end."""
    return await to_the_end(asyncio.to_thread(work), stop)


async def to_the_end(
    work: Coroutine[Any, Any, _Result], stop: Callable[[], None] = lambda: None
) -> _Result:
    """Run the work to its end; a caller that is cancelled waits until its files are closed."""
    running = asyncio.ensure_future(work)
    # What it raises is of no interest then: retrieved, so that asyncio logs nothing.
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait((running,))
        raise


def disk_error_text(error: OSError) -> str:
    """Say what a disk refused."""
    where = f" ({error.filename})" if error.filename else ""
    return f"The disk did not take it: {error.strerror or error}{where}."


def _private_folder(own: set[Path]) -> Path:
    """Make a folder for one fetch, and clear away those of an app that was killed."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    own.add(folder)
    (folder / "files").mkdir(mode=0o700)
    for old in set(folder.parent.glob(f"{_PREFIX}*")) - own:
        with contextlib.suppress(OSError):
            status = old.lstat()
            if status.st_mtime < time.time() - _ABANDONED_S and not old.is_symlink():
                shutil.rmtree(old, ignore_errors=True)
    return folder


def _source(place: Place, address: str) -> str:
    """Return what can be fetched again from anywhere."""
    if isinstance(place, Local):
        return str(place.path)
    if isinstance(place, Repository) and place.protocol == "file":
        return url2pathname(urlsplit(place.url).path)
    is_short = isinstance(place, Repository) and "://" not in address and place.protocol != "ssh"
    return place.url if is_short else address.strip().strip("\"'<>").strip()


def _take_local(place: Local, intake: Intake) -> str:
    if place.path.is_dir():
        copy_folder(place.path, intake)
        return ""
    if not place.path.is_file():
        raise SkillLibraryError(f"{place.path} is neither a folder nor a file.")
    return _take_file(place.path, intake, place.path.suffix.lower() == ".md")


def _take_file(file: Path, intake: Intake, is_markdown: bool) -> str:
    if is_markdown:
        copy_file(file, intake)
        return ""
    if not is_zip(file):
        raise SkillLibraryError(
            "That is not a skill: give a folder, a .zip or .skill file, or a SKILL.md."
        )
    return unpack(file, intake)

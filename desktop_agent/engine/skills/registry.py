"""The live catalog of skills: scanned beside the engine, watched, switched, trusted, loaded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from desktop_agent.core.events import CommandRefused, Event, SkillsChanged
from desktop_agent.core.skills import Skill, SkillDetail, SkillFile, TrustDecision
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.skills import catalog as catalogs
from desktop_agent.engine.skills import files as skill_files
from desktop_agent.engine.skills import requirements, trust
from desktop_agent.engine.skills.catalog import Catalog, Findings, Places, SkillMemory
from desktop_agent.engine.skills.front_matter import split
from desktop_agent.engine.skills.remembering import Added, add_line
from desktop_agent.engine.skills.role_files import RoleReader
from desktop_agent.engine.skills.rules import escaped, visible
from desktop_agent.engine.skills.scan import Scanner, main_file_of
from desktop_agent.engine.skills.trust import TrustRecord

_log = logging.getLogger(__name__)

# Looking at what is there again costs a few milliseconds; it may take a hundredth of a processor.
_PAUSE_S = 2.0
_SHARE = 100
# A first request waits this long for the first scan of its folder.
_PATIENCE_S = 10.0
_MOST_ROOTS = 8
_SHOWN_FILES = 200
_LONGEST_BODY = 100_000
_EMPTY = Catalog()


class Skills:
    """Every folder's catalog. Lives on the engine thread; only the disk is read beside it."""

    def __init__(
        self,
        places: Places,
        memory: SkillMemory,
        emit: Callable[[Event], None],
        *,
        own_python: str = "",
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`emit` hears of changes. `own_python` is what a shell runs a script with, by the app."""
        self._places = places
        self._memory = memory
        self._pause_s = pause_s
        self._emit = emit
        self._readers = (Scanner(), RoleReader())
        self._one_at_a_time = asyncio.Lock()
        self._findings: dict[str, Findings] = {}
        self._catalogs: dict[str, Catalog] = {}
        self._undecided: dict[str, tuple[TrustDecision, bool, str | None]] = {}
        self._for_this_run: dict[str, TrustRecord | None] = {}
        self._cost_s = 0.0
        self._own_python = own_python
        self._setup = requirements.Setup()
        self._setup_lock = asyncio.Lock()
        self._asked: tuple[Findings, ...] = ()
        self._watched: dict[str, None] = {}
        self._late: set[str] = set()
        self._jobs: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop watching."""
        jobs = [*self._jobs, *([self._watching] if self._watching is not None else [])]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    # -- what holds ------------------------------------------------------------------------

    def catalog(self, root: str) -> Catalog:
        """Return what holds in a folder as last seen; nothing before it was scanned."""
        return self._catalogs.get(root, _EMPTY)

    async def ready(self, root: str) -> None:
        """Wait until a folder was scanned, once and for a while; never raises."""
        if root in self._catalogs:
            return
        patience = 0 if root in self._late else _PATIENCE_S
        done, _ = await asyncio.wait({self._start(root)}, timeout=patience)
        if not done:
            self._late.add(root)
            _log.warning("the skills of %s are not there yet; going on without", root)

    def watch(self, root: str) -> None:
        """Send out a folder's catalog, now or when it was scanned, and again on each change."""
        if root in self._catalogs:
            self._tell(root)
        # What was asked for last is the last to be dropped from the watch.
        self._watched.pop(root, None)
        self._watched[root] = None
        self._start(root)
        if self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    def rescan(self) -> None:
        """Look at all folders again."""
        self._asked = ()
        # Files that were seen already may mean something else now: their origin is known.
        self._evaluate_all()
        for root in list(self._findings):
            self._start(root)

    # -- what the user decides -----------------------------------------------------------

    def switch(self, root: str, name: str, is_on: bool, *, only_here: bool) -> None:
        """Turn a skill on or off, from the next step on."""
        try:
            self._memory.switch(name, root, is_on=is_on, only_here=only_here)
        except OSError as error:
            self._emit(CommandRefused("switch_skill", f"The switch was not saved: {error}"))
        self._evaluate_all()

    def trust(
        self,
        root: str,
        decision: TrustDecision,
        *,
        is_kept: bool = True,
        digest: str | None = None,
    ) -> None:
        """Use what a folder brings, as it was last shown; or not; or forget what was said.

        Before the folder was looked at, it holds for what the first look finds. With `digest`,
        nothing but what that names is trusted.
        """
        if root not in self._findings:
            self._undecided[root] = (decision, is_kept, digest)
            self._start(root)
            return
        if decision == "trust" and digest is not None:
            self._evaluate(root)
            if digest != self._catalogs[root].trust.digest:
                self._tell(root, is_refused=True)
                return
        record: TrustRecord | None = None
        if decision != "forget":
            digests = self._findings[root].provided.digests if decision == "trust" else {}
            record = TrustRecord(digests, is_ignored=decision == "ignore")
        if is_kept:
            self._keep(root, record)
        else:
            self._for_this_run[root] = record
        self._evaluate(root)

    def _keep(self, root: str, record: TrustRecord | None) -> None:
        self._for_this_run.pop(root, None)
        try:
            self._memory.set_trust(root, record)
        except OSError as error:
            self._for_this_run[root] = record
            self._emit(CommandRefused("trust_folder", f"Your trust was not saved: {error}"))

    async def remember(self, root: str, line: str) -> str:
        """Add a line to a folder's instructions; return the path of the file, from the folder.

        It stays trusted if it was, or if the folder brings nothing else. Raises ToolError.
        """
        await self.ready(root)
        added = await asyncio.to_thread(add_line, root, line)
        self._trust_added(root, added)
        await asyncio.wait({self._start(root)})
        if root in self._findings:
            self._evaluate(root)
        return added.path

    def _trust_added(self, root: str, added: Added) -> None:
        record = self._record(root)
        if record is None:
            is_known = not self._findings.get(root, Findings()).provided.digests
            record = TrustRecord()
        else:
            is_known = not record.is_ignored
        if not is_known or record.digests.get(added.path, "") != added.before:
            return
        kept = TrustRecord({**record.digests, added.path: added.after})
        if root in self._for_this_run:
            self._for_this_run[root] = kept
        else:
            self._keep(root, kept)

    # -- loading ---------------------------------------------------------------------------

    async def text(self, root: str, name: str) -> str:
        """Return a skill's text as agents get it, read again. Raises ToolError."""
        await self.ready(root)
        skill = self._usable(root, name)
        if self._own_python:
            await self._look_for_needs()
        text = await asyncio.to_thread(self._load, root, skill)
        await asyncio.to_thread(self._count_use, skill.name)
        self._evaluate(root)
        return text

    async def detail(self, root: str, directory: str) -> SkillDetail | None:
        """Return a skill of the catalog with its text and files; None when it is gone."""
        await self.ready(root)
        for skill in self.catalog(root).skills:
            if skill.directory == directory:
                return await asyncio.to_thread(_detail, skill, self._bounds(root, skill))
        return None

    async def provided_files(self, root: str) -> tuple[SkillFile, ...]:
        """Return the instruction and role files that a folder brings, trusted or not."""
        await self.ready(root)
        found = self._findings.get(root, Findings())
        roles = [
            (found.relative(one.path), len(one.role.instructions)) for one in found.folder_roles
        ]
        files = [(one.path, one.size) for one in found.instructions]
        files += [(one.path, one.size) for one in (found.servers,) if one is not None]
        # Two folders may point at one file.
        return tuple(SkillFile(path, size) for path, size in dict((*files, *roles)).items())

    def _usable(self, root: str, name: str) -> Skill:
        named = [skill for skill in self.catalog(root).skills if skill.name == name]
        for skill in named:
            if skill.is_usable:
                return skill
        if any(s.is_trusted and not s.problem and not s.is_enabled for s in named):
            raise ToolError(f"skill '{name}' is disabled.")
        known = ", ".join(skill.name for skill in self.catalog(root).usable) or "none"
        raise ToolError(f"skill '{name}' not found. Available skills: {known}.")

    def _load(self, root: str, skill: Skill) -> str:
        if skill.origin == "folder":
            listed = _listed(skill.directory, is_whole=True)
            text = self._trusted_text(root, skill, listed)
        else:
            listed = _listed(skill.directory)
            text = skill_files.read_text(skill.directory, skill.location)[0]
        python = self._own_python if skill.directory in self._setup.own_python else ""
        return skill_text(skill, split(text)[1], listed, python)

    def _trusted_text(self, root: str, skill: Skill, listed: tuple[skill_files.Entry, ...]) -> str:
        """Return the text of a folder's skill, from the same reading as the digest."""
        try:
            with skill_files.held(skill.directory, self._findings[root].root) as folder:
                name = main_file_of(listed)
                digest, content = folder.digest_and_content(listed, name)
        except OSError as error:
            raise ToolError(f"skill '{skill.name}' can't be read: {error.strerror}.") from None
        path = self._findings[root].relative(skill.directory)
        is_trusted = trust.is_trusted(self._record(root), path, digest)
        if not is_trusted and not catalogs.is_as_installed(skill, digest, self._memory):
            raise ToolError(
                f"skill '{skill.name}' changed since the person trusted this folder. It is not "
                "used until the person trusts it again."
            )
        return skill_files.decoded(content, name)[0]

    def _count_use(self, name: str) -> None:
        try:
            self._memory.count_use(name)
        except OSError as error:
            _log.warning("the use of the skill %s was not counted: %s", name, error)

    def _bounds(self, root: str, skill: Skill) -> str:
        return self._findings[root].root if skill.origin == "folder" else skill.directory

    # -- scanning --------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(max(self._pause_s, self._cost_s * _SHARE))
            self._cost_s = 0.0
            try:
                await self._look_again()
            except Exception:  # noqa: BLE001 - the watch goes on, whatever one look met
                _log.exception("the folders of skills were not looked at")

    async def _look_again(self) -> None:
        for root in list(self._watched)[-_MOST_ROOTS:]:
            await asyncio.wait({self._start(root)})
        await self._look_for_needs()

    async def _look_for_needs(self) -> None:
        """Check the requirements of changed skills in the background."""
        async with self._setup_lock:
            asked = tuple(self._findings.values())
            if asked == self._asked:
                return
            self._asked = asked
            skills = [found.skill for findings in asked for found in findings.skills]
            look = partial(requirements.look, skills, has_own=bool(self._own_python))
            self._setup = await asyncio.to_thread(look)
        self._evaluate_all()

    async def _scan(self, root: str) -> None:
        """Look at the disk, and send out what changed."""
        async with self._one_at_a_time:
            findings, cost_s = await asyncio.to_thread(self._find, root)
        self._cost_s += cost_s
        if findings == self._findings.get(root):
            return
        self._findings[root] = findings
        if root in self._undecided:
            decision, is_kept, digest = self._undecided.pop(root)
            self.trust(root, decision, is_kept=is_kept, digest=digest)
        self._evaluate(root)

    def _find(self, root: str) -> tuple[Findings, float]:
        """Return what lies on disk, and the seconds of a processor that it took."""
        began = time.thread_time()
        return catalogs.find(*self._readers, self._places, root), time.thread_time() - began

    def _evaluate_all(self) -> None:
        for root in list(self._findings):
            self._evaluate(root)

    def _evaluate(self, root: str) -> None:
        found = catalogs.evaluate(
            self._findings[root], self._memory, root, self._record(root), self._setup.missing
        )
        if found != self._catalogs.get(root):
            self._catalogs[root] = found
            self._tell(root)

    def _tell(self, root: str, *, is_refused: bool = False) -> None:
        found = self._catalogs[root]
        held = msgspec.structs.replace(found.trust, is_refused=is_refused)
        self._emit(SkillsChanged(root, found.skills, held))

    def _record(self, root: str) -> TrustRecord | None:
        if root in self._for_this_run:
            return self._for_this_run[root]
        return self._memory.trust_of(root) if root else None

    def _start(self, root: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._scan(root))
        self._jobs.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._jobs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("skills were not scanned", exc_info=error)


def skill_text(
    skill: Skill, body: str, listed: tuple[skill_files.Entry, ...], own_python: str = ""
) -> str:
    """Return what an agent reads of a skill; `own_python` runs its scripts, if `python3` can't."""
    body = visible(body)
    if len(body) > _LONGEST_BODY:
        body = f"{body[:_LONGEST_BODY]}\n\n[It goes on: read the rest of {skill.location}.]"
    lines: list[str] = [
        f'<skill name="{escaped(skill.name)}" location="{escaped(skill.location)}">',
        body,
        "",
        f"Paths in this text are relative to the skill's folder: {skill.directory}",
    ]
    own = Path(skill.location).name
    if own_python and any(entry.path.endswith(".py") for entry in listed):
        lines.append(f"Run its Python scripts with this in place of python3: {own_python}")
    others = [e.path for e in listed if e.path != own and not e.is_left_behind]
    if others:
        shown = [" ".join(visible(path).split()) for path in others[:_SHOWN_FILES]]
        more = len(others) - len(shown)
        lines += ["Its files:", *shown, *([f"… and {more} more"] if more else [])]
    return "\n".join([*lines, "</skill>"])


def _detail(skill: Skill, bounds: str) -> SkillDetail:
    try:
        body = visible(split(skill_files.read_text(bounds, skill.location)[0])[1])
        listed = _listed(skill.directory, is_whole=skill.origin == "folder")
    except (OSError, ToolError):
        # Why it can't be read stands in its problem.
        return SkillDetail(skill, "")
    files = tuple(SkillFile(visible(entry.path), entry.size) for entry in listed)
    return SkillDetail(skill, body, files)


def _listed(directory: str, *, is_whole: bool = False) -> tuple[skill_files.Entry, ...]:
    try:
        return skill_files.entries(directory, is_whole=is_whole)
    except (skill_files.TooLarge, OSError):
        return ()

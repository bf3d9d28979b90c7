"""The engine's commands and queries about skills, and about trust in what a folder brings."""

from __future__ import annotations

from desktop_agent.core.skills import SkillDetail, SkillFile, TrustDecision
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.base.engine_part import EnginePart
from desktop_agent.engine.skills.registry import Skills


class SkillCommands(EnginePart):
    """A part of the Engine. A `root` is a session's folder; empty stands for none.

    Without `_skills` there are none, and nothing that a folder brings is used.
    """

    _skills: Skills | None

    async def close_skills(self) -> None:
        """Stop watching the folders."""
        if self._skills is not None:
            await self._skills.close()

    def watch_skills(self, root: str) -> None:
        """Send out the skills of a folder, and again whenever something about them changes."""
        self._check_thread()
        if self._skills is not None:
            self._skills.watch(root)

    def rescan_skills(self) -> None:
        """Look at the disk again: something was installed or removed."""
        self._check_thread()
        if self._skills is not None:
            self._skills.rescan()

    def switch_skill(self, root: str, name: str, is_on: bool, *, only_here: bool) -> None:
        """Turn a skill on or off, everywhere or in one folder, from the next step on."""
        self._check_thread()
        if self._skills is not None:
            self._skills.switch(root, name, is_on, only_here=only_here)

    def trust_folder(
        self,
        root: str,
        decision: TrustDecision,
        *,
        is_kept: bool = True,
        digest: str | None = None,
    ) -> None:
        """Use what a folder brings along, or not. `is_kept` unset: for this run only.

        `digest` is what the user saw (FolderTrust.digest): other content is not trusted, and
        the folder's state is sent out again. Without one, what was found last is trusted.
        """
        self._check_thread()
        if self._skills is not None:
            self._skills.trust(root, decision, is_kept=is_kept, digest=digest)

    async def skill_detail(self, root: str, directory: str) -> SkillDetail | None:
        """Return a skill with its text and files; None when it is gone."""
        return await self._skills.detail(root, directory) if self._skills is not None else None

    async def provided_files(self, root: str) -> tuple[SkillFile, ...]:
        """Return the instruction and role files that a folder brings, trusted or not."""
        return await self._skills.provided_files(root) if self._skills is not None else ()

    async def remember_here(self, root: str, line: str) -> str:
        """Add a line to a folder's instructions; return the file's name. Raises ToolError."""
        if self._skills is None:
            raise ToolError("There are no instructions here.")
        return await self._skills.remember(root, line)

    async def instructions(self, root: str) -> tuple[SkillFile, ...]:
        """Return the instruction files of a folder, and of those in it, that are in use."""
        if self._skills is None:
            return ()
        await self._skills.ready(root)
        used = self._skills.catalog(root).instructions
        sizes = {entry.path: entry.size for entry in used}
        return tuple(SkillFile(path, size) for path, size in sizes.items())

"""One agent's view of the skills: what is offered to it, may be read by it, and is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from desktop_agent.core.messages import Message, TextPart, ToolResult
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.permissions.scope import Scope
from desktop_agent.engine.skills.catalog import Catalog
from desktop_agent.engine.skills.registry import Skills

TOOL = "skill"
_NONE = Catalog()


class Reader(Protocol):
    """The agent."""

    @property
    def session(self) -> Session:
        """The session whose folder counts."""
        ...

    @property
    def scope(self) -> Scope:
        """What it may use now."""
        ...

    @property
    def history(self) -> tuple[Message, ...]:
        """What it has read."""
        ...


class SkillUse:
    """Shares the session's catalog among all its agents; without the tool it has no skills.

    `skills` is None where there are none at all.
    """

    def __init__(self, agent: Reader, skills: Skills | None) -> None:
        self._agent = agent
        self._skills = skills
        self._picked: dict[str, TextPart] = {}

    @property
    def catalog(self) -> Catalog:
        """What holds for the agent now."""
        if self._skills is None:
            return _NONE
        found = self._skills.catalog(self._root)
        tools = self._agent.scope.tools
        if tools is not None and TOOL not in tools:
            return replace(found, section="", directories=())
        return found

    @property
    def workspace(self) -> Workspace:
        """The agent's folders; those of its skills join what may be read, and nothing else."""
        workspace = self._agent.scope.workspace
        directories = self.catalog.directories
        if not directories:
            return workspace
        readable = (*workspace.readable, *directories)
        return msgspec.structs.replace(workspace, readable=readable)

    async def prepare(self, notes: Callable[[], Sequence[Note]]) -> None:
        """Have everything there for the next request: the catalog, and what notes pick."""
        if self._skills is None:
            return
        await self._skills.ready(self._root)
        self._picked.clear()
        while wanted := [n for note in notes() for n in note.skills if n not in self._picked]:
            self._picked[wanted[0]] = await self._pick(wanted[0])

    def parts_for(self, note: Note) -> tuple[TextPart, ...]:
        """Return the texts of the skills that the note picks."""
        return tuple(self._picked[name] for name in note.skills if name in self._picked)

    async def load(self, name: str) -> tuple[str, PickedSkill]:
        """Return a skill's text, or a word that the agent has it already. Raises ToolError."""
        if self._skills is None:
            raise ToolError("skills are not available here")
        text = await self._skills.text(self._root, name)
        if _stands_in(self._agent.history, text):
            said = f"The skill '{name}' is loaded already; its text above is unchanged."
            return said, PickedSkill(name, "known")
        return text, PickedSkill(name)

    async def _pick(self, name: str) -> TextPart:
        try:
            return TextPart(*await self.load(name))
        except ToolError as error:
            return TextPart(str(error).removeprefix("Error: "), PickedSkill(name, "failed"))

    @property
    def _root(self) -> str:
        return self._agent.session.info.workspace.root


def _stands_in(history: Sequence[Message], text: str) -> bool:
    for message in history:
        for part in message.parts:
            if isinstance(part, TextPart | ToolResult) and part.text.strip() == text:
                return True
    return False

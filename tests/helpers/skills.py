"""Skills on disk, and a catalog of them that looks often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from desktop_agent.adapters.skills.state import SkillState
from desktop_agent.core.events import Event, SkillsChanged
from desktop_agent.core.skills import Skill
from desktop_agent.engine.skills.catalog import Places
from desktop_agent.engine.skills.registry import Skills
from tests.helpers.patience import HANG_S


def put_skill(
    place: Path, name: str, *, head: str | None = None, body: str = "", **files: str
) -> Path:
    """Write a skill into a place; `head` replaces its whole front matter. Files: `a_md="…"`."""
    folder = place / name
    folder.mkdir(parents=True, exist_ok=True)
    head = f"name: {name}\ndescription: Does {name} well." if head is None else head
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n{body or f'How to do {name}.'}\n")
    for file, content in files.items():
        path = folder / file.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


class Shelf:
    """A folder `work`, the person's own places, and a live catalog that says what changed."""

    def __init__(self, tmp_path: Path, *, own_python: str = "", pause_s: float = 0.02) -> None:
        base = tmp_path.resolve()
        self.root = base / "work"
        self.mine, self.others = base / "mine", base / "home" / ".agents" / "skills"
        self.claude, self.bundled = base / "home" / ".claude" / "skills", base / "bundled"
        self.roles, self.config = base / "home" / ".agents" / "agents", base / "config"
        for folder in (self.root, self.config):
            folder.mkdir(parents=True, exist_ok=True)
        self.folder = self.root / ".agents" / "skills"
        self.state = SkillState(self.config)
        places = Places(self.mine, (self.others, self.claude), self.bundled, (self.roles,))
        self._make = lambda emit: Skills(
            places, self.state, emit, own_python=own_python, pause_s=pause_s
        )
        self.events: list[SkillsChanged] = []
        self.others_heard: list[Event] = []
        self._came = asyncio.Event()
        self.skills = self._make(self._hear)

    def make_skills(self, emit: Callable[[Event], None]) -> Skills:
        """Return the catalog for an engine; it takes the place of the shelf's own."""
        self.skills = self._make(emit)
        return self.skills

    def _hear(self, event: Event) -> None:
        if isinstance(event, SkillsChanged):
            self.events.append(event)
        else:
            self.others_heard.append(event)
        self._came.set()

    @property
    def place(self) -> str:
        """The folder's path, as a session knows it."""
        return str(self.root)

    @property
    def now(self) -> SkillsChanged:
        """What was said last."""
        return self.events[-1]

    async def look(self) -> SkillsChanged:
        """Begin to watch the folder and wait for the first word on it."""
        self.skills.watch(self.place)
        return await self.until(lambda event: event.root == self.place)

    async def until(self, is_wanted: Callable[[SkillsChanged], bool]) -> SkillsChanged:
        """Wait until the newest word is what is wanted."""
        async with asyncio.timeout(HANG_S):
            while not self.events or not is_wanted(self.events[-1]):
                self._came.clear()
                await self._came.wait()
        return self.events[-1]

    def named(self, name: str) -> list[Skill]:
        """All skills of a name, in the order they were found."""
        return [skill for skill in self.now.skills if skill.name == name]

    def one(self, name: str) -> Skill:
        """The only skill of a name."""
        (skill,) = self.named(name)
        return skill

    def usable(self) -> list[str]:
        """The names agents are told of."""
        return [skill.name for skill in self.skills.catalog(self.place).usable]

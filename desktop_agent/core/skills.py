"""Skills as values, and what a folder brings along that waits for the user's trust."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.messages import Value

# This folder, Mine, From other apps, Built in.
SkillOrigin = Literal["folder", "mine", "other_app", "bundled"]

TrustDecision = Literal["trust", "ignore", "forget"]


class SkillFile(Value, frozen=True):
    """A file of a skill: its path below the skill's folder, with `/`, and its size in bytes."""

    path: str
    size: int


class Skill(Value, frozen=True):
    """A skill that was found, usable or not. `directory` and `location` (its SKILL.md) are real.

    `warnings` and `problem` are words for the user; one with a problem can't be used at all.
    `needs` is what it needs and this computer lacks. `is_enabled` is the user's switch, the
    folder's own applied. `is_trusted` is only ever false for a folder's own skill; `is_changed`
    tells that it was trusted and is not what it was. `shadowed_by` is the directory of the
    skill of the same name that wins. `scripts` are words (`2 Python`), `tokens` what it takes
    in each request, about. `source` and `commit` tell where it was installed from.
    """

    name: str
    description: str
    directory: str
    location: str
    origin: SkillOrigin
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    needs: tuple[str, ...] = ()
    is_enabled: bool = True
    is_trusted: bool = True
    is_changed: bool = False
    shadowed_by: str = ""
    scripts: tuple[str, ...] = ()
    tokens: int = 0
    source: str = ""
    commit: str = ""
    times_used: int = 0

    @property
    def is_usable(self) -> bool:
        """Whether agents see it and may load it."""
        is_sound = not self.problem and not self.shadowed_by
        return is_sound and self.is_enabled and self.is_trusted


class SkillDetail(Value, frozen=True):
    """A skill with its text (the Markdown behind the front matter) and its files."""

    skill: Skill
    body: str
    files: tuple[SkillFile, ...] = ()


class FolderTrust(Value, frozen=True):
    """How a folder stands. `brings` is in words (`2 skills`); empty: there is nothing to trust.

    `changed` are the paths below `root` that are new or different since it was trusted: they
    are used again only after it is trusted again. `digest` names exactly what is provided: trust
    is given to that. `is_refused`: trust was just given to something else than what is there.
    `has_servers`: MCP servers are among it, which start as soon as they are trusted.
    """

    root: str
    is_trusted: bool = False
    is_ignored: bool = False
    brings: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    digest: str = ""
    is_refused: bool = False
    has_servers: bool = False

"""Skills that were fetched and are not installed yet, and updates that wait for the user."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.messages import Value
from desktop_agent.core.skills import SkillFile

# The user's own skills, or the `.agents/skills` of the folder worked in.
InstallTarget = Literal["mine", "folder"]


class SkillLibraryError(Exception):
    """What could not be done with a skill, in words that tell the user what to do."""


class FoundSkill(Value, frozen=True):
    """A skill in what was fetched. `folder` is its path in there, with `/`; empty: all of it.

    `scripts` and `warnings` are words. One with a `problem` can't be installed. `clash` tells
    what of the user's own an installation would replace, `twin` where another of its name is
    that comes first: one of them can be installed. `tokens` is what it takes in each request.
    """

    name: str
    description: str
    folder: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    files: tuple[SkillFile, ...] = ()
    scripts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    clash: str = ""
    twin: str = ""
    tokens: int = 0


class Fetched(Value, frozen=True):
    """What an address gave. It lies in a private folder until it is discarded.

    `commit` is empty unless it came from a git repository. `skipped` says in words what was
    left out and why.
    """

    id: str
    source: str
    commit: str = ""
    skills: tuple[FoundSkill, ...] = ()
    skipped: tuple[str, ...] = ()


class SkillUpdate(Value, frozen=True):
    """A newer version of an installed skill, fetched and not in place yet.

    `diff` is a unified one, shortened when it is very long. `warnings` are words: that the
    person changed files which the update replaces, or what the new version lacks.
    """

    id: str
    directory: str
    name: str
    commit: str = ""
    diff: str = ""
    files_changed: int = 0
    warnings: tuple[str, ...] = ()

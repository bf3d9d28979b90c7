"""Skills as the window gets them, for its tests."""

from __future__ import annotations

from typing import Any

from desktop_agent.core.skill_install import Fetched, FoundSkill
from desktop_agent.core.skills import FolderTrust, Skill, SkillDetail, SkillFile, SkillOrigin

ROOT = "/home/ada/shop"


def skill(
    name: str,
    origin: SkillOrigin = "mine",
    description: str = "",
    *,
    where: str = "skills",
    **changes: Any,
) -> Skill:
    directory = f"/home/ada/{where}/{name}"
    about = description or f"Does {name} things"
    return Skill(name, about, directory, f"{directory}/SKILL.md", origin, **changes)


def untrusted(name: str, **changes: Any) -> Skill:
    return skill(name, "folder", where="shop/.agents/skills", is_trusted=False, **changes)


SKILLS = (
    skill("review", "folder", "Looks for mistakes in a change", scripts=("1 Python",)),
    skill("invoice", source="https://example.com/skills", commit="4f1c2a9e8d7"),
    skill("minutes", is_enabled=False),
    skill("broken", description="-", problem="The description is missing."),
    skill(
        "pdf",
        "bundled",
        needs=("It needs the program pandoc, which this computer does not have.",),
    ),
    skill("design", "other_app", warnings=("The name is longer than 64 characters.",)),
    skill("pdf", "other_app", where="other", shadowed_by="/home/ada/skills/pdf"),
)


def many(count: int) -> tuple[Skill, ...]:
    """Return this many skills of all origins, with words as real ones have them."""
    origins: tuple[SkillOrigin, ...] = ("folder", "mine", "bundled", "other_app")
    return tuple(
        skill(
            f"skill-{number}",
            origins[number % 4],
            f"Number {number}: reads files, writes reports and checks them, {number % 7} times",
            scripts=("2 Python",) if number % 3 else (),
            warnings=("The name differs from its directory.",) if number % 11 == 0 else (),
            is_enabled=number % 5 > 0,
        )
        for number in range(count)
    )


def detail(one: Skill, body: str = "# How\n\nStep by step.") -> SkillDetail:
    files = (SkillFile("SKILL.md", 400), SkillFile("scripts/run.py", 2_700))
    return SkillDetail(one, body, files)


def trust(**changes: Any) -> FolderTrust:
    return FolderTrust(
        **{"root": ROOT, "brings": ("2 skills", "AGENTS.md"), "digest": "d1", **changes}
    )


def found(name: str, **changes: Any) -> FoundSkill:
    values = {"files": (SkillFile("SKILL.md", 10), SkillFile("scripts/a.py", 20)), **changes}
    return FoundSkill(name, f"Does {name} things", f"skills/{name}", **values)


def fetched(*skills: FoundSkill, **changes: Any) -> Fetched:
    return Fetched("f1", "https://example.com/skills", "4f1c2a9e8d7", skills, **changes)

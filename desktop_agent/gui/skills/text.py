"""What the window says of a skill, and of a folder that provides skills, roles, instructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication

from desktop_agent.core.skills import FolderTrust, Skill, SkillOrigin
from desktop_agent.gui.skills.icons import skill_icon

translate = QCoreApplication.translate

ORIGINS: tuple[SkillOrigin, ...] = ("folder", "mine", "bundled", "other_app")
_COMMIT_LETTERS = 7
_FEW = 3


def origin_title(origin: SkillOrigin) -> str:
    """Return the name of a group of skills."""
    titles = {
        "folder": translate("Skills", "This folder"),
        "mine": translate("Skills", "Mine"),
        "bundled": translate("Skills", "Built in"),
        "other_app": translate("Skills", "From other apps"),
    }
    return titles[origin]


def origin_word(origin: SkillOrigin) -> str:
    """Return the word at the trailing end of a row."""
    words = {
        "folder": translate("Skills", "this folder"),
        "mine": translate("Skills", "mine"),
        "bundled": translate("Skills", "built in"),
        "other_app": translate("Skills", "other app"),
    }
    return words[origin]


def state_badge(skill: Skill) -> tuple[str, str]:
    """Return what is worth knowing before the skill is used, and its tone; empty when fine."""
    if skill.problem:
        return translate("Skills", "can't be used"), "err"
    if skill.is_changed:
        return translate("Skills", "changed"), "warn"
    if not skill.is_trusted:
        return translate("Skills", "not trusted"), "warn"
    if skill.shadowed_by:
        return translate("Skills", "shadowed"), ""
    if skill.needs:
        return translate("Skills", "needs setup"), "warn"
    if skill.warnings:
        return translate("Skills", "warning"), ""  # most public ones have one; nothing is to do
    return "", ""


def setup_text(skill: Skill) -> str:
    """Return what an agent is asked for, to have a skill work on this computer."""
    words = translate(
        "Skills",
        "Get this computer ready for the skill {name}. {needs} First say what you would install, "
        "and from where.",
    )
    return words.format(name=skill.name, needs=" ".join(skill.needs))


def state_icon(skill: Skill) -> tuple[str, str]:
    """Return the icon of a skill and its colour."""
    if skill.problem:
        return "circle-x", "err"
    if skill.is_changed or not skill.is_trusted:
        return "shield-alert", "warn"
    return skill_icon(skill), "muted"


def content_text(scripts: tuple[str, ...], allowed_tools: str) -> str:
    """Say what is in a skill, as it is asked before it is installed."""
    words = [translate("Skills", "text only")]
    if scripts:
        kinds = ", ".join(scripts)
        words = [translate("Skills", "has scripts: {kinds}").format(kinds=kinds)]
    if allowed_tools:
        words.append(translate("Skills", "asks for tools: {tools}").format(tools=allowed_tools))
    return " · ".join(words)


def spoken(skill: Skill) -> str:
    """Return a row as a screen reader says it; whether it is on is said by its switch."""
    badge, _ = state_badge(skill)
    parts = (
        skill.name,
        skill.description,
        origin_word(skill.origin),
        badge,
        translate("Skills", "has scripts") if skill.scripts else "",
    )
    return ", ".join(part for part in parts if part)


def in_words(name: str) -> str:
    """Return a name as it stands in a sentence, also at its beginning: each keeps its direction."""
    if name.isascii():
        return name
    is_mirrored = QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    mark = "\u200f" if is_mirrored else "\u200e"
    return f"{mark}\u2068{name}\u2069"


def few_names(names: Sequence[str]) -> str:
    """Name some, or the first of many."""
    if len(names) <= _FEW + 1:
        return ", ".join(map(in_words, names))
    words = translate("Skills", "{names} and {n} more")
    return words.format(names=", ".join(map(in_words, names[:_FEW])), n=len(names) - _FEW)


def used_text(count: int) -> str:
    """Say how often a skill was used."""
    if not count:
        return translate("Skills", "Not used yet")
    if count == 1:
        return translate("Skills", "Used once")
    return translate("Skills", "Used {n} times").format(n=count)


def source_text(skill: Skill) -> str:
    """Say where an installed skill is from; empty for those that were not fetched."""
    if not skill.source:
        return ""
    if not skill.commit:
        return skill.source
    return f"{skill.source} @ {skill.commit[:_COMMIT_LETTERS]}"


def why_not_usable(skill: Skill | None) -> str:
    """Say why a message can't take a skill along; empty when it can."""
    if skill is None:
        return translate("Skills", "This skill is not there any more.")
    if skill.problem:
        return skill.problem
    if not skill.is_trusted:
        return translate("Skills", "Trust this folder to use its skills.")
    if not skill.is_enabled:
        return translate("Skills", "This skill is switched off.")
    return ""


# -- trust in a folder ---------------------------------------------------------------------


def is_asking(trust: FolderTrust) -> bool:
    """Whether the user has something to decide: what is ignored stays so."""
    if not trust.brings or trust.is_ignored:
        return False
    return not trust.is_trusted or bool(trust.changed)


def banner_text(trust: FolderTrust) -> str:
    """Say what waits for the user's word."""
    if trust.is_refused:
        return meanwhile_text()
    if trust.is_trusted and trust.changed:
        if len(trust.changed) == 1:
            words = translate("Trust", "{what} changed since you trusted this folder.")
            return words.format(what=trust.changed[0])
        words = translate("Trust", "{n} things changed since you trusted this folder.")
        return words.format(n=len(trust.changed))
    if trust.has_servers:
        words = translate(
            "Trust",
            "This folder brings {what}. If you trust it, the agent follows them and servers start.",
        )
    else:
        words = translate(
            "Trust", "This folder brings {what}. The agent follows them if you trust it."
        )
    return words.format(what=joined(trust.brings))


def meanwhile_text() -> str:
    """Say that what was looked at is not what is there now."""
    return translate("Trust", "This folder changed meanwhile; review it again.")


def state_text(trust: FolderTrust) -> str:
    """Say how a folder stands; empty when it brings nothing."""
    if not trust.brings:
        return ""
    if trust.is_ignored:
        return translate("Trust", "Ignored: what it brings is not used.")
    if not trust.is_trusted:
        return translate("Trust", "Not trusted: what it brings is not used.")
    if trust.changed:
        return translate("Trust", "Trusted; what changed since is not used.")
    return translate("Trust", "Trusted: what it brings is used.")


def joined(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    both = translate("Trust", "{some} and {last}")
    return both.format(some=", ".join(words[:-1]), last=words[-1])


def folder_name(root: str) -> str:
    """Return a folder's own name."""
    return PurePath(root).name or root

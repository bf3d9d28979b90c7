"""What the demo model says of skills: it is given their texts, and follows none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.model_host.demo.history import parts_of
from desktop_agent.model_host.demo.markdown import code, counted

_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.M)
_FILES = re.compile(r"^Its files:\n(.*)\n</skill>\s*\Z", re.M | re.S)
_MORE = re.compile(r"… and (\d{1,9}) more")
_LISTED = re.compile(r"<available_skills>(.*?)</available_skills>", re.S)
_NOT_MINE = "I'm a script and don't follow skills; a real model does."


def on_skills(messages: Sequence[Message]) -> str:
    """Return what is said of the skills that the person put into these messages."""
    told = [
        _about(origin, text)
        for origin, text in parts_of(messages)
        if isinstance(origin, PickedSkill)
    ]
    return " ".join([*dict.fromkeys(told), _NOT_MINE]) if told else ""


def on_result(result: ToolResult) -> str:
    """Return what is said to the answer of the tool that loads a skill."""
    if isinstance(result.facts, PickedSkill):
        return f"{_about(result.facts, result.text)} {_NOT_MINE}"
    return f"I was given a skill. {_NOT_MINE}"


def on_listed(system: str) -> str:
    """Return what is said of the skills that a prompt offers; empty when there are none."""
    section = _LISTED.search(system)
    number = len(re.findall(r"^<name>", section.group(1), re.M)) if section else 0
    if not number:
        return ""
    are = "is" if number == 1 else "are"
    return f"{counted(number, 'skill')} {are} offered to me, too. {_NOT_MINE}"


def _about(skill: PickedSkill, text: str) -> str:
    name = code(skill.name)
    if skill.status == "failed":
        return f"The skill {name} that you picked could not be loaded."
    if skill.status == "known":
        return f"I have the text of the skill {name} already."
    heading = _HEADING.search(text)
    parts = [f"begins with {code(heading.group(1), 70)}"] if heading else []
    if files := _files(text):
        parts.append(f"names {counted(files, 'file')}")
    held = f", which {' and '.join(parts)}" if parts else ""
    return f"I was given the text of the skill {name}{held}."


def _files(text: str) -> int:
    listed = _FILES.search(text)
    if listed is None:
        return 0
    lines = listed.group(1).splitlines()
    more = _MORE.fullmatch(lines[-1]) if lines else None
    return len(lines) - 1 + int(more.group(1)) if more else len(lines)

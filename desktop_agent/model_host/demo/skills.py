"""What the demo model does with skills: it loads one, says what it was given, follows none."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.model_host.demo.history import (
    Done,
    done_calls,
    listed_paths,
    parts_of,
    since_last_answer,
)
from desktop_agent.model_host.demo.markdown import code, counted
from desktop_agent.model_host.demo.step import Step, Want, joined

_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.M)
_END = "\n</skill>"
_MORE = re.compile(r"… and (\d{1,9}) more")
_LISTED = re.compile(
    r"<available_skills>((?:(?!</?available_skills>).)*+)</available_skills>", re.S
)
_OFFERED = re.compile(r"^<name>(.*)</name>\n<description>(.*)</description>$", re.M)
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


def with_skill(step: Step, messages: Sequence[Message], tools: frozenset[str], system: str) -> Step:
    """Have a survey load one skill beside the first files that it reads, and say what came."""
    done = [one for one in done_calls(messages) if not one.was_cut]
    loaded = [one for one in done if one.call.name == "skill"]
    if loaded:
        fresh = {r.call_id for message in since_last_answer(messages) for r in message.results}
        told = [_came(one) for one in loaded if one.call.id in fresh]
        return replace(step, text=joined(*told, step.text)) if told else step
    lists = [one.result.text for one in done if one.call.name == "glob"]
    name = _fitting(system, listed_paths("\n".join(lists)))
    is_reading = any(want.name == "read" for want in step.wants)
    if not (name and is_reading and "skill" in tools):
        return step
    words = f"I load the skill {code(name)}, too: of those offered to me it fits these files best."
    wants = (Want("skill", {"name": name}), *step.wants)
    return replace(step, text=joined(step.text, words), wants=wants)


def _came(done: Done) -> str:
    if done.result.is_error:
        return f"The skill {code(str(done.call.arguments.get('name', '')))} could not be loaded."
    return on_result(done.result)


def _fitting(system: str, paths: Sequence[str]) -> str:
    """Return the first skill that names the kind of a file that is there; else the first of all."""
    section = _LISTED.search(system)
    offered = _OFFERED.findall(section.group(1)) if section else []
    kinds = {path.rpartition(".")[2].lower() for path in paths if "." in path}
    fitting = (n for n, about in offered if kinds & set(re.findall(r"\w+", about.lower())))
    return html.unescape(next(fitting, offered[0][0] if offered else ""))


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
    listed = f"\n{text}".partition("\nIts files:\n")[2].rstrip()
    if not listed.endswith(_END):
        return 0
    lines = listed.removesuffix(_END).splitlines()
    more = _MORE.fullmatch(lines[-1]) if lines else None
    return len(lines) - 1 + int(more.group(1)) if more else len(lines)

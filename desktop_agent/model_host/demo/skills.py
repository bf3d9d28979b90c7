"""What the demo model does with skills: it loads one, says what it was given, follows none."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.prose.markdown import code, counted
from desktop_agent.model_host.demo.history import Done
from desktop_agent.model_host.demo.script import SCRIPT, WORDS, says

_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.M)
_MORE = re.compile(r"… and (\d{1,9}) more")
_OFFERED = re.compile(r"^<name>(.*)</name>(?:\n<description>(.*)</description>$)?", re.M)


def on_picked(found: Iterable[tuple[PickedSkill, str]]) -> str:
    """Return what is said of the skills that the person put into messages."""
    told = dict.fromkeys(_about(skill, text) for skill, text in found)
    return " ".join([*told, WORDS["unskilled"]]) if told else ""


def _about(skill: PickedSkill, text: str) -> str:
    heading = _HEADING.search(text)
    held = [f"begins with {code(heading[1], 70)}"] if heading else []
    names = text.partition("\nIts files:\n")[2].rstrip().removesuffix("\n</skill>").splitlines()
    more = _MORE.fullmatch(names[-1]) if names else None
    files = len(names) - 1 + int(more[1]) if more else len(names)
    held += [f"names {counted(files, 'file')}"] if files else []
    return says(SCRIPT["skills"][skill.status], {"name": skill.name, "held": " and ".join(held)})


def on_loaded(done: Done) -> str:
    """Return what is said to the answer of the tool that loads a skill."""
    if done.is_error:
        return f"The skill {code(done.given('name'))} could not be loaded."
    if isinstance(done.facts, PickedSkill):
        return on_picked([(done.facts, done.text)])
    return f"I was given a skill. {WORDS['unskilled']}"


def offered(system: str) -> list[tuple[str, str]]:
    """Return name and description of each skill that a prompt offers."""
    section = system.partition("<available_skills>")[2].partition("</available_skills>")[0]
    return _OFFERED.findall(section)


def on_offered(system: str) -> str:
    """Return what is said of the skills that a prompt offers; empty when there are none."""
    number = len(offered(system))
    told = counted(number, "skill is", "skills are")
    return f"{told} offered to me, too. {WORDS['unskilled']}" if number else ""


def fitting(system: str, paths: Sequence[str]) -> str:
    """Return the first skill that names the kind of a file that is there; else the first of all."""
    names = offered(system)
    kinds = {path.rpartition(".")[2].lower() for path in paths if "." in path}
    fits = [name for name, about in names if kinds & set(re.findall(r"\w+", about.lower()))]
    return html.unescape(next(iter([*fits, *(name for name, _ in names)]), ""))

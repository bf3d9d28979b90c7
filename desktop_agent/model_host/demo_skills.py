"""What the demo model says of skills: it is given their texts, and follows none."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from desktop_agent.core.messages import Message, TextPart
from desktop_agent.model_host.demo_history import is_skill
from desktop_agent.model_host.demo_markdown import code, counted

_NAMED = re.compile(
    r"<skill name=(?:\"(?P<given>[^\"\n]*)\"|'(?P<given_too>[^'\n]*)')"
    r"|The skill '(?P<again>[^'\n]*)'"
    r"|\[The person picked the skill '(?P<lost>[^'\n]*)'"
)
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.M)
_END = "\n</skill>"
_MORE = re.compile(r"… and (\d{1,9}) more")
_LISTED = re.compile(
    r"<available_skills>((?:(?!</?available_skills>).)*+)</available_skills>", re.S
)
_NOT_MINE = "I'm a script and don't follow skills; a real model does."


def on_skills(messages: Sequence[Message]) -> str:
    """Return what is said of the skills that the person put into these messages."""
    told = [
        _about(part.text)
        for message in messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, TextPart) and is_skill(part.text)
    ]
    return " ".join([*dict.fromkeys(told), _NOT_MINE]) if told else ""


def on_result(text: str) -> str:
    """Return what is said to the answer of the tool that loads a skill."""
    return f"{_about(text)} {_NOT_MINE}"


def on_listed(system: str) -> str:
    """Return what is said of the skills that a prompt offers; empty when there are none."""
    section = _LISTED.search(system)
    number = len(re.findall(r"^<name>", section.group(1), re.M)) if section else 0
    if not number:
        return ""
    are = "is" if number == 1 else "are"
    return f"{counted(number, 'skill')} {are} offered to me, too. {_NOT_MINE}"


def _about(text: str) -> str:
    match = _NAMED.match(text.strip())
    if match is None:
        return "I was given a skill."
    name = html.unescape(next((name for name in match.groups() if name), ""))
    if match["lost"]:
        return f"The skill {code(name)} that you picked could not be loaded."
    if match["again"]:
        return f"I have the text of the skill {code(name)} already."
    heading = _HEADING.search(text)
    parts = [f"begins with {code(heading.group(1), 70)}"] if heading else []
    if files := _files(text):
        parts.append(f"names {counted(files, 'file')}")
    held = f", which {' and '.join(parts)}" if parts else ""
    return f"I was given the text of the skill {code(name)}{held}."


def _files(text: str) -> int:
    listed = f"\n{text}".partition("\nIts files:\n")[2].rstrip()
    if not listed.endswith(_END):
        return 0
    lines = listed.removesuffix(_END).splitlines()
    more = _MORE.fullmatch(lines[-1]) if lines else None
    return len(lines) - 1 + int(more.group(1)) if more else len(lines)

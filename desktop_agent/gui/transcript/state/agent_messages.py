"""What subagents told their parent, taken out of the message that it came in. No Qt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, Part, TextPart
from desktop_agent.gui.transcript.state.items import AgentMessageItem, AgentMessageKind, Item
from desktop_agent.gui.transcript.state.message_items import user_item

_WHO = r"(?P<name>.+?) \((?P<id>sa_[0-9a-f]+)\)"
_FORMS: tuple[tuple[AgentMessageKind, re.Pattern[str]], ...] = (
    (
        "question",
        re.compile(
            rf"\s*\[Question from (?>{_WHO}\] )(?P<text>.*)\nIt waits for answer_child", re.S
        ),
    ),
    ("report", re.compile(rf"\s*\[Report from (?>{_WHO}: (?P<state>\w+)\])\n?(?P<text>.*)", re.S)),
    ("notice", re.compile(rf"\s*\[The user told (?>{_WHO}: )(?P<text>.*)\]\s*", re.S)),
)


def user_items(message: Message, old: Item | None) -> list[Item]:
    """Return a user message as items: what subagents told one by one, then the rest."""
    told: list[Item] = []
    rest: list[Part] = []
    for part in message.parts:
        one = _told(part, f"{message.id}/told/{len(told)}")
        if one is None:
            rest.append(part)
        else:
            told.append(one)
    if told and not rest:
        return told
    left = msgspec.structs.replace(message, parts=tuple(rest)) if told else message
    return [*told, user_item(left, old)]


def asked_now(items: Iterable[Item], agents: Sequence[AgentInfo]) -> list[Item]:
    """Return new items, with the questions open that are known to wait already."""
    fresh = list(items)
    waiting = {item.key: item for item in followed(fresh, agents) if item.state == "open"}
    return [waiting.get(item.key, item) for item in fresh]


def followed(items: Iterable[Item], agents: Sequence[AgentInfo]) -> list[AgentMessageItem]:
    """Return the questions that wait now and did not, or the other way round."""
    asked = [
        item for item in items if isinstance(item, AgentMessageItem) and item.kind == "question"
    ]
    if not asked:
        return []
    asking = {info.id: " ".join(info.question.split()) for info in agents if info.question}
    changed: list[AgentMessageItem] = []
    for item in asked:
        waits = asking.get(item.agent_id, "") == " ".join(item.text.split())
        state = "open" if waits else "closed"
        if state != item.state:
            changed.append(replace(item, state=state))
    return changed


def _told(part: Part, key: str) -> AgentMessageItem | None:
    if not isinstance(part, TextPart):
        return None
    for kind, form in _FORMS:
        found = form.match(part.text)
        if found is not None:
            state = found["state"] if kind == "report" else "new" if kind == "question" else ""
            who = AgentId(found["id"])
            return AgentMessageItem(key, kind, who, found["name"], found["text"].strip(), state)
    return None

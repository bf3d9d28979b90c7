"""Messages of subagents to their parent, and which of their questions are open. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.messages import TextPart
from desktop_agent.core.parts.origins import ChildQuestion, Report, ToldChild
from desktop_agent.gui.transcript.state.items import AgentMessageItem, Item


def agent_message_item(part: TextPart, key: str) -> AgentMessageItem | None:
    """Return the message from or to a subagent; None for any other part."""
    text = part.text.strip()
    match part.origin:
        case Report(agent_id=who, name=name, status=status, remarks=remarks):
            words = "\n".join(line for line in (text, *remarks) if line)
            return AgentMessageItem(key, "report", who, name or who, words, status)
        case ChildQuestion(agent_id=who, name=name, question_id=question_id):
            return AgentMessageItem(key, "question", who, name or who, text, "new", question_id)
        case ToldChild(agent_id=who, name=name):
            return AgentMessageItem(key, "notice", who, name or who, text)
        case _:
            return None


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
    asking = {info.question_id for info in agents if info.question_id}
    changed: list[AgentMessageItem] = []
    for item in asked:
        state = "open" if item.question_id in asking else "closed"
        if state != item.state:
            changed.append(replace(item, state=state))
    return changed

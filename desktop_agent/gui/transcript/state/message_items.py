"""From a message of a history to the items that show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby

import msgspec

from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import ImagePart, Message, TextPart, ThinkingPart
from desktop_agent.core.parts.origins import (
    AttachedFile,
    ChildQuestion,
    FilesUndone,
    Origin,
    PickedSkill,
    Report,
    ServerResource,
    Spoken,
    TaskEdits,
    TaskListShown,
    ToldChild,
)
from desktop_agent.gui.transcript.state.items import (
    AgentMessageItem,
    AnswerItem,
    Item,
    Speaker,
    ThinkingItem,
    UserItem,
)

# A file or a skill in a session of before parts had an origin: too long to be shown.
_OLD_FILE = re.compile(r'\s*<file path="([^"\n]{0,4096})">\n')
_OLD_SKILL = re.compile(r'\n\n<skill name="([^"\n]{0,256})" location=')


class _Said(msgspec.Struct):
    """What one party says in a message."""

    speaker: Speaker
    texts: list[str] = []
    attachments: list[str] = []
    skills: list[str] = []
    problems: list[tuple[str, str]] = []
    pictures: list[ImagePart] = []


def segment_key(message_id: str, number: int, kind: str) -> str:
    """Return the key of a message's n-th run of `text` or `thinking`."""
    return f"{message_id}/{number}/{kind}"


def user_items(message: Message, known: Callable[[str], Item | None]) -> list[Item]:
    """Return a user message as items: one item for each message of a subagent, and who else speaks.

    `known` gives the item that a key has already. The last who speaks has the message's key.
    """
    items: list[Item] = []
    said: list[_Said] = []
    for part in message.parts:
        key = f"{message.id}/told/{len(items)}"
        sent = _agent_message(part, key) if isinstance(part, TextPart) else None
        if sent is not None:
            items.append(sent)
        elif isinstance(part, TextPart):
            _add_text(part, said, message)
        elif isinstance(part, ImagePart):
            speaking = _speaking("user", said)
            speaking.attachments.append(part.name or "image")
            speaking.pictures.append(part)
    for number, one in enumerate(said):
        key = message.id if one is said[-1] else f"{message.id}/said/{number}"
        items.append(_item(key, one, message, known(key)))
    return items or [_item(message.id, _Said("user"), message, known(message.id))]


def _agent_message(part: TextPart, key: str) -> AgentMessageItem | None:
    """Return the message from or to a subagent; None for any other part."""
    text = part.text.strip()
    match part.origin:
        case Report(agent_id=who, name=name, status=status, remarks=remarks):
            whole = "\n".join(line for line in (text, *remarks) if line)
            return AgentMessageItem(key, "report", who, name or who, whole, status)
        case ChildQuestion(agent_id=who, name=name, question_id=question_id):
            return AgentMessageItem(key, "question", who, name or who, text, "new", question_id)
        case ToldChild(agent_id=who, name=name):
            return AgentMessageItem(key, "notice", who, name or who, text)
        case FilesUndone():
            return AgentMessageItem(key, "undone", AgentId(""), "", text)
        case _:
            return None


def _add_text(part: TextPart, said: list[_Said], message: Message) -> None:
    match part.origin:
        case AttachedFile(path=path):
            _speaking("user", said).attachments.append(path or "file")
        case ServerResource(server=server, uri=uri, name=name):
            _speaking("user", said).attachments.append(f"{server}: {name or uri}")
        case PickedSkill(name=name, status=status):
            speaking = _speaking("user", said)
            speaking.skills.append(name)
            if status == "failed":
                speaking.problems.append((name, part.text))
        case TaskListShown():
            pass  # the panel shows the list
        case None if message.sender in {"", "user"} and _add_old(part.text, said):
            pass
        case origin:
            speaker = _speaker(origin, message)
            _speaking(speaker, said).texts.append(part.text.strip("\n"))


def _add_old(text: str, said: list[_Said]) -> bool:
    """Name what an old message holds beside its text; False if this is no such part."""
    file, skill = _OLD_FILE.match(text), _OLD_SKILL.match(text)
    if file is not None or skill is not None:
        import html  # brings the names of 2,000 characters: only for an old session

        if file is not None:
            _speaking("user", said).attachments.append(html.unescape(file[1]))
        elif skill is not None:
            _speaking("user", said).skills.append(html.unescape(skill[1]))
    return file is not None or skill is not None


def _speaker(origin: Origin | None, message: Message) -> Speaker:
    match origin:
        case None:
            return "user" if message.sender in {"", "user"} else "agent"
        case Spoken(sender=sender):
            return sender
        case TaskEdits():
            return "edits"
        case _:
            return "app"


def _speaking(speaker: Speaker, said: list[_Said]) -> _Said:
    """Return the item for the speaker's text: the last one, or a new one."""
    if not said or said[-1].speaker != speaker:
        said.append(_Said(speaker))
    return said[-1]


def _item(key: str, said: _Said, message: Message, old: Item | None) -> UserItem:
    known = old if isinstance(old, UserItem) else None
    return UserItem(
        key,
        "\n\n".join(said.texts),
        tuple(said.attachments),
        message.note_ids,
        known.state if known else ("sending" if message.note_ids else ""),
        known.step if known else 0,
        known.at if known else message.created_at,
        said.speaker,
        tuple(said.skills),
        tuple(said.problems),
        tuple(said.pictures),
    )


def segments(message: Message, *, is_partial: bool) -> Iterator[AnswerItem | ThinkingItem]:
    """Yield the runs of text and of reasoning, keyed as their deltas were."""
    spoken = [p for p in message.parts if isinstance(p, TextPart | ThinkingPart) and p.text]
    for number, (kind, run) in enumerate(groupby(spoken, key=type)):
        text = "".join(part.text for part in run)
        if kind is ThinkingPart:
            yield ThinkingItem(segment_key(message.id, number, "thinking"), text)
        else:
            key = segment_key(message.id, number, "text")
            yield AnswerItem(key, text, is_partial=is_partial)

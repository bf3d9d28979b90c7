"""From a message of a history to the items that show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from desktop_agent.core.messages import ImagePart, Message, TextPart, ThinkingPart
from desktop_agent.core.notes import unframed
from desktop_agent.gui.transcript.state.items import AnswerItem, Item, ThinkingItem, UserItem

_ATTACHED = re.compile(r'\s*<file path="([^"]*)">\n')
# What the engine adds for a skill that was picked: its text, or why there is none.
_SKILL = re.compile(
    r"""\n\n(?:<skill\ name=(?:"([^"]*)"|'([^']*)')\ location="""
    r"""|The\ skill\ '([^']*)'\ is\ loaded\ already;)""",
    re.VERBOSE,
)
_UNLOADED = re.compile(
    r"\n\n\[The person picked the skill '([^']*)' for this, but (.*)\]", re.DOTALL
)


def segment_key(message_id: str, number: int, kind: str) -> str:
    """Return the key of a message's n-th run of `text` or `thinking`."""
    return f"{message_id}/{number}/{kind}"


def user_item(message: Message, old: Item | None) -> UserItem:
    """Return a user's message; files and skills are named, their contents are not shown."""
    texts: list[str] = []
    attachments: list[str] = []
    skills: list[str] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if (attached := _ATTACHED.match(text)) is not None:
                attachments.append(_unescaped(attached[1]))
            case TextPart(text=text) if name := _skill_name(text):
                skills.append(name)
            case TextPart(text=text):
                # Who speaks stands above it; of several the frames tell them apart.
                texts.append(unframed(text) if len(message.note_ids) == 1 else text)
            case ImagePart():
                attachments.append(part.name or "image")
            case _:
                pass
    known = old if isinstance(old, UserItem) else None
    return UserItem(
        message.id,
        "".join(texts).strip("\n"),
        tuple(attachments),
        message.note_ids,
        known.state if known else ("sending" if message.note_ids else ""),
        known.step if known else 0,
        known.at if known else message.created_at,
        message.sender,
        tuple(skills),
    )


def _skill_name(text: str) -> str:
    """Return the skill that a part was added for; empty for any other text."""
    if (found := _SKILL.match(text)) is not None:
        return _unescaped(found[1] or found[2] or found[3] or "")
    if (missed := _UNLOADED.fullmatch(text)) is not None:
        return f"{missed[1]}: {missed[2]}"
    return ""


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


def _unescaped(text: str) -> str:
    import html  # brings the names of 2,000 characters: not before a file was attached

    return html.unescape(text)

"""Which parts of a history are put aside, which become a summary and which stay, word for word."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from desktop_agent.core.ids import QuestionId
from desktop_agent.core.messages import (
    Message,
    Part,
    PutAside,
    TextPart,
    ToolCall,
    ToolResult,
    with_aside,
)
from desktop_agent.core.parts.facts import ListShown
from desktop_agent.core.parts.origins import (
    ChildQuestion,
    ContextSummary,
    Origin,
    PickedSkill,
    Spoken,
)
from desktop_agent.core.tool import Access, Tool
from desktop_agent.engine.context.estimate import Estimate

# Shorter results are not worth a line that names a file.
_SMALLEST = 150
_MOST_FILES = 100
_LONGEST_PATH = 300
# Estimates are rather too high: by that share what is too long may still do.
_UNSURE = 0.5
# What takes less than that share makes no room worth the loss of its words.
_HELPS = 0.05


class Draft:
    """A history that is being made shorter. `tokens` is what its messages take by now."""

    def __init__(self, history: Sequence[Message], estimate: Estimate) -> None:
        self.history = list(history)
        self.estimate = estimate
        self.tokens = sum(map(estimate.of_message, history))
        self.aside: dict[str, PutAside] = {}

    def put_aside(
        self,
        results: Sequence[ToolResult],
        goal: int,
        text_for: Callable[[ToolResult], str],
    ) -> None:
        """Replace results in this order until the messages take no more than the goal."""
        before = len(self.aside)
        for result in results:
            if self.tokens <= goal:
                break
            text = text_for(result)
            saved = self.estimate.of_part(result) - self.estimate.of_text(text)
            if text and saved > 0:
                self.aside[result.call_id] = PutAside(result.call_id, text)
                self.tokens -= saved
        if len(self.aside) > before:
            self.history = with_aside(self.history, self.aside.values())
            self._count()

    def take(self, history: Sequence[Message]) -> None:
        """Go on with another history."""
        self.history = list(history)
        self._count()

    def old_results(self) -> list[ToolResult]:
        """Return what may be put aside, oldest first.

        Never the newest step's outputs, the texts of skills, nor the task list as shown last.
        """
        newest = newest_results(self.history)
        results = [result for message in self.history[:newest] for result in message.results]
        lists = [one.call_id for m in self.history for one in m.results if _shows_list(one)]
        return [one for one in results if self._is_worth_it(one) and one.call_id not in lists[-1:]]

    def new_results(self) -> list[ToolResult]:
        """Return the newest step's outputs, largest first."""
        newest = newest_results(self.history)
        results = [result for message in self.history[newest:] for result in message.results]
        worthy = filter(self._is_worth_it, results)
        return sorted(worthy, key=self.estimate.of_part, reverse=True)

    def _is_worth_it(self, result: ToolResult) -> bool:
        is_done = result.call_id in self.aside or isinstance(result.facts, PickedSkill)
        return not is_done and self.estimate.of_part(result) >= _SMALLEST

    def _count(self) -> None:
        self.tokens = sum(map(self.estimate.of_message, self.history))


class Split(msgspec.Struct, frozen=True):
    """`dropped` become a summary; `kept` stay, in order, the summary where the first gap is."""

    dropped: tuple[Message, ...]
    kept: tuple[Message, ...]


def newest_results(history: Sequence[Message]) -> int:
    """Return the place of the message with the newest step's results."""
    places = [place for place, message in enumerate(history) if message.role == "tool"]
    return places[-1] if places else len(history)


def split(
    history: Sequence[Message], room: int, estimate: Estimate, most: float = math.inf
) -> Split | None:
    """Tell what a summary may stand for; None when there is too little of it.

    The user's first message and the last two stay (the last but one if it is not long), and the
    newest messages that take no more than `room` tokens; in any case all from the last answer on.
    Only where that is more than `most` tokens by itself, what was told goes, but for the newest.
    """
    start = _tail(history, room, estimate)
    spoken = [place for place, message in enumerate(history) if _is_spoken(message)]
    told = [place for place, one in enumerate(history) if one.role == "user"]
    stays = {*range(start, len(history)), *spoken[-1:], *told[:1]}
    stays |= {at for at in spoken[-2:-1] if estimate.of_message(history[at]) <= room // 4}
    too_long = _too_long(history, stays, estimate, most)
    stays -= too_long
    dropped = tuple(one for at, one in enumerate(history) if at not in stays)
    if not too_long and not any(message.role == "assistant" for message in dropped):
        return None
    return Split(dropped, tuple(history[at] for at in sorted(stays)))


def _too_long(
    history: Sequence[Message], stays: set[int], estimate: Estimate, most: float
) -> set[int]:
    """Return which of the messages that were told can't stay: the longest, the first one at last.

    None where that would be far from enough. Outputs don't count: they can be cut.
    """
    told = [at for at in sorted(stays) if history[at].role == "user"]
    newest = max((at for at in told if _is_spoken(history[at])), default=-1)
    sizes = {at: estimate.of_message(history[at]) for at in stays if history[at].role != "tool"}
    too_much, gone = sum(sizes.values()) - most, set[int]()
    for at in sorted(told, key=lambda one: (one == told[0], -sizes[one])):
        if too_much > 0 and at != newest and sizes[at] > most * _HELPS:
            gone.add(at)
            too_much -= sizes[at]
    return gone if too_much <= _UNSURE * most else set()


def _tail(history: Sequence[Message], room: int, estimate: Estimate) -> int:
    answers = [place for place, message in enumerate(history) if message.role == "assistant"]
    start = answers[-1] if answers else 0
    room -= sum(map(estimate.of_message, history[start:]))
    for place in range(start - 1, -1, -1):
        room -= estimate.of_message(history[place])
        if room < 0:
            break
        if history[place].role != "tool":  # results stay with the calls that they answer
            start = place
    return start


def _is_spoken(message: Message) -> bool:
    return message.role == "user" and any(
        isinstance(part, TextPart) and (part.origin is None or isinstance(part.origin, Spoken))
        for part in message.parts
    )


def _shows_list(result: ToolResult) -> bool:
    return isinstance(result.facts, ListShown)


def carried_parts(parted: Split, is_open: Callable[[QuestionId], bool]) -> list[TextPart]:
    """Return what stays word for word of messages that are dropped.

    Skills that were loaded, by name and as loaded last, unless one stands in what is kept; and
    questions of subagents that wait for an answer.
    """
    there = {name for name, _ in _skills(parted.kept)}
    skills = {name: text for name, text in _skills(parted.dropped) if name not in there}
    carried = [TextPart(text, PickedSkill(name)) for name, text in skills.items()]
    for part in _parts(parted.dropped):
        asked = part.origin if isinstance(part, TextPart) else None
        if isinstance(part, TextPart) and isinstance(asked, ChildQuestion):
            carried += [part] if is_open(asked.question_id) else []
    return carried


def _skills(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for part in _parts(messages):
        about: Origin | object = None
        if isinstance(part, TextPart):
            about = part.origin
        elif isinstance(part, ToolResult):
            about = part.facts
        if not isinstance(part, TextPart | ToolResult) or not isinstance(about, PickedSkill):
            continue
        if about.status == "loaded":
            yield about.name, part.text


def files_of(dropped: Sequence[Message], tools: Mapping[str, Tool]) -> ContextSummary:
    """Return which files the calls of these messages read and changed, the newest last.

    What the summary of an earlier compaction among them says is included.
    """
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    for part in _parts(dropped):
        if isinstance(part, TextPart) and isinstance(part.origin, ContextSummary):
            read |= dict.fromkeys(part.origin.read)
            changed |= dict.fromkeys(part.origin.changed)
        elif isinstance(part, ToolCall):
            path, tool = part.arguments.get("path"), tools.get(part.name)
            if tool is None or not isinstance(path, str) or not 0 < len(path) <= _LONGEST_PATH:
                continue
            if tool.access is Access.WRITE:
                changed[path] = None
            elif tool.access is Access.READ:
                read[path] = None
    newest_read, newest_changed = list(read)[-_MOST_FILES:], list(changed)[-_MOST_FILES:]
    return ContextSummary(tuple(newest_read), tuple(newest_changed))


def _parts(messages: Sequence[Message]) -> Iterator[Part]:
    return (part for message in messages for part in message.parts)

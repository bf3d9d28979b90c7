"""What the demo model reads out of a history: which calls were made and what came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort, Refused
from desktop_agent.core.parts.origins import AskedAside, Spoken
from desktop_agent.model_host.demo.markdown import code

# A longer result is not looked at: the demo has to stay quick in any folder.
_MAX_LINES = 20_000
_LONGEST_HIT = 2_000
_NUMBERED = re.compile(r"^\s*(\d+)\t(.*)$")
_MORE_FILES = re.compile(r"\[There are more; go on with offset=(\d{1,9})\.\]")
_CUT_FILE = re.compile(r"\[Lines \d+-\d+ of (\d{1,12})\b")
_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+)[:\-\t] ?(?P<text>.*)$")
_T = TypeVar("_T")


class Done(NamedTuple):
    """A call with its result; an answered history has one for every call."""

    call: ToolCall
    result: ToolResult

    @property
    def was_cut(self) -> bool:
        """Whether a stop or a crash came between the call and its result."""
        return isinstance(self.result.facts, CutShort)

    @property
    def denial(self) -> Refused | None:
        """The person's no, if it was one."""
        facts = self.result.facts
        return facts if isinstance(facts, Refused) and facts.by == "user" else None

    def given(self, argument: str) -> str:
        """Return an argument of the call as text, whatever the history holds there."""
        return str(self.call.arguments.get(argument, ""))


class Hit(NamedTuple):
    """One line that a search found."""

    path: str
    line: int
    text: str


class Reading(NamedTuple):
    """A file as `read` gave it; `remark` says why there are no lines: empty, refused, an image."""

    path: str
    lines: tuple[str, ...]
    total: int
    remark: str


class History:
    """The messages of one piece of work, the first of which opened it."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        self.messages, self.tools = messages, tools
        results = {result.call_id: result for message in messages for result in message.results}
        calls = [call for message in messages for call in message.tool_calls]
        self.calls = [Done(call, results[call.id]) for call in calls if call.id in results]
        answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
        self.answer = messages[answers[-1]] if answers else None
        self.fresh = messages[answers[-1] + 1 :] if answers else messages
        came = {result.call_id for message in self.fresh for result in message.results}
        self.came = [done for done in self.calls if done.call.id in came]
        lists = [done.result.text for done in self.of("glob") if not done.result.is_error]
        self.paths = listed_paths("\n".join(lists))
        # What was said since the opening, with a denial or in a note; and that was not answered.
        self.notes = (*_reasons(self.calls), *user_texts(messages[1:]))
        self.news = (*_reasons(self.came), *user_texts(self.fresh if answers else messages[1:]))

    def of(self, name: str) -> list[Done]:
        """Return the calls of a tool; one that was cut off counts for nothing, and is repeated."""
        return [done for done in self.calls if done.call.name == name and not done.was_cut]


def _reasons(calls: Sequence[Done]) -> list[str]:
    return [no.reason.strip() for done in calls if (no := done.denial) and no.reason]


def parts_of(messages: Sequence[Message], *kinds: type[_T]) -> list[tuple[_T, str]]:
    """Return the texts of user messages that are of these kinds, with their origins."""
    texts = [p for m in messages if m.role == "user" for p in m.parts if isinstance(p, TextPart)]
    return [(p.origin, p.text.strip()) for p in texts if isinstance(p.origin, kinds)]


def user_texts(messages: Sequence[Message]) -> list[str]:
    """Return what the person, or who started this agent, said: one text for each note.

    No attached file, no skill and nobody's report is among them.
    """
    return [text for _, text in parts_of(messages, Spoken, AskedAside, type(None)) if text]


def listed_paths(text: str) -> tuple[str, ...]:
    """Return the paths in a `glob` result, relative and sorted; remarks in it are left out."""
    lines = [line.strip() for line in text.splitlines()[:_MAX_LINES]]
    paths = {line.removeprefix("./").replace("\\", "/") for line in lines}
    found = {path for path in paths if path and not path.endswith("/") and not _is_remark(path)}
    return tuple(sorted(found, key=lambda path: (path.count("/"), path.lower(), path)))


def _is_remark(line: str) -> bool:
    return line == "No file matches." or (line.startswith("[") and line.endswith(".]"))


def reading(done: Done) -> Reading:
    """Return the lines of a `read` result without their numbers, and how many the file has."""
    path, text = done.given("path"), done.result.text
    if done.result.is_error:
        why = f"could not be read ({code(text.removeprefix('Error: '), 90)})"
        return Reading(path, (), 0, why)
    lines: list[str] = []
    for line in text.splitlines()[:_MAX_LINES]:
        match = _NUMBERED.match(line)
        if match and int(match.group(1)) == len(lines) + 1:
            lines.append(match.group(2))
    cut = _CUT_FILE.search(text[-200:])
    total = max(len(lines), int(cut.group(1)) if cut else 0)
    return Reading(path, tuple(lines), total, f"no text to show ({code(text, 90)})")


def hits(text: str) -> tuple[Hit, ...]:
    """Return the lines that a `grep` result names as `path:line: text`."""
    matches = [_HIT.match(line[:_LONGEST_HIT]) for line in text.splitlines()[:_MAX_LINES]]
    return tuple(
        Hit(match["path"].removeprefix("./").replace("\\", "/"), int(match["line"]), match["text"])
        for match in matches
        if match
    )


def next_offset(text: str) -> int:
    """Return where the next page of a `glob` result begins, or 0 when there is none."""
    match = _MORE_FILES.search(text[-300:])
    return int(match.group(1)) if match else 0


def is_cut(text: str) -> bool:
    """Whether a `glob` result says that it does not name all files."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    return last.startswith("[") and _is_remark(last)

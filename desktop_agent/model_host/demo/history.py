"""What the demo model reads out of a history: which calls were made and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort, Refused
from desktop_agent.core.parts.origins import AskedAside, Spoken
from desktop_agent.core.prose.markdown import code, codes, counted, fence
from desktop_agent.model_host.demo.folder import FILES, MAX_LINES, listed
from desktop_agent.model_host.demo.script import call

_NUMBERED = re.compile(r"^\s*(\d{1,9})\t(.*)$")
_CUT_FILE = re.compile(r"\[Lines \d+-\d+ of (\d{1,12})\b")
_HEADING = re.compile(r"^#{1,3}\s+(.+)$")
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class|function|func|fn)\s+(\w+)")
_T = TypeVar("_T")


class Done:
    """A call with its result; scenes name the attributes.

    `lines` are those of a file, and `remark` says why there are none.
    """

    def __init__(self, made: ToolCall, result: ToolResult) -> None:
        self.call, self.facts, self.is_error = made, result.facts, result.is_error
        self.tool, self.path, self.text = made.name, self.given("path"), result.text
        # The person's no, if it was one, and what they said with it.
        no = self.facts if isinstance(self.facts, Refused) and self.facts.by == "user" else None
        self.is_denied, self.reason = no is not None, no.reason.strip() if no else ""
        self.paths = listed(self.text) if self.tool == "glob" else ()
        self.printed = self.text.splitlines()
        self.found = [line for line in self.printed if line.strip()]
        self.lines: list[str] = []
        for line in self.printed[: 0 if self.is_error else MAX_LINES]:
            match = _NUMBERED.match(line)
            if match and int(match[1]) == len(self.lines) + 1:
                self.lines.append(match[2])
        cut = _CUT_FILE.search(self.text[-200:])
        self.length = counted(max(len(self.lines), int(cut[1]) if cut else 0), "line")
        why = "could not be read" if self.is_error else "no text to show"
        self.remark = f"{why} ({code(self.text.removeprefix('Error: '), 90)})"
        self.no_text = f"{self.remark[0].upper()}{self.remark[1:]}"
        ending = self.path.rpartition(".")[2].lower()
        self.block = fence(self.lines, FILES["languages"].get(ending, "text"))
        # Its beginning, its headings and definitions.
        written = [line for line in self.lines if line.strip()]
        self.top = written[:4] or ["(empty)"]
        self.start = code(_HEADING.sub(r"\1", written[0]), 70) if written else ""
        matches = [_HEADING.match(line) or _DEFINITION.match(line) for line in self.lines]
        self.holds = codes(list(dict.fromkeys(one[1].strip() for one in matches if one))[:12], 60)

    def given(self, argument: str) -> str:
        """Return an argument of the call as text, whatever the history holds there."""
        return str(self.call.arguments.get(argument, ""))


class History:
    """The messages of one piece of work, the first of which opened it."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        self.messages, self.tools = messages, tools
        results = {result.call_id: result for message in messages for result in message.results}
        made = [call for message in messages for call in message.tool_calls]
        self.calls = [Done(one, results[one.id]) for one in made if one.id in results]
        places = [place for place, one in enumerate(messages, 1) if one.role == "assistant"]
        last = places[-1] if places else 0
        self.answer, self.fresh = messages[last - 1] if last else None, messages[last:]
        came = {result.call_id for message in self.fresh for result in message.results}
        self.came = [done for done in self.calls if done.call.id in came]
        self.paths = listed("\n".join(self.texts("glob")))
        # What was said since the opening, with a denial or in a note; and that was not answered.
        self.notes = (*(one.reason for one in self.calls if one.reason), *user_texts(messages[1:]))
        self.news = (
            *(one.reason for one in self.came if one.reason),
            *user_texts(messages[last or 1 :]),
        )

    def of(self, name: str) -> list[Done]:
        """Return the calls of a tool; one that was cut off counts for nothing, and is repeated."""
        return [
            one for one in self.calls if one.tool == name and not isinstance(one.facts, CutShort)
        ]

    def texts(self, name: str) -> list[str]:
        """Return what the calls of a tool gave that did not fail."""
        return [done.text for done in self.of(name) if not done.is_error]

    def unmade(
        self, tool: str, argument: str, values: Iterable[str], **more: str
    ) -> list[ToolCall]:
        """Return the calls with these values that were not made yet, if the tool is there."""
        made = {done.given(argument) for done in self.of(tool)}
        wanted = [one for one in dict.fromkeys(values) if one not in made]
        return [call(tool, **{argument: w}, **more) for w in wanted if tool in self.tools]


def parts_of(messages: Sequence[Message], *kinds: type[_T]) -> list[tuple[_T, str]]:
    """Return the texts of user messages that are of these kinds, with their origins."""
    texts = [p for m in messages if m.role == "user" for p in m.parts if isinstance(p, TextPart)]
    return [(p.origin, p.text.strip()) for p in texts if isinstance(p.origin, kinds)]


def user_texts(messages: Sequence[Message]) -> list[str]:
    """Return what the person, or who started this agent, said: one text for each note.

    No attached file, no skill and nobody's report is among them.
    """
    return [text for _, text in parts_of(messages, Spoken, AskedAside, type(None)) if text]

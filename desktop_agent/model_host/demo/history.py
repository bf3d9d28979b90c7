"""What the demo model reads out of a history: which calls were made and what came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort, Refused
from desktop_agent.core.parts.origins import AskedAside, Spoken
from desktop_agent.model_host.demo.markdown import code, codes, counted, fence
from desktop_agent.model_host.demo.script import SCRIPT

# A longer result is not looked at: the demo has to stay quick in any folder.
_MAX_LINES = 20_000
_LONGEST_HIT = 2_000
_NUMBERED = re.compile(r"^\s*(\d{1,9})\t(.*)$")
_MORE_FILES = re.compile(r"\[There are more; go on with offset=(\d{1,9})\.\]")
_CUT_FILE = re.compile(r"\[Lines \d+-\d+ of (\d{1,12})\b")
_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d{1,9})[:\-\t] ?(?P<text>.*)$")
_HEADING = re.compile(r"^#{1,3}\s+(.+)$")
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class|function|func|fn)\s+(\w+)")
_T = TypeVar("_T")


class Done(NamedTuple):
    """A call with its result; an answered history has one for every call."""

    call: ToolCall
    result: ToolResult

    @property
    def denial(self) -> Refused | None:
        """The person's no, if it was one."""
        facts = self.result.facts
        return facts if isinstance(facts, Refused) and facts.by == "user" else None

    def given(self, argument: str) -> str:
        """Return an argument of the call as text, whatever the history holds there."""
        return str(self.call.arguments.get(argument, ""))


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
        self.paths = _listed("\n".join(self.texts("glob")))
        # What was said since the opening, with a denial or in a note; and that was not answered.
        self.notes = (*_reasons(self.calls), *user_texts(messages[1:]))
        self.news = (*_reasons(self.came), *user_texts(self.fresh if answers else messages[1:]))

    def of(self, name: str) -> list[Done]:
        """Return the calls of a tool; one that was cut off counts for nothing, and is repeated."""
        made = [done for done in self.calls if done.call.name == name]
        return [done for done in made if not isinstance(done.result.facts, CutShort)]

    def texts(self, name: str) -> list[str]:
        """Return what the calls of a tool gave that did not fail."""
        return [done.result.text for done in self.of(name) if not done.result.is_error]


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


def _listed(text: str) -> tuple[str, ...]:
    """Return the paths in a `glob` result, relative and sorted; remarks in it are left out."""
    lines = [line.strip() for line in text.splitlines()[:_MAX_LINES]]
    paths = {path for line in lines if (path := _path(line)) and not _is_remark(line)}
    files = (path for path in paths if not path.endswith("/"))
    return tuple(sorted(files, key=lambda path: (path.count("/"), path.lower(), path)))


def _path(name: str) -> str:
    return name.removeprefix("./").replace("\\", "/")


def _is_remark(line: str) -> bool:
    return line == "No file matches." or (line.startswith("[") and line.endswith(".]"))


class Result:
    """What a tool gave; `lines` are those of a file, and `remark` says why there are none."""

    def __init__(self, done: Done) -> None:
        self.tool, self.path, self.text = done.call.name, done.given("path"), done.result.text
        self.paths = _listed(self.text) if self.tool == "glob" else ()
        self.printed = self.text.splitlines()
        self.found = [line for line in self.printed if line.strip()]
        self.lines: list[str] = []
        for line in self.printed[: 0 if done.result.is_error else _MAX_LINES]:
            match = _NUMBERED.match(line)
            if match and int(match.group(1)) == len(self.lines) + 1:
                self.lines.append(match.group(2))
        cut = _CUT_FILE.search(self.text[-200:])
        total = max(len(self.lines), int(cut.group(1)) if cut else 0)
        self.length = counted(total, "line")
        why = "could not be read" if done.result.is_error else "no text to show"
        self.remark = f"{why} ({code(self.text.removeprefix('Error: '), 90)})"
        self.no_text = f"{self.remark[0].upper()}{self.remark[1:]}"
        ending = self.path.rpartition(".")[2].lower()
        self.block = fence(self.lines, SCRIPT["files"]["languages"].get(ending, "text"))
        # Its beginning, its headings and definitions.
        self.top = [line for line in self.lines if line.strip()][:4] or ["(empty)"]
        matches = [_HEADING.match(line) or _DEFINITION.match(line) for line in self.lines]
        holds = dict.fromkeys(one.group(1).strip() for one in matches if one)
        self.holds = codes(list(holds)[:12], 60)
        start = _HEADING.sub(r"\1", self.top[0])
        self.start = code(start, 70) if any(map(str.strip, self.lines)) else ""


def hits(text: str) -> list[dict[str, str]]:
    """Return `path`, `line` and `text` of what a `grep` result names."""
    found = [_HIT.match(line[:_LONGEST_HIT]) for line in text.splitlines()[:_MAX_LINES]]
    return [one.groupdict() | {"path": _path(one["path"])} for one in found if one]


def next_offset(text: str) -> int:
    """Return where the next page of a `glob` result begins, or 0 when there is none."""
    match = _MORE_FILES.search(text[-300:])
    return int(match.group(1)) if match else 0


def is_cut(text: str) -> bool:
    """Whether a `glob` result says that it does not name all files."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    return last.startswith("[") and _is_remark(last)

"""What the demo model reads out of a history: which calls were made and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort, Refused
from desktop_agent.core.parts.origins import AskedAside, Origin, Spoken

# A longer result is not looked at: the demo has to stay quick in any folder.
_MAX_LINES = 20_000
_LONGEST_HIT = 2_000
_NUMBERED = re.compile(r"^\s*(\d+)\t(.*)$")
_MORE_FILES = re.compile(r"\[There are more; go on with offset=(\d{1,9})\.\]")
_CUT_FILE = re.compile(r"\[Lines \d+-\d+ of (\d{1,12})\b")
_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+)[:\-\t] ?(?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Done:
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

    @property
    def path(self) -> str:
        """The call's path as text, whatever the history holds there."""
        return str(self.call.arguments.get("path", ""))


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a search found."""

    path: str
    line: int
    text: str


def done_calls(messages: Sequence[Message]) -> tuple[Done, ...]:
    """Return the calls that have a result, in the order of the calls."""
    results = {result.call_id: result for message in messages for result in message.results}
    return tuple(
        Done(call, results[call.id])
        for message in messages
        for call in message.tool_calls
        if call.id in results
    )


def since_last_answer(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return what came after the last message of the model's."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role == "assistant":
            return tuple(messages[place + 1 :])
    return tuple(messages)


def parts_of(messages: Sequence[Message]) -> Iterator[tuple[Origin | None, str]]:
    """Yield the texts of all user messages, with what each of them is."""
    for message in messages:
        if message.role == "user":
            for part in message.parts:
                if isinstance(part, TextPart):
                    yield part.origin, part.text.strip()


def said(message: Message) -> str:
    """Return the words of who gives orders: no attached file, no skill, nobody's report."""
    return "\n\n".join(user_texts([message]))


def user_texts(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return what the person, or who started this agent, said: one text for each note."""
    return tuple(
        text
        for origin, text in parts_of(messages)
        if text and (origin is None or isinstance(origin, Spoken | AskedAside))
    )


def listed_paths(text: str) -> tuple[str, ...]:
    """Return the paths in a `glob` result, relative and sorted; remarks in it are left out."""
    found: set[str] = set()
    for line in text.splitlines()[:_MAX_LINES]:
        path = line.strip().removeprefix("./").replace("\\", "/")
        if path and not path.endswith("/") and not _is_remark(path):
            found.add(path)
    return tuple(sorted(found, key=lambda path: (path.count("/"), path.lower(), path)))


def _is_remark(line: str) -> bool:
    return line == "No file matches." or (line[0] == "[" and line.endswith(".]"))


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as `read` gave it. Without lines (empty, an image) `remark` is what it said."""

    lines: tuple[str, ...] = ()
    total: int = 0
    remark: str = ""


def file_text(text: str) -> FileText:
    """Return the lines of a `read` result without their numbers, and how many the file has."""
    lines: list[str] = []
    for line in text.splitlines()[:_MAX_LINES]:
        match = _NUMBERED.match(line)
        if match and int(match.group(1)) == len(lines) + 1:
            lines.append(match.group(2))
    if not lines:
        return FileText(remark=text)
    cut = _CUT_FILE.search(text[-200:])
    return FileText(tuple(lines), max(len(lines), int(cut.group(1)) if cut else 0))


def hits(text: str) -> tuple[Hit, ...]:
    """Return the lines that a `grep` result names as `path:line: text`."""
    found: list[Hit] = []
    for line in text.splitlines()[:_MAX_LINES]:
        match = _HIT.match(line[:_LONGEST_HIT])
        if match:
            path = match["path"].removeprefix("./").replace("\\", "/")
            found.append(Hit(path, int(match["line"]), match["text"]))
    return tuple(found)


def next_offset(text: str) -> int:
    """Return where the next page of a `glob` result begins, or 0 when there is none."""
    match = _MORE_FILES.search(text[-300:])
    return int(match.group(1)) if match else 0


def is_cut(text: str) -> bool:
    """Whether a `glob` result says that it does not name all files."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    return bool(last) and _is_remark(last) and last.startswith("[")

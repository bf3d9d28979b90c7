"""What the demo model reads out of a history: the calls, what came back, and the files in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from posixpath import basename, splitext
from typing import Any, TypeVar

from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort, Refused
from desktop_agent.core.parts.origins import AskedAside, Spoken
from desktop_agent.core.prose.markdown import code, codes, counted, fence, plain
from desktop_agent.model_host.demo.script import SCRIPT, call

FILES: Mapping[str, Any] = SCRIPT["files"]
_KIND_OF = {suffix: kind for kind, suffixes in FILES["kinds"].items() for suffix in suffixes}
_RANK_OF = {ending: rank for rank, some in enumerate(FILES["worth"]) for ending in some}
_NEVER = 9
# A longer result is not looked at: the demo has to stay quick in any folder.
_MAX_LINES = 20_000
_LONGEST_HIT = 2_000
_MORE_FILES = re.compile(r"\[There are more; go on with offset=(\d{1,9})\.\]")
_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d{1,9})[:\-\t] ?(?P<text>.*)$")
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
        for line in self.printed[: 0 if self.is_error else _MAX_LINES]:
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


def listed(text: str) -> tuple[str, ...]:
    """Return the paths in a `glob` result, relative and sorted; remarks in it are left out."""
    lines = [line.strip() for line in text.splitlines()[:_MAX_LINES]]
    paths = {_path(line) for line in lines if line != "No file matches." and not is_cut(line)}
    files = (path for path in paths if path and not path.endswith("/"))
    return tuple(sorted(files, key=lambda path: (path.count("/"), path.lower(), path)))


def hits(text: str) -> list[dict[str, str]]:
    """Return `path`, `line` and `text` of what a `grep` result names."""
    found = [_HIT.match(line[:_LONGEST_HIT]) for line in text.splitlines()[:_MAX_LINES]]
    return [one.groupdict() | {"path": _path(one["path"])} for one in found if one]


def is_cut(text: str) -> bool:
    """Whether a result ends with the remark that it does not name everything."""
    last = text.rstrip().rpartition("\n")[2]
    return last.startswith("[") and last.endswith(".]")


def next_offset(text: str) -> int:
    """Return where the next page of a `glob` result begins, or 0 when there is none."""
    match = _MORE_FILES.search(text[-300:])
    return int(match[1]) if match else 0


def kinds(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return each kind of file, in words, with its number of files, the most common first."""
    counts = Counter[str]()
    for suffix, count in Counter(splitext(path)[1].lower() for path in paths).items():
        other = f"Other ({suffix})" if 1 < len(suffix) <= 8 else "Other"
        counts[_KIND_OF.get(suffix, other)] += count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def kinds_table(paths: Sequence[str], most: int) -> str:
    """Return a table of the kinds of files, those beyond the first `most` taken together."""
    found = kinds(paths) or [("None", 0)]
    if rest := sum(count for _, count in found[most:]):
        found[most:] = [("Everything else", rest)]
    cells = [(plain(kind).replace("|", "\\|"), count) for kind, count in found]
    rows = [f"| {kind} | {count:,} |" for kind, count in cells]
    return "\n".join(("| Kind of file | Files |", "| --- | ---: |", *rows))


def tree(paths: Sequence[str], limit: int) -> str:
    """Return the names at the top in a code block, folders first with their number of files."""
    counts = Counter[str]()
    for path in paths:
        first, slash, _ = path.partition("/")
        counts[first + slash] += len(slash)
    top = sorted(counts.items(), key=lambda item: (not item[1], item[0].lower()))
    names = [plain(name, 60) + (f"  {counted(n, 'file')}" if n else "") for name, n in top]
    return fence(names or ["(empty)"], limit=limit)


def worth_reading(paths: Sequence[str]) -> list[str]:
    """Return four readable files, different in kind: the README first, then notes, code, data."""
    ranked = sorted((rank, p.count("/"), len(p), p) for p in paths if (rank := _rank(p)) < _NEVER)
    best = [[one[-1] for one in some][:2] for _, some in groupby(ranked, lambda one: one[0])]
    return [*(some[0] for some in best), *(some[1] for some in best if len(some) > 1)][:4]


def _rank(path: str) -> int:
    name = basename(path).lower()
    # Files that start with a dot may hold secrets, and are asked about.
    if "/." in f"/{path}" or name.endswith(tuple(FILES["never_read"])):
        return _NEVER
    rank = _RANK_OF.get(name, _RANK_OF.get(splitext(name)[1], _NEVER))
    is_test = "test" in name and rank == 2
    return 0 if name.startswith("readme") else 6 if is_test else rank


def _path(name: str) -> str:
    return name.removeprefix("./").replace("\\", "/")

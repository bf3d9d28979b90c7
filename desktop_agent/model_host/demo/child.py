"""The demo model as a subagent: it counts files or reads notes, and heeds whoever steers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from desktop_agent.core.messages import Message, ToolCall
from desktop_agent.model_host.demo.folder import kinds
from desktop_agent.model_host.demo.history import History, hits, reading, user_texts
from desktop_agent.model_host.demo.markdown import code, codes, counted, joined, plain, quote
from desktop_agent.model_host.demo.orders import named_files
from desktop_agent.model_host.demo.overview import one_line
from desktop_agent.model_host.demo.step import Step, call

COUNT_PROMPT = (
    "Count the files of this folder by kind. Change nothing. "
    "Answer in two lines: how many there are, and of which kinds."
)
NOTES_PROMPT = (
    "Read the notes of this folder, three at most. Ask me which of them matters most before you "
    "begin. Change nothing. Answer with one line for each note."
)
# Name → the prompt and the role; the name is also the task it does.
CREW = {"Count the files": (COUNT_PROMPT, "explore"), "Read the notes": (NOTES_PROMPT, "general")}

# Slow enough that a person can open it, pause it and steer it.
_PAUSE_S = 1.8
_MOST_KINDS = 3
_NOTES = (".md", ".markdown", ".txt", ".rst")
_MOST_NOTES = 3
_Scene = tuple[str, tuple[ToolCall, ...]]


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return what the subagent does next; None if its prompt is none of the crew's."""
    prompt = joined(*user_texts(messages[:1])[:1])
    if prompt not in _SCENES:
        return None
    work = _Work(messages, tools)
    scenes = list(_SCENES[prompt](work))
    # The first that has something to call; the last one is the report.
    text, wants = next((scene for scene in scenes if scene[1]), scenes[-1])
    return Step(joined(*map(work.reply, work.news), text), wants, pause_s=_PAUSE_S)


class _Work(History):
    """One subagent's work so far."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        super().__init__(messages, tools)
        self.named = named_files("\n".join(self.notes), self.paths)[0]
        unmet = [note for note in self.notes if not named_files(note, self.paths)[0]]
        lines = [f"{one_line(reading(done))}." for done in self.of("read")]
        lines += [f"I was told “{plain(note)}” and can't act on it." for note in unmet[:3]]
        self.report = "\n".join(lines)

    def reply(self, note: str) -> str:
        files = codes(named_files(note, self.paths)[0])
        does = f"I'll look at {files}." if files else "I'm a script: I put it into my report."
        return joined("I was told:", quote(note), does)

    def new(self, tool: str, **arguments: str) -> tuple[ToolCall, ...]:
        """Return this call if the tool is there and it was not made yet."""
        is_made = any(done.call.arguments == arguments for done in self.of(tool))
        return () if is_made or tool not in self.tools else (call(tool, **arguments),)

    def read(self, wanted: Iterable[str], at_once: int) -> _Scene:
        calls = [one for path in dict.fromkeys(wanted) for one in self.new("read", path=path)]
        names = codes(str(one.arguments["path"]) for one in calls[:at_once])
        return f"I'll read {names}.", tuple(calls[:at_once])


def _count(work: _Work) -> Iterator[_Scene]:
    yield "I'll count the files by kind.", work.new("glob", pattern="**/*")
    endings = Counter(PurePosixPath(path).suffix for path in work.paths)
    del endings[""]
    for ending, _ in endings.most_common(_MOST_KINDS):
        yield f"Now those like {code(f'**/*{ending}')}.", work.new("glob", pattern=f"**/*{ending}")
    files = counted(len(work.paths), "file")
    search = work.new("grep", pattern="^#{1,3} ", glob="*.md")
    yield f"There are {files}. I'll count headings, too.", search
    yield work.read(work.named, 5)
    by_kind = ", ".join(f"{plain(kind)} {number}" for kind, number in kinds(work.paths)[:6])
    headings = counted(sum(len(hits(done.result.text)) for done in work.of("grep")), "heading")
    told = f"{files}: {by_kind or 'none'}. {headings} in Markdown files."
    yield joined(told, work.report), ()


def _read_notes(work: _Work) -> Iterator[_Scene]:
    yield "I'll see which notes there are.", work.new("glob", pattern="**/*")
    paths = [p for p in work.paths if not p.startswith(("OVERVIEW", "."))]
    notes = [p for p in paths if p.lower().endswith(_NOTES)][:_MOST_NOTES]
    asked = work.of("ask_parent")
    if notes and not asked:
        question = f"I found {codes(notes)}. Which of them matters most?"
        yield "I was told to ask first.", work.new("ask_parent", question=question)
    first = named_files(asked[0].result.text, notes)[0] if asked else ()
    yield work.read([*first, *work.named, *notes], 1)
    yield work.report or "There are no notes here.", ()


_SCENES = {COUNT_PROMPT: _count, NOTES_PROMPT: _read_notes}

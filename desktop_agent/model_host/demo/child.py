"""The demo model as a subagent: it counts files or reads notes, and heeds whoever steers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from desktop_agent.core.messages import Message, ToolCall
from desktop_agent.model_host.demo import script
from desktop_agent.model_host.demo.folder import FILES, kinds
from desktop_agent.model_host.demo.history import History, Result, hits, user_texts
from desktop_agent.model_host.demo.markdown import codes, counted, joined, plain, quote
from desktop_agent.model_host.demo.orders import named_files
from desktop_agent.model_host.demo.script import SCRIPT, Step, call, says

# Slow enough that a person can open it, pause it and steer it.
_PAUSE_S = 1.8


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return what the subagent does next; None if its prompt is none of the crew's."""
    prompt = joined(*user_texts(messages[:1])[:1])
    scenes = {one["prompt"]: one["scenes"] for one in SCRIPT["crew"].values()}.get(prompt)
    if scenes is None:
        return None
    work = Work(messages, tools)
    scene = script.fitting(scenes, work)[0]
    text = joined(*map(work.reply, work.news), script.filled(scene["say"], work))
    return Step(text, script.calls(scene, work), pause_s=_PAUSE_S)


class Work(History):
    """One subagent's work so far; names of its scenes are attributes."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        super().__init__(messages, tools)
        named = named_files("\n".join(self.notes), self.paths)[0]
        self.list_files = self._new("glob", "pattern", ["**/*"])
        suffixes = (PurePosixPath(path).suffix for path in self.paths)
        endings = Counter(suffix for suffix in suffixes if suffix)
        patterns = [f"**/*{ending}" for ending, _ in endings.most_common(3)]
        self.list_ending = self._new("glob", "pattern", patterns)[:1]
        heading = call("grep", pattern="^#{1,3} ", glob="*.md")
        self.search_headings = [] if "grep" not in tools or self.of("grep") else [heading]
        self.read_named = self._new("read", "path", named)[:5]
        listed = [p for p in self.paths if not p.startswith(("OVERVIEW", "."))]
        notes = [p for p in listed if p.lower().endswith(tuple(FILES["notes"]))][:3]
        question = f"I found {codes(notes)}. Which of them matters most?"
        asked = self.of("ask_parent")
        self.ask_parent = (
            self._new("ask_parent", "question", [question]) if notes and not asked else []
        )
        first = named_files(asked[0].result.text, notes)[0] if asked else ()
        self.read_note = self._new("read", "path", [*first, *named, *notes])[:1]
        by_kind = ", ".join(f"{plain(kind)} {number}" for kind, number in kinds(self.paths)[:6])
        found = sum(len(hits(done.result.text)) for done in self.of("grep"))
        files = counted(len(self.paths), "file")
        self.counts = (
            f"{files}: {by_kind or 'none'}. {counted(found, 'heading')} in Markdown files."
        )
        unmet = [note for note in self.notes if not named_files(note, self.paths)[0]]
        lines = [f"{says(SCRIPT['one_line'], Result(done))}." for done in self.of("read")]
        lines += [f"I was told “{plain(note)}” and can't act on it." for note in unmet[:3]]
        self.report = "\n".join(lines)

    def reply(self, note: str) -> str:
        """Return what is said to a note."""
        files = codes(named_files(note, self.paths)[0])
        does = f"I'll look at {files}." if files else "I'm a script: I put it into my report."
        return joined("I was told:", quote(note), does)

    def _new(self, tool: str, argument: str, values: Iterable[str]) -> list[ToolCall]:
        """Return the calls with these values that were not made yet, if the tool is there."""
        made = [done.call.arguments for done in self.of(tool)]
        wanted = [call(tool, **{argument: value}) for value in dict.fromkeys(values)]
        return [one for one in wanted if one.arguments not in made and tool in self.tools]

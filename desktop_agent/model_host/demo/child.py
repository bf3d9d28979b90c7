"""The demo model as a subagent: it counts files or reads notes, and heeds whoever steers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from desktop_agent.core.messages import Message
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
_NOTES = {".md", ".markdown", ".txt", ".rst"}
_MOST_NOTES = 3
_HEADINGS = r"^#{1,3} "


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return what the subagent does next; None if its prompt is none of the crew's."""
    prompt = user_texts(messages[:1])[:1]
    scenes = {COUNT_PROMPT: _COUNT, NOTES_PROMPT: _NOTE_SCENES}.get(prompt[0] if prompt else "")
    if scenes is None:
        return None
    work = _Work(messages, tools)
    step = next(step for scene in scenes if (step := scene(work)))
    return Step(joined(*map(work.reply, work.news), step.text), step.wants, pause_s=_PAUSE_S)


class _Work(History):
    """One subagent's work so far."""

    def reply(self, note: str) -> str:
        files, _ = named_files(note, self.paths)
        does = (
            f"I'll look at {codes(files)}." if files else "I'm a script: I put it into my report."
        )
        return joined("I was told:", quote(note), does)

    def list_files(self, text: str) -> Step | None:
        is_done = self.of("glob") or "glob" not in self.tools
        return None if is_done else Step(text, (call("glob", pattern="**/*"),))

    def look_for_kinds(self) -> Step | None:
        """List the files of the most frequent endings, one ending at a time."""
        endings = Counter(PurePosixPath(path).suffix for path in self.paths)
        del endings[""]
        listed = {done.given("pattern") for done in self.of("glob")}
        patterns = [f"**/*{ending}" for ending, _ in endings.most_common(_MOST_KINDS)]
        for pattern in patterns if "glob" in self.tools else ():
            if pattern not in listed:
                return Step(f"Now those like {code(pattern)}.", (call("glob", pattern=pattern),))
        return None

    def search(self) -> Step | None:
        if self.of("grep") or "grep" not in self.tools:
            return None
        text = f"There are {counted(len(self.paths), 'file')}. I'll count headings, too."
        return Step(text, (call("grep", pattern=_HEADINGS, glob="*.md"),))

    def ask(self) -> Step | None:
        if not self.notes_here or self.of("ask_parent") or "ask_parent" not in self.tools:
            return None
        question = f"I found {codes(self.notes_here)}. Which of them matters most?"
        return Step("I was told to ask first.", (call("ask_parent", question=question),))

    def read(self, wanted: Sequence[str], at_once: int) -> Step | None:
        known = {done.given("path") for done in self.of("read")}
        unread = [path for path in dict.fromkeys(wanted) if path not in known][:at_once]
        if not unread or "read" not in self.tools:
            return None
        return Step(f"I'll read {codes(unread)}.", tuple(call("read", path=p) for p in unread))

    @property
    def notes_here(self) -> list[str]:
        paths = [p for p in self.paths if not p.startswith(("OVERVIEW", "."))]
        return [p for p in paths if PurePosixPath(p).suffix.lower() in _NOTES][:_MOST_NOTES]

    @property
    def named(self) -> tuple[str, ...]:
        return named_files("\n".join(self.notes), self.paths)[0]

    @property
    def order(self) -> list[str]:
        asked = self.of("ask_parent")[:1]
        first = [
            path for done in asked for path in named_files(done.result.text, self.notes_here)[0]
        ]
        return [*first, *self.named, *self.notes_here]

    def report(self) -> str:
        lines = [f"{one_line(reading(done))}." for done in self.of("read")]
        unmet = [note for note in self.notes if not named_files(note, self.paths)[0]]
        lines += [f"I was told “{plain(note)}” and can't act on it." for note in unmet[:3]]
        return "\n".join(lines)

    def count(self) -> str:
        by_kind = ", ".join(f"{plain(kind)} {number}" for kind, number in kinds(self.paths)[:6])
        headings = sum(len(hits(done.result.text)) for done in self.of("grep"))
        return (
            f"{counted(len(self.paths), 'file')}: {by_kind or 'none'}. "
            f"{counted(headings, 'heading')} in Markdown files."
        )


_COUNT = (
    lambda work: work.list_files("I'll count the files by kind."),
    _Work.look_for_kinds,
    _Work.search,
    lambda work: work.read(work.named, 5),
    lambda work: Step(joined(work.count(), work.report())),
)
_NOTE_SCENES = (
    lambda work: work.list_files("I'll see which notes there are."),
    _Work.ask,
    lambda work: work.read(work.order, 1),
    lambda work: Step(work.report() or "There are no notes here."),
)

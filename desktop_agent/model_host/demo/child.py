"""The demo model as a subagent: it counts files or reads notes, and heeds whoever steers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from posixpath import splitext

from desktop_agent.core.messages import Message
from desktop_agent.core.prose.markdown import codes, counted, joined, plain, quote
from desktop_agent.model_host.demo import folder, script
from desktop_agent.model_host.demo.history import History, user_texts
from desktop_agent.model_host.demo.orders import named_files
from desktop_agent.model_host.demo.script import SCRIPT, Step, says

# Slow enough that a person can open it, pause it and steer it.
_PAUSE_S = 1.8


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return what the subagent does next; None if its prompt is none of the crew's."""
    prompts = user_texts(messages[:1])
    for one in SCRIPT["crew"].values():
        if one["prompt"] in prompts[:1]:
            work = Work(messages, tools)
            scene = script.fitting(one["scenes"], work)[0]
            text = joined(*map(work.reply, work.news), script.filled(scene["say"], work))
            return Step(text, script.calls(scene, work), pause_s=_PAUSE_S)
    return None


class Work(History):
    """One subagent's work so far; names of its scenes are attributes."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        super().__init__(messages, tools)
        named = named_files("\n".join(self.notes), self.paths)[0]
        own = [path for path in self.paths if not path.startswith(("OVERVIEW", "."))]
        notes = [p for p in own if p.lower().endswith(tuple(folder.FILES["notes"]))][:3]
        answers = [done.text for done in self.of("ask_parent")]
        first = named_files("\n".join(answers), notes)[0]
        endings = Counter(splitext(path)[1] for path in self.paths if splitext(path)[1])
        patterns = [f"**/*{ending}" for ending, _ in endings.most_common(3)]
        questions = [f"I found {codes(notes)}. Which of them matters most?"]
        if answers or not notes:
            questions = []
        self.list_files = self.unmade("glob", "pattern", ["**/*"])
        self.list_ending = self.unmade("glob", "pattern", patterns)[:1]
        self.search_headings = self.unmade("grep", "pattern", ["^#{1,3} "], glob="*.md")
        self.read_named = self.unmade("read", "path", named)
        self.read_note = self.unmade("read", "path", [*first, *named, *notes])[:1]
        self.ask_parent = self.unmade("ask_parent", "question", questions)
        kinds = [f"{plain(kind)} {number}" for kind, number in folder.kinds(self.paths)[:6]]
        headings = len(folder.hits("\n".join(done.text for done in self.of("grep"))))
        files, found = counted(len(self.paths), "file"), counted(headings, "heading")
        self.counts = f"{files}: {', '.join(kinds) or 'none'}. {found} in Markdown files."
        unmet = [note for note in self.notes if not named_files(note, self.paths)[0]]
        lines = [f"{says(SCRIPT['one_line'], done)}." for done in self.of("read")]
        lines += [f"I was told “{plain(note)}” and can't act on it." for note in unmet[:3]]
        self.report = "\n".join(lines)

    def reply(self, note: str) -> str:
        """Return what is said to a note."""
        files = codes(named_files(note, self.paths)[0])
        does = f"I'll look at {files}." if files else "I'm a script: I put it into my report."
        return joined("I was told:", quote(note), does)

"""The demo model as a subagent: it counts files or reads notes, and heeds whoever steers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from desktop_agent.core.messages import Message
from desktop_agent.model_host.demo.folder import kinds
from desktop_agent.model_host.demo.history import (
    done_calls,
    file_text,
    hits,
    listed_paths,
    since_last_answer,
    user_texts,
)
from desktop_agent.model_host.demo.markdown import code, counted, plain, quote
from desktop_agent.model_host.demo.orders import named_files
from desktop_agent.model_host.demo.step import Step, Want, joined
from desktop_agent.model_host.demo.team import COUNT_PROMPT, NOTES_PROMPT

PROMPTS = (COUNT_PROMPT, NOTES_PROMPT)

# Slow enough that a person can open it, pause it and steer it.
_PAUSE_S = 1.8
_MOST_KINDS = 3
_NOTES = {".md", ".markdown", ".txt", ".rst"}
_MOST_NOTES = 3
_HEADINGS = r"^#{1,3} "


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step:
    """Return what the subagent does next; `messages[0]` is its prompt."""
    work = _Work(messages, tools)
    step = work.count() if user_texts(messages)[0] == COUNT_PROMPT else work.read_notes()
    heard = [_reply(note, work.paths) for note in work.news]
    return replace(step, text=joined(*heard, step.text), pause_s=_PAUSE_S)


def _reply(note: str, paths: Sequence[str]) -> str:
    files, _ = named_files(note, paths)
    if files:
        return joined("I was told:", quote(note), f"I'll look at {_listed(files)}.")
    return joined("I was told:", quote(note), "I'm a script: I put it into my report.")


class _Work:
    """One subagent's work so far."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        self._tools = tools
        self._done = [one for one in done_calls(messages) if not one.was_cut]
        listings = [one for one in self._done if one.call.name == "glob"]
        self._has_list = bool(listings)
        text = listings[0].result.text if listings and not listings[0].result.is_error else ""
        self.paths = listed_paths(text)
        self._notes = user_texts(messages)[1:]
        fresh = since_last_answer(messages)
        self.news = user_texts(fresh if len(fresh) < len(messages) else fresh[1:])

    def count(self) -> Step:
        """Count the files by kind, look for headings, read what was named in a note."""
        if (step := self._list("I'll count the files by kind.")) is not None:
            return step
        if (step := self._look_for_kinds()) is not None:
            return step
        searched = [one for one in self._done if one.call.name == "grep"]
        if not searched and "grep" in self._tools:
            text = f"There are {counted(len(self.paths), 'file')}. I'll count headings, too."
            return Step(text, (Want("grep", {"pattern": _HEADINGS, "glob": "*.md"}),))
        if (step := self._read(self._named())) is not None:
            return step
        by_kind = ", ".join(f"{plain(kind)} {number}" for kind, number in kinds(self.paths)[:6])
        headings = sum(len(hits(one.result.text)) for one in searched)
        told = f"{counted(len(self.paths), 'file')}: {by_kind or 'none'}."
        return Step(
            joined(f"{told} {counted(headings, 'heading')} in Markdown files.", self._rest())
        )

    def read_notes(self) -> Step:
        """Ask which note matters most, read them, give a line for each."""
        if (step := self._list("I'll see which notes there are.")) is not None:
            return step
        notes = [p for p in self.paths if PurePosixPath(p).suffix.lower() in _NOTES]
        notes = [p for p in notes if not p.startswith(("OVERVIEW", "."))][:_MOST_NOTES]
        asked = [one for one in self._done if one.call.name == "ask_parent"]
        if notes and not asked and "ask_parent" in self._tools:
            question = f"I found {_listed(notes)}. Which of them matters most?"
            return Step("I was told to ask first.", (Want("ask_parent", {"question": question}),))
        first, _ = named_files(asked[0].result.text, notes) if asked else ((), ())
        if (step := self._read([*first, *self._named(), *notes], at_once=1)) is not None:
            return step
        return Step(joined(self._rest() or "There are no notes here."))

    def _list(self, text: str) -> Step | None:
        if self._has_list or "glob" not in self._tools:
            return None
        return Step(text, (Want("glob", {"pattern": "**/*"}),))

    def _named(self) -> tuple[str, ...]:
        return named_files("\n".join(self._notes), self.paths)[0]

    def _look_for_kinds(self) -> Step | None:
        """List the files of the most frequent endings, one ending at a time."""
        endings = Counter(PurePosixPath(path).suffix for path in self.paths)
        del endings[""]
        patterns = [f"**/*{ending}" for ending, _ in endings.most_common(_MOST_KINDS)]
        listed = {
            str(one.call.arguments.get("pattern")) for one in self._done if one.call.name == "glob"
        }
        for pattern in patterns:
            if pattern not in listed and "glob" in self._tools:
                return Step(
                    f"Now those like {code(pattern)}.", (Want("glob", {"pattern": pattern}),)
                )
        return None

    def _read(self, wanted: Sequence[str], at_once: int = 5) -> Step | None:
        known = {one.path for one in self._done if one.call.name == "read"}
        unread = [path for path in dict.fromkeys(wanted) if path not in known]
        if not unread or "read" not in self._tools:
            return None
        unread = unread[:at_once]
        return Step(
            f"I'll read {_listed(unread)}.", tuple(Want("read", {"path": p}) for p in unread)
        )

    def _rest(self) -> str:
        lines = []
        for one in self._done:
            if one.call.name != "read":
                continue
            if one.result.is_error:
                lines.append(f"{code(one.path)} could not be opened.")
                continue
            text = file_text(one.result.text)
            start = next((line for line in text.lines if line.strip()), "")
            about = f", starts with {code(start, 70)}" if start else ""
            lines.append(f"{code(one.path)}: {counted(text.total, 'line')}{about}.")
        unmet = [note for note in self._notes if not named_files(note, self.paths)[0]]
        lines += [f"I was told “{plain(note, 120)}” and can't act on it." for note in unmet[:3]]
        return "\n".join(lines)


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(code(path, 80) for path in paths)

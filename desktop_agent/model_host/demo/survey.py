"""The demo model's survey of a folder: list, read, propose `OVERVIEW.md`, and heed notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from desktop_agent.core.messages import Message
from desktop_agent.model_host.demo.folder import worth_reading
from desktop_agent.model_host.demo.history import (
    Done,
    done_calls,
    file_text,
    hits,
    is_cut,
    listed_paths,
    next_offset,
    said,
    since_last_answer,
    user_texts,
)
from desktop_agent.model_host.demo.markdown import code, counted, plain, quote
from desktop_agent.model_host.demo.orders import Wishes, is_onward, wishes
from desktop_agent.model_host.demo.overview import SIGNATURE, Reading, Survey, overview, summary
from desktop_agent.model_host.demo.step import CLOSING, TARGETS, Step, Want, joined

SEARCH = r"to-?do|fix-?me|- \[ \]"
_MOST_TRIES = 4
_MOST_PAGES = 4

_INTRODUCTION = (
    "I'm the **demo model**: a script, not an AI. I can't understand you and I know nothing, "
    "but what I do is real: real tools, on your real files, within the mode you chose. "
    "But for a few plain orders, such as “list files”, I make this same survey whatever is "
    "asked.\n\n"
    "This is my plan:\n\n"
    "1. Look which files there are.\n"
    "2. Read a few of them.\n"
    "3. Write what I found to `OVERVIEW.md`, if that is allowed.\n\n"
    "You can send me a note while I work: “keep it short”, “don't write anything”, or the name "
    "of a file."
)
_THOUGHTS = (
    "The list of files comes first, with a search for open points beside it: "
    "neither needs the other. Then the README, if there is one."
)


@dataclass(frozen=True)
class _Story:
    """The survey so far: the messages since its opening, and the tools there are.

    `dropped` are tools whose task the person took off the list.
    """

    messages: tuple[Message, ...]
    tools: frozenset[str]
    reports: tuple[tuple[str, str], ...] = ()
    dropped: frozenset[str] = frozenset()

    @cached_property
    def done(self) -> tuple[Done, ...]:
        # A call that was cut off is made again: nothing goes on unless the person wants it.
        return tuple(done for done in done_calls(self.messages) if not done.was_cut)

    @cached_property
    def pages(self) -> tuple[str, ...]:
        """The lists of files so far; a long one comes in several."""
        return tuple(done.result.text for done in self.of("glob") if not done.result.is_error)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return listed_paths("\n".join(self.pages))

    @cached_property
    def news(self) -> tuple[str, ...]:
        """Notes that have not been answered yet, and what the person said with a refusal."""
        fresh = since_last_answer(self.messages)
        if len(fresh) == len(self.messages):
            fresh = fresh[1:]
        return (*_words_of_refusals(_results_in(fresh, self.done)), *user_texts(fresh))

    @cached_property
    def wishes(self) -> Wishes:
        notes = (*_words_of_refusals(self.done), *user_texts(self.messages[1:]))
        return wishes(said(self.messages[0]), notes, self.paths)

    @cached_property
    def readings(self) -> dict[str, Reading]:
        return {done.path: _reading(done) for done in self.of("read")}

    @cached_property
    def target(self) -> str:
        """The name to write to: never that of a file that somebody else has made."""
        free = (name for name in TARGETS if name not in self.paths or self.is_ours(name))
        return next(free, "")

    def of(self, name: str) -> list[Done]:
        return [done for done in self.done if done.call.name == name]

    def is_ours(self, name: str) -> bool:
        reading = self.readings.get(name)
        return reading is not None and SIGNATURE in reading.text.lines

    def survey(self) -> Survey:
        ours = {name for name in TARGETS if self.is_ours(name)}
        found = [
            hit
            for done in self.of("grep")
            if not done.result.is_error
            for hit in hits(done.result.text)
            if hit.path not in ours
        ]
        return Survey(
            paths=tuple(path for path in self.paths if path not in ours),
            readings=tuple(r for path, r in self.readings.items() if path not in TARGETS),
            hits=tuple(found),
            is_cut=bool(self.pages) and is_cut(self.pages[-1]),
            has_more_hits=any(is_cut(done.result.text) for done in self.of("grep")),
        )


def heard(messages: Sequence[Message], tools: frozenset[str]) -> str:
    """Return the replies to the notes that have not been answered yet."""
    return _heard(_Story(tuple(messages), tools))


def next_step(
    messages: Sequence[Message],
    tools: frozenset[str],
    reports: Sequence[tuple[str, str]] = (),
    dropped: frozenset[str] = frozenset(),
) -> Step:
    """Return what the survey that opens with `messages[0]` does next."""
    story = _Story(tuple(messages), tools, tuple(reports), dropped)
    if not story.pages:
        return _list_files(story)
    offset = next_offset(story.pages[-1])
    if offset and len(story.pages) < _MOST_PAGES and "glob" in story.tools:
        text = joined(_heard(story), f"There are more than {offset:,} files. I'll look further.")
        return Step(text, (Want("glob", {"pattern": "**/*", "offset": offset}),))
    unread = _unread(story)
    if unread:
        return _read_files(story, unread)
    text = overview(
        story.survey(),
        is_short=story.wishes.is_short,
        said=story.wishes.said,
        reports=story.reports,
    )
    tried = story.of("write")
    if not tried:
        return _propose(story, text)
    return _after_write(story, tried, text)


def _list_files(story: _Story) -> Step:
    tried = story.of("glob")
    if "glob" not in story.tools:
        return _end(story, _INTRODUCTION, "But I was given no tool to list files, so I stop here.")
    if len(tried) >= _MOST_TRIES or (tried and not story.news):
        reason = code(tried[-1].result.text, 200)
        return _end(story, f"I could not list the files: {reason}")
    if "glob" in story.dropped:
        return _end(story, "Looking around is off my list, and all else needs it: I stop here.")
    wants = [Want("glob", {"pattern": "**/*"})]
    if "grep" in story.tools - story.dropped:
        wants.append(Want("grep", {"pattern": SEARCH, "ignore_case": True}))
    is_new = len(story.messages) == 1
    text = _INTRODUCTION if is_new else joined(_heard(story), "I'll look at the files.")
    return Step(text, tuple(wants), _THOUGHTS if is_new else "")


def _unread(story: _Story) -> list[str]:
    if "read" not in story.tools - story.dropped:
        return []
    ours = [name for name in TARGETS if name in story.paths]
    others = [path for path in story.paths if path not in TARGETS]
    chosen = dict.fromkeys((*worth_reading(others), *story.wishes.files, *ours))
    return [path for path in chosen if path not in story.readings]


def _read_files(story: _Story, unread: Sequence[str]) -> Step:
    least = "at least " if story.survey().is_cut else ""
    found = f"I found {least}{counted(len(story.paths), 'file')}."
    also = " too" if story.readings else ""
    names = ", ".join(code(path, 80) for path in unread)
    text = joined(_heard(story), f"{'' if also else found + ' '}I'll read {names}{also}.")
    return Step(text, tuple(Want("read", {"path": path}) for path in unread))


def _propose(story: _Story, text: str) -> Step:
    shown = joined(_heard(story), summary(story.survey()))
    if story.wishes.is_dry:
        return _end(story, shown, "As you asked, I write nothing.", is_heard=True)
    if "write" in story.dropped:
        ending = "Writing is off my list, so I write nothing."
        return _end(story, shown, ending, is_heard=True)
    if not story.target:
        taken = " and ".join(code(name) for name in TARGETS)
        ending = f"{taken} are there already and not mine, so I write nothing."
        return _end(story, shown, ending, is_heard=True)
    if _is_there(story, text):
        ending = f"{code(story.target)} is there already and says exactly this: nothing to write."
        return _end(story, shown, ending, is_heard=True)
    if "write" not in story.tools:
        return _end(
            story, shown, "I was given no tool to write files, so I stop here.", is_heard=True
        )
    verb = "update" if story.target in story.paths else "write"
    ask = f"Now I'd like to {verb} {code(story.target)}."
    return Step(joined(shown, ask), (_write(story, text),))


def _after_write(story: _Story, tried: Sequence[Done], text: str) -> Step:
    last = tried[-1]
    has_changed = str(last.call.arguments.get("content", "")) != text
    can_try = (
        len(tried) < _MOST_TRIES
        and not story.wishes.is_dry
        and "write" in story.tools - story.dropped
    )
    if not last.result.is_error:
        if has_changed and can_try:
            return Step(
                joined(_heard(story), f"I'll change {code(last.path)} accordingly."),
                (_write(story, text),),
            )
        return _end(story, _written(story, last))
    is_wanted = any(is_onward(note) for note in story.news)
    is_improved = has_changed and any(note not in story.wishes.said for note in story.news)
    if can_try and (is_wanted or is_improved):
        return Step(joined(_heard(story), "Here it is again for you."), (_write(story, text),))
    return _end(story, _refused(last))


def _written(story: _Story, last: Done) -> str:
    lines = str(last.call.arguments.get("content", "")).count("\n")
    files = counted(len(story.survey().paths), "file")
    told = f"Done: {code(last.path)} has {counted(lines, 'line')} about {files}."
    if story.wishes.is_dry:
        told = f"{code(last.path)} had been written before your note came. Delete it if you like."
    return told


def _refused(last: Done) -> str:
    reason = plain(last.result.text.removeprefix("Error: "), 200)
    if last.denial is not None:
        return f"You said no, and that is fine: {code(last.path)} was not written."
    if "exactly this content" in reason:
        return f"{code(last.path)} is there already and says exactly this: nothing to write."
    return f"{code(last.path)} was not written. This is what I was told:\n\n{quote(reason)}"


def _write(story: _Story, text: str) -> Want:
    return Want("write", {"path": story.target, "content": text})


def _is_there(story: _Story, text: str) -> bool:
    reading = story.readings.get(story.target)
    return reading is not None and "\n".join(reading.text.lines).strip() == text.strip()


def _reading(done: Done) -> Reading:
    if done.result.is_error:
        return Reading(done.path, problem=done.result.text.removeprefix("Error: "))
    return Reading(done.path, file_text(done.result.text))


def _results_in(messages: Sequence[Message], done: Sequence[Done]) -> list[Done]:
    fresh = {result.call_id for message in messages for result in message.results}
    return [one for one in done if one.call.id in fresh]


def _words_of_refusals(done: Sequence[Done]) -> tuple[str, ...]:
    answers = (one.denial for one in done)
    return tuple(no.reason.strip() for no in answers if no is not None and no.reason)


def _heard(story: _Story) -> str:
    return joined(*(_reply_to(note, story) for note in story.news[:5]))


def _reply_to(note: str, story: _Story) -> str:
    if is_onward(note):
        return "I go on."
    wish = wishes("", (note,), story.paths)
    replies: list[str] = []
    if wish.is_short:
        replies.append("I'll keep the overview short.")
    if wish.is_dry:
        replies.append("I won't write anything.")
    if wish.files:
        replies.append(f"I'll put {', '.join(code(path) for path in wish.files)} in.")
    if wish.missing and story.pages:
        replies.append(f"I can't find {', '.join(code(name) for name in wish.missing)} here.")
    if wish.said:
        replies.append("I can't act on that, so it goes into the overview under “You asked”.")
    return joined("Your note:", quote(note), " ".join(replies))


def _end(story: _Story, *parts: str, is_heard: bool = False) -> Step:
    return Step(joined("" if is_heard else _heard(story), *parts, CLOSING))

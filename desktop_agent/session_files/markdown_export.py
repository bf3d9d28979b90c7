"""Writes a session as Markdown: the branch that is shown, then each subagent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.core.messages import DiffDisplay, OutputDisplay
from desktop_agent.core.prose.markdown import backticks
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.session_files import words
from desktop_agent.session_files.transcript import (
    Answer,
    Called,
    Entry,
    Line,
    Said,
    Thoughts,
    Told,
    sections,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_SIGNS = str.maketrans({one: f"\\{one}" for one in "\\`*_{}[]<>#|~"})
# What is an entity, and what makes a list, a heading or a rule of a line that begins with it.
_ENTITY = re.compile(r"&(?=#?\w+;)")
_BEGINNING = re.compile(r"^( {0,3}(?:\d{1,9}(?=[.)])|(?=[-+=])))")
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)
# What goes on over blank lines, and what ends it; a block of code ends as it began.
_OPEN = re.compile(r"^ {0,3}(?:```|~~~|<[!?]|<(?:script|pre|style|textarea)\b)", re.M | re.I)
_ENDS = ("", "-->", "</pre>", "?>", "]]>", ">")
_MARKS = {"completed": "x", "in_progress": " ", "pending": " "}


def pieces(reader: SessionReader, info: SessionInfo) -> Iterator[bytes]:
    """Yield the file in pieces, one for each event."""
    yield f"# {_plain(words.title(info))}\n\n{_plain(words.about(info))}\n\n".encode()
    for section in sections(reader, info):
        if section.name is not None:
            yield f"## Subagent: {_plain(words.one_line(section.name, 80))}\n\n".encode()
        for added in section.entries:
            yield "".join(map(_entry, added)).encode()
        if section.tasks:
            yield _tasks(section.tasks).encode()


def _entry(entry: Entry) -> str:
    match entry:
        case Said():
            return _said(entry)
        case Told(head=head, text=text):
            return f"**{_plain(head)}:**\n\n{_quoted(text)}\n\n"
        case Answer(text=text, is_partial=is_partial):
            broken = f"*{words.BROKEN_OFF}*\n\n" if is_partial else ""
            return f"### Agent\n\n{ended(words.clean(text).strip())}\n\n{broken}"
        case Thoughts(text=text):
            return f"*Thoughts of the model:*\n\n{_quoted(text)}\n\n"
        case Called():
            return _called(entry)
        case Line(text=text):
            return f"*{_plain(text)}*\n\n"


def _said(said: Said) -> str:
    when = f" · {words.day(said.at)}" if words.day(said.at) else ""
    along = [f"With {_plain(words.one_line(one))}" for one in (*said.attachments, *said.skills)]
    along += [f"With a picture {_plain(words.one_line(one.name))}" for one in said.images]
    body = "\n\n".join(part for part in (_quoted(said.text), "  \n".join(along)) if part)
    return f"### {words.speaker(said.speaker)}{when}\n\n{body}\n\n"


def _called(called: Called) -> str:
    verb, target = words.call(called.call)
    went = words.outcome(called.outcome, called.result, called.seconds)
    head = f"- **{_plain(verb)}** {_plain(target)}" + (f" · {_plain(went)}" if went else "")
    body = ""
    match called.result.display if called.result is not None else None:
        case DiffDisplay(patch=patch):
            body = _fenced(patch, "diff")
        case OutputDisplay(text=text) if text.strip():
            body = _fenced(text)
        case _ if called.outcome == "failed" and called.result is not None:
            body = _fenced(called.result.text)
    changed = "".join(f"  - {_plain(line)}\n" for line in words.files(called.changes))
    return f"{head}\n{changed}\n{body}"


def _tasks(tasks: tuple[Task, ...]) -> str:
    lines = "".join(
        f"- [{_MARKS[one.status]}] {_plain(words.one_line(one.subject))}\n" for one in tasks
    )
    return f"## Tasks\n\n{lines}\n"


def ended(text: str) -> str:
    """Return Markdown of which nothing that follows is a part: an answer may break off in code."""
    if not _OPEN.search(text):
        return text
    for end in _ENDS:
        closed = f"{text}\n{end}".rstrip("\n")
        last = _parser().parse(f"{closed}\n\n# .")[-1]
        if last.type == "fence":
            return f"{text}\n{last.markup}"
        if last.type == "heading_close":
            return closed
    return text


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # sixty modules: not before there is a text

    return MarkdownIt("commonmark")


def _plain(text: str) -> str:
    """Return text on one line that Markdown takes for nothing else."""
    return _ENTITY.sub(r"\\&", text.translate(_SIGNS))


def _quoted(text: str) -> str:
    """Return words of a person as a quote: what they typed is no Markdown of the file's."""
    plain = words.clean(text).strip("\n")
    if _INDENTED.search(plain):  # code, which nothing else keeps as it is
        fence = backticks(plain, 3)
        return "\n".join(f"> {line}" for line in (fence, *plain.splitlines(), fence))
    lines = (_BEGINNING.sub(r"\1\\", _plain(line)) for line in plain.splitlines())
    return "\n".join(f"> {line}  " for line in lines)


def _fenced(text: str, language: str = "") -> str:
    """Return a block of code with a fence that nothing in it ends."""
    plain = words.clean(text).rstrip("\n")
    fence = backticks(plain, 3)
    return f"{fence}{language}\n{plain}\n{fence}\n\n"

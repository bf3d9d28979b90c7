"""Writes a session as one HTML file that looks like the window: no script, nothing from outside.

Whatever is said in a session is escaped. Pictures stand in the file as they are; a policy in its
head keeps a browser from loading or running anything else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from desktop_agent import paths
from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.core.messages import DiffDisplay, ImagePart, OutputDisplay
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.session_files import words
from desktop_agent.session_files.html_text import markdown, plain
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

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_STYLE = "session.css"
_OUTPUT = 200_000


def pieces(reader: SessionReader, info: SessionInfo) -> Iterator[bytes]:
    """Yield the file in pieces, one for each event."""
    title, about = _inline(words.title(info)), _inline(words.about(info))
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{title}</h1><p class="about">{about}</p></header>\n'
    ).encode()
    for section in sections(reader, info):
        if section.name is not None:
            name = _inline(words.one_line(section.name, 80))
            yield f'<details class="agent"><summary>Subagent: {name}</summary>\n'.encode()
        for added in section.entries:
            yield "".join(map(_entry, added)).encode()
        if section.tasks:
            yield _tasks(section.tasks).encode()
        if section.name is not None:
            yield b"</details>\n"
    yield b"</main>\n</body>\n</html>\n"


def _style() -> str:
    """Return the style sheet with the colours of the window's two looks."""
    theme: dict[str, Any] = json.loads(paths.resource("theme.json").read_text("utf-8"))
    sheet = paths.resource(_STYLE).read_text("utf-8")
    light, dark = (_colours(theme["color"][look]) for look in ("light", "dark"))
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{sheet}"


def _colours(tokens: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in tokens.items())


def _entry(entry: Entry) -> str:
    match entry:
        case Said():
            return _said(entry)
        case Told(head=head, text=text):
            body = markdown(text)
            return f'<details class="told"><summary>{_inline(head)}</summary>{body}</details>\n'
        case Answer(text=text, is_partial=is_partial):
            broken = _line(words.BROKEN_OFF) if is_partial else ""
            return f'<section class="answer">{markdown(text)}</section>\n{broken}'
        case Thoughts(text=text):
            body = markdown(text)
            head = "<summary>Thoughts of the model</summary>"
            return f'<details class="thoughts">{head}{body}</details>\n'
        case Called():
            return _called(entry)
        case Line(text=text, is_trouble=is_trouble):
            return _line(text, is_trouble=is_trouble)


def _line(text: str, *, is_trouble: bool = False) -> str:
    return f'<p class="line{" trouble" if is_trouble else ""}">{_inline(text)}</p>\n'


def _said(said: Said) -> str:
    who = "" if said.speaker == "user" else f"<b>{_inline(words.speaker(said.speaker))}</b>"
    along = [*said.skills, *said.attachments]
    named = f"<small>With {_inline('  ·  '.join(map(words.one_line, along)))}</small>"
    parts = [
        who,
        f'<div class="words">{plain(said.text)}</div>' if said.text else "",
        "".join(_picture(one) for one in said.images),
        named if along else "",
        f"<small>{words.day(said.at)}</small>" if words.day(said.at) else "",
    ]
    kind = "user" if said.speaker == "user" else "user other"
    return f'<section class="{kind}">{"".join(parts)}</section>\n'


def _picture(image: ImagePart) -> str:
    name = _inline(words.one_line(image.name or "picture", 120))
    if image.media_type not in _PICTURES:
        return f"<small>{name}</small>"
    body = base64.b64encode(image.data).decode()
    return f'<img alt="{name}" src="data:{image.media_type};base64,{body}">'


def _called(called: Called) -> str:
    verb, target = words.call(called.call)
    went = words.outcome(called.outcome, called.result, called.seconds)
    head = f"<b>{_inline(verb)}</b> <code>{_inline(target)}</code>"
    if went:
        head += f' <span class="went">{_inline(went)}</span>'
    body = _details(called)
    if not body:
        return f'<div class="call {called.outcome}">{head}</div>\n'
    summary = f"<summary>{head}</summary>"
    is_open = " open" if _diff(called) else ""
    return f'<details class="call {called.outcome}"{is_open}>{summary}{body}</details>\n'


def _details(called: Called) -> str:
    result = called.result
    parts: list[str] = []
    lines = [_inline(line) for line in words.files(called.changes)]
    match result.display if result is not None else None:
        case DiffDisplay():
            return _diff(called)
        case OutputDisplay(text=text) if text.strip():
            parts.append(_block(text))
        case _ if result is not None and result.text.strip():
            parts.append(_block(result.text))
    if lines:
        parts.append(f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>")
    images = result.images if result is not None else ()
    return "".join((*parts, *(_picture(one) for one in images)))


def _block(text: str) -> str:
    shown = words.clean(text)  # before it is cut: half a key is not known for one
    cut = f"\n… {len(shown) - _OUTPUT:,} characters more" if len(shown) > _OUTPUT else ""
    return f"<pre>{escape(shown[:_OUTPUT])}{cut}</pre>"


def _diff(called: Called) -> str:
    display = called.result.display if called.result is not None else None
    if not isinstance(display, DiffDisplay):
        return ""
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    lines = words.clean(display.patch)[:_OUTPUT].split("\n")
    while lines and (not lines[0] or lines[0].startswith(("--- ", "+++ "))):
        lines.pop(0)
    rows = (
        f'<span class="{kinds.get(line[:1], "same")}">{escape(line)}\n</span>' for line in lines
    )
    return f'<pre class="diff">{"".join(rows)}</pre>'


def _tasks(tasks: tuple[Task, ...]) -> str:
    rows = "".join(
        f'<li class="{one.status}">{_inline(words.one_line(one.subject))}</li>' for one in tasks
    )
    return f'<section class="tasks"><h2>Tasks</h2><ul>{rows}</ul></section>\n'


def _inline(text: str) -> str:
    return escape(words.one_line(text, 2_000))

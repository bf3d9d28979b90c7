"""The YAML between `---` lines at the head of a Markdown file, read leniently and within bounds."""

from __future__ import annotations

import re
from typing import cast

import msgspec

# More is not the head of a text.
LONGEST = 64_000
_MARK = "\ufeff"

_KEY = r"[A-Za-z][A-Za-z0-9_-]*"
# Of a line without the blanks at its end.
_LINE = re.compile(rf"({_KEY}):(?:[ ]+([^ ].*))?")
_NESTED = re.compile(rf"[ ]{{2}}({_KEY}):[ ]+([^ ].*)")
# What a plain YAML value can't begin with.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")


class FrontMatter(msgspec.Struct, frozen=True):
    """What stands in the head. Values are text, lists or maps of text, never numbers or dates.

    `warnings` tell what was odd, `problem` why nothing could be read. `has_mark` tells of a
    byte order mark before it.
    """

    fields: dict[str, object] = {}
    body: str = ""
    warnings: tuple[str, ...] = ()
    problem: str = ""
    has_mark: bool = False

    def text(self, key: str) -> str:
        """Return a field as text, lists joined by blanks; empty when it is not there."""
        return as_text(self.fields.get(key, ""))


def as_text(value: object) -> str:
    """Return a value as one text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return " ".join(as_text(entry) for entry in cast(list[object], value))
    if isinstance(value, dict):
        fields = cast(dict[str, object], value)
        return ", ".join(f"{key}: {as_text(entry)}" for key, entry in fields.items())
    return ""


def parse(text: str) -> FrontMatter:
    """Read the head of a text. Whatever stands there, it neither raises nor takes long."""
    head, body, problem = split(text)
    has_mark = text.startswith(_MARK)
    if problem:
        return FrontMatter(body=body, problem=problem, has_mark=has_mark)
    fields = plain_fields(head)
    if fields is not None:
        return FrontMatter(fields, body, has_mark=has_mark)
    # It takes 3 MB and 30 ms: only for a head that is more than plain lines.
    from desktop_agent.engine.skills import yaml_fields

    read = yaml_fields.read(head)
    return FrontMatter(read.fields, body, read.warnings, read.problem, has_mark)


def split(text: str) -> tuple[str, str, str]:
    """Return head, body and, when there is no head, why."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix(_MARK)
    if not text.startswith("---"):
        return "", text.strip(), "It does not begin with front matter (a line of three dashes)."
    end = text.find("\n---", 3)
    if end < 0:
        return "", text.strip(), "Its front matter does not end (with a line of three dashes)."
    head = text[3:end]  # with what stands behind the dashes, which may be a comment
    if len(head) > LONGEST:
        return "", "", f"Its front matter is longer than {LONGEST:,} characters."
    return head, text[end + 1 :].partition("\n")[2].strip(), ""


def plain_fields(head: str) -> dict[str, object] | None:
    """Read a head of plain lines as YAML would; None when it takes more than that."""
    fields: dict[str, object] = {}
    nested: dict[str, object] | None = None
    for whole in head.split("\n"):
        line = whole.rstrip(" ")
        if not line:
            continue
        if nested is not None and (found := _NESTED.fullmatch(line)) is not None:
            target = nested
        elif (found := _LINE.fullmatch(line)) is not None:
            target, nested = fields, None
        else:
            return None
        key, raw = found[1], found[2] or ""
        if key in target:
            return None
        if not raw and target is fields:
            target[key] = nested = {}
            continue
        value = _plain_value(raw)
        if value is None:
            return None
        target[key] = value
    return {key: value if value != {} else "" for key, value in fields.items()}


def _plain_value(raw: str) -> str | None:
    if not raw or not raw.isprintable():
        return None
    quote = raw[0]
    if quote in "'\"":
        inner = raw[1:-1]
        is_whole = len(raw) > 1 and raw[-1] == quote and not {quote, "\\"} & set(inner)
        return inner if is_whole else None
    if quote in _INDICATORS or raw.endswith(":") or ": " in raw or " #" in raw:
        return None
    return raw

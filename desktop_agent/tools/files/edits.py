"""Applying exact replacements to a text: all of them, or none."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from desktop_agent.core.tool import ToolError
from desktop_agent.engine.workspace.text_files import Text
from desktop_agent.tools.define import Arguments
from desktop_agent.tools.files.reading import WHOLE

_SHOWN_PLACES = 5
_CRLF = re.compile(r"\r\n")
_MOST_COMPARED = 5_000_000


class Replacement(Arguments, frozen=True):
    """One exact replacement."""

    old_string: Annotated[str, Meta(description="The exact text to replace, with its whitespace.")]
    new_string: Annotated[str, Meta(description="The text to put there.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False


def apply(text: Text, replacements: Sequence[Replacement]) -> str:
    """Return the text with every replacement made, in order; raises ToolError."""
    changed = text.text
    for number, replacement in enumerate(replacements, start=1):
        try:
            changed = _replaced(changed, replacement, has_crlf=text.has_crlf)
        except ToolError as error:
            if len(replacements) == 1:
                raise
            raise ToolError(f"edit {number}: {error} None of the edits was made.") from None
    if changed == text.text:
        raise ToolError("the edits change nothing.")
    return changed


def _replaced(text: str, replacement: Replacement, *, has_crlf: bool) -> str:
    old, new = replacement.old_string, replacement.new_string
    if not old:
        raise ToolError("old_string is empty; use `write` to make a file.")
    if old == new:
        raise ToolError("old_string and new_string are the same.")
    if has_crlf:
        # Models see and send plain line feeds; the file keeps its own line ends.
        old, new = _with_crlf(old), _with_crlf(new)
    elif "\r\n" in text and "\n" in old and "\r" not in old + new:
        return _replaced_in_mixed(text, replacement)
    _require_places(text, old, new, is_every=replacement.replace_all)
    return text.replace(old, new)


def _require_places(text: str, old: str, new: str, *, is_every: bool) -> None:
    """Raise ToolError unless there is one place, or all are meant, and the result is no larger."""
    count = text.count(old)
    if count == 0:
        raise ToolError(_not_found(text, old))
    # Places may overlap: which of them is meant can't be known either.
    is_unique = count == 1 and text.find(old) == text.rfind(old)
    if not is_unique and not is_every:
        times = f"{count} times" if count > 1 else "more than once"
        raise ToolError(
            f"old_string occurs {times} ({_places(text, old)}). Add lines around it until "
            "it is unique, or set replace_all."
        )
    if len(text) + count * (len(new) - len(old)) > WHOLE and len(new) > len(old):
        raise ToolError(f"the file would be larger than {WHOLE // 1_000_000} MB.")


def _replaced_in_mixed(text: str, replacement: Replacement) -> str:
    """Replace lines of a file with line ends of both kinds, which look the same to a model."""
    old, new = _with_lf(replacement.old_string), _with_lf(replacement.new_string)
    plain = _with_lf(text)
    _require_places(plain, old, new, is_every=replacement.replace_all)
    # Where in `plain` the line feeds are that are CR LF in the file.
    pairs = (found.start() for found in _CRLF.finditer(text))
    wide = [at - number for number, at in enumerate(pairs)]
    pieces: list[str] = []
    done, at = 0, plain.find(old)
    while at >= 0:
        start, after = at + bisect_left(wide, at), at + len(old)
        end = after + bisect_left(wide, after)
        pieces += [text[done:start], _with_ends_of(text[start:end], new)]
        done, at = end, plain.find(old, after)
    return "".join(pieces) + text[done:]


def _with_ends_of(stretch: str, new: str) -> str:
    """Return new lines that end as those which they replace, one by one."""
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in stretch.split("\n")[:-1]]
    *lines, last = new.split("\n")
    more = [ends[-1]] * (len(lines) - len(ends))
    return "".join(map(str.__add__, lines, ends + more)) + last


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_crlf(text: str) -> str:
    return _with_lf(text).replace("\n", "\r\n")


def _not_found(text: str, old: str) -> str:
    wanted = _squeezed(old)
    lines = text.split("\n")
    height = old.count("\n") + 1
    # Looking for near misses costs time with the file's length times the text's.
    if wanted and len(text) * height < _MOST_COMPARED:
        for index in range(len(lines) - height + 1):
            if _squeezed("\n".join(lines[index : index + height])) == wanted:
                return (
                    "old_string was not found: only the whitespace differs from what stands at "
                    f"line {index + 1}. Copy it from `read` exactly, without the line numbers."
                )
    return "old_string was not found in the file. Read the file and copy the text exactly."


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _places(text: str, old: str) -> str:
    lines: list[str] = []
    at = text.find(old)
    while at >= 0 and len(lines) < _SHOWN_PLACES:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + 1)
    return f"line {', '.join(lines)}" + (", …" if at >= 0 else "")

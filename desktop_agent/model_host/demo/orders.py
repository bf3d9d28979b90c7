"""What the demo model understands of a person's words: a few plain orders and wishes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from desktop_agent.model_host.demo.step import TARGETS

_MOST_FILES = 3
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Order:
    """What a message asks for; `kind` is `survey`, `list`, `read`, `search`, `run`, `ask` or ``.

    `about` is the file, the words or the command.
    """

    kind: str = ""
    about: str = ""


# Commands start with no article: "run the tests" is a wish the demo can't guess the command of.
_ORDERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "list",
        re.compile(r"(?:please )?(?:list|show)(?: me)?(?: all)?(?: the| my)? files\b.*", re.I),
    ),
    (
        "read",
        re.compile(r"(?:please )?(?:read|open|show)(?: me)? (?P<about>\S*[./]\S*|`[^`]+`)", re.I),
    ),
    ("search", re.compile(r"(?:please )?(?:search|grep|look) for (?P<about>.+)", re.I)),
    (
        "run",
        re.compile(
            r"(?:please )?run (?!(?:the|a|an|all|my|it|this|that|your)\b)(?P<about>.+)", re.I
        ),
    ),
    ("ask", re.compile(r"(?:please )?ask me\b.*", re.I)),
    ("survey", re.compile(r".*\b(?:look around|survey|overview)\b.*", re.I)),
)


def order_in(text: str) -> Order:
    """Return the order that the whole message is, or an empty one."""
    line = text.strip().splitlines()[0].strip()[:_LONGEST] if text.strip() else ""
    for kind, pattern in _ORDERS:
        match = pattern.fullmatch(line.rstrip(" .!?") if kind != "run" else line)
        if match:
            return Order(kind, _bare(match.groupdict().get("about") or ""))
    return Order()


def _bare(text: str) -> str:
    text = text.strip()
    for mark in '`"“':
        end = "”" if mark == "“" else mark
        if len(text) > 2 and text.startswith(mark) and text.endswith(end):
            return text[1:-1].strip()
    return text.removeprefix("@")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person wants of the survey, the opening message and all notes taken together.

    `files` are known files that were named, `missing` names that are not there, `said` the
    notes that are none of that.
    """

    is_short: bool = False
    is_dry: bool = False
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


_SHORT = re.compile(r"\b(?:short|shorter|brief|briefly|concise)\b", re.I)
_DRY = re.compile(
    r"\b(?:don['’]?t|do not|never|without) (?:write|writing|change|changing|create|save)\b"
    r"|\bwrite nothing\b|\bno (?:file|write|overview)\b",
    re.I,
)
_STOP = re.compile(r"\bstop\b", re.I)
_ONWARD = re.compile(r"(?:please )?(?:continue|go on|carry on|try again|retry|again)\b.*", re.I)
_NAME = re.compile(r"[^\s`\"'“”‘’(),;:!?<>]+")
_LOOKS_LIKE_A_FILE = re.compile(r"[\w\-./]*[\w\-]\.[A-Za-z][A-Za-z0-9]{0,5}")


def wishes(opening: str, notes: Sequence[str], paths: Sequence[str]) -> Wishes:
    """Read the opening message and the notes; `paths` are the files of the folder."""
    everything = "\n".join((opening, *notes))
    files, missing = named_files(everything, paths)
    return Wishes(
        is_short=bool(_SHORT.search(everything)),
        is_dry=bool(_DRY.search(everything)) or any(_STOP.search(note) for note in notes),
        files=files,
        missing=missing,
        said=tuple(note for note in notes if not _is_understood(note, paths)),
    )


def is_onward(note: str) -> bool:
    """Whether the note only asks to go on, or to try again."""
    return bool(_ONWARD.fullmatch(note.strip()))


def _is_understood(note: str, paths: Sequence[str]) -> bool:
    patterns = (_SHORT, _DRY, _STOP)
    return (
        is_onward(note)
        or any(pattern.search(note) for pattern in patterns)
        or bool(named_files(note, paths)[0])
    )


def named_files(text: str, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the paths a text names, and which names in it belong to no path."""
    known = {path.lower(): path for path in reversed(paths)}
    by_name = {path.rsplit("/", 1)[-1].lower(): path for path in reversed(paths)}
    files: dict[str, None] = {}
    missing: dict[str, None] = {}
    for match in _NAME.finditer(text[:10_000]):
        word = match.group().strip("@").rstrip(".")
        path = known.get(word.lower().removeprefix("./")) or by_name.get(word.lower())
        if path and ("." in word or "/" in word):
            files[path] = None
        elif _LOOKS_LIKE_A_FILE.fullmatch(word) and word not in TARGETS:
            missing[word] = None
    return tuple(files)[:_MOST_FILES], tuple(missing)[:_MOST_FILES]

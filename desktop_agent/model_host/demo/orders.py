"""What the demo model understands of a person's words: a few plain orders and wishes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from desktop_agent.core.messages import ToolCall
from desktop_agent.model_host.demo.step import call

# What the survey may write, in this order; the second name is for folders whose first is taken.
TARGETS = ("OVERVIEW.md", "OVERVIEW-demo.md")
_MOST_FILES = 3
_LONGEST = 2_000
_OPTIONS = ["list files", "look around", "read README.md"]


class Order(NamedTuple):
    """What a message asks for; `about` is the file, the words or the command."""

    kind: str = ""
    about: str = ""


# Kind → what gives the order.
# Commands start with no article: "run the tests" is a wish the demo can't guess the command of.
# fmt: off
_ORDERS = {
    "list": re.compile(r"(?:please )?(?:list|show)(?: me)?(?: all)?(?: the| my)? files\b.*", re.I),
    "read": re.compile(r"(?:please )?(?:read|open|show)(?: me)? (\S*[./]\S*|`[^`]+`)", re.I),
    "search": re.compile(r"(?:please )?(?:search|grep|look) for (.+)", re.I),
    "outside": re.compile(
        r"(?:please )?run (?!(?:the|a|an|all|my|it|this|that|your)\b)(.+) outside(?: the sandbox)?",
        re.I),
    "check": re.compile(
        r"(?:please )?check (?!(?:the|a|an|all|my|it|this|that|your)\b)(.+)", re.I),
    "run": re.compile(
        r"(?:please )?run (?!(?:the|a|an|all|my|it|this|that|your)\b)(.+)", re.I),
    "ask": re.compile(r"(?:please )?ask me\b.*", re.I),
    "survey": re.compile(r".*\b(?:look around|survey|overview)\b.*", re.I),
}
_COMMANDS = frozenset({"run", "check", "outside"})
# Kind → the tool it needs, how a person gives it, what is said to it, and the call.
ABILITIES: dict[str, tuple[str, str, str, Callable[[str], ToolCall]]] = {
    "list": ("glob", "“list files” shows what is in the folder",
             "I'll list the files.", lambda _: call("glob", pattern="**/*")),
    "read": ("read", "“read README.md” shows a file",
             "I'll read {}.", lambda about: call("read", path=about)),
    "search": ("grep", "“search for WORDS” looks through all files",
               "I'll search for {}.", lambda about: call("grep", pattern=about)),
    "run": ("shell", "“run ls -l” runs a command, after you have allowed it",
            "I'll run {}.", lambda about: call("shell", command=about)),
    "check": ("shell", "“check ls -l” runs a command that can change nothing",
              "I'll run {}, so that it can change nothing.",
              lambda about: call("shell", command=about, changes=False)),
    "outside": ("shell", "“run ls -l outside” asks to run it outside the sandbox",
                "I'll run {} outside the sandbox.",
                lambda about: call("shell", command=about, outside="You asked me to.")),
    "ask": ("ask_user", "“ask me something” puts a question to you",
            "I'll ask you something.", lambda _: call("ask_user", options=_OPTIONS,
            question="Which of these would you like to see next?")),
    "show": ("read", "", "I'm a script and can't answer that, but I can show you {}.",
             lambda about: call("read", path=about)),
    "survey": ("glob", "“look around” surveys the folder and offers to write `OVERVIEW.md`",
               "", lambda _: call("glob", pattern="**/*")),
}
# fmt: on


def order_in(text: str) -> Order:
    """Return the order that the whole message is, or an empty one."""
    line = text.strip().splitlines()[0].strip()[:_LONGEST] if text.strip() else ""
    for kind, pattern in _ORDERS.items():
        if match := pattern.fullmatch(line if kind in _COMMANDS else line.rstrip(" .!?")):
            return Order(kind, _bare(match.group(1) if pattern.groups else ""))
    return Order()


def _bare(text: str) -> str:
    text = text.strip()
    if len(text) > 2 and text[0] + text[-1] in {"``", '""', "“”"}:
        return text[1:-1].strip()
    return text.removeprefix("@")


class Wishes(NamedTuple):
    """What the person wants of the survey, the opening message and all notes taken together.

    `files` are known files that were named, `missing` names that are not there, `said` the
    notes that are none of that.
    """

    is_short: bool
    is_dry: bool
    files: tuple[str, ...]
    missing: tuple[str, ...]
    said: tuple[str, ...]


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
    is_dry = bool(_DRY.search(everything)) or any(_STOP.search(note) for note in notes)
    said = tuple(note for note in notes if not _is_understood(note, paths))
    return Wishes(bool(_SHORT.search(everything)), is_dry, *named_files(everything, paths), said)


def is_onward(note: str) -> bool:
    """Whether the note only asks to go on, or to try again."""
    return bool(_ONWARD.fullmatch(note.strip()))


def _is_understood(note: str, paths: Sequence[str]) -> bool:
    is_wish = _SHORT.search(note) or _DRY.search(note) or _STOP.search(note)
    return bool(is_wish or is_onward(note) or named_files(note, paths)[0])


def named_files(text: str, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the paths a text names, and which names in it belong to no path."""
    known = {path.rpartition("/")[2].lower(): path for path in reversed(paths)}
    known |= {path.lower(): path for path in reversed(paths)}
    files: dict[str, None] = {}
    missing: dict[str, None] = {}
    for match in _NAME.finditer(text[:10_000]):
        word = match.group().strip("@").rstrip(".")
        path = known.get(word.lower().removeprefix("./"))
        if path and ("." in word or "/" in word):
            files[path] = None
        elif _LOOKS_LIKE_A_FILE.fullmatch(word) and word not in TARGETS:
            missing[word] = None
    return tuple(files)[:_MOST_FILES], tuple(missing)[:_MOST_FILES]

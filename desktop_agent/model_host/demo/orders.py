"""What the demo model understands of a person's words: a few plain orders and wishes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.model_host.demo.script import SCRIPT

# What the survey may write, in this order; the second name is for folders whose first is taken.
TARGETS = ("OVERVIEW.md", "OVERVIEW-demo.md")
_MOST_FILES = 3
_LONGEST = 2_000
_ORDERS = {kind: re.compile(order["pattern"], re.I) for kind, order in SCRIPT["orders"].items()}
_WISHES = {kind: re.compile(pattern, re.I) for kind, pattern in SCRIPT["wishes"].items()}
_NAME = re.compile(r"[^\s`\"'“”‘’(),;:!?<>]+")
_LOOKS_LIKE_A_FILE = re.compile(r"[\w\-./]*[\w\-]\.[A-Za-z][A-Za-z0-9]{0,5}")


class Order(NamedTuple):
    """What a message asks for; `about` is the file, the words or the command."""

    kind: str = ""
    about: str = ""


def order_in(text: str) -> Order:
    """Return the order that the whole message is, or an empty one."""
    line = next(iter(text.strip().splitlines()), "").strip()[:_LONGEST]
    for kind, pattern in _ORDERS.items():
        is_command = SCRIPT["orders"][kind]["tool"] == "shell"
        if match := pattern.fullmatch(line if is_command else line.rstrip(" .!?")):
            about = match[1].strip() if pattern.groups else ""
            is_quoted = len(about) > 2 and about[0] + about[-1] in {"``", '""', "“”"}
            return Order(kind, about[1:-1].strip() if is_quoted else about.removeprefix("@"))
    return Order()


class Wishes:
    """What the person wants of the survey, the opening message and all notes taken together.

    `files` are those of `paths` that were named, `missing` names that are not there, `said` the
    notes that are none of that.
    """

    def __init__(self, opening: str, notes: Sequence[str], paths: Sequence[str]) -> None:
        self.text = text = "\n".join((opening, *notes))
        # Only to go on, or to try again.
        self.is_onward = bool(_WISHES["onward"].search(text))
        self.is_short = bool(_WISHES["short"].search(text))
        self.is_dry = bool(_WISHES["dry"].search(text)) or any(map(_WISHES["stop"].search, notes))
        self.files, self.missing = named_files(text, paths)
        strange = [note for note in notes if not any(w.search(note) for w in _WISHES.values())]
        self.said = [note for note in strange if not named_files(note, paths)[0]][:10]


def named_files(text: str, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of the paths a text names, and which names in it belong to no path."""
    known = {path.rpartition("/")[2].lower(): path for path in reversed(paths)}
    known |= {path.lower(): path for path in reversed(paths)}
    words = [word.strip("@").rstrip(".") for word in _NAME.findall(text[:10_000])]
    found = {word: known.get(word.lower().removeprefix("./"), "") for word in words}
    files = [path for word, path in found.items() if path and ("." in word or "/" in word)]
    others = [word for word, path in found.items() if not path and word not in TARGETS]
    missing = [word for word in others if _LOOKS_LIKE_A_FILE.fullmatch(word)]
    return tuple(dict.fromkeys(files))[:_MOST_FILES], tuple(missing)[:_MOST_FILES]

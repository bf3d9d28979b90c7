"""The demo model's task list: what stands on it, what the person changed, what to change now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from desktop_agent.core.messages import Message
from desktop_agent.model_host.demo.history import done_calls
from desktop_agent.model_host.demo.markdown import quote
from desktop_agent.model_host.demo.step import Want
from desktop_agent.model_host.demo.team import texts_of

# Key → subject, what is shown while it is done, and what it waits for.
PLAN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "glob": ("Look around", "Looking around", ()),
    "grep": ("Search for open points", "Searching for open points", ()),
    "read": ("Read the important files", "Reading the important files", ("glob",)),
    "Count the files": ("Count the files", "Counting the files", ("glob",)),
    "Read the notes": ("Read the notes", "Reading the notes", ("glob",)),
    "write": (
        "Write OVERVIEW.md",
        "Writing OVERVIEW.md",
        ("grep", "read", "Count the files", "Read the notes"),
    ),
}

_EDITED = "[The user edited your task list]"
_NUMBER = re.compile(r"#(\d{1,9})\b")
_BLOCK = re.compile(r"<tasks>\n?((?:(?!</?tasks>).)*+)</tasks>", re.S)
_LINE = re.compile(r"^- #(\d{1,9}) \[(\w+)\] (.*)$", re.M)
_REPORTED = re.compile(r"^Task #(\d{1,9}) is (completed|pending)\b", re.M)
_ADDED = re.compile(r"^added #(\d{1,9}): (.*)$")
_LEFT_OUT = re.compile(r"^(?:deleted|skip) #\d{1,9} \((.*?)\)(?::.*)?$")
_NEXT = re.compile(r"^do #(\d{1,9}) \((.*)\) next$")
_WORD = re.compile(r"[^\W\d_]{4,}")
_MOST_EDITS = 6


@dataclass(frozen=True, slots=True)
class Tasks:
    """The list: ids of the plan's own tasks, and the status of each id that is on it."""

    ids: Mapping[str, int] = field(default_factory=dict[str, int])
    states: Mapping[int, str] = field(default_factory=dict[int, str])
    added: Mapping[int, str] = field(default_factory=dict[int, str])
    asked_for: frozenset[str] = frozenset()

    def status(self, key: str) -> str:
        """Return a task's status; empty when it is not, or no longer, on the list."""
        return self.states.get(self.ids.get(key, 0), "")

    def set(self, key: str, status: str) -> tuple[Want, ...]:
        """Return the call that gives a task of the plan this status, if it needs one."""
        if self.status(key) in {"", status}:
            return ()
        return (Want("TaskUpdate", {"taskId": self.ids[key], "status": status}),)


def tasks(messages: Sequence[Message]) -> Tasks:
    """Read the list out of a history."""
    ids: dict[str, int] = {}
    keys = {subject: key for key, (subject, _, _) in PLAN.items()}
    asked: set[str] = set()
    for one in done_calls(messages):
        if one.call.name == "TaskCreate" and not one.was_cut:
            key = keys.get(str(one.call.arguments.get("subject", "")), "")
            asked.add(key)
            if key and (match := _NUMBER.search(one.result.text)):
                ids[key] = int(match.group(1))
    added = {
        int(match.group(1)): match.group(2)
        for line in edits(messages)
        if (match := _ADDED.match(line))
    }
    return Tasks(ids, _states(messages), added, frozenset(asked))


def _states(messages: Sequence[Message]) -> dict[int, str]:
    """Return the newest state of the list, with what reports said of it since."""
    states: dict[int, str] = {}
    for message in messages:
        results = [result.text for result in message.results]
        for text in (*results, *texts_of([message])):
            for block in _BLOCK.findall(text):
                states = {int(number): status for number, status, _ in _LINE.findall(block)}
            if text.startswith("[Report from "):
                told = {int(number): status for number, status in _REPORTED.findall(text)}
                states |= {number: told[number] for number in told if number in states}
    return states


def creations(keys: Sequence[str]) -> tuple[Want, ...]:
    """Return the calls that put these tasks on the list."""
    return tuple(
        Want("TaskCreate", {"subject": PLAN[key][0], "activeForm": PLAN[key][1]}) for key in keys
    )


def links(found: Tasks) -> tuple[Want, ...]:
    """Return the calls that say what has to wait for what."""
    wants: list[Want] = []
    for key, (_, _, blockers) in PLAN.items():
        known = [found.ids[b] for b in blockers if found.status(b)]
        if found.status(key) and known:
            wants.append(Want("TaskUpdate", {"taskId": found.ids[key], "addBlockedBy": known}))
    return tuple(wants)


def edits(messages: Sequence[Message]) -> list[str]:
    """Return what the person changed by hand, one line each, oldest first."""
    notes = [text for text in texts_of(messages) if text.startswith(_EDITED)]
    lines = [line for note in notes for line in note.split("\n<tasks>")[0].splitlines()[1:]]
    return [line.removeprefix("- ").strip() for line in lines if line.startswith("- ")]


def replies(messages: Sequence[Message], found: Tasks) -> str:
    """Return what is said to the person's changes in these messages."""
    lines = edits(messages)[:_MOST_EDITS]
    if not lines:
        return ""
    told = "\n\n".join(f"{quote(line)}\n\n{_reply(line, found)}" for line in lines)
    return f"You changed my list:\n\n{told}"


def _reply(line: str, found: Tasks) -> str:
    if _LEFT_OUT.match(line):
        return "I leave that out."
    if _ADDED.match(line):
        return "I'm a script, so all I can do is search the files for its longest word."
    if match := _NEXT.match(line):
        number = int(match.group(1))
        if found.states.get(number) == "completed":
            return "That is done already."
        return "I do it as soon as what it waits for is done."
    return "Noted: I go by the list as it stands now."


def open_additions(found: Tasks) -> dict[int, str]:
    """Return what the person added and has not been dealt with."""
    return {n: text for n, text in found.added.items() if found.states.get(n, "") == "pending"}


def begun_additions(found: Tasks) -> dict[int, str]:
    """Return what the person added and was searched for."""
    return {n: text for n, text in found.added.items() if found.states.get(n) == "in_progress"}


def longest_word(text: str) -> str:
    """Return what to search for."""
    return max(_WORD.findall(text), key=len, default="")

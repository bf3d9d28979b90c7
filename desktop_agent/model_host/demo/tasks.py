"""The demo model's task list: what stands on it, what the person changed, what to change now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from desktop_agent.core.messages import Message
from desktop_agent.core.parts.facts import ListShown
from desktop_agent.core.parts.origins import EditLine, Report, TaskEdits, TaskListShown
from desktop_agent.model_host.demo.history import done_calls, parts_of
from desktop_agent.model_host.demo.markdown import quote
from desktop_agent.model_host.demo.step import Want

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
            if key and isinstance(one.result.facts, ListShown):
                ids[key] = one.result.facts.task_id
    added = {edit.task_id: edit.subject for edit in edits(messages) if edit.kind == "add"}
    return Tasks(ids, _states(messages), added, frozenset(asked))


def _states(messages: Sequence[Message]) -> dict[int, str]:
    """Return the newest state of the list, with what reports said of it since."""
    states: dict[int, str] = {}
    for message in messages:
        for result in message.results:
            if isinstance(result.facts, ListShown):
                states = dict(result.facts.states)
        for origin, _ in parts_of([message]):
            match origin:
                case TaskListShown(states=shown):
                    states = dict(shown)
                case Report(task_id=number, task_status=status) if status and number in states:
                    states[number] = status
                case _:
                    pass
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


def edits(messages: Sequence[Message]) -> list[EditLine]:
    """Return what the person changed by hand, oldest first."""
    noted = [origin for origin, _ in parts_of(messages) if isinstance(origin, TaskEdits)]
    return [edit for note in noted for edit in note.edits]


def replies(messages: Sequence[Message], found: Tasks) -> str:
    """Return what is said to the person's changes in these messages."""
    made = edits(messages)[:_MOST_EDITS]
    if not made:
        return ""
    told = "\n\n".join(f"{quote(edit.line)}\n\n{_reply(edit, found)}" for edit in made)
    return f"You changed my list:\n\n{told}"


def _reply(edit: EditLine, found: Tasks) -> str:
    match edit.kind:
        case "delete" | "skip":
            return "I leave that out."
        case "add":
            return "I'm a script, so all I can do is search the files for its longest word."
        case "next" if found.states.get(edit.task_id) == "completed":
            return "That is done already."
        case "next":
            return "I do it as soon as what it waits for is done."
        case _:
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

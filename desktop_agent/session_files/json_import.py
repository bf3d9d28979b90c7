"""Reads a session from JSON that anybody may have written: all of it is checked before any is kept.

No id and no path of the file is taken over, and no right: rules, modes and budgets are those of
this computer. Subagents that had not ended are ended.
"""

from __future__ import annotations

import graphlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from desktop_agent.adapters.store.branches import Branch
from desktop_agent.adapters.store.importing import EventRow, SessionFrame
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    BudgetChanged,
    ListChanged,
)
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.sessions import SessionFileError
from desktop_agent.core.tasks import TaskState
from desktop_agent.core.workspace import Workspace
from desktop_agent.session_files import document
from desktop_agent.session_files.checks import LARGEST_NUMBER, check_id, check_value

LARGEST_FILE = 256 << 20
_MOST_EVENTS = 500_000
_MOST_BRANCHES = 500
_MOST_AGENTS = 5_000
_MOST_TASKS = 10_000
_LONGEST_TITLE = 200
_T = TypeVar("_T")
_NO_FILE = "That is no session that Desktop Agent has exported"


class Imported(msgspec.Struct, frozen=True):
    """A file that was checked. `rows` are made anew from its text, with new ids, each time."""

    about: document.About
    frame: SessionFrame
    count: int
    _entries: Sequence[document.EventEntry]
    _ids: document.Ids
    _workspace: Workspace
    _open: Sequence[AgentId]

    def rows(self) -> Iterator[EventRow]:
        """Yield the events, and the ends of subagents that had none."""
        row = None
        for entry in self._entries:
            body = self._ids.replace(msgspec.json.encode(_event_of(entry)))
            event = msgspec.json.decode(body, type=AgentEvent)
            if isinstance(event, BudgetChanged) and event.agent_id == self.frame.main_agent:
                continue
            row = EventRow(entry.seq, entry.branch, entry.at, self._at_home(event))
            yield row
        now = time.time()
        for place, agent_id in enumerate(self._open, 1):
            seq, branch = (row.seq, row.branch) if row is not None else (0, 0)
            ended = AgentEnded(agent_id, "stopped", "", now, by="app")
            yield EventRow(seq + place, branch, now, ended)

    def _at_home(self, event: AgentEvent) -> AgentEvent:
        """Return the event without a path of the other computer's that would be used."""
        if isinstance(event, AgentSpawned):
            spec = msgspec.structs.replace(event.spec, workspace=self._workspace)
            return msgspec.structs.replace(event, spec=spec)
        return event


def read(
    path: Path, workspace: Workspace, told: Callable[[float], None] = lambda _: None
) -> Imported:
    """Return what a file holds, for a session in these folders. Raises SessionFileError.

    `told` hears how much was checked, from 0 to 1; what it raises ends it.
    """
    raw = _bytes_of(path)
    whole = _decoded(raw, document.Document, _NO_FILE)
    if whole.version != document.VERSION:
        raise SessionFileError("That session was exported by a newer version of Desktop Agent.")
    _check_branches(whole)
    _check_lists(whole)
    ids = document.renewed()
    head = _head_of(whole)
    check_value(msgspec.json.decode(head), is_ours=False)
    ids.learn(head)
    open_agents = _check_events(whole, ids, told)
    new = msgspec.json.decode(ids.replace(head), type=document.Head)
    open_ids = [AgentId(ids.replace(one.encode()).decode()) for one in open_agents]
    return Imported(
        _about(whole.session),
        _frame(new),
        len(whole.events),
        whole.events,
        ids,
        workspace,
        open_ids,
    )


def _bytes_of(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SessionFileError("That is not a file.")
            raw = file.read(LARGEST_FILE + 1) if status.st_size <= LARGEST_FILE else b""
    except OSError as error:
        raise SessionFileError(f"The file can’t be read: {error.strerror or error}.") from error
    if len(raw) > LARGEST_FILE or status.st_size > LARGEST_FILE:
        raise SessionFileError(f"The file is larger than {LARGEST_FILE >> 20} MB.")
    return raw


def _decoded(raw: bytes | msgspec.Raw, kind: type[_T], otherwise: str) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionFileError(f"{otherwise}: {error}.") from error


def _event_of(entry: document.EventEntry) -> AgentEvent:
    what = f"Event {entry.seq} can’t be read"
    return _decoded(entry.event, AgentEvent, what)  # pyright: ignore[reportArgumentType] - a union


def _head_of(whole: document.Document) -> bytes:
    fields = {name: getattr(whole, name) for name in document.Head.__struct_fields__}
    return msgspec.json.encode(document.Head(**fields))


def _about(given: document.About) -> document.About:
    now = time.time()
    title = " ".join(given.title.split())[:_LONGEST_TITLE] or "Imported session"
    created = min(max(given.created_at, 0.0), now)
    # One that was never changed would count as a session in which nothing was said.
    updated = min(max(given.updated_at, created), now) if given.updated_at > created else now
    return document.About(title, created, updated, given.usage)


def _frame(head: document.Head) -> SessionFrame:
    branches = tuple(
        Branch(o.number, o.parent, o.cut, MessageId(o.before), o.used, o.revision)
        for o in head.branches
    )
    lists, versions = head.task_lists, head.task_versions
    return SessionFrame(head.main_agent, branches, lists, versions, head.task_marks)


def _check_branches(whole: document.Document) -> None:
    known: set[int] = set()
    if len(whole.branches) > _MOST_BRANCHES:
        raise SessionFileError(f"The file has more than {_MOST_BRANCHES} branches.")
    for one in whole.branches:
        is_first = one.number == 0
        if one.number in known or is_first is not (one.parent is None):
            raise SessionFileError("The branches in the file make no tree.")
        if one.parent is not None and (one.parent not in known or one.parent >= one.number):
            raise SessionFileError("The branches in the file make no tree.")
        if not is_first:
            check_id(one.before, "me_")
        known.add(one.number)
    used = [one.used for one in whole.branches]
    if len(set(used)) < len(used) or (whole.branches and 0 not in known):
        raise SessionFileError("The branches in the file make no tree.")


def _check_lists(whole: document.Document) -> None:
    states = [*whole.task_lists.values(), *(state for _, state in whole.task_versions)]
    if len(states) > _MOST_TASKS or sum(len(one.tasks) for one in states) > _MOST_EVENTS:
        raise SessionFileError("The file has too many tasks.")
    revisions = [revision for revision, _ in whole.task_versions]
    marks = [message for message, _ in whole.task_marks]
    if len(set(revisions)) < len(revisions) or len(set(marks)) < len(marks):
        raise SessionFileError("The task lists in the file contradict each other.")
    for message in marks:
        check_id(message, "me_")
    for state in states:
        _check_list(state)


def _check_list(state: TaskState) -> None:
    ids = {task.id for task in state.tasks}
    is_sound = len(ids) == len(state.tasks) <= _MOST_TASKS
    is_sound &= all(0 < one < state.next_id for one in ids) and 0 < state.next_id < LARGEST_NUMBER
    is_sound &= 0 <= state.revision < LARGEST_NUMBER
    edges = {task.id: set(task.blocked_by) & ids for task in state.tasks}
    try:
        graphlib.TopologicalSorter(edges).prepare()
        for task in state.tasks:
            metadata = msgspec.json.decode(task.metadata_json, type=dict[str, Any])
            check_value(metadata, is_ours=False)
    except (graphlib.CycleError, msgspec.DecodeError, RecursionError):
        is_sound = False
    if not is_sound:
        raise SessionFileError("A task list in the file contradicts itself.")


def _check_events(
    whole: document.Document, ids: document.Ids, told: Callable[[float], None]
) -> list[AgentId]:
    """Check each event and take in its ids; return the subagents that did not end."""
    if len(whole.events) > _MOST_EVENTS:
        raise SessionFileError(f"The file has more than {_MOST_EVENTS:,} events.")
    check_id(whole.main_agent, "ag_")
    branches = {one.number for one in whole.branches} or {0}
    agents: dict[AgentId, bool] = {whole.main_agent: False}  # whether it has ended
    last = 0
    for number, entry in enumerate(whole.events):
        told(number / len(whole.events))
        if entry.seq <= last or entry.branch not in branches:
            raise SessionFileError(f"Event {entry.seq} is out of order.")
        last = entry.seq
        event = _event_of(entry)
        body = msgspec.json.encode(event)
        check_value(entry.at)
        check_value(msgspec.json.decode(body))
        _follow(event, agents, entry.seq)
        ids.learn(body)
    if any(agent_id not in agents for agent_id in whole.task_lists):
        raise SessionFileError("The file has a task list of nobody’s.")
    return [one for one, has_ended in agents.items() if one != whole.main_agent and not has_ended]


def _follow(event: AgentEvent, agents: dict[AgentId, bool], seq: int) -> None:
    if isinstance(event, AgentSpawned):
        check_id(event.agent_id, "sa_")
        if event.agent_id in agents or event.spec.parent_id not in agents:
            raise SessionFileError(f"Event {seq} starts a subagent of nobody’s.")
        agents[event.agent_id] = False
        if len(agents) > _MOST_AGENTS:
            raise SessionFileError(f"The file has more than {_MOST_AGENTS:,} subagents.")
    elif event.agent_id not in agents or isinstance(event, ListChanged):
        raise SessionFileError(f"Event {seq} belongs to nobody.")
    elif isinstance(event, AgentEnded):
        if event.agent_id == next(iter(agents)):
            # Nobody could say anything in that session any more.
            raise SessionFileError(f"Event {seq} ends the main agent, which never ends.")
        agents[event.agent_id] = True

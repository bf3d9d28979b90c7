"""All that the next step of a survey follows from: folder, wishes, task list and subagents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from desktop_agent.core.messages import Message, ToolCall
from desktop_agent.core.parts import facts, origins
from desktop_agent.model_host.demo import history
from desktop_agent.model_host.demo.child import CREW
from desktop_agent.model_host.demo.folder import worth_reading
from desktop_agent.model_host.demo.history import Done, History, parts_of
from desktop_agent.model_host.demo.markdown import joined
from desktop_agent.model_host.demo.orders import TARGETS, wishes
from desktop_agent.model_host.demo.overview import SIGNATURE, Survey, overview
from desktop_agent.model_host.demo.step import call

SEARCH = r"to-?do|fix-?me|- \[ \]"
_MOST_PAGES = 4
LIST_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})
TEAM_TOOLS = frozenset({"spawn", "wait", "answer_child", "stop"})
_ENDED = {"stopped": "was stopped", "failed": "failed", "over_budget": "used up its budget"}


class Plan(NamedTuple):
    """A task: its subject, what is shown while it is done, and what it waits for."""

    subject: str
    active: str
    blockers: tuple[str, ...] = ()


# By the tool, or the subagent, that does it.
PLAN = {
    "glob": Plan("Look around", "Looking around"),
    "grep": Plan("Search for open points", "Searching for open points"),
    "read": Plan("Read the important files", "Reading the important files", ("glob",)),
    "Count the files": Plan("Count the files", "Counting the files", ("glob",)),
    "Read the notes": Plan("Read the notes", "Reading the notes", ("glob",)),
    "write": Plan("Write OVERVIEW.md", "Writing OVERVIEW.md", ("grep", "read", *CREW)),
}


class SurveyState(History):
    """The survey so far."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        super().__init__(messages, tools)
        self.has_list, self.has_team = tools >= LIST_TOOLS, tools >= TEAM_TOOLS
        # The tasks that the tools allow.
        self.keys = [key for key in PLAN if (self.has_team if key in CREW else key in tools)]
        self._see_team()
        self._see_list()
        self._see_folder()

    def of(self, name: str) -> list[Done]:
        """Return the survey's own calls of a tool."""
        found = super().of(name)
        return [one for one in found if name != "grep" or one.given("pattern") == SEARCH]

    def _see_folder(self) -> None:
        self.pages = [one.result.text for one in self.of("glob") if not one.result.is_error]
        last = self.pages[-1] if self.pages else ""
        has_more = len(self.pages) < _MOST_PAGES and "glob" in self.tools
        self.offset = history.next_offset(last) if has_more else 0
        opening = joined(*history.user_texts(self.messages[:1]))
        self.wishes = wishes(opening, self.notes, self.paths)
        self.readings = {one.given("path"): history.reading(one) for one in self.of("read")}
        # Files that an earlier survey has made; no others are overwritten.
        ours = {path for path, one in self.readings.items() if SIGNATURE in one.lines}
        self.target = next((t for t in TARGETS if t not in self.paths or t in ours), "")
        others = [path for path in self.paths if path not in TARGETS]
        targets = [path for path in TARGETS if path in self.paths]
        chosen = dict.fromkeys((*worth_reading(others), *self.wishes.files, *targets))
        self.unread = [p for p in chosen if p not in self.readings] if self.may("read") else []
        searches = [one.result.text for one in self.of("grep") if not one.result.is_error]
        self.survey = Survey(
            [path for path in self.paths if path not in ours],
            [one for path, one in self.readings.items() if path not in TARGETS],
            [hit for text in searches for hit in history.hits(text) if hit.path not in ours],
            history.is_cut(last),
            any(map(history.is_cut, searches)),
        )
        self.tried = self.of("write")

    def _see_list(self) -> None:
        keys = {plan.subject: key for key, plan in PLAN.items()}
        made = [(one.given("subject"), one.result.facts) for one in self.of("TaskCreate")]
        self.made = {subject for subject, _ in made}
        self.ids = {
            keys[subject]: shown.task_id
            for subject, shown in made
            if subject in keys and isinstance(shown, facts.ListShown)
        }
        # The newest state of the list, with what reports said of it since.
        self.states: dict[int, str] = {}
        for message in self.messages:
            seen = [o for o, _ in parts_of([message], origins.TaskListShown, origins.Report)]
            for one in (*(result.facts for result in message.results), *seen):
                if isinstance(one, facts.ListShown | origins.TaskListShown):
                    self.states = dict(one.states)
                elif isinstance(one, origins.Report) and one.task_id in self.states:
                    self.states[one.task_id] = one.task_status or self.states[one.task_id]
        # What the person took off the list, or ticked off, before it was begun.
        begun = {one.call.name for one in self.calls if one.call.name != "grep"} | set(self.started)
        begun |= {"grep"} if any(one.given("pattern") == SEARCH for one in self.calls) else set()
        self.dropped = {key for key in self.ids if self.status(key) in {"", "completed"}} - begun

    def _see_team(self) -> None:
        spawned = [(one.given("description"), one.result.facts) for one in self.of("spawn")]
        # Name → id.
        self.started = {f.name: f.agent_id for _, f in spawned if isinstance(f, facts.Started)}
        self.lost = {name for name, _ in spawned} - set(self.started)
        reports = parts_of(self.messages, origins.Report)
        ended = {report.agent_id for report, _ in reports}
        self.at_work = {name: agent for name, agent in self.started.items() if agent not in ended}
        waits = self.of("wait")
        self.waits = [f for one in waits if isinstance(f := one.result.facts, facts.Waited)]
        self.idle = sum(wait.outcome == "timeout" for wait in self.waits)
        # Once nothing comes any more the survey goes on alone.
        is_vain = any(wait.outcome == "nobody" for wait in self.waits) or self.idle > 1
        is_vain = is_vain or any(one.result.is_error for one in waits) or "wait" not in self.tools
        self.awaited = {} if is_vain else self.at_work
        # Why there is no result of those that were to give one.
        missing = dict.fromkeys(self.lost, "It could not be started.")
        missing |= dict.fromkeys(self.at_work, "It had not ended when this was written.")
        found: dict[str, str] = {}
        for report, text in reports:
            if report.status == "completed" and text:
                found[report.name] = text
            else:
                words = _ENDED.get(report.status, "ended without a result")
                missing[report.name] = f"There is no result: it {words}."
        self.missing = {name: missing[name] for name in CREW if name in missing}
        found = self.missing | found
        self.findings = [(name, found[name]) for name in CREW if name in found]
        # Who asks what since the last answer: in answers of `wait`, and in notes.
        came = [f for one in self.came if isinstance(f := one.result.facts, facts.Waited)]
        self.timed_out = any(wait.outcome == "timeout" for wait in came)
        asked = [(wait.agent_id, wait.question) for wait in came if wait.outcome == "question"]
        asked += [(o.agent_id, text) for o, text in parts_of(self.fresh, origins.ChildQuestion)]
        self.questions = {agent: text.partition("\n")[0] for agent, text in asked}

    @cached_property
    def draft(self) -> str:
        """The text of the overview, as it is wanted now."""
        wish = self.wishes
        return overview(self.survey, is_short=wish.is_short, said=wish.said, reports=self.findings)

    def may(self, tool: str) -> bool:
        """Whether the tool is there and its task was not taken off the list."""
        return tool in self.tools and tool not in self.dropped

    def status(self, key: str) -> str:
        """Return a task's status; empty when it is not, or no longer, on the list."""
        return self.states.get(self.ids.get(key, 0), "")

    def edits(self, messages: Sequence[Message]) -> list[origins.EditLine]:
        """Return what the person changed in the list."""
        return [edit for note, _ in parts_of(messages, origins.TaskEdits) for edit in note.edits]

    def updates(self, begun: set[str]) -> tuple[ToolCall, ...]:
        """Return the calls that bring the list up to date when these tools are called now."""
        calls: list[ToolCall] = []
        if "glob" in begun and not self.of("glob"):
            for key, plan in PLAN.items():
                known = [self.ids[blocker] for blocker in plan.blockers if self.status(blocker)]
                if self.status(key) and known:
                    calls.append(call("TaskUpdate", taskId=self.ids[key], addBlockedBy=known))
        for key in self.keys:
            old, new = self.status(key), self._due(key, begun)
            if key not in self.dropped and old not in {"", new}:
                calls.append(call("TaskUpdate", taskId=self.ids[key], status=new))
        return tuple(calls) if self.has_list else ()

    def _due(self, key: str, begun: set[str]) -> str:
        if key in begun:
            return "in_progress"
        if key in CREW:
            # A subagent's end has ticked its task off; what nobody does goes off the list.
            is_left = key not in self.at_work and self.status(key) != "completed"
            return "deleted" if is_left and begun <= {"write"} else self.status(key)
        if any(not one.result.is_error for one in self.of(key)):
            return "completed"
        # What was tried and refused, or never begun, goes off the list at the end.
        return self.status(key) if begun else "deleted"

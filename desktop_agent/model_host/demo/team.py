"""The demo model's subagents: who was started, who asks, and what they reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from desktop_agent.core.messages import Message, TextPart
from desktop_agent.model_host.demo.history import Done, done_calls, is_skill
from desktop_agent.model_host.demo.step import Want

COUNT_PROMPT = (
    "Count the files of this folder by kind. Change nothing. "
    "Answer in two lines: how many there are, and of which kinds."
)
NOTES_PROMPT = (
    "Read the notes of this folder, three at most. Ask me which of them matters most before you "
    "begin. Change nothing. Answer with one line for each note."
)

# Name → the prompt and the role; the first word of the name is the task it does.
CREW: dict[str, tuple[str, str]] = {
    "Count the files": (COUNT_PROMPT, "explore"),
    "Read the notes": (NOTES_PROMPT, "general"),
}

_ANSWER = "Take the first one that you named, then the others."
_MOST_WAITS = 30
_ENDED = {
    "stopped": "was stopped",
    "failed": "failed",
    "over_budget": "used up its budget",
}
_WAIT_S = 30
# Once nothing came: it may be paused, and go on when the person lets it.
_LONG_WAIT_S = 600
_STARTED = re.compile(r"Started (?P<name>.+) as (?P<id>sa_\w+)\.")
_REPORT = re.compile(
    r"\[Report from (?P<name>[^\n]+) \((?P<id>sa_\w+)\): (?P<status>\w+)\]\n?(?P<text>.*)", re.S
)
_QUESTION = re.compile(r"\[Question from (?P<name>[^\n]+) \((?P<id>sa_\w+)\)\] (?P<text>[^\n]*)")
_ASKED = re.compile(r"(?P<id>sa_\w+) waits for your answer to: (?P<text>[^\n]*)")
_NOTHING = "Nothing came"
_OF_TASKS = re.compile(r"^(?:Task #\d+ is |Its task #\d+ )[^\n]*$", re.M)


@dataclass(frozen=True, slots=True)
class Report:
    """What a subagent ended with; `text` has no word of tasks."""

    id: str
    name: str
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class Team:
    """The subagents of one survey. `lost` were not started, with the reason.

    `waits` brought something or nothing (`idle`); `patience`: how often it was left to the
    person to answer each.
    """

    started: dict[str, str] = field(default_factory=dict[str, str])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    reports: tuple[Report, ...] = ()
    waits: int = 0
    gave_up: bool = False
    idle: int = 0
    patience: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def at_work(self) -> dict[str, str]:
        """Those whose report has not come: name → id."""
        ended = {report.id for report in self.reports}
        return {name: number for name, number in self.started.items() if number not in ended}

    @property
    def awaited(self) -> dict[str, str]:
        """Those that are worth waiting for."""
        return {} if self.gave_up or self.waits >= _MOST_WAITS else self.at_work

    @property
    def found(self) -> tuple[tuple[str, str], ...]:
        """Name and result of each, in the order of the crew, or why there is none."""
        told = {r.name: r.text for r in self.reports if r.status == "completed" and r.text}
        told = self.missing | told
        return tuple((name, told[name]) for name in CREW if name in told)

    @property
    def missing(self) -> dict[str, str]:
        """Why the results are missing of those that were to give one."""
        why = dict.fromkeys(self.lost, "It could not be started.")
        why |= dict.fromkeys(self.at_work, "It had not ended when this was written.")
        for report in self.reports:
            if report.status != "completed" or not report.text:
                words = _ENDED.get(report.status, "ended without a result")
                why[report.name] = f"There is no result: it {words}."
        return {name: why[name] for name in CREW if name in why}


def team(messages: Sequence[Message]) -> Team:
    """Read the team out of a history."""
    started: dict[str, str] = {}
    lost: dict[str, str] = {}
    done = done_calls(messages)
    for one in done:
        if one.call.name == "spawn" and not one.was_cut:
            match = _STARTED.match(one.result.text)
            if match:
                started[match["name"]] = match["id"]
            else:
                lost[str(one.call.arguments.get("description", ""))] = one.result.text
    waits = [one for one in done if one.call.name == "wait" and not one.was_cut]
    asked = [match["id"] for one in waits if (match := _ASKED.match(one.result.text))]
    idle = sum(one.result.text.startswith(_NOTHING) for one in waits)
    return Team(
        started,
        lost,
        tuple(reports_in(messages)),
        waits=len(waits) - len(asked),
        gave_up=idle > 1 or any(_is_vain(one) for one in waits),
        idle=idle,
        patience=Counter(asked),
    )


def reports_in(messages: Sequence[Message]) -> list[Report]:
    """Return the reports in a history, oldest first."""
    found = (_REPORT.match(text) for text in texts_of(messages))
    return [
        Report(m["id"], m["name"], m["status"], _OF_TASKS.sub("", m["text"]).strip())
        for m in found
        if m
    ]


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Return the separate texts of all user messages."""
    return [
        part.text.strip()
        for message in messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, TextPart) and not is_skill(part.text)
    ]


def questions_in(messages: Sequence[Message]) -> dict[str, str]:
    """Return who asks what in these messages: notes, and answers of `wait`."""
    found = {m["id"]: m["text"] for t in texts_of(messages) if (m := _QUESTION.match(t))}
    results = [result.text for message in messages for result in message.results]
    return {m["id"]: m["text"] for text in results if (m := _ASKED.match(text))} | found


def came_nothing(messages: Sequence[Message]) -> bool:
    """Whether a wait in these messages ended without anything."""
    return any(
        result.text.startswith(_NOTHING) for message in messages for result in message.results
    )


def answers_to(questions: dict[str, str]) -> tuple[Want, ...]:
    """Return the calls that answer."""
    return tuple(
        Want("answer_child", {"agent_id": agent_id, "answer": _ANSWER}) for agent_id in questions
    )


def spawning(name: str, task_id: int) -> Want:
    """Return the call that starts one of the crew."""
    prompt, role = CREW[name]
    arguments = {"description": name, "prompt": prompt, "agent": role}
    return Want("spawn", arguments | ({"task_id": task_id} if task_id else {}))


def waiting(agents: Sequence[str], *, is_long: bool = False) -> Want:
    """Return the call that waits for them."""
    limit = _LONG_WAIT_S if is_long else _WAIT_S
    return Want("wait", {"agent_ids": list(agents), "timeout_s": limit})


def _is_vain(one: Done) -> bool:
    # Nothing comes any more: the survey goes on alone.
    vain = ("You have no running", "They have all ended")
    return one.result.is_error or one.result.text.startswith(vain)

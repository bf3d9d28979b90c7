"""The demo model's subagents: who was started, who asks, and what they reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.core.parts.facts import Started, Waited
from desktop_agent.core.parts.origins import ChildQuestion, Report
from desktop_agent.model_host.demo.history import Done, done_calls, parts_of
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


@dataclass(frozen=True, slots=True)
class Ended:
    """What a subagent ended with."""

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
    reports: tuple[Ended, ...] = ()
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
            if isinstance(one.result.facts, Started):
                started[one.result.facts.name] = one.result.facts.agent_id
            else:
                lost[str(one.call.arguments.get("description", ""))] = one.result.text
    waits = [one for one in done if one.call.name == "wait" and not one.was_cut]
    ends = [wait for one in waits if (wait := _waited(one.result)) is not None]
    asked = [str(wait.agent_id) for wait in ends if wait.outcome == "question"]
    idle = sum(wait.outcome == "timeout" for wait in ends)
    return Team(
        started,
        lost,
        tuple(reports_in(messages)),
        waits=len(waits) - len(asked),
        gave_up=idle > 1 or any(_is_vain(one) for one in waits),
        idle=idle,
        patience=Counter(asked),
    )


def reports_in(messages: Sequence[Message]) -> list[Ended]:
    """Return the reports in a history, oldest first."""
    return [
        Ended(origin.agent_id, origin.name, origin.status, text)
        for origin, text in parts_of(messages)
        if isinstance(origin, Report)
    ]


def questions_in(messages: Sequence[Message]) -> dict[str, str]:
    """Return who asks what in these messages: notes, and answers of `wait`."""
    found: dict[str, str] = {}
    for message in messages:
        for result in message.results:
            wait = _waited(result)
            if wait is not None and wait.outcome == "question":
                found[wait.agent_id] = _first_line(wait.question)
    for origin, text in parts_of(messages):
        if isinstance(origin, ChildQuestion):
            found[origin.agent_id] = _first_line(text)
    return found


def came_nothing(messages: Sequence[Message]) -> bool:
    """Whether a wait in these messages ended without anything."""
    waits = [_waited(result) for message in messages for result in message.results]
    return any(wait is not None and wait.outcome == "timeout" for wait in waits)


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
    wait = _waited(one.result)
    return one.result.is_error or (wait is not None and wait.outcome == "nobody")


def _waited(result: ToolResult) -> Waited | None:
    return result.facts if isinstance(result.facts, Waited) else None


def _first_line(text: str) -> str:
    return text.partition("\n")[0]

"""The demo model at the head of its survey: a task list and two subagents around the same steps.

The survey itself sees neither: it plans over a history without their calls and reports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from desktop_agent.core.messages import Message, TextPart, ToolCall
from desktop_agent.model_host.demo import survey as demo_survey
from desktop_agent.model_host.demo.history import Done, done_calls, since_last_answer
from desktop_agent.model_host.demo.markdown import code, counted, quote
from desktop_agent.model_host.demo.pace import seconds
from desktop_agent.model_host.demo.step import Step, Want, joined
from desktop_agent.model_host.demo.survey import SEARCH
from desktop_agent.model_host.demo.tasks import (
    PLAN,
    Tasks,
    begun_additions,
    creations,
    links,
    longest_word,
    open_additions,
    replies,
    tasks,
)
from desktop_agent.model_host.demo.team import (
    CREW,
    Team,
    answers_to,
    came_nothing,
    questions_in,
    reports_in,
    spawning,
    team,
    waiting,
)

_LIST_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})
_TEAM_TOOLS = frozenset({"spawn", "wait", "answer_child", "stop"})
# So long, and so often, it is left to the person to answer a subagent before this script does.
_PATIENCE_S = 4.4
_MOST_PATIENCE = 3


def leads(tools: frozenset[str]) -> bool:
    """Whether there is a task list to keep, or a team to lead."""
    return tools >= _LIST_TOOLS or tools >= _TEAM_TOOLS


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step:
    """Return what the survey that opens with `messages[0]` does next."""
    return _Lead(tuple(messages), tools).next_step()


def late_news(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return the answer to subagents that speak after the survey's end; None if none does."""
    fresh = since_last_answer(messages)
    asked = answers_to(questions_in(fresh)) if "answer_child" in tools else ()
    reports = reports_in(fresh)
    told = [f"“{r.name}” ended after me ({r.status}). It says: {quote(r.text)}" for r in reports]
    changed = replies(fresh, tasks(messages))
    if not asked and not told and not changed:
        return None
    if asked:
        told.append("A subagent still asks something; I answer it.")
    return Step(joined(changed, *told), asked)


@dataclass(frozen=True)
class _Lead:
    """All that the next step follows from."""

    messages: tuple[Message, ...]
    tools: frozenset[str]

    @cached_property
    def tasks(self) -> Tasks:
        return tasks(self.messages)

    @cached_property
    def team(self) -> Team:
        return team(self.messages)

    @cached_property
    def has_list(self) -> bool:
        return self.tools >= _LIST_TOOLS

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The tasks that the tools allow."""
        crew = self.tools >= _TEAM_TOOLS
        return tuple(key for key in PLAN if (crew if key in CREW else key in self.tools))

    @cached_property
    def fresh(self) -> tuple[Message, ...]:
        return since_last_answer(self.messages)

    @cached_property
    def plain(self) -> tuple[Message, ...]:
        """The history as the survey sees it."""
        return tuple(kept for message in self.messages if (kept := _without_lead(message)))

    @cached_property
    def dropped(self) -> frozenset[str]:
        """What the person took off the list, or ticked off, before it was done."""
        begun = {call.name for message in self.plain for call in message.tool_calls}
        return frozenset(
            key
            for key in self.tasks.ids
            if self.tasks.status(key) in {"", "completed"}
            and key not in begun
            and not (key in CREW and key in self.team.started)
        )

    @cached_property
    def survey(self) -> Step:
        found = [(name, text) for name, text in self.team.found]
        return demo_survey.next_step(self.plain, self.tools, found, self.dropped)

    def next_step(self) -> Step:
        """Return the survey's step, or one of the lead's own that has to come before it."""
        told = replies(self.fresh, self.tasks)
        if (step := self._make_list()) is not None:
            return _with(told, step)
        if asked := questions_in(self.fresh):
            return _with(told, self._answer(asked))
        if (step := self._unwanted()) is not None:
            return _with(told, step)
        additions, wants = self._additions()
        if wants:
            return _with(joined(told, additions), Step(self._heard(), wants))
        told = joined(told, additions)
        if self._has_to_wait():
            return _with(told, self._wait())
        return _with(told, self._with_updates(self.survey))

    # -- the list ---------------------------------------------------------------------------

    def _make_list(self) -> Step | None:
        missing = [key for key in self.keys if key not in self.tasks.asked_for]
        if not self.has_list or not missing or self._calls("glob"):
            return None
        intro = self.survey
        return Step(intro.text, creations(missing), intro.thinking) if intro.wants else None

    def _with_updates(self, step: Step) -> Step:
        """Add what the list and the team need to a step of the survey."""
        updates = self._updates(step)
        if step.wants:
            spawns = self._spawns() if any(w.name == "read" for w in step.wants) else ()
            alone = joined(step.text, self._on_team(spawns))
            if any(w.name == "write" for w in step.wants) and not self._calls("write"):
                alone = joined(alone, self._on_missing())
            return replace(step, text=alone, wants=(*updates, *spawns, *step.wants))
        if updates and not self._has_just_updated():
            # The survey's last words follow; without words this step leaves no mark on it.
            return Step("", updates)
        return step

    def _updates(self, step: Step) -> tuple[Want, ...]:
        if not self.has_list:
            return ()
        begun = {want.name for want in step.wants}
        first = links(self.tasks) if "glob" in begun and not self._calls("glob") else ()
        updates: list[Want] = []
        for key in self.keys:
            if key not in self.dropped:
                updates.extend(self.tasks.set(key, self._due(key, begun)))
        return (*first, *updates)

    def _due(self, key: str, begun: set[str]) -> str:
        """Return the status that a task has from now on."""
        if key in begun:
            return "in_progress"
        is_over = not begun
        if key in CREW:
            # A subagent's end has ticked its task off; what nobody does goes off the list.
            is_left = key not in self.team.at_work and self.tasks.status(key) != "completed"
            is_late = is_left and (is_over or "write" in begun)
            return "deleted" if is_late else self.tasks.status(key)
        if any(not done.result.is_error for done in self._calls(key)):
            return "completed"
        # What was tried and refused, or never begun, goes off the list at the end.
        return "deleted" if is_over else self.tasks.status(key)

    def _has_just_updated(self) -> bool:
        answers = [message for message in self.messages if message.role == "assistant"]
        names = {call.name for call in answers[-1].tool_calls} if answers else set()
        return names == {"TaskUpdate"} and not answers[-1].text

    def _additions(self) -> tuple[str, tuple[Want, ...]]:
        """Search for what the person added; say what came of it, and tick it off."""
        if not self.has_list:
            return "", ()
        told: list[str] = []
        wants: list[Want] = []
        for number, text in open_additions(self.tasks).items():
            wants.append(Want("TaskUpdate", {"taskId": number, "status": "in_progress"}))
            if (word := longest_word(text)) and "grep" in self.tools:
                wants.append(Want("grep", {"pattern": re.escape(word), "ignore_case": True}))
        for number, text in begun_additions(self.tasks).items():
            told.append(f"#{number}: {self._found(text)} I'm a script, so that is all I can do.")
            wants.append(Want("TaskUpdate", {"taskId": number, "status": "completed"}))
        return "\n\n".join(told), tuple(wants)

    def _found(self, text: str) -> str:
        word = longest_word(text)
        for done in done_calls(self.messages):
            if done.call.name == "grep" and done.call.arguments.get("pattern") == re.escape(word):
                lines = [
                    line for line in done.result.text.splitlines() if re.search(r":\d+:", line)
                ]
                return f"I searched for {code(word)} and found {counted(len(lines), 'line')}."
        return "There is no word in it that I could search for."

    # -- the team ---------------------------------------------------------------------------

    def _spawns(self) -> tuple[Want, ...]:
        if not self.tools >= _TEAM_TOOLS:
            return ()
        known = {*self.team.started, *self.team.lost, *self.dropped}
        return tuple(
            spawning(name, self.tasks.ids[name] if self.tasks.status(name) else 0)
            for name in CREW
            if name not in known
        )

    def _on_team(self, spawns: tuple[Want, ...]) -> str:
        if not spawns:
            return ""
        names = " and ".join(f"“{want.arguments['description']}”" for want in spawns)
        return f"Beside me, subagents of mine begin: {names}. Open one to watch it, or to steer it."

    def _on_missing(self) -> str:
        """Say before the overview is allowed what of the team's work it lacks, and why."""
        told = [f"“{name}”: {why}" for name, why in self.team.missing.items()]
        known = {*self.team.started, *self.team.lost, *self.dropped}
        idle = [name for name in CREW if name in self.keys and name not in known]
        if idle:
            names = " and ".join(f"“{name}”" for name in idle)
            told.append(f"Nothing was there to read, so nobody was started for {names}.")
        return " ".join(told)

    def _answer(self, asked: dict[str, str]) -> Step:
        names = {number: name for name, number in self.team.started.items()}
        told = [f"“{names.get(number, number)}” asks: {text}" for number, text in asked.items()]
        known = "\n".join(m.text for m in self.messages if m.role == "assistant")
        news = [line for line in told if line not in known]
        patience = max(self.team.patience.get(number, 0) for number in asked)
        if "wait" not in self.tools or (patience >= _MOST_PATIENCE and not news):
            news = news or ["You have not answered, so I do."]
            return Step(joined(self._heard(), *news), answers_to(asked))
        if news:
            about = counted(max(round(seconds(_PATIENCE_S * _MOST_PATIENCE)), 1), "second")
            news.append(f"You can answer it under *Waiting for you*; after about {about} I do.")
        # An answer of the person's ends this: the wait is then one for the report.
        return Step(joined(self._heard(), *news), (waiting(list(asked)),), pause_s=_PATIENCE_S)

    def _unwanted(self) -> Step | None:
        """Stop subagents whose task the person took off the list."""
        gone = {
            name: number
            for name, number in self.team.at_work.items()
            if name in self.tasks.ids and self.tasks.status(name) in {"", "completed"}
        }
        stopped = {str(d.call.arguments.get("agent_id")) for d in self._own("stop")}
        wants = [Want("stop", {"agent_id": n}) for n in gone.values() if n not in stopped]
        if not wants:
            return None
        names = " and ".join(f"“{name}”" for name in gone)
        return Step(joined(self._heard(), f"So I stop {names}."), tuple(wants))

    def _has_to_wait(self) -> bool:
        wants = {want.name for want in self.survey.wants}
        return bool(self.team.awaited) and wants <= {"write"} and not self._calls("write")

    def _wait(self) -> Step:
        names = " and ".join(f"“{name}”" for name in self.team.awaited)
        text = "" if self.team.waits else f"I've read what I need. Now I wait for {names}."
        is_idle = bool(self.team.idle)
        if is_idle and came_nothing(self.fresh):
            text = (
                f"Nothing came from {names} for a while. If you paused it, resume or stop it; "
                "I wait ten minutes more."
            )
        updates = self._updates(Step("", (Want("wait"),)))
        wants = (*updates, waiting(list(self.team.awaited.values()), is_long=is_idle))
        return Step(joined(self._heard(), text), wants)

    # -- inside -----------------------------------------------------------------------------

    def _heard(self) -> str:
        return demo_survey.heard(self.plain, self.tools)

    def _calls(self, name: str) -> list[Done]:
        return [d for d in done_calls(self.plain) if d.call.name == name and not d.was_cut]

    def _own(self, name: str) -> list[Done]:
        return [d for d in done_calls(self.messages) if d.call.name == name and not d.was_cut]


def _with(told: str, step: Step) -> Step:
    return replace(step, text=joined(told, step.text))


def _without_lead(message: Message) -> Message | None:
    """Return a message without calls and results of the list and the team; None if all was."""
    if message.role == "assistant":
        parts = tuple(p for p in message.parts if not isinstance(p, ToolCall) or _is_surveys(p))
        has_words = any(not isinstance(p, TextPart) or p.text for p in parts)
        return msgspec.structs.replace(message, parts=parts) if has_words else None
    return message


def _is_surveys(call: ToolCall) -> bool:
    if call.name == "grep":
        return call.arguments.get("pattern") == SEARCH
    return call.name in {"glob", "read", "write"}

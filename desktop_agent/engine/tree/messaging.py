"""What agents say to each other: steer, probe, ask, answer, wait, stop, with exact outcomes.

RULES S1-S8 and A8-A11; the first match is the answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Literal

from desktop_agent.core.agents import ENDED, AgentStatus
from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import AgentId, new_message_id, new_note_id, new_question_id
from desktop_agent.core.messages import Message, TextPart, close_open_calls
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.notes import Note, NoteKind
from desktop_agent.core.parts.facts import Waited
from desktop_agent.core.parts.origins import AskedAside, ChildQuestion, Origin
from desktop_agent.core.prose.framing import framed
from desktop_agent.core.questions import Question
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import ToolError, ToolOutput
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.agent.inbox import InboxClosed
from desktop_agent.engine.agent.questions import Questions
from desktop_agent.engine.base.ports import Model
from desktop_agent.engine.tree import budgets
from desktop_agent.engine.tree.agents import Agents
from desktop_agent.engine.tree.reports import shortened as _shortened

NO_ANSWER = "Your parent did not provide an answer. Proceed with your best judgement."
MAX_LIVE_PROBES = 5
_ECHO = 80
_QUESTION = 120
_WAITS_FOR_PERSON: dict[AgentStatus, str] = {
    "waiting_approval": "the user's approval of a tool call",
    "waiting_answer": "the user's answer to a question",
}


_STATUS_TEXTS = {
    "waiting_approval": "Waiting for your approval",
    "waiting_answer": "Waiting for an answer",
    "waiting_children": "Waiting for its subagents",
}


class Steering:
    """What agents and the user say to each other; ownership is decided at the call."""

    def __init__(
        self,
        agents: Agents,
        questions: Questions,
        model: Model,
        settings: Callable[[], Settings],
        forget: Callable[[AgentId], None],
        *,
        describe_model: Callable[[str], Awaitable[ModelInfo | None]] | None = None,
    ) -> None:
        """`describe_model` tells what a model costs; without it no price is known.

        `forget` drops what the host keeps of a side call.
        """
        self.agents = agents
        self._forget = forget
        self._questions = questions
        self._model = model
        self._settings = settings
        self._probes: dict[AgentId, int] = {}
        self.describe_model = describe_model

    # -- steer -----------------------------------------------------------------------------

    def steer(self, caller: Agent, agent_id: str, note: str) -> str:
        """Queue a note for a child; the echo says truly when it will be read."""
        text = note.strip()
        if not text:
            raise ToolError("Error: note is required")
        child = self._own_live_child(caller, agent_id.strip())
        try:
            self.agents.tell(child, _note("steer", text, caller.id))
        except InboxClosed:
            raise ToolError(_unknown(agent_id.strip())) from None
        echo = f"steer ▸ {child.id} ← {_shortened(text, _ECHO)}"
        asked = self._questions.to_parent_of(child.id)
        if asked:
            question = _shortened(asked[0].text, _QUESTION)
            return (
                f"{echo} (queued — but {child.id} is BLOCKED on ask_parent and will NOT see it "
                f"until you answer its question: {question} — unblock it with "
                f'answer_child(agent_id: "{child.id}", answer: "…"))'
            )
        if waits := _WAITS_FOR_PERSON.get(child.status()[0]):
            return f"{echo} (queued — {child.id} is waiting for {waits} and sees it after that)"
        # To models a step is their turn.
        return f"{echo} (parked · enters child context next turn)"

    def _own_live_child(self, caller: Agent, agent_id: str) -> Agent:
        child = self.agents.find(AgentId(agent_id)) if agent_id else None
        if child is None or child.session is not caller.session:
            raise ToolError(_unknown(agent_id))
        if child is caller:
            raise ToolError("Error: cannot steer yourself.")
        if child.spec_parent != caller.id:
            raise ToolError(
                f"Error: {agent_id} is not one of your subagents — you can only steer children "
                "you started."
            )
        status = self.agents.status(child)[0]
        if status in ENDED:
            raise ToolError(f"Cannot steer {agent_id} — it already finished ({status}).")
        if status == "stopping":
            raise ToolError(f"Cannot steer {agent_id} — it is stopping.")
        return child

    # -- probe -----------------------------------------------------------------------------

    async def probe(self, caller: Agent, agent_id: str, question: str, *, live: bool) -> str:
        """Tell how a child stands; nothing is ever appended to it."""
        child = self._own_child(caller, agent_id)
        if not live or (child.end is not None and not question.strip()):
            return self.snapshot(child)
        asked = self._questions.to_parent_of(child.id)
        if asked:
            return f"{child.id} is waiting for your answer.\n{_framed(child, asked[0])}"
        if self._probes.get(child.id, 0) >= MAX_LIVE_PROBES:
            raise ToolError(
                f"Error: live-probe budget exhausted for {child.id} (max {MAX_LIVE_PROBES} per "
                "child). Use live:false for a free snapshot."
            )
        if budgets.exhausted(self.agents, caller) is not None:
            raise ToolError("Error: your budget is used up. Use live:false for a free snapshot.")
        self._probes[child.id] = self._probes.get(child.id, 0) + 1
        try:
            return await self.ask_aside(child, question)
        except ModelError as error:
            raise ToolError(f"Error: the probe got no answer: {error.fault.message}") from None

    def snapshot(self, agent: Agent) -> str:
        """Return how an agent stands, under its id, as its parent is told."""
        return f"probe {agent.id} · {self.standing(agent)}"

    def standing(self, agent: Agent) -> str:
        """Return one line of state and the last activities; no model is asked."""
        status, doing = self.agents.status(agent)
        meter = agent.meter
        # What a call is about is the model's words: a line each, whatever is in them.
        activities = [" ".join(activity.split()) for activity in meter.activities]
        last = " ".join(doing.split()) or (activities[-1] if activities else "nothing yet")
        role = agent.spec.role if agent.spec is not None else "main"
        head = f"{role} · {status} · {meter.tools_run} tools · last: {last}"
        return "\n".join([head, *(f"- {activity}" for activity in activities)])

    def standing_for_person(self, agent: Agent) -> str:
        """Return the same in words for people."""
        status, doing = self.agents.status(agent)
        count = agent.meter.tools_run
        calls = "1 tool call" if count == 1 else f"{count or 'no'} tool calls"
        state = _STATUS_TEXTS.get(status, status.capitalize())
        lines = [f"{state} · {calls} so far"]
        if doing:
            lines.append(f"Now: {' '.join(doing.split())}")
        before = [" ".join(activity.split()) for activity in agent.meter.activities]
        return "\n".join([*lines, *(f"- {activity}" for activity in before)])

    async def ask_aside(self, agent: Agent, question: str) -> str:
        """Ask an agent's model about its work, over a copy of its history."""
        history = agent.history if agent.end is None else agent.recalled().history
        history = close_open_calls(history, "Still running.")
        said = question.strip() or "In two sentences: what are you doing, and what is left?"
        asked = TextPart(said, AskedAside())
        message = Message(new_message_id(), "user", (asked,), created_at=time.time())
        scope = agent.scope
        # Not the agent's own id: what the host keeps of its history stays as it is.
        aside = AgentId(f"{agent.id}/probe")
        request = ModelRequest(
            agent_id=aside,
            model=scope.model,
            system="Answer the last question from what you see. You have no tools now.",
            messages=(*history, message),
            api_base=scope.api_base,
            limits=self._settings().limits,
        )
        try:
            async with aclosing(self._model.stream(request)) as items:
                async for item in items:
                    if isinstance(item, Answer):
                        self.agents.count_aside(agent, item.usage, scope.model)
                        return "".join(p.text for p in item.parts if isinstance(p, TextPart))
        finally:
            self._forget(aside)
        raise ToolError("the model gave no answer")

    # -- questions -------------------------------------------------------------------------

    async def ask_parent(self, caller: Agent, call_id: str, question: str) -> str:
        """Ask the parent recorded at spawn, and the person; the first answer wins."""
        parent = self.agents.parent(caller)
        if parent is None:
            raise ToolError("you have no parent; ask the user instead")
        if not question.strip():
            raise ToolError("Error: question is required")
        if self._questions.to_parent_of(caller.id):
            raise ToolError("Error: you already have a question pending; wait for the answer.")
        text, question_id = question.strip(), new_question_id()
        asks = ChildQuestion(caller.id, caller.name, question_id)
        self.agents.tell(parent, _note("question", text, caller.id, asks))
        with caller.busy("waiting_answer", f"asking: {_shortened(question, _ECHO)}"):
            try:
                async with asyncio.timeout(self._settings().question_timeout_s):
                    return await self._questions.ask(
                        Question(
                            question_id,
                            caller.id,
                            call_id,
                            text,
                            created_at=time.time(),
                            is_for_parent=True,
                        ),
                        caller.session,
                    )
            except TimeoutError:
                return NO_ANSWER

    def answer_child(self, caller: Agent, agent_id: str, answer: str) -> str:
        """Answer a child's question, once."""
        if not answer.strip():
            raise ToolError("Error: answer is required")
        child = self._own_child(caller, agent_id)
        asked = self._questions.to_parent_of(child.id)
        if not asked:
            return f"{child.id} is not waiting on you."
        self._questions.answer(asked[0].id, answer.strip(), by=caller.id)
        return f"Answered {child.id}."

    # -- wait, results, stop ---------------------------------------------------------------

    async def wait(self, caller: Agent, agent_ids: Sequence[str], timeout_s: float) -> ToolOutput:
        """Park until a report, a question, or any note reaches the caller."""
        wanted = [self._own_child(caller, agent_id) for agent_id in agent_ids]
        live = self.agents.live_children(caller)
        if not caller.inbox.has_news:
            if wanted and all(child.end is not None for child in wanted):
                return _waited("They have all ended; their reports reached you.", "nobody")
            if not live:
                return _waited("You have no running subagents.", "nobody")
        for child in live:
            if asked := self._questions.to_parent_of(child.id):
                said = f"{child.id} waits for your answer.\n{_framed(child, asked[0])}"
                return ToolOutput(said, facts=Waited("question", child.id, asked[0].text))
        names = ", ".join(child.name for child in wanted or live)
        with caller.busy("waiting_children", f"waiting for {names}"):
            try:
                async with asyncio.timeout(timeout_s):
                    await caller.inbox.waking_note()
            except TimeoutError:
                still = f"Nothing came within {timeout_s:g} s; {len(live)} still running."
                return _waited(still, "timeout")
        return _waited("Something came: it follows.", "notes")

    def result(self, caller: Agent, agent_id: str) -> str:
        """Return the whole text a child ended with."""
        child = self._own_child(caller, agent_id)
        if child.end is None:
            raise ToolError(f"{child.id} has not ended; its report will reach you.")
        return self.agents.result(child) or "(it ended without a text)"

    async def stop(self, caller: Agent, agent_id: str) -> str:
        """Stop a child and all below it; the report says what had run."""
        child = self._own_child(caller, agent_id)
        if child.end is not None:
            return f"[{child.id}] already {child.end.status} — nothing to stop."
        self.agents.stop(child, by=caller.id)
        await child.life.over.wait()
        return f"[{child.id}] {child.end.text if child.end is not None else 'stopped'}"

    def _own_child(self, caller: Agent, agent_id: str) -> Agent:
        child = self.agents.find(AgentId(agent_id.strip()))
        if child is None or child.spec_parent != caller.id:
            raise ToolError(f"Error: {agent_id} is not one of your subagents.")
        return child


def _waited(text: str, outcome: Literal["notes", "timeout", "nobody"]) -> ToolOutput:
    return ToolOutput(text, facts=Waited(outcome))


def _framed(child: Agent, asked: Question) -> str:
    return framed(asked.text, ChildQuestion(child.id, child.name, asked.id))


def _note(kind: NoteKind, text: str, sender: str, origin: Origin | None = None) -> Note:
    return Note(new_note_id(), text, kind, sender=sender, created_at=time.time(), origin=origin)


def _unknown(agent_id: str) -> str:
    return f"Cannot steer {agent_id} — no such running subagent."

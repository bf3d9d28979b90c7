"""What the demo model does next: a function of the history and the tools, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.messages import Message
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host.demo import answers, child, lead, survey
from desktop_agent.model_host.demo.history import said, since_last_answer, user_texts
from desktop_agent.model_host.demo.orders import order_in
from desktop_agent.model_host.demo.skills import on_listed, on_skills, with_skill
from desktop_agent.model_host.demo.step import CLOSING, Step, joined

# As ids of subagents begin.
_SUBAGENT = "sa_"


def plan(request: ModelRequest) -> Step:
    """Return the next answer. Two equal requests give equal answers."""
    step = _planned(request)
    is_first = all(message.role != "assistant" for message in request.messages)
    listed = on_listed(request.system) if is_first and "demo model" in step.text else ""
    picked = on_skills(since_last_answer(request.messages))
    if not listed and not picked:
        return step
    if step.text.rstrip().endswith(CLOSING):
        # The words that end a survey stay the last ones.
        return replace(step, text=joined(picked, listed, step.text))
    return replace(step, text=joined(picked, step.text, listed))


def _planned(request: ModelRequest) -> Step:
    tools = frozenset(tool.name for tool in request.tools)
    messages = request.messages
    is_subagent = request.agent_id.startswith(_SUBAGENT)
    if is_subagent and set(user_texts(messages[:1])[:1]) & set(child.PROMPTS):
        return child.next_step(messages, tools)
    opening = survey_opening(messages)
    if opening is None:
        has_words = bool(user_texts(since_last_answer(messages)))
        late = lead.late_news(messages, tools)
        if late is not None and not has_words:
            return late
        step = answers.next_step(messages, tools)
        return (
            step
            if late is None
            else replace(late, text=f"{late.text}\n\n{step.text}", wants=(*late.wants, *step.wants))
        )
    story = messages[opening:]
    if is_subagent or not lead.leads(tools):
        return survey.next_step(story, tools)
    return with_skill(lead.next_step(story, tools), story, tools, request.system)


def survey_opening(messages: Sequence[Message]) -> int | None:
    """Return where the survey that is under way began, or None.

    A first message begins one unless it is a plain order; later ones have to ask for it.
    """
    opening: int | None = None
    is_first = True
    for place, message in enumerate(messages):
        if message.role == "user":
            kind = order_in(said(message)).kind
            if opening is None and (kind == "survey" or (is_first and not kind)):
                opening = place
            is_first = False
        elif not message.tool_calls and message.text.rstrip().endswith(CLOSING):
            opening = None
    return opening

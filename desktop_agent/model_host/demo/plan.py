"""What the demo model does next: a function of the history and the tools, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.messages import Message
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host.demo import answers, child, survey
from desktop_agent.model_host.demo.history import History, parts_of, user_texts
from desktop_agent.model_host.demo.markdown import joined
from desktop_agent.model_host.demo.orders import order_in
from desktop_agent.model_host.demo.skills import on_offered, on_picked
from desktop_agent.model_host.demo.step import CLOSING, Step

# As ids of subagents begin.
_SUBAGENT = "sa_"


def plan(request: ModelRequest) -> Step:
    """Return the next answer. Two equal requests give equal answers."""
    history = History(request.messages, frozenset(tool.name for tool in request.tools))
    step = _planned(history, request)
    is_first = history.answer is None and "demo model" in step.text
    listed = on_offered(request.system) if is_first else ""
    picked = on_picked(parts_of(history.fresh, PickedSkill))
    # The words that end a survey stay the last ones.
    is_end = step.text.rstrip().endswith(CLOSING)
    texts = (picked, listed, step.text) if is_end else (picked, step.text, listed)
    return replace(step, text=joined(*texts)) if listed or picked else step


def _planned(history: History, request: ModelRequest) -> Step:
    messages, tools = history.messages, history.tools
    is_subagent = request.agent_id.startswith(_SUBAGENT)
    if is_subagent and (step := child.next_step(messages, tools)):
        return step
    opening = _opening(messages)
    if opening is not None:
        own = tools - survey.LEADS if is_subagent else tools
        return survey.next_step(messages[opening:], own, request.system)
    late = survey.late_news(messages, tools)
    if late is not None and not user_texts(history.fresh):
        return late
    step = answers.next_step(history)
    if late is None:
        return step
    return Step(joined(late.text, step.text), (*late.wants, *step.wants))


def _opening(messages: Sequence[Message]) -> int | None:
    """Return where the survey that is under way began, or None.

    A first message begins one unless it is a plain order; later ones have to ask for it.
    """
    opening: int | None = None
    is_first = True
    for place, message in enumerate(messages):
        if message.role == "user":
            kind = order_in(joined(*user_texts([message]))).kind
            if opening is None and (kind == "survey" or (is_first and not kind)):
                opening = place
            is_first = False
        elif not message.tool_calls and message.text.rstrip().endswith(CLOSING):
            opening = None
    return opening

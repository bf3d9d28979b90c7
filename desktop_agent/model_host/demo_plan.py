"""What the demo model does next: a function of the history and the tools, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.core.messages import Message
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host import demo_answers, demo_survey
from desktop_agent.model_host.demo_history import said
from desktop_agent.model_host.demo_orders import order_in
from desktop_agent.model_host.demo_step import CLOSING, Step


def plan(request: ModelRequest) -> Step:
    """Return the next answer. Two equal requests give equal answers."""
    tools = frozenset(tool.name for tool in request.tools)
    opening = survey_opening(request.messages)
    if opening is None:
        return demo_answers.next_step(request.messages, tools)
    return demo_survey.next_step(request.messages[opening:], tools)


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

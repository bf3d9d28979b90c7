"""What the demo model does next: a function of the history and the tools, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.messages import Message, ToolCall
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host.demo import child, skills, survey
from desktop_agent.model_host.demo.history import (
    Done,
    History,
    listed_paths,
    parts_of,
    reading,
    user_texts,
)
from desktop_agent.model_host.demo.markdown import code, counted, fence, joined, quote
from desktop_agent.model_host.demo.orders import ABILITIES, Order, named_files, order_in
from desktop_agent.model_host.demo.step import CLOSING, Step

_MOST_ORDERS = 3
_MOST_RESULTS = 10
# As ids of subagents begin.
_SUBAGENT = "sa_"


def plan(request: ModelRequest) -> Step:
    """Return the next answer. Two equal requests give equal answers."""
    history = History(request.messages, frozenset(tool.name for tool in request.tools))
    step = _planned(history, request)
    is_first = history.answer is None and "demo model" in step.text
    listed = skills.on_offered(request.system) if is_first else ""
    picked = skills.on_picked(parts_of(history.fresh, PickedSkill))
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
    step = _answer(history)
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


def _answer(history: History) -> Step:
    """Return the answer to what came last: results are shown, orders are carried out."""
    shown = [_shown(done) for done in history.came[:_MOST_RESULTS]]
    made = [_carry_out(text, history) for text in user_texts(history.fresh)[:_MOST_ORDERS]]
    texts = dict.fromkeys(said for said, _ in made)
    if not shown and not texts:
        texts[_abilities(history)] = None
    return Step(joined(*shown, *texts), tuple(want for _, want in made if want))


def _carry_out(text: str, history: History) -> tuple[str, ToolCall | None]:
    order = order_in(text)
    if not order.kind and (files := named_files(text, history.paths)[0]):
        order = Order("show", files[0])
    tool, _, says, make = ABILITIES[order.kind or "survey"]
    if not says:
        return _abilities(history), None
    if tool not in history.tools:
        return f"I was given no tool named {code(tool)}, so I can't do that.", None
    return says.format(code(order.about, 300)), make(order.about)


def _abilities(history: History) -> str:
    known = [
        f"- {usage}" for tool, usage, _, _ in ABILITIES.values() if usage and tool in history.tools
    ]
    if not known:
        return "I'm the demo model, a script, and I was given no tools: I can do nothing here."
    return joined(
        "I'm the demo model: a script, not an AI. I only understand these:",
        "\n".join(known),
        "For anything else, choose a real model under the message box.",
    )


def _shown(done: Done) -> str:
    name, text, lines = done.call.name, done.result.text, done.result.text.splitlines()
    if done.result.is_error:
        return joined(f"{code(name)} did not work. This is what it said:", quote(text))
    match name:
        case "glob":
            paths = listed_paths(text)
            about = f"{counted(len(paths), 'file')}:" if paths else "There are no files here."
            return joined(about, fence(paths) if paths else "")
        case "read":
            path, found, total, _ = reading(done)
            about = f"{code(path)} has {counted(total, 'line')}:"
            return joined(about, fence(found, path)) if found else quote(text)
        case "grep":
            return joined("This is what I found:", fence([line for line in lines if line.strip()]))
        case "shell":
            return joined("It printed:", fence(lines or ["(nothing)"]))
        case "ask_user":
            return joined("You answered:", quote(text), "Send that to me, and I'll do it.")
        case "skill":
            return skills.on_loaded(done)
        case _:
            return fence(lines)

"""The demo model: offline, deterministic, and honest that it is a script and not an AI."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from msgspec.structs import replace

from desktop_agent.core.messages import Message, TextPart, ThinkingPart, ToolCall
from desktop_agent.core.parts.origins import PickedSkill
from desktop_agent.core.prose.markdown import code, joined
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, StreamItem
from desktop_agent.core.usage import Usage
from desktop_agent.model_host.demo import skills, survey
from desktop_agent.model_host.demo.history import Done, History, parts_of, user_texts
from desktop_agent.model_host.demo.orders import named_files, order_in
from desktop_agent.model_host.demo.script import SCRIPT, WORDS, Step, call, says, seconds

# Slow enough that streaming is seen, fast enough that nobody waits.
_PAUSE_S = 0.015
_MOST_PAUSES = 120
_THREE_WORDS = re.compile(r"(?:\S+\s*){1,3}|\s+")
_MOST_ORDERS = 3
_MOST_RESULTS = 10
# As ids of subagents begin.
_SUBAGENT = "sa_"


async def stream(request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
    """Answer as a provider would: accepted, deltas with pauses, then the whole answer."""
    step = plan(request)
    yield Accepted()
    deltas = [Delta("thinking", words) for words in _THREE_WORDS.findall(step.thinking)]
    deltas += [Delta("text", words) for words in _THREE_WORDS.findall(step.text)]
    for number, delta in enumerate(deltas):
        yield delta
        if number < _MOST_PAUSES:
            await asyncio.sleep(_PAUSE_S)
    await asyncio.sleep(seconds(step.pause_s))
    parts: list[TextPart | ThinkingPart | ToolCall] = []
    parts += [ThinkingPart(step.thinking)] if step.thinking else []
    parts += [TextPart(step.text)] if step.text or not step.wants else []
    # No other step of the history answers this message, and this one always gets the same ids.
    last = request.messages[-1].id
    parts += [replace(want, id=f"demo_{last}_{n}") for n, want in enumerate(step.wants)]
    # It counts no tokens, so it names none; what is certain is that it costs nothing.
    yield Answer(tuple(parts), "tool_calls" if step.wants else "stop", Usage(cost=0.0))


def plan(request: ModelRequest) -> Step:
    """Return the next answer. Two equal requests give equal answers."""
    history = History(request.messages, frozenset(tool.name for tool in request.tools))
    step = _planned(history, request)
    is_first = history.answer is None and "demo model" in step.text
    listed = skills.on_offered(request.system) if is_first else ""
    picked = skills.on_picked(parts_of(history.fresh, PickedSkill))
    # The words that end a survey stay the last ones.
    is_end = step.text.rstrip().endswith(WORDS["closing"])
    texts = (picked, listed, step.text) if is_end else (picked, step.text, listed)
    return step._replace(text=joined(*texts))


def _planned(history: History, request: ModelRequest) -> Step:
    messages, tools = history.messages, history.tools
    is_subagent = request.agent_id.startswith(_SUBAGENT)
    if is_subagent and (step := survey.child_step(messages, tools)):
        return step
    opening = _opening(messages)
    if opening is not None:
        own = tools - survey.LEADS if is_subagent else tools
        return survey.next_step(messages[opening:], own, request.system)
    late = survey.late_news(messages, tools)
    if late.text and not user_texts(history.fresh):
        return late
    step = _reply(history)
    return Step(joined(late.text, step.text), (*late.wants, *step.wants))


def _opening(messages: Sequence[Message]) -> int | None:
    """Return where the survey that is under way began, or None.

    A first message begins one unless it is a plain order; later ones have to ask for it.
    """
    opening: int | None = None
    is_first = True
    for place, message in enumerate(messages):
        if message.role == "user" and (said := user_texts([message])):
            kind = order_in(joined(*said)).kind
            if opening is None and (kind == "survey" or (is_first and not kind)):
                opening = place
            is_first = False
        elif not message.tool_calls and message.text.rstrip().endswith(WORDS["closing"]):
            opening = None
    return opening


def _reply(history: History) -> Step:
    """Return the answer to what came last: results are shown, orders are carried out."""
    shown = [_shown(done) for done in history.came[:_MOST_RESULTS]]
    made = [_carry_out(text, history) for text in user_texts(history.fresh)[:_MOST_ORDERS]]
    texts = dict.fromkeys(text for text, _ in made)
    told = joined(*shown, *texts) if shown or texts else _abilities(history)
    return Step(told, tuple(want for _, want in made if want))


def _carry_out(text: str, history: History) -> tuple[str, ToolCall | None]:
    (kind, about), orders = order_in(text), SCRIPT["orders"]
    order = orders[kind or "survey"]
    if not kind and (files := named_files(text, history.paths)[0]):
        order, about = SCRIPT["show"], files[0]
    if "say" not in order:
        return _abilities(history), None
    if not order["tool"]:
        return order["say"], None
    if order["tool"] not in history.tools:
        return f"I was given no tool named {code(order['tool'])}, so I can't do that.", None
    given = {k: about if v == "{about}" else v for k, v in order["arguments"].items()}
    return order["say"].format(about=code(about, 300)), call(order["tool"], **given)


def _abilities(history: History) -> str:
    able = {"", *history.tools} if history.tools else set[str]()
    useful = [one["usage"] for one in SCRIPT["orders"].values() if one["tool"] in able]
    known = "\n".join(f"- {usage}" for usage in useful)
    return WORDS["abilities"].format(known=known) if known else WORDS["useless"]


def _shown(done: Done) -> str:
    name, results = "failed" if done.is_error else done.tool, SCRIPT["results"]
    if name == "skill":
        return skills.on_loaded(done)
    return says(results.get(name, results["other"]), done)

"""The demo model's answers to plain orders: list, read, search, run, ask."""

from __future__ import annotations

from desktop_agent.core.messages import ToolCall
from desktop_agent.model_host.demo.history import Done, History, listed_paths, reading, user_texts
from desktop_agent.model_host.demo.markdown import code, counted, fence, joined, quote
from desktop_agent.model_host.demo.orders import ABILITIES, Order, named_files, order_in
from desktop_agent.model_host.demo.skills import on_loaded
from desktop_agent.model_host.demo.step import Step

_MOST_ORDERS = 3
_MOST_RESULTS = 10


def next_step(history: History) -> Step:
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
            return on_loaded(done)
        case _:
            return fence(lines)

"""The demo model's answers to plain orders: list, read, search, run, ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from desktop_agent.core.messages import Message
from desktop_agent.model_host.demo.history import (
    Done,
    done_calls,
    file_text,
    listed_paths,
    since_last_answer,
    user_texts,
)
from desktop_agent.model_host.demo.markdown import code, counted, fence, language_of, quote
from desktop_agent.model_host.demo.orders import Order, named_files, order_in
from desktop_agent.model_host.demo.skills import on_result
from desktop_agent.model_host.demo.step import Step, Want, joined

_MOST_ORDERS = 3

# Order → the tool it needs, and what a person writes to give it.
_ABILITIES: dict[str, tuple[str, str]] = {
    "list": ("glob", "“list files” shows what is in the folder"),
    "read": ("read", "“read README.md” shows a file"),
    "search": ("grep", "“search for WORDS” looks through all files"),
    "run": ("shell", "“run ls -l” runs a command, after you have allowed it"),
    "ask": ("ask_user", "“ask me something” puts a question to you"),
    "survey": ("glob", "“look around” surveys the folder and offers to write `OVERVIEW.md`"),
}

_TOOL_FOR = {kind: tool for kind, (tool, _) in _ABILITIES.items() if kind != "survey"}
_TOOL_FOR["show"] = "read"


def next_step(messages: Sequence[Message], tools: frozenset[str]) -> Step:
    """Return the answer to what came last: results are shown, orders are carried out."""
    fresh = since_last_answer(messages)
    results = {result.call_id for message in fresh for result in message.results}
    shown = [_shown(done) for done in done_calls(messages) if done.call.id in results]
    texts: list[str] = []
    wants: list[Want] = []
    for text in user_texts(fresh)[:_MOST_ORDERS]:
        said, want = _carry_out(_order_or_file(text, messages), tools)
        texts.append(said)
        wants.extend([want] if want else [])
    if not shown and not texts:
        texts.append(_abilities(tools))
    return Step(joined(*shown[:10], *dict.fromkeys(texts)), tuple(wants))


def _order_or_file(text: str, messages: Sequence[Message]) -> Order:
    """Return the order in a text, or that to read a listed file which the text names."""
    order = order_in(text)
    if order.kind:
        return order
    listings = [done for done in done_calls(messages) if done.call.name == "glob"]
    paths = listed_paths(listings[-1].result.text) if listings else ()
    files, _ = named_files(text, paths)
    return Order("show", files[0]) if files else order


def _carry_out(order: Order, tools: frozenset[str]) -> tuple[str, Want | None]:
    tool = _TOOL_FOR.get(order.kind, "")
    if not tool:
        return _abilities(tools), None
    if tool not in tools:
        return f"I was given no tool named {code(tool)}, so I can't do that.", None
    about = order.about
    match order.kind:
        case "list":
            return "I'll list the files.", Want(tool, {"pattern": "**/*"})
        case "read":
            return f"I'll read {code(about)}.", Want(tool, {"path": about})
        case "show":
            said = f"I'm a script and can't answer that, but I can show you {code(about)}."
            return said, Want(tool, {"path": about})
        case "search":
            return f"I'll search for {code(about)}.", Want(tool, {"pattern": about})
        case "run":
            return f"I'll run {code(about, 300)}.", Want(tool, {"command": about})
        case _:
            return "I'll ask you something.", Want(tool, dict(_QUESTION))


_QUESTION = {
    "question": "Which of these would you like to see next?",
    "options": ["list files", "look around", "read README.md"],
}


def _abilities(tools: frozenset[str]) -> str:
    known = [words for tool, words in _ABILITIES.values() if tool in tools]
    if not known:
        return "I'm the demo model, a script, and I was given no tools: I can do nothing here."
    listed = "\n".join(f"- {words}" for words in known)
    return (
        "I'm the demo model: a script, not an AI. I only understand these:\n\n"
        f"{listed}\n\nFor anything else, choose a real model under the message box."
    )


def _shown(done: Done) -> str:
    text = done.result.text
    if done.result.is_error:
        return joined(f"{code(done.call.name)} did not work. This is what it said:", quote(text))
    shows = _SHOWS.get(done.call.name)
    return shows(done) if shows else fence(text.splitlines())


def _shown_list(done: Done) -> str:
    paths = listed_paths(done.result.text)
    if not paths:
        return "There are no files here."
    return joined(f"{counted(len(paths), 'file')}:", fence(paths))


def _shown_file(done: Done) -> str:
    text = file_text(done.result.text)
    if not text.lines:
        return quote(text.remark)
    about = f"{code(done.path)} has {counted(text.total, 'line')}:"
    return joined(about, fence(text.lines, language_of(done.path)))


def _shown_search(done: Done) -> str:
    lines = [line for line in done.result.text.splitlines() if line.strip()]
    return joined("This is what I found:", fence(lines)) if lines else "I found nothing."


def _shown_command(done: Done) -> str:
    return joined("It printed:", fence(done.result.text.splitlines() or ["(nothing)"]))


def _shown_reply(done: Done) -> str:
    return joined("You answered:", quote(done.result.text), "Send that to me, and I'll do it.")


def _shown_skill(done: Done) -> str:
    return on_result(done.result)


_SHOWS: dict[str, Callable[[Done], str]] = {
    "glob": _shown_list,
    "read": _shown_file,
    "grep": _shown_search,
    "shell": _shown_command,
    "ask_user": _shown_reply,
    "skill": _shown_skill,
}

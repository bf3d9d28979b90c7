"""The survey that the demo model makes: a table of scenes, and what plays the first that fits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from desktop_agent.core.messages import Message, ToolCall
from desktop_agent.core.parts.origins import EditLine, Report
from desktop_agent.model_host.demo import skills
from desktop_agent.model_host.demo.child import CREW
from desktop_agent.model_host.demo.history import Done, parts_of
from desktop_agent.model_host.demo.markdown import code, codes, counted, joined, plain, quote
from desktop_agent.model_host.demo.orders import TARGETS, is_onward, wishes
from desktop_agent.model_host.demo.overview import summary
from desktop_agent.model_host.demo.step import CLOSING, Step, call, seconds
from desktop_agent.model_host.demo.survey_state import (
    LIST_TOOLS,
    PLAN,
    SEARCH,
    TEAM_TOOLS,
    SurveyState,
)

_WORD = re.compile(r"[^\W\d_]{4,}")
_MOST_TRIES = 4
_MOST_EDITS = 6
# So long, and so often, it is left to the person to answer a subagent before this script does.
_PATIENCE_S = 4.4
_MOST_PATIENCE = 3
# The longer one once nothing came: a subagent may be paused, and go on when the person lets it.
_WAIT_S, _LONG_WAIT_S = 30, 600
# What only the main agent uses.
LEADS = LIST_TOOLS | TEAM_TOOLS | {"skill"}

_INTRODUCTION = """\
I'm the **demo model**: a script, not an AI. I can't understand you and I know nothing, but what \
I do is real: real tools, on your real files, within the mode you chose. But for a few plain \
orders, such as “list files”, I make this same survey whatever is asked.

This is my plan:

1. Look which files there are.
2. Read a few of them.
3. Write what I found to `OVERVIEW.md`, if that is allowed.

You can send me a note while I work: “keep it short”, “don't write anything”, or the name of a \
file."""
_THOUGHTS = (
    "The list of files comes first, with a search for open points beside it: "
    "neither needs the other. Then the README, if there is one."
)


def next_step(messages: Sequence[Message], tools: frozenset[str], system: str) -> Step:
    """Return what the survey that opens with `messages[0]` does next."""
    state = SurveyState(messages, tools)
    steps = (scene(state) for scene in _LEAD)
    step = next((step for step in steps if step), None) or _survey(state, system)
    loaded = [skills.on_loaded(done) for done in state.of("skill") if done in state.came]
    thinking = _THOUGHTS if len(messages) == 1 and step.wants else ""
    return Step(joined(*loaded, _on_edits(state), step.text), step.wants, thinking, step.pause_s)


def late_news(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return the answer to subagents that speak after the survey's end; None if none does."""
    state = SurveyState(messages, tools)
    told = [
        f"“{report.name}” ended after me ({report.status}). It says: {quote(text)}"
        for report, text in parts_of(state.fresh, Report)
    ]
    answers = _answers(state) if "answer_child" in tools else ()
    told += ["A subagent still asks something; I answer it."] if answers else []
    text = joined(_on_edits(state), *told)
    return Step(text, answers) if text else None


def _heard(state: SurveyState) -> str:
    return joined(*(_reply_to_note(state, note) for note in state.news[:5]))


def _reply_to_note(state: SurveyState, note: str) -> str:
    if is_onward(note):
        return "I go on."
    wish = wishes("", (note,), state.paths)
    replies = {
        "I'll keep the overview short.": wish.is_short,
        "I won't write anything.": wish.is_dry,
        f"I'll put {codes(wish.files)} in.": wish.files,
        f"I can't find {codes(wish.missing)} here.": wish.missing and state.pages,
        "I can't act on that, so it goes into the overview under “You asked”.": wish.said,
    }
    told = " ".join(reply for reply, is_due in replies.items() if is_due)
    return joined("Your note:", quote(note), told)


def _on_edits(state: SurveyState) -> str:
    edits = state.edits(state.fresh)[:_MOST_EDITS]
    told = [joined(quote(edit.line), _reply_to_edit(state, edit)) for edit in edits]
    return joined("You changed my list:", *told) if told else ""


def _reply_to_edit(state: SurveyState, edit: EditLine) -> str:
    match edit.kind:
        case "delete" | "skip":
            return "I leave that out."
        case "add":
            return "I'm a script, so all I can do is search the files for its longest word."
        case "next" if state.states.get(edit.task_id) == "completed":
            return "That is done already."
        case "next":
            return "I do it as soon as what it waits for is done."
        case _:
            return "Noted: I go by the list as it stands now."


def _names(names: Iterable[str]) -> str:
    return " and ".join(f"“{name}”" for name in names)


# -- scenes of the survey -----------------------------------------------------------------------


def _look(state: SurveyState) -> tuple[ToolCall, ...]:
    search = (call("grep", pattern=SEARCH, ignore_case=True),) if state.may("grep") else ()
    return (call("glob", pattern="**/*"), *search)


def _read(state: SurveyState) -> tuple[ToolCall, ...]:
    return tuple(call("read", path=path) for path in state.unread)


def _write(state: SurveyState) -> tuple[ToolCall, ...]:
    return (call("write", path=state.target, content=state.draft),)


def _is_written(state: SurveyState) -> bool:
    return bool(state.tried) and not state.tried[-1].result.is_error


def _can_try(state: SurveyState) -> bool:
    is_free = len(state.tried) < _MOST_TRIES and not state.wishes.is_dry
    return bool(state.tried) and is_free and state.may("write")


def _can_change(state: SurveyState) -> bool:
    return _can_try(state) and state.tried[-1].given("content") != state.draft


def _is_up_to_date(state: SurveyState) -> bool:
    found = state.readings.get(state.target)
    return found is not None and "\n".join(found.lines).strip() == state.draft.strip()


def _on_written(state: SurveyState) -> str:
    if state.wishes.is_dry:
        return f"{_path(state)} had been written before your note came. Delete it if you like."
    lines = counted(state.tried[-1].given("content").count("\n"), "line")
    return f"Done: {_path(state)} has {lines} about {counted(len(state.survey.paths), 'file')}."


def _on_refused(state: SurveyState) -> str:
    reason = plain(state.tried[-1].result.text.removeprefix("Error: "), 200)
    if state.tried[-1].denial is not None:
        return f"You said no, and that is fine: {_path(state)} was not written."
    if "exactly this content" in reason:
        return f"{_path(state)} is there already and says exactly this: nothing to write."
    return f"{_path(state)} was not written. This is what I was told:\n\n{quote(reason)}"


def _path(state: SurveyState) -> str:
    return code(state.tried[-1].given("path"))


# When it is played, what is called (None: it is the end), what is said.
_Scene = tuple[
    Callable[[SurveyState], object],
    Callable[[SurveyState], tuple[ToolCall, ...]] | None,
    Callable[[SurveyState], str],
]
# fmt: off
_SCENES: tuple[_Scene, ...] = (
    (lambda t: not t.pages and "glob" not in t.tools, None,
     lambda t: f"{_INTRODUCTION}\n\nBut I was given no tool to list files, so I stop here."),
    (lambda t: not t.pages and t.of("glob") and (not t.news or len(t.of("glob")) >= _MOST_TRIES),
     None, lambda t: f"I could not list the files: {code(t.of('glob')[-1].result.text, 200)}"),
    (lambda t: not t.pages and "glob" in t.dropped, None,
     lambda t: "Looking around is off my list, and all else needs it: I stop here."),
    (lambda t: not t.pages, _look,
     lambda t: _INTRODUCTION if len(t.messages) == 1 else "I'll look at the files."),
    (lambda t: t.offset, lambda t: (call("glob", pattern="**/*", offset=t.offset),),
     lambda t: f"There are more than {t.offset:,} files. I'll look further."),
    (lambda t: t.unread and t.readings, _read, lambda t: f"I'll read {codes(t.unread)} too."),
    (lambda t: t.unread, _read,
     lambda t: f"I found {'at least ' * t.survey.is_cut}{counted(len(t.paths), 'file')}. "
               f"I'll read {codes(t.unread)}."),
    (lambda t: _is_written(t) and _can_change(t), _write,
     lambda t: f"I'll change {_path(t)} accordingly."),
    (_is_written, None, _on_written),
    (lambda t: _can_try(t) and any(map(is_onward, t.news)), _write,
     lambda t: "Here it is again for you."),
    (lambda t: _can_change(t) and set(t.news) - set(t.wishes.said), _write,
     lambda t: "Here it is again for you."),
    (lambda t: t.tried, None, _on_refused),
    (lambda t: t.wishes.is_dry, None,
     lambda t: f"{summary(t.survey)}\n\nAs you asked, I write nothing."),
    (lambda t: "write" in t.dropped, None,
     lambda t: f"{summary(t.survey)}\n\nWriting is off my list, so I write nothing."),
    (lambda t: not t.target, None,
     lambda t: f"{summary(t.survey)}\n\n{' and '.join(map(code, TARGETS))} are there already and "
               "not mine, so I write nothing."),
    (_is_up_to_date, None,
     lambda t: f"{summary(t.survey)}\n\n{code(t.target)} is there already and says exactly this: "
               "nothing to write."),
    (lambda t: "write" not in t.tools, None,
     lambda t: f"{summary(t.survey)}\n\nI was given no tool to write files, so I stop here."),
    (lambda t: True, _write,
     lambda t: f"{summary(t.survey)}\n\nNow I'd like to "
               f"{'update' if t.target in t.paths else 'write'} {code(t.target)}."),
)
# fmt: on


def _play(state: SurveyState) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what the first scene that fits says and calls."""
    does, says = next((does, says) for when, does, says in _SCENES if when(state))
    wants = does(state) if does else ()
    return joined(_heard(state), says(state), "" if wants else CLOSING), wants


# -- scenes of the lead: the list and the team --------------------------------------------------


def _make_list(state: SurveyState) -> Step | None:
    missing = [PLAN[key] for key in state.keys if PLAN[key].subject not in state.made]
    if not state.has_list or not missing or state.of("glob"):
        return None
    text, wants = _play(state)
    calls = (call("TaskCreate", subject=p.subject, activeForm=p.active) for p in missing)
    return Step(text, tuple(calls)) if wants else None


def _answers(state: SurveyState) -> tuple[ToolCall, ...]:
    answer = "Take the first one that you named, then the others."
    return tuple(call("answer_child", agent_id=agent, answer=answer) for agent in state.questions)


def _answer(state: SurveyState) -> Step | None:
    if not state.questions or "answer_child" not in state.tools:
        return None
    names = {agent: name for name, agent in state.started.items()}
    told = [f"“{names.get(agent, agent)}” asks: {text}" for agent, text in state.questions.items()]
    known = "\n".join(message.text for message in state.messages if message.role == "assistant")
    news = [line for line in told if line not in known]
    asked = Counter(wait.agent_id for wait in state.waits if wait.outcome == "question")
    is_patient = news or max(asked[agent] for agent in state.questions) < _MOST_PATIENCE
    if "wait" not in state.tools or not is_patient:
        told = news or ["You have not answered, so I do."]
        return Step(joined(_heard(state), *told), _answers(state))
    if news:
        about = counted(max(round(seconds(_PATIENCE_S * _MOST_PATIENCE)), 1), "second")
        news.append(f"You can answer it under *Waiting for you*; after about {about} I do.")
    # An answer of the person's ends this: the wait is then one for the report.
    wait = call("wait", agent_ids=list(state.questions), timeout_s=_WAIT_S)
    return Step(joined(_heard(state), *news), (wait,), pause_s=_PATIENCE_S)


def _stop_unwanted(state: SurveyState) -> Step | None:
    """Stop subagents whose task the person took off the list."""
    off = {name for name in state.ids if state.status(name) in {"", "completed"}}
    may = "stop" in state.tools
    gone = {name: agent for name, agent in state.at_work.items() if may and name in off}
    stopped = {done.given("agent_id") for done in state.of("stop")}
    wants = tuple(call("stop", agent_id=agent) for agent in gone.values() if agent not in stopped)
    return Step(joined(_heard(state), f"So I stop {_names(gone)}."), wants) if wants else None


def _search_additions(state: SurveyState) -> Step | None:
    """Search for what the person added; say what came of it, and tick it off."""
    told: list[str] = []
    wants: list[ToolCall] = []
    for edit in state.edits(state.messages) if state.has_list else ():
        number, status = edit.task_id, state.states.get(edit.task_id)
        word = max(_WORD.findall(edit.subject), key=len, default="")
        if edit.kind == "add" and status == "pending":
            wants.append(call("TaskUpdate", taskId=number, status="in_progress"))
            if word and "grep" in state.tools:
                wants.append(call("grep", pattern=re.escape(word), ignore_case=True))
        elif edit.kind == "add" and status == "in_progress":
            wants.append(call("TaskUpdate", taskId=number, status="completed"))
            found = _found(word, state.calls)
            told.append(f"#{number}: {found} I'm a script, so that is all I can do.")
    return Step(joined(*told, _heard(state)), tuple(wants)) if wants else None


def _found(word: str, calls: Sequence[Done]) -> str:
    texts = [done.result.text for done in calls if done.given("pattern") == re.escape(word)]
    if not word or not texts:
        return "There is no word in it that I could search for."
    lines = [line for line in texts[0].splitlines() if re.search(r":\d+:", line)]
    return f"I searched for {code(word)} and found {counted(len(lines), 'line')}."


def _wait(state: SurveyState) -> Step | None:
    """Wait for the team before the overview is written."""
    if not state.awaited or state.tried or not {want.name for want in _play(state)[1]} <= {"write"}:
        return None
    names = _names(state.awaited)
    has_waited = any(wait.outcome != "question" for wait in state.waits)
    text = "" if has_waited else f"I've read what I need. Now I wait for {names}."
    if state.timed_out:
        text = f"Nothing came from {names} for a while. If you paused it, resume or stop it; "
        text += "I wait ten minutes more."
    limit = _LONG_WAIT_S if state.idle else _WAIT_S
    wait = call("wait", agent_ids=list(state.awaited.values()), timeout_s=limit)
    return Step(joined(_heard(state), text), (*state.updates({"wait"}), wait))


_LEAD = (_make_list, _answer, _stop_unwanted, _search_additions, _wait)


def _survey(state: SurveyState, system: str) -> Step:
    """Play the scene of the survey, with what the list and the team need beside it."""
    text, wants = _play(state)
    begun = {want.name for want in wants}
    updates = state.updates(begun)
    if not wants:
        made = [one.arguments for one in state.answer.tool_calls] if state.answer else []
        # Updates that have just been tried and failed are not tried again.
        is_new = updates and made != [one.arguments for one in updates]
        return Step(_heard(state), updates) if is_new else Step(text)
    known = {*state.started, *state.lost, *state.dropped}
    idle = [name for name in CREW if name in state.keys and name not in known]
    if "read" in begun:
        wants = (*(_spawn(state, name) for name in idle), *wants)
        if idle:
            told = f"Beside me, subagents of mine begin: {_names(idle)}."
            text = joined(text, f"{told} Open one to watch it, or to steer it.")
        skill = skills.fitting(system, state.paths) if "skill" in state.tools else ""
        if skill and not state.of("skill"):
            told = f"I load the skill {code(skill)}, too"
            text = joined(text, f"{told}: of those offered to me it fits these files best.")
            updates = (call("skill", name=skill), *updates)
    if "write" in begun and not state.tried:
        # What the overview lacks of the team's work, and why.
        why = [f"“{name}”: {reason}" for name, reason in state.missing.items()]
        if idle:
            why.append(f"Nothing was there to read, so nobody was started for {_names(idle)}.")
        text = joined(text, " ".join(why))
    return Step(text, (*updates, *wants))


def _spawn(state: SurveyState, name: str) -> ToolCall:
    task = {"task_id": state.ids[name]} if state.status(name) else {}
    prompt, role = CREW[name]
    return call("spawn", description=name, prompt=prompt, agent=role, **task)

"""The survey that the demo model makes of a folder, and the work of its subagents for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from posixpath import splitext

from desktop_agent.core.messages import Message, ToolCall, ToolResult
from desktop_agent.core.parts import facts, origins
from desktop_agent.core.prose.markdown import codes, counted, fence, joined, plain, quote
from desktop_agent.model_host.demo import history, script, skills
from desktop_agent.model_host.demo.history import Done, History, parts_of, user_texts
from desktop_agent.model_host.demo.orders import TARGETS, Wishes, named_files
from desktop_agent.model_host.demo.script import SCRIPT, WORDS, Step, call, says

PLAN, CREW, _ENDS = SCRIPT["plan"], SCRIPT["crew"], SCRIPT["ends"]
_LIST = frozenset({"TaskCreate", "TaskUpdate"})
_TEAM = frozenset({"spawn", "wait", "answer_child", "stop"})
# What only the main agent uses.
LEADS = _LIST | _TEAM | {"skill"}
_SEARCH = r"to-?do|fix-?me|- \[ \]"
_MARK = re.compile(r"\bto-?do\b|\bfix-?me\b|^\s*[-*] \[ \]", re.I)
_WORD = re.compile(r"[^\W\d_]{4,}")
_NEXT = {"pending": "in_progress", "in_progress": "completed"}
_MOST_PAGES = _MOST_TRIES = 4
_MOST_NEWS, _MOST_EDITS = 5, 6
# So long, and so often, it is left to the person to answer a subagent before this script does.
_PATIENCE_S, _MOST_PATIENCE = 4.4, 3
# The longer one once nothing came: a subagent may be paused, and go on when the person lets it.
_WAIT_S, _LONG_WAIT_S = 30, 600
# Slow enough that a person can open a subagent, pause it and steer it.
_PAUSE_S = 1.8


def next_step(messages: Sequence[Message], tools: frozenset[str], system: str) -> Step:
    """Return what the survey that opens with `messages[0]` does next."""
    state = Survey(messages, tools, system)
    scene = script.fitting(SCRIPT["survey"], state)[0]
    state.begin(scene)
    played = next(iter(script.fitting(SCRIPT["lead"], state)), scene)
    wants = script.calls(played, state)
    if played.get("is_listed"):
        wants = (*state.updates({one.name for one in wants}), *wants)
    text = joined(
        *(skills.on_loaded(done) for done in state.of("skill") if done in state.came),
        state.on_edits,
        *(says(SCRIPT["note"], wishes) for wishes in state.heard[:_MOST_NEWS]),
        script.filled(played.get("say", scene["say"]), state),
        says(SCRIPT[played["beside"]], state) if "beside" in played else "",
        "" if wants else WORDS["closing"],
    )
    thinking = WORDS["thoughts"] if state.is_first and wants else ""
    return Step(text, wants, thinking, _PATIENCE_S if played.get("is_slow") else 0.0)


def late_news(messages: Sequence[Message], tools: frozenset[str]) -> Step:
    """Return the answer to subagents that speak after the survey's end; empty if none does."""
    state = Survey(messages, tools, "")
    told = [
        f"“{report.name}” has ended ({report.status}). It says: {quote(text)}"
        for report, text in parts_of(state.fresh, origins.Report)
    ]
    told += [WORDS["late_question"]] if state.answer_all else []
    return Step(joined(state.on_edits, *told), tuple(state.answer_all))


def child_step(messages: Sequence[Message], tools: frozenset[str]) -> Step | None:
    """Return what the subagent does next; None if its prompt is none of the crew's."""
    prompts = user_texts(messages[:1])
    for one in SCRIPT["crew"].values():
        if one["prompt"] in prompts[:1]:
            work = Work(messages, tools)
            scene = script.fitting(one["scenes"], work)[0]
            text = joined(*map(work.reply, work.news), script.filled(scene["say"], work))
            return Step(text, script.calls(scene, work), pause_s=_PAUSE_S)
    return None


class Survey(History):
    """All that the next step of a survey follows from; scenes name the attributes."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str], system: str) -> None:
        super().__init__(messages, tools)
        self.is_first = len(messages) == 1
        # Searches for tasks that the person added are no part of the survey.
        self.searches = {one.given("pattern"): one for one in self.calls if one.tool == "grep"}
        own = [one for one in self.calls if one.tool != "grep" or one.given("pattern") == _SEARCH]
        self.calls = own
        self._see_list()
        self._see_edits()
        self._see_team()
        self._see_waits()
        self._see_plan()
        self._see_folder(system)
        self._see_files()
        self._see_texts()
        self._see_tries()

    def begin(self, scene: script.Scene) -> None:
        """Take this as the next scene, for those that may be played before it."""
        self.begun = {one.name for one in script.calls(scene, self)}
        self.can_wait = self.awaited and not self.tried and self.begun <= {"write"}
        # What is put right in the list before the last words, unless that was just tried.
        due = self.updates(self.begun)
        made = [one.arguments for one in self.answer.tool_calls] if self.answer else []
        self.last_updates = due if made != [one.arguments for one in due] else ()

    def updates(self, begun: set[str]) -> tuple[ToolCall, ...]:
        """Return the calls that bring the list up to date when these tools are called now."""
        on_list = [key for key in PLAN if self.status[key]] if self.has_list else []
        changes: list[tuple[str, str, object]] = []
        for key in on_list if "glob" in begun and not self.listed else ():
            blockers = [self.ids[one] for one in PLAN[key].get("blockers", ()) if self.status[one]]
            changes += [(key, "addBlockedBy", blockers)] if blockers else []
        due = [(key, "status", self._due(key, begun)) for key in on_list if key in self.keys]
        changes += [one for one in due if one[2] != self.status[one[0]]]
        return tuple(call("TaskUpdate", taskId=self.ids[k], **{what: v}) for k, what, v in changes)

    def _due(self, key: str, begun: set[str]) -> str:
        if key in begun:
            return "in_progress"
        if key in CREW:
            # A subagent's end has ticked its task off; what nobody does goes off the list.
            is_left = key not in self.at_work and self.status[key] != "completed"
            return "deleted" if is_left and begun <= {"write"} else self.status[key]
        if self.texts(key):
            return "completed"
        # What was tried and refused, or never begun, goes off the list at the end.
        return self.status[key] if begun else "deleted"

    def _see_list(self) -> None:
        self.has_list = self.tools >= _LIST
        self.made = {one.given("subject"): one.facts for one in self.of("TaskCreate")}
        shown = {key: self.made.get(plan["task"]["subject"]) for key, plan in PLAN.items()}
        self.ids = {key: f.task_id for key, f in shown.items() if isinstance(f, facts.ListShown)}
        # The newest state of the list, with what reports said of it since.
        self.states: dict[int, str] = {}
        for message in self.messages:
            told = [o for o, _ in parts_of([message], origins.TaskListShown, origins.Report)]
            for one in (*(result.facts for result in message.results), *told):
                if isinstance(one, facts.ListShown | origins.TaskListShown):
                    self.states = dict(one.states)
                elif isinstance(one, origins.Report) and one.task_id in self.states:
                    self.states[one.task_id] = one.task_status or self.states[one.task_id]
        # Empty for a task that is not, or no longer, on the list.
        self.status = {key: self.states.get(self.ids.get(key, 0), "") for key in PLAN}

    def _see_edits(self) -> None:
        fresh, made = (
            [one for note, _ in parts_of(messages, origins.TaskEdits) for one in note.edits]
            for messages in (self.fresh, self.messages)
        )
        told = [joined(quote(one.line), self._reply_to(one)) for one in fresh[:_MOST_EDITS]]
        self.on_edits = joined("You changed my list:", *told) if told else ""
        # What was added is searched for; what came of it is told, and the task is ticked off.
        self.search_added: list[ToolCall] = []
        self.added: list[dict[str, object]] = []
        for edit in made if self.has_list else ():
            status = self.states.get(edit.task_id, "") if edit.kind == "add" else ""
            if new := _NEXT.get(status):
                self.search_added.append(call("TaskUpdate", taskId=edit.task_id, status=new))
            word = max(_WORD.findall(edit.subject), key=len, default="")
            if new == "in_progress" and word and "grep" in self.tools:
                self.search_added.append(call("grep", pattern=word, ignore_case=True))
            elif new == "completed":
                found = self.searches.get(word)
                lines = counted(len(history.hits(found.text)), "line") if found else ""
                self.added.append({"task_id": edit.task_id, "word": word, "lines": lines})

    def _reply_to(self, edit: origins.EditLine) -> str:
        is_done = edit.kind == "next" and self.states.get(edit.task_id) == "completed"
        replies = SCRIPT["edits"]
        return replies.get("done" if is_done else edit.kind, replies["other"])

    def _see_team(self) -> None:
        spawns, reports = self.of("spawn"), parts_of(self.messages, origins.Report)
        started = [one.facts for one in spawns if isinstance(one.facts, facts.Started)]
        self.started = {one.agent_id: one.name for one in started}
        self.spawned = {*self.started.values(), *(one.given("description") for one in spawns)}
        ended = {report.agent_id for report, _ in reports}
        self.at_work = {name: one for one, name in self.started.items() if one not in ended}
        # What came of each, or why nothing did.
        ends = dict.fromkeys(self.spawned, "lost") | dict.fromkeys(self.at_work, "at_work")
        ends |= {one.name: one.status for one, _ in reports}
        gave = {one.name: text for one, text in reports if one.status == "completed" and text}
        lacking = [name for name in CREW if name in ends and name not in gave]
        self.lacks = {name: _ENDS.get(ends[name], _ENDS["other"]) for name in lacking}
        told = {name: (self.lacks | gave)[name].splitlines() for name in CREW if name in ends}
        self.findings = [{"name": name, "block": fence(t, limit=8)} for name, t in told.items()]

    def _see_waits(self) -> None:
        done = self.of("wait")
        waits = [one.facts for one in done if isinstance(one.facts, facts.Waited)]
        came = [one.facts for one in self.came if isinstance(one.facts, facts.Waited)]
        outcomes = [wait.outcome for wait in waits]
        self.has_waited = any(outcome != "question" for outcome in outcomes)
        self.has_timed_out = any(wait.outcome == "timeout" for wait in came)
        # Once nothing comes any more the survey goes on alone.
        idle = outcomes.count("timeout")
        is_vain = idle > 1 or "nobody" in outcomes or any(one.is_error for one in done)
        self.awaited = {} if is_vain or "wait" not in self.tools else self.at_work
        agents, limit = list(self.awaited.values()), _LONG_WAIT_S if idle else _WAIT_S
        self.wait_for_team = [call("wait", agent_ids=agents, timeout_s=limit)]
        # Who asks what since the last answer: in answers of `wait`, and in notes.
        asked = {wait.agent_id: wait.question for wait in came if wait.outcome == "question"}
        asked |= {o.agent_id: text for o, text in parts_of(self.fresh, origins.ChildQuestion)}
        lines = {agent: question.partition("\n")[0] for agent, question in asked.items()}
        told = [f"“{self.started.get(one, one)}” asks: {line}" for one, line in lines.items()]
        known = "\n".join(one.text for one in self.messages if one.role == "assistant")
        self.new_questions = joined(*(line for line in told if line not in known))
        askers = [wait.agent_id for wait in waits if wait.outcome == "question"]
        often = max((askers.count(agent) for agent in asked), default=0)
        self.is_impatient = often >= _MOST_PATIENCE or "wait" not in self.tools
        patience = round(script.seconds(_PATIENCE_S * _MOST_PATIENCE))
        self.patience = counted(max(patience, 1), "second")
        agents = list(asked) if "answer_child" in self.tools else []
        self.answer_all = [call("answer_child", agent_id=a, answer=WORDS["answer"]) for a in agents]
        # An answer of the person's ends this: the wait is then one for the report.
        wait = call("wait", agent_ids=agents, timeout_s=_WAIT_S)
        self.wait_for_person = [wait] if agents else []

    def _see_plan(self) -> None:
        # What the person took off the list, or ticked off, and of that what was not begun. A tool
        # whose task is off is left alone.
        off = {key for key in self.ids if self.status[key] in {"", "completed"}}
        begun = {*(one.tool for one in self.calls), *self.started.values()}
        self.dropped = off - begun
        self.tools -= self.dropped
        # The tasks that are left, as far as the tools allow them.
        able = self.tools | (set(CREW) - self.dropped if self.tools >= _TEAM else set())
        self.keys = [key for key in PLAN if key in able]
        tasks = [PLAN[key]["task"] for key in self.keys]
        new = [task for task in tasks if task["subject"] not in self.made]
        self.create_tasks = [call("TaskCreate", **task) for task in new]
        self.idle = [name for name in CREW if name in able and name not in self.spawned]
        self.spawn_idle = [self._spawn(name) for name in self.idle]
        self.unwanted = [name for name in self.at_work if name in off]
        agents = [self.at_work[name] for name in self.unwanted]
        self.stop_unwanted = self.unmade("stop", "agent_id", agents)

    def _spawn(self, name: str) -> ToolCall:
        task = {"task_id": self.ids[name]} if self.status[name] else {}
        prompt, role = CREW[name]["prompt"], CREW[name]["role"]
        return call("spawn", description=name, prompt=prompt, agent=role, **task)

    def _see_folder(self, system: str) -> None:
        self.listed, self.pages = self.of("glob"), self.texts("glob")
        is_given_up = not self.news or len(self.listed) >= _MOST_TRIES
        self.has_failed_to_list = bool(self.listed) and is_given_up
        self.list_error = self.listed[-1].text[:300] if self.listed else ""
        self.list_files = [call("glob", pattern="**/*")]
        search = call("grep", pattern=_SEARCH, ignore_case=True)
        self.search_points = [search] if "grep" in self.tools else []
        has_more = 0 < len(self.pages) < _MOST_PAGES and "glob" in self.tools
        self.offset = history.next_offset(self.pages[-1]) if has_more else 0
        self.list_more = [call("glob", pattern="**/*", offset=self.offset)] if self.offset else []
        self.skill = skills.fitting(system, self.paths)
        is_due = self.skill and not self.of("skill")
        self.load_skill = self.unmade("skill", "name", [self.skill] if is_due else [])

    def _see_files(self) -> None:
        opening = joined(*user_texts(self.messages[:1]))
        self.wishes = Wishes(opening, self.notes, self.paths)
        # Names are missed only once the files are known.
        self.heard = [Wishes("", (note,), self.paths) for note in self.news]
        for wishes in self.heard if not self.pages else ():
            wishes.missing = ()
        self.readings = {one.path: one for one in self.of("read")}
        # Files that an earlier survey has made; no others are overwritten.
        ours = {path for path, one in self.readings.items() if WORDS["signature"] in one.lines}
        self.target = next((t for t in TARGETS if t not in self.paths or t in ours), "")
        others = [path for path in self.paths if path not in TARGETS]
        targets = [path for path in TARGETS if path in self.paths]
        chosen = (*history.worth_reading(others), *self.wishes.files, *targets)
        self.read_files = self.unmade("read", "path", chosen)
        self.shown = [one for path, one in self.readings.items() if path not in TARGETS]
        self.files = [path for path in self.paths if path not in ours]
        self.folders = {path.rpartition("/")[0] for path in self.files} | {""}
        hits = [hit for text in self.texts("grep") for hit in history.hits(text)]
        self.points = [h for h in hits if _MARK.search(h["text"]) and h["path"] not in ours]

    def _see_texts(self) -> None:
        self.first_points = self.points[:12]
        self.least = "at least " if any(map(history.is_cut, self.pages[-1:])) else ""
        self.least_points = "At least " if any(map(history.is_cut, self.texts("grep"))) else ""
        self.at_least = self.least.capitalize()
        self.kinds = history.kinds_table(self.files, 8)
        self.all_kinds = history.kinds_table(self.files, 5 if self.wishes.is_short else 15)
        self.tree, self.long_tree = (history.tree(self.files, limit) for limit in (12, 30))
        self.size = says(SCRIPT["size"], self)
        self.summary = says(SCRIPT["summary"], self)
        self.draft = says(SCRIPT["overview"], self) + "\n"

    def _see_tries(self) -> None:
        self.tried = self.of("write")
        self.last = last = self.tried[-1] if self.tried else Done(call(""), ToolResult("", ""))
        self.write_draft = [call("write", path=self.target, content=self.draft)]
        found = self.readings.get(self.target)
        self.is_up_to_date = bool(found) and "\n".join(found.lines).strip() == self.draft.strip()
        self.is_there = self.target in self.paths
        self.is_written = bool(self.tried) and not last.is_error
        is_wanted = "write" in self.tools and not self.wishes.is_dry
        self.can_try = is_wanted and 0 < len(self.tried) < _MOST_TRIES
        self.can_change = self.can_try and last.given("content") != self.draft
        self.is_told_to_go_on = any(one.is_onward for one in self.heard)
        self.has_understood = any(not one.said for one in self.heard)
        self.tried_length = counted(last.given("content").count("\n"), "line")
        self.refusal = plain(last.text.removeprefix("Error: "), 200)
        self.is_unchanged = "exactly this content" in self.refusal


class Work(History):
    """One subagent's work so far; names of its scenes are attributes."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str]) -> None:
        super().__init__(messages, tools)
        named = named_files("\n".join(self.notes), self.paths)[0]
        own = [path for path in self.paths if not path.startswith(("OVERVIEW", "."))]
        notes = [p for p in own if p.lower().endswith(tuple(history.FILES["notes"]))][:3]
        answers = [done.text for done in self.of("ask_parent")]
        first = named_files("\n".join(answers), notes)[0]
        endings = Counter(splitext(path)[1] for path in self.paths if splitext(path)[1])
        patterns = [f"**/*{ending}" for ending, _ in endings.most_common(3)]
        question = f"I found {codes(notes)}. Which of them matters most?"
        questions = [question] if notes and not answers else []
        self.list_files = self.unmade("glob", "pattern", ["**/*"])
        self.list_ending = self.unmade("glob", "pattern", patterns)[:1]
        self.search_headings = self.unmade("grep", "pattern", ["^#{1,3} "], glob="*.md")
        self.read_named = self.unmade("read", "path", named)
        self.read_note = self.unmade("read", "path", [*first, *named, *notes])[:1]
        self.ask_parent = self.unmade("ask_parent", "question", questions)
        kinds = [f"{plain(kind)} {number}" for kind, number in history.kinds(self.paths)[:6]]
        headings = len(history.hits("\n".join(done.text for done in self.of("grep"))))
        files, found = counted(len(self.paths), "file"), counted(headings, "heading")
        self.counts = f"{files}: {', '.join(kinds) or 'none'}. {found} in Markdown files."
        unmet = [note for note in self.notes if not named_files(note, self.paths)[0]]
        lines = [f"{says(SCRIPT['one_line'], done)}." for done in self.of("read")]
        lines += [f"I was told “{plain(note)}” and can't act on it." for note in unmet[:3]]
        self.report = "\n".join(lines)

    def reply(self, note: str) -> str:
        """Return what is said to a note."""
        files = codes(named_files(note, self.paths)[0])
        does = f"I'll look at {files}." if files else "I'm a script: I put it into my report."
        return joined("I was told:", quote(note), does)

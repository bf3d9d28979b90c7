"""The survey that the demo model makes of a folder: its state, and what plays its scenes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message, ToolCall, ToolResult
from desktop_agent.core.parts import facts, origins
from desktop_agent.core.prose.markdown import code, counted, fence, joined, plain, quote
from desktop_agent.model_host.demo import folder, history, script, skills
from desktop_agent.model_host.demo.history import Done, History, Result, facts_of, parts_of
from desktop_agent.model_host.demo.orders import TARGETS, Wishes, is_onward
from desktop_agent.model_host.demo.script import SCRIPT, WORDS, Step, call, says

PLAN, CREW, _ENDS = SCRIPT["plan"], SCRIPT["crew"], SCRIPT["ends"]
_LIST = frozenset({"TaskCreate", "TaskUpdate"})
_TEAM = frozenset({"spawn", "wait", "answer_child", "stop"})
# What only the main agent uses.
LEADS = _LIST | _TEAM | {"skill"}
_SEARCH = r"to-?do|fix-?me|- \[ \]"
_MARK = re.compile(r"\bto-?do\b|\bfix-?me\b|^\s*[-*] \[ \]", re.I)
_WORD = re.compile(r"[^\W\d_]{4,}")
_MOST_PAGES = _MOST_TRIES = 4
_MOST_NEWS, _MOST_EDITS = 5, 6
# So long, and so often, it is left to the person to answer a subagent before this script does.
_PATIENCE_S, _MOST_PATIENCE = 4.4, 3
# The longer one once nothing came: a subagent may be paused, and go on when the person lets it.
_WAIT_S, _LONG_WAIT_S = 30, 600


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
        *(says(SCRIPT["note"], state.wishes_in(note)) for note in state.news[:_MOST_NEWS]),
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


class Survey(History):
    """All that the next step of a survey follows from; scenes name the attributes."""

    def __init__(self, messages: Sequence[Message], tools: frozenset[str], system: str) -> None:
        super().__init__(messages, tools)
        self.is_first = len(messages) == 1
        self._see_list()
        self._see_team()
        self._see_waits()
        self._see_dropped()
        self._see_folder(system)
        self._see_files()
        self._see_texts()
        self._see_tries()
        self._see_edits()

    def of(self, name: str) -> list[Done]:
        """Return the survey's own calls of a tool."""
        found = super().of(name)
        return [one for one in found if name != "grep" or one.given("pattern") == _SEARCH]

    def begin(self, scene: script.Scene) -> None:
        """Take this as the next scene, for those that may be played before it."""
        self.begun = {one.name for one in script.calls(scene, self)}
        self.can_wait = self.awaited and not self.tried and self.begun <= {"write"}
        # What is put right in the list before the last words, unless that was just tried.
        made = [one.arguments for one in self.answer.tool_calls] if self.answer else []
        due = () if self.begun else self.updates(set())
        self.last_updates = due if made != [one.arguments for one in due] else ()

    def may(self, tool: str) -> bool:
        """Whether the tool is there and its task was not taken off the list."""
        return tool in self.tools and tool not in self.dropped

    def _see_list(self) -> None:
        self.has_list, has_team = self.tools >= _LIST, self.tools >= _TEAM
        # The tasks that the tools allow.
        self.keys = [key for key in PLAN if (has_team if key in CREW else key in self.tools)]
        made = {one.given("subject"): one.result.facts for one in self.of("TaskCreate")}
        self.create_tasks = [
            call("TaskCreate", subject=PLAN[key]["subject"], activeForm=PLAN[key]["active"])
            for key in self.keys
            if PLAN[key]["subject"] not in made
        ]
        shown = {key: made.get(plan["subject"]) for key, plan in PLAN.items()}
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

    def status(self, key: str) -> str:
        """Return a task's status; empty when it is not, or no longer, on the list."""
        return self.states.get(self.ids.get(key, 0), "")

    def updates(self, begun: set[str]) -> tuple[ToolCall, ...]:
        """Return the calls that bring the list up to date when these tools are called now."""
        made: list[ToolCall] = []
        on_list = [key for key in self.keys if self.status(key)]
        for key in on_list if "glob" in begun and not self.listed else ():
            blockers = [self.ids[one] for one in PLAN[key].get("blockers", ()) if self.status(one)]
            if blockers:
                made.append(call("TaskUpdate", taskId=self.ids[key], addBlockedBy=blockers))
        for key in on_list:
            new = self.status(key) if key in self.dropped else self._due(key, begun)
            if new != self.status(key):
                made.append(call("TaskUpdate", taskId=self.ids[key], status=new))
        return tuple(made) if self.has_list else ()

    def _due(self, key: str, begun: set[str]) -> str:
        if key in begun:
            return "in_progress"
        if key in CREW:
            # A subagent's end has ticked its task off; what nobody does goes off the list.
            is_left = key not in self.at_work and self.status(key) != "completed"
            return "deleted" if is_left and begun <= {"write"} else self.status(key)
        if self.texts(key):
            return "completed"
        # What was tried and refused, or never begun, goes off the list at the end.
        return self.status(key) if begun else "deleted"

    def _see_dropped(self) -> None:
        # What the person took off the list, or ticked off, and of that what was not begun.
        off = {key for key in self.ids if self.status(key) in {"", "completed"}}
        done = [o for o in self.calls if o.call.name != "grep" or o.given("pattern") == _SEARCH]
        self.dropped = off - {one.call.name for one in done} - set(self.started)
        known = self.spawned | self.dropped
        self.idle = [name for name in CREW if name in self.keys and name not in known]
        self.unwanted = [name for name in self.at_work if name in off and "stop" in self.tools]
        agents = [self.at_work[name] for name in self.unwanted]
        self.stop_unwanted = self.unmade("stop", "agent_id", agents)

    def _see_team(self) -> None:
        started = facts_of(self.of("spawn"), facts.Started)
        # Name → id.
        self.started = {one.name: one.agent_id for one in started}
        self.spawned = {*self.started, *(one.given("description") for one in self.of("spawn"))}
        reports = parts_of(self.messages, origins.Report)
        ended = {report.agent_id for report, _ in reports}
        self.at_work = {name: agent for name, agent in self.started.items() if agent not in ended}
        # What came of each, or why nothing did.
        gave = {one.name: text for one, text in reports if one.status == "completed" and text}
        ends = dict.fromkeys(self.spawned, "lost") | dict.fromkeys(self.at_work, "at_work")
        ends |= {one.name: one.status for one, _ in reports}
        lacks = {name: _ENDS.get(end, _ENDS["other"]) for name, end in ends.items()}
        self.lacks = {name: lacks[name] for name in CREW if name in ends and name not in gave}
        told = {name: (lacks | gave)[name].splitlines() for name in CREW if name in ends}
        self.findings = [{"name": name, "block": fence(t, limit=8)} for name, t in told.items()]

    def _see_waits(self) -> None:
        done = self.of("wait")
        waits, came = facts_of(done, facts.Waited), facts_of(self.came, facts.Waited)
        outcomes = [wait.outcome for wait in waits]
        self.has_waited = any(outcome != "question" for outcome in outcomes)
        self.has_timed_out = any(wait.outcome == "timeout" for wait in came)
        # Once nothing comes any more the survey goes on alone.
        idle = outcomes.count("timeout")
        is_vain = idle > 1 or "nobody" in outcomes or any(one.result.is_error for one in done)
        self.awaited = {} if is_vain or "wait" not in self.tools else self.at_work
        self.wait_for_team = _wait(self.awaited.values(), _LONG_WAIT_S if idle else _WAIT_S)
        # Who asks what since the last answer: in answers of `wait`, and in notes.
        asked = {wait.agent_id: wait.question for wait in came if wait.outcome == "question"}
        asked |= {o.agent_id: text for o, text in parts_of(self.fresh, origins.ChildQuestion)}
        names = {agent: name for name, agent in self.started.items()}
        told = [
            f"“{names.get(one, one)}” asks: {asked[one].partition(chr(10))[0]}" for one in asked
        ]
        known = "\n".join(one.text for one in self.messages if one.role == "assistant")
        self.new_questions = joined(*(line for line in told if line not in known))
        times = Counter(wait.agent_id for wait in waits if wait.outcome == "question")
        often = max((times[agent] for agent in asked), default=0)
        self.is_impatient = often >= _MOST_PATIENCE or "wait" not in self.tools
        patience = round(script.seconds(_PATIENCE_S * _MOST_PATIENCE))
        self.patience = counted(max(patience, 1), "second")
        agents = asked if "answer_child" in self.tools else ()
        self.answer_all = [call("answer_child", agent_id=a, answer=WORDS["answer"]) for a in agents]
        # An answer of the person's ends this: the wait is then one for the report.
        self.wait_for_person = _wait(agents, _WAIT_S)

    def _see_folder(self, system: str) -> None:
        self.listed, self.pages = self.of("glob"), self.texts("glob")
        last = self.pages[-1] if self.pages else ""
        is_given_up = not self.news or len(self.listed) >= _MOST_TRIES
        self.has_failed_to_list = bool(self.listed) and is_given_up
        self.list_error = self.listed[-1].result.text[:300] if self.listed else ""
        self.list_files = [call("glob", pattern="**/*")]
        search = call("grep", pattern=_SEARCH, ignore_case=True)
        self.search_points = [search] if self.may("grep") else []
        has_more = len(self.pages) < _MOST_PAGES and "glob" in self.tools
        self.offset = folder.next_offset(last) if has_more else 0
        self.list_more = [call("glob", pattern="**/*", offset=self.offset)] if self.offset else []
        self.skill = skills.fitting(system, self.paths)
        is_due = self.skill and not self.of("skill")
        self.load_skill = self.unmade("skill", "name", [self.skill] if is_due else [])
        self.spawn_idle = [self._spawn(name) for name in self.idle]

    def _spawn(self, name: str) -> ToolCall:
        task = {"task_id": self.ids[name]} if self.status(name) else {}
        prompt, role = CREW[name]["prompt"], CREW[name]["role"]
        return call("spawn", description=name, prompt=prompt, agent=role, **task)

    def _see_files(self) -> None:
        opening = joined(*history.user_texts(self.messages[:1]))
        self.wishes = Wishes(opening, self.notes, self.paths)
        self.readings = {one.given("path"): Result(one) for one in self.of("read")}
        # Files that an earlier survey has made; no others are overwritten.
        ours = {path for path, one in self.readings.items() if WORDS["signature"] in one.lines}
        self.target = next((t for t in TARGETS if t not in self.paths or t in ours), "")
        others = [path for path in self.paths if path not in TARGETS]
        targets = [path for path in TARGETS if path in self.paths]
        chosen = (*folder.worth_reading(others), *self.wishes.files, *targets)
        self.read_files = self.unmade("read", "path", chosen if self.may("read") else ())
        self.shown = [one for path, one in self.readings.items() if path not in TARGETS]
        self.files = [path for path in self.paths if path not in ours]
        self.folders = {path.rpartition("/")[0] for path in self.files} | {""}
        hits = [hit for text in self.texts("grep") for hit in folder.hits(text)]
        self.points = [h for h in hits if _MARK.search(h["text"]) and h["path"] not in ours]

    def _see_texts(self) -> None:
        self.is_short, self.is_dry = self.wishes.is_short, self.wishes.is_dry
        self.said, self.first_points = self.wishes.said[:10], self.points[:12]
        self.least = "at least " if any(map(folder.is_cut, self.pages[-1:])) else ""
        self.least_points = "At least " if any(map(folder.is_cut, self.texts("grep"))) else ""
        self.at_least = self.least.capitalize()
        self.kinds = folder.kinds_table(self.files, 8)
        self.all_kinds = folder.kinds_table(self.files, 5 if self.is_short else 15)
        self.tree, self.long_tree = (folder.tree(self.files, limit) for limit in (12, 30))
        self.size = says(SCRIPT["size"], self)
        self.summary = says(SCRIPT["summary"], self)
        self.draft = says(SCRIPT["overview"], self) + "\n"

    def _see_tries(self) -> None:
        self.tried = self.of("write")
        last = self.tried[-1] if self.tried else Done(call(""), ToolResult("", ""))
        self.write_draft = [call("write", path=self.target, content=self.draft)]
        found = self.readings.get(self.target)
        self.is_up_to_date = bool(found) and "\n".join(found.lines).strip() == self.draft.strip()
        self.is_there = self.target in self.paths
        self.is_written = bool(self.tried) and not last.result.is_error
        is_free = 0 < len(self.tried) < _MOST_TRIES and not self.is_dry
        self.can_try = is_free and self.may("write")
        self.can_change = self.can_try and last.given("content") != self.draft
        self.is_told_to_go_on = any(map(is_onward, self.news))
        self.has_understood = set(self.news) - set(self.wishes.said)
        self.tried_path = last.given("path")
        self.tried_length = counted(last.given("content").count("\n"), "line")
        self.is_denied = last.denial is not None
        self.refusal = plain(last.result.text.removeprefix("Error: "), 200)
        self.is_unchanged = "exactly this content" in self.refusal

    def wishes_in(self, note: str) -> Wishes:
        """Return the wishes in one note; names are missed only once the files are known."""
        wishes = Wishes("", (note,), self.paths)
        wishes.missing = wishes.missing if self.pages else ()
        return wishes

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
            status = self.states.get(edit.task_id) if edit.kind == "add" else ""
            pattern = re.escape(max(_WORD.findall(edit.subject), key=len, default=""))
            if status == "in_progress":
                done = call("TaskUpdate", taskId=edit.task_id, status="completed")
                self.search_added.append(done)
                self.added.append({"task_id": edit.task_id, "found": self._found(pattern)})
            elif status == "pending":
                begun = call("TaskUpdate", taskId=edit.task_id, status="in_progress")
                self.search_added.append(begun)
                if pattern and "grep" in self.tools:
                    self.search_added.append(call("grep", pattern=pattern, ignore_case=True))

    def _reply_to(self, edit: origins.EditLine) -> str:
        is_done = edit.kind == "next" and self.states.get(edit.task_id) == "completed"
        replies = SCRIPT["edits"]
        return replies.get("done" if is_done else edit.kind, replies["other"])

    def _found(self, word: str) -> str:
        texts = [one.result.text for one in self.calls if one.given("pattern") == word]
        if not word or not texts:
            return "There is no word in it that I could search for."
        return (
            f"I searched for {code(word)} and found {counted(len(folder.hits(texts[0])), 'line')}."
        )


def _wait(agents: Collection[AgentId], limit: int) -> list[ToolCall]:
    return [call("wait", agent_ids=list(agents), timeout_s=limit)] if agents else []

"""Approvals: nothing runs without the person's yes, and a yes is for what was shown."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from desktop_agent.core.approvals import AllowAlways, AllowOnce, Deny, Edited, Mode, Rule
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    QuestionAnswered,
    QuestionAsked,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.tool import Access, Preview
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent import dispatch
from desktop_agent.engine.permissions import policy
from tests.engine.rig import Rig, tool
from tests.helpers.scripted import MemoryStore, calls, says

WRITE = calls(("write", {"what": "x"}))


def writes(what: str = "x"):
    return calls(("write", {"what": what}))


async def test_a_change_waits_for_the_person(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), says("done"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    assert rig.gates.ran == []
    assert not rig.of(ToolStarted)
    assert rig.of(AgentsChanged)[-1].agents[0].status == "waiting_approval"
    assert rig.store.infos[rig.session_id].status == "needs_you"
    rig.engine.decide(asked.request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert rig.gates.ran == ["x"]


async def test_the_time_of_a_call_is_without_what_it_waited_for_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = 0.0
    clock = SimpleNamespace(monotonic=lambda: slept, time=time.time)
    monkeypatch.setattr(dispatch, "time", clock)
    rig = Rig(tmp_path, writes(), says("done"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    slept = 3_600.0
    rig.engine.decide(asked.request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert rig.of(ToolEnded)[0].seconds == 0.0


async def test_a_second_click_is_ignored(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), says("done"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.decide(asked.request.id, AllowOnce())
    rig.engine.decide(asked.request.id, Deny())
    await rig.until(TurnEnded)
    assert rig.gates.ran == ["x"]
    assert len(rig.of(ApprovalResolved)) == 1


async def test_a_refusal_goes_to_the_model_with_its_author_and_its_words(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), says("ok"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.decide(asked.request.id, Deny("use the other file"))
    await rig.until(TurnEnded)
    assert rig.gates.ran == []
    assert "denied by the user" in rig.results[0].text
    assert "use the other file" in rig.results[0].text
    assert rig.of(ToolEnded)[0].outcome == "denied"


async def test_only_a_persons_no_is_called_the_users(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), writes(), says("ok"), mode="look")
    await rig.run("go")
    assert rig.gates.ran == []
    assert "denied by the user" not in rig.results[0].text
    assert "Look only" in rig.results[0].text


async def test_an_edited_call_runs_as_edited_and_the_model_is_told(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), says("ok"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.decide(asked.request.id, Edited({"what": "better"}))
    await rig.until(TurnEnded)
    assert rig.gates.ran == ["better"]
    assert "The user changed this call" in rig.results[0].text


async def test_a_rule_settles_what_it_covers_from_then_on(tmp_path: Path) -> None:
    store = MemoryStore()
    rig = Rig(tmp_path, writes("a"), writes("b"), says("ok"), store=store)
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rule = Rule("write", "", scope="session", where=rig.session_id)
    rig.engine.decide(asked.request.id, AllowAlways(rule))
    await rig.until(TurnEnded)
    assert rig.gates.ran == ["a", "b"]
    assert len(rig.of(ApprovalRequested)) == 1
    assert [(r.uses, r.origin) for r in store.rules()] == [(2, asked.request.title)]


async def test_a_rule_of_one_session_does_not_hold_in_another(tmp_path: Path) -> None:
    store = MemoryStore()
    store.save_rules([Rule("write", "", scope="session", where="se_elsewhere")])
    rig = Rig(tmp_path, writes(), says("ok"), store=store)
    rig.send("go")
    assert await rig.until(ApprovalRequested)
    await rig.engine.close()


async def test_a_sessions_rules_are_deleted_with_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("write", {"what": "x"})), says("ok"))
    mine = Rule("write", "", scope="session", where=rig.session_id)
    others = Rule("write", "", scope="session", where="se_elsewhere")
    everywhere = Rule("shell", "pytest", scope="everywhere")
    store = rig.store
    await rig.engine.close()
    store.save_rules([mine, others, everywhere])
    again = Rig(tmp_path, store=store)
    again.engine.delete_session(again.session_id)
    await again.engine.close()
    assert store.rules() == (others, everywhere)


async def test_a_deleted_rule_asks_again(tmp_path: Path) -> None:
    store = MemoryStore()
    rule = Rule("write", "", scope="everywhere")
    store.save_rules([rule])
    rig = Rig(tmp_path, writes(), says("ok"), store=store)
    rig.engine.delete_rule(rule)
    rig.send("go")
    assert await rig.until(ApprovalRequested)
    await rig.engine.close()
    assert store.rules() == ()


async def test_what_changed_while_it_waited_is_not_run(tmp_path: Path) -> None:
    """The card said one thing; the disk says another: the yes was not for this."""
    shown = iter(["one", "two"])

    async def run(args, _):
        rig.gates.ran.append(args["what"])

    shifty = tool(
        "shifty", run, access=Access.WRITE, preview=lambda _: Preview(f"Write {next(shown)}?")
    )
    rig = Rig(tmp_path, calls(("shifty", {"what": "x"})), says("ok"), tools=[shifty])
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.decide(asked.request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert rig.gates.ran == []
    assert "changed while it waited" in rig.results[0].text


async def test_stop_withdraws_the_request_and_a_late_yes_runs_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes(), says("ok"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)
    rig.engine.decide(asked.request.id, AllowOnce())
    rig.engine.resume(rig.agent_id)
    await rig.until(TurnEnded, 2)
    assert rig.gates.ran == []
    resolved = rig.of(ApprovalResolved)[0].decision
    assert isinstance(resolved, Deny)
    assert resolved.by == "withdrawn"


async def test_three_identical_calls_in_a_row_are_asked(tmp_path: Path) -> None:
    same = [calls(("echo", {"what": "again"})) for _ in range(3)]
    rig = Rig(tmp_path, *same, says("ok"), mode="free")
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    assert "third time" in asked.request.reason
    assert len(rig.of(ToolEnded)) == 2
    await rig.engine.close()


async def test_a_question_waits_for_the_persons_words(tmp_path: Path) -> None:
    rig = Rig(tmp_path, calls(("ask", {"what": "Euros?"})), says("ok"))
    rig.send("go")
    asked = await rig.until(QuestionAsked)
    assert asked.question.options == ("yes", "no")
    rig.engine.answer(asked.question.id, "yes")
    rig.engine.answer(asked.question.id, "no")
    await rig.until(TurnEnded)
    assert rig.results[0].text == "yes"
    assert rig.of(QuestionAnswered)[0].text == "yes"


async def test_a_refusal_for_always_is_kept_and_refuses_the_next_call(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes("a"), writes("b"), says("ok"))
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    rule = Rule("write", "", "session", rig.session_id, is_deny=True)
    rig.engine.decide(asked.request.id, Deny("never", rule=rule))
    await rig.until(TurnEnded)
    assert rig.gates.ran == []
    assert len(rig.of(ApprovalRequested)) == 1
    assert "denied by the user" in rig.results[0].text
    assert "A rule of the person's refuses this" in rig.results[1].text
    kept = rig.store.rules()[0]
    assert (kept.is_deny, kept.origin, kept.uses) == (True, asked.request.title, 2)


async def test_a_refusing_rule_from_the_settings_settles_what_waits(tmp_path: Path) -> None:
    rig = Rig(tmp_path, writes("a"), says("ok"))
    rig.send("go")
    await rig.until(ApprovalRequested)
    rig.engine.add_rule(Rule("write", "", "everywhere", is_deny=True))
    await rig.until(TurnEnded)
    assert rig.gates.ran == []
    decision = rig.of(ApprovalResolved)[0].decision
    assert isinstance(decision, Deny)
    assert decision.by == "rule"
    assert [(kept.is_deny, kept.uses) for kept in rig.store.rules()] == [(True, 0)]


async def test_a_new_rule_does_not_settle_what_is_asked_in_every_mode(tmp_path: Path) -> None:
    async def run(args, _):
        rig.gates.ran.append(args["what"])

    def shown(_):
        place, rules = ".git/config", (Rule("risky", ".git/config"),)
        return Preview("Write?", paths=(f"/w/{place}",), protected=(place,), rules=rules)

    risky = tool("risky", run, access=Access.WRITE, preview=shown)
    rig = Rig(tmp_path, calls(("risky", {"what": ".git/config"})), says("ok"), tools=[risky])
    rig.send("go")
    asked = await rig.until(ApprovalRequested)
    assert asked.request.rules == (), "it would promise what no rule keeps"
    rig.engine.add_rule(Rule("risky", "", "everywhere"))
    assert rig.gates.ran == []
    assert rig.of(ApprovalResolved) == []
    rig.engine.decide(asked.request.id, Deny())
    await rig.until(TurnEnded)
    assert rig.gates.ran == []


SHELL = tool("shell", lambda *_: None, access=Access.EXECUTE)
EDIT = tool("edit", lambda *_: None, access=Access.WRITE)
READ = tool("read", lambda *_: None, access=Access.READ)
FETCH = tool("web_fetch", lambda *_: None, access=Access.NETWORK)

VERDICTS = [
    ("ask", READ, Preview(""), "Allowed"),
    ("look", READ, Preview(""), "Allowed"),
    ("look", EDIT, Preview("", paths=("/w/a",)), "Refused"),
    ("look", SHELL, Preview("", command="pytest"), "Refused"),
    ("look", SHELL, Preview("", command="ls", is_read_only=True), "Allowed"),
    ("look", FETCH, Preview("", host="a.org"), "Refused"),
    ("ask", EDIT, Preview("", paths=("/w/a",)), "Asked"),
    ("ask", SHELL, Preview("", command="ls", is_read_only=True), "Allowed"),
    ("ask", SHELL, Preview("", command="pytest -q"), "Asked"),
    ("ask", FETCH, Preview("", host="a.org"), "Asked"),
    ("free", EDIT, Preview("", paths=("/w/a",)), "Allowed"),
    ("free", EDIT, Preview("", paths=("/w/.env",), protected=(".env",)), "Asked"),
    ("free", EDIT, Preview("", paths=("/x/a",), outside=("/x/a",)), "Asked"),
    ("free", EDIT, Preview("", deletes=("/w/a",)), "Asked"),
    ("free", READ, Preview("", protected=(".env",)), "Asked"),
    ("free", SHELL, Preview("", command="pytest -q"), "Asked"),
    ("free", FETCH, Preview("", host="a.org"), "Asked"),
    ("free", SHELL, Preview("", command="rm -rf /"), "Refused"),
]


@pytest.mark.parametrize(("mode", "used", "preview", "expected"), VERDICTS)
def test_the_verdict_without_rules(mode: Mode, used, preview: Preview, expected: str) -> None:
    situation = policy.Situation(mode, (), Workspace("/w"))
    assert type(policy.verdict(used, preview, situation)).__name__ == expected


def _with(rules: list[Rule], used, preview: Preview, mode: Mode = "ask") -> str:
    situation = policy.Situation(mode, rules, Workspace("/w"))
    return type(policy.verdict(used, preview, situation)).__name__


def test_an_allow_rule_has_to_cover_every_part_of_a_command() -> None:
    rules = [Rule("shell", "pytest")]
    assert _with(rules, SHELL, Preview("", command="pytest -q")) == "Allowed"
    assert _with(rules, SHELL, Preview("", command="pytest -q; curl a.org")) == "Asked"
    assert _with(rules, SHELL, Preview("", command="pytest $(curl a.org)")) == "Asked"


def test_a_deny_beats_every_allow() -> None:
    rules = [Rule("shell", "git commit"), Rule("shell", "git push", is_deny=True)]
    assert _with(rules, SHELL, Preview("", command="git push")) == "Refused"
    assert _with(rules, SHELL, Preview("", command="git status && git push")) == "Refused"
    assert _with(rules, SHELL, Preview("", command="git commit")) == "Allowed"
    assert _with(rules, SHELL, Preview("", command="/usr/bin/git push > log")) == "Refused"


def test_each_part_of_a_command_may_have_its_own_rule() -> None:
    rules = [Rule("shell", "git add"), Rule("shell", "git commit")]
    assert _with(rules, SHELL, Preview("", command="git add -A && git commit -m x")) == "Allowed"
    assert _with(rules[:1], SHELL, Preview("", command="git add -A && git commit")) == "Asked"
    tested = [Rule("shell", "pytest")]
    piped = "cd src && pytest -q 2>&1 | tail -20"
    assert _with(tested, SHELL, Preview("", command=piped, proven=(0, 2))) == "Allowed"
    assert _with(tested, SHELL, Preview("", command=piped, proven=(2,))) == "Asked"
    elsewhere = [Rule("shell", "pytest", "folder", "/other")]
    assert _with(elsewhere, SHELL, Preview("", command=piped, proven=(0, 2))) == "Asked"


def test_a_folder_rule_holds_in_its_folder_only() -> None:
    rules = [Rule("edit", "*", scope="folder", where="/other")]
    assert _with(rules, EDIT, Preview("", paths=("/w/a",))) == "Asked"
    rules = [Rule("edit", "*.md", scope="folder", where="/w")]
    assert _with(rules, EDIT, Preview("", paths=("/w/docs/a.md",))) == "Allowed"
    assert _with(rules, EDIT, Preview("", paths=("/w/a.md", "/w/b.py"))) == "Asked"


def test_no_rule_allows_what_is_always_asked() -> None:
    rules = [Rule("edit", ""), Rule("shell", "")]
    protected = Preview("", paths=("/w/.git/hooks/x",), protected=(".git/hooks/x",))
    assert _with(rules, EDIT, protected, "free") == "Asked"
    assert _with(rules, SHELL, Preview("", command="rm -rf /"), "free") == "Refused"

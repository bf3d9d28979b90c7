"""How long the demo model lets a person act, and that nobody else has to wait for that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.messages import Message, TextPart, ToolCall, ToolResult
from desktop_agent.core.parts.facts import Started, Waited
from desktop_agent.core.requests import ModelRequest, ToolSpec
from desktop_agent.model_host.demo.model import plan
from desktop_agent.model_host.demo.script import SCRIPT, VARIABLE, Step, seconds
from tests.helpers.patience import HANG_S

PROGRAM = f"""
import os, sys
from desktop_agent.__main__ import main
from desktop_agent.gui.window import app_windows

class Watched(app_windows.MainWindow):
    def __init__(self, *args):
        super().__init__(*args)
        self.painted.connect(tell)

def tell():
    print(os.environ["{VARIABLE}"], os.environ["DESKTOP_AGENT_HOME"], sep="\\n", flush=True)
    os._exit(0)

app_windows.MainWindow = Watched
main(["--demo", sys.argv[1]])
"""
LEAD = ("glob", "grep", "read", "write", "spawn", "wait", "answer_child", "stop")
ASKS = Waited("question", AgentId("sa_1"), "Which?")
IDLE = Waited("timeout")


def history() -> tuple[Message, ...]:
    """Return a survey whose files are read, with a subagent at work."""
    spawn = ToolCall("s", "spawn", {"description": "Read the notes"})
    read = ToolCall("r", "read", {"path": "a.md"})
    listing = ToolCall("g", "glob", {"pattern": "**/*"})
    started = ToolResult("s", "Started.", facts=Started(AgentId("sa_1"), "Read the notes"))
    lost = ToolCall("x", "spawn", {"description": "Count the files"})
    parts = [
        ("user", (TextPart("Look around"),)),
        ("assistant", (TextPart("I'll look."), listing)),
        ("tool", (ToolResult("g", "a.md"),)),
        ("assistant", (TextPart("I'll read."), spawn, lost, read)),
        ("tool", (started, ToolResult("x", "Error: no"), ToolResult("r", "     1\thello"))),
    ]
    return tuple(
        Message(MessageId(f"me_{number}"), role, tuple(given))  # type: ignore[arg-type]
        for number, (role, given) in enumerate(parts)
    )


def after(*answers: Waited, without: str = "") -> list[Step]:
    """Return the steps that follow each of these answers of `wait`, `without` one tool."""
    specs = tuple(ToolSpec(name, "", {}) for name in LEAD if name != without)
    messages, steps, text = list(history()), list[Step](), ""
    for number, answer in enumerate(answers):
        call = ToolCall(f"w{number}", "wait", {})
        result = ToolResult(call.id, "It is over.", facts=answer)
        messages.append(Message(MessageId(f"a{number}"), "assistant", (TextPart(text), call)))
        messages.append(Message(MessageId(f"t{number}"), "tool", (result,)))
        request = ModelRequest(AgentId("ag_1"), "demo", "", tuple(messages), specs)
        steps.append(plan(request))
        text = steps[-1].text
    return steps


def test_a_person_has_long_enough_to_answer_and_is_told_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "slow")
    steps = after(ASKS, ASKS, ASKS)
    assert "under *Waiting for you*; after about 13 seconds I do." in steps[0].text
    names = [step.wants[0].name for step in steps]
    assert names == ["wait", "wait", "answer_child"]
    assert steps[2].text == "You have not answered, so I do."


def test_without_a_window_nobody_waits_for_an_answer_that_can_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE)
    assert seconds(13.2) < 2
    monkeypatch.setenv(VARIABLE, "slow")
    assert seconds(13.2) == 13.2


@pytest.mark.parametrize(("given", "holds"), [(None, "slow"), ("quick", "quick")])
def test_the_demo_gives_the_person_time_unless_told_otherwise_and_has_settings_of_its_own(
    tmp_path: Path, given: str | None, holds: str
) -> None:
    own = {**os.environ, "DESKTOP_AGENT_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    own.pop(VARIABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=own | ({VARIABLE: given} if given else {}),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    pace, home = done.stdout.splitlines()
    assert pace == holds
    assert not Path(home).is_relative_to(tmp_path), "the person's settings were written over"


def test_a_subagent_that_may_be_paused_is_waited_for_longer_and_not_given_up() -> None:
    step = after(IDLE)[-1]
    assert step.wants[0].name == "wait"
    assert step.wants[0].arguments["timeout_s"] == 600
    assert "If you paused it, resume or stop it" in step.text


@pytest.mark.parametrize("tool", ["wait", "answer_child", "spawn"])
@pytest.mark.parametrize("answer", [ASKS, IDLE], ids=["asks", "idle"])
def test_a_tool_of_the_team_that_is_gone_is_not_called(tool: str, answer: Waited) -> None:
    steps = after(answer, answer, answer, answer, without=tool)
    called = {want.name for step in steps for want in step.wants}
    assert called
    assert called <= set(LEAD) - {tool}


def test_what_never_came_is_named_with_the_reason_before_it_is_written() -> None:
    step = after(IDLE, IDLE)[-1]
    assert step.wants[-1].name == "write"
    assert "“Read the notes”: It had not ended when this was written." in step.text
    assert "“Count the files”: It could not be started." in step.text
    assert "It had not ended when this was written." in step.wants[-1].arguments["content"]


@pytest.mark.parametrize("name", SCRIPT["crew"])
def test_a_subagent_works_in_enough_steps_to_be_paused_and_steered(name: str) -> None:
    replies = {"glob": "a.md\nb.md\nc.txt\nd.csv", "grep": "a.md:1:# A", "read": "     1\tx"}
    messages = [Message(MessageId("me_0"), "user", (TextPart(SCRIPT["crew"][name]["prompt"]),))]
    tools = tuple(ToolSpec(tool, "", {}) for tool in ("glob", "grep", "read", "ask_parent"))
    paused = 0.0
    for number in range(12):
        step = plan(ModelRequest(AgentId("sa_1"), "demo", "", tuple(messages), tools))
        paused += step.pause_s
        if not step.wants:
            break
        calls = [ToolCall(f"c{number}{i}", w.name, w.arguments) for i, w in enumerate(step.wants)]
        results = tuple(ToolResult(c.id, replies.get(c.name, "the first")) for c in calls)
        messages.append(Message(MessageId(f"a{number}"), "assistant", tuple(calls)))
        messages.append(Message(MessageId(f"t{number}"), "tool", results))
    assert 8 <= paused <= 12

"""The real tools behind the real engine: what is asked, what runs, and what never does."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from desktop_agent.core.approvals import AllowAlways, AllowOnce, Deny, Mode
from desktop_agent.core.events import ApprovalRequested, ToolStarted, TurnEnded
from desktop_agent.core.messages import CommandDisplay, DiffDisplay
from desktop_agent.core.tool import Tool
from desktop_agent.tools.builtin import builtin_tools
from tests.engine.rig import Rig
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import MemoryStore, calls, says


class RealRig(Rig):
    """The rig with the tools that come with the app."""

    def _tools(self) -> list[Tool]:
        return list(builtin_tools())


async def result_of(tmp_path: Path, mode: Mode, tool: str, **arguments: object) -> str:
    """Let the model make one call that nobody is asked about."""
    rig = RealRig(tmp_path, calls((tool, arguments)), says("done"), mode=mode)
    await rig.run("go")
    assert not rig.of(ApprovalRequested)
    return rig.results[-1].text


async def request_for(tmp_path: Path, mode: Mode, tool: str, **arguments: object):
    """Let the model make one call; return the rig and what the person is asked."""
    rig = RealRig(tmp_path, calls((tool, arguments)), says("done"), mode=mode)
    rig.send("go")
    return rig, (await rig.until(ApprovalRequested)).request


async def test_a_change_is_shown_whole_and_made_as_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    rig, request = await request_for(tmp_path, "ask", "write", path="a.txt", content="two\n")
    assert request.title == "Overwrite a.txt?"
    assert isinstance(request.display, DiffDisplay)
    assert "-one\n+two\n" in request.display.patch
    assert path.read_text() == "one\n"
    rig.engine.decide(request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert path.read_text() == "two\n"


async def test_a_file_that_changed_behind_the_card_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    rig, request = await request_for(tmp_path, "ask", "write", path="a.txt", content="two\n")
    path.write_text("the person's own\n")
    rig.engine.decide(request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert path.read_text() == "the person's own\n"
    assert not rig.of(ToolStarted)


async def test_after_a_restart_what_the_person_saved_meanwhile_is_not_written_over(
    tmp_path: Path,
) -> None:
    path, store = tmp_path / "a.txt", MemoryStore()
    path.write_text("one\n")
    rig = RealRig(
        tmp_path, calls(("read", {"path": "a.txt"})), says("ok"), store=store, mode="free"
    )
    await rig.run("look")
    await rig.engine.close()
    path.write_text("one\nthe person's own\n")
    later = time.time() + 60
    os.utime(path, (later, later))
    ours = ("write", {"path": "a.txt", "content": "ours\n"})
    made = ("write", {"path": "new.txt", "content": "new\n"})
    script = [calls(made), calls(ours), calls(("read", {"path": "a.txt"})), calls(ours), says("ok")]
    rig = RealRig(tmp_path, *script, store=store, mode="free")
    rig.engine.open_session(rig.session_id)
    await rig.run("write")
    wrote, refused, again, done = rig.results
    assert (wrote.is_error, refused.is_error, done.is_error) == (False, True, False)
    assert "changed since you last looked" in refused.text
    assert "the person's own" in again.text
    await rig.engine.close()


async def test_a_link_put_behind_the_card_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    rig, request = await request_for(root, "ask", "write", path="a.txt", content="two\n")
    (root / "a.txt").symlink_to(secret)
    rig.engine.decide(request.id, AllowOnce())
    await rig.until(TurnEnded)
    assert secret.read_text() == "secret"
    assert rig.results[-1].is_error


@pytest.mark.parametrize("mode", ["look", "ask", "free"])
async def test_looking_is_never_asked_about(tmp_path: Path, mode: Mode) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    assert "needle" in await result_of(tmp_path, mode, "read", path="a.txt")
    assert "a.txt:1:needle" in await result_of(tmp_path, mode, "grep", pattern="needle")
    assert "a.txt" in await result_of(tmp_path, mode, "shell", command="ls")


async def test_looking_only_changes_nothing(tmp_path: Path) -> None:
    for tool, arguments in (
        ("write", {"path": "a", "content": "x"}),
        ("shell", {"command": "touch a"}),
        ("web_fetch", {"url": "https://example.invalid/"}),
    ):
        assert "refused by the mode" in await result_of(tmp_path, "look", tool, **arguments)
    assert not (tmp_path / "a").exists()


async def test_working_freely_writes_in_the_folder_unasked(tmp_path: Path) -> None:
    assert "Created a.txt" in await result_of(tmp_path, "free", "write", path="a.txt", content="x")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": ".env", "content": "x"}),
        ("write", {"path": ".git/hooks/post-commit", "content": "x"}),
        ("read", {"path": ".env"}),
        ("shell", {"command": "rm a.txt"}),
        ("shell", {"command": "cat .env"}),
        ("shell", {"command": "cat /etc/hostname"}),
        ("web_fetch", {"url": "https://example.invalid/"}),
    ],
)
async def test_some_things_are_asked_about_in_every_mode(tmp_path: Path, tool, arguments) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    rig, request = await request_for(tmp_path, "free", tool, **arguments)
    assert request.reason
    saves_the_next_question = tool == "web_fetch"
    assert bool(request.rules) is saves_the_next_question
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)


async def test_what_nobody_means_is_refused_unasked(tmp_path: Path) -> None:
    text = await result_of(tmp_path, "free", "shell", command="sudo rm -rf /")
    assert "This is never run" in text


def _marks(name: str) -> str:
    return f"python3 -m unittest {name}"


def _markers(folder: Path) -> None:
    """Make modules that leave a file of their own name when they are run."""
    for name in "abcd":
        (folder / f"{name}.py").write_text(f"open('ran-{name}', 'w').close()\n")


async def test_a_rule_covers_its_commands_and_no_chain_behind_them(tmp_path: Path) -> None:
    _markers(tmp_path)
    chain = f"{_marks('c')}; {_marks('d')} > e"
    rig = RealRig(
        tmp_path,
        calls(("shell", {"command": _marks("a")})),
        calls(("shell", {"command": _marks("b")})),
        calls(("shell", {"command": chain})),
        says("done"),
    )
    rig.send("go")
    first = (await rig.until(ApprovalRequested)).request
    rule = next(rule for rule in first.rules if rule.pattern == "python3 -m unittest")
    where = str(rig.session_id)
    rig.engine.decide(first.id, AllowAlways(msgspec.structs.replace(rule, where=where)))
    second = (await rig.until(ApprovalRequested, 2)).request
    assert (tmp_path / "ran-b").exists(), "the rule covered the second command"
    assert isinstance(second.display, CommandDisplay)
    assert second.display.command == chain
    assert not (tmp_path / "ran-c").exists()
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)


async def test_each_part_of_a_command_is_allowed_by_a_rule_of_its_own(tmp_path: Path) -> None:
    _markers(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "Makefile").write_text("check:\n\ttouch ran-make\n")
    both = f"{_marks('a')} && make check"
    piped = f"{_marks('b')} 2>&1 | tail -3"
    rig = RealRig(
        tmp_path,
        calls(("shell", {"command": both})),
        calls(("shell", {"command": both})),
        calls(("shell", {"command": piped})),
        calls(("shell", {"command": f"cd sub && {both}"})),
        says("done"),
    )
    rig.send("go")
    for turn, pattern in ((1, "python3 -m unittest"), (2, "make check")):
        request = (await rig.until(ApprovalRequested, turn)).request
        rule = next(rule for rule in request.rules if rule.pattern == pattern)
        everywhere = msgspec.structs.replace(rule, scope="everywhere")
        rig.engine.decide(request.id, AllowAlways(everywhere))
    await rig.until(TurnEnded)
    assert len(rig.of(ApprovalRequested)) == 2, "the rest is covered part by part"
    assert (tmp_path / "ran-b").exists()
    assert {rule.pattern: rule.uses for rule in rig.store.rules()} == {
        "python3 -m unittest": 3,
        "make check": 2,
    }


async def test_a_refusal_for_always_holds_for_the_next_call_in_any_disguise(
    tmp_path: Path,
) -> None:
    _markers(tmp_path)
    rig = RealRig(
        tmp_path,
        calls(("shell", {"command": _marks("a")})),
        calls(("shell", {"command": f"ls && env X=1 {_marks('b')}"})),
        says("done"),
    )
    rig.send("go")
    request = (await rig.until(ApprovalRequested)).request
    rule = next(rule for rule in request.refusals if rule.pattern == "python3")
    made = msgspec.structs.replace(rule, scope="everywhere")
    rig.engine.decide(request.id, Deny("use pytest", rule=made))
    await rig.until(TurnEnded)
    assert len(rig.of(ApprovalRequested)) == 1
    assert not list(tmp_path.glob("ran-*"))
    assert "denied by the user" in rig.results[0].text
    assert "denied by the user" not in rig.results[1].text
    assert "rule" in rig.results[1].text
    assert [(kept.pattern, kept.is_deny) for kept in rig.store.rules()] == [("python3", True)]


async def test_stop_ends_a_running_command_and_all_it_started(tmp_path: Path) -> None:
    command = "setsid sleep 600 & echo $! > pid; sleep 600"
    rig, request = await request_for(tmp_path, "ask", "shell", command=command)
    rig.engine.decide(request.id, AllowOnce())
    await rig.until(ToolStarted)
    deadline = time.monotonic() + HANG_S
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline
        await asyncio.to_thread(os.sched_yield)
    pid = int((tmp_path / "pid").read_text())
    rig.engine.stop(rig.agent_id)
    await rig.until(TurnEnded)
    assert not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text()

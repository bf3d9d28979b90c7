"""*This machine is the sandbox*: what it allows, what is asked all the same, and when it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from desktop_agent.adapters.config import settings_file
from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.events import ApprovalRequested, MachineSandboxChanged, TurnEnded
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.scope import Scope, scope_of
from tests.helpers.scripted import MemoryStore, calls, says
from tests.tools.test_with_engine import RealRig


def _writes(path: Path) -> object:
    return calls(("write", {"path": str(path), "content": "new"}))


async def test_a_session_that_has_the_machine_works_anywhere_unasked(tmp_path: Path) -> None:
    beside, made = tmp_path / "beside.txt", tmp_path / "made.txt"
    script = (_writes(beside), calls(("shell", {"command": f"echo x > {made}"})), says("done"))
    rig = RealRig(tmp_path / "work", *script, mode="free")
    rig.engine.set_machine_sandbox(rig.session_id, True)
    await rig.run("go")
    assert not rig.of(ApprovalRequested)
    assert (beside.read_text(), made.read_text()) == ("new", "x\n")
    assert rig.of(MachineSandboxChanged) == [MachineSandboxChanged((rig.session_id,))]


async def test_in_mode_ask_a_session_that_has_the_machine_asks_as_ever(tmp_path: Path) -> None:
    rig = RealRig(tmp_path / "work", _writes(tmp_path / "beside.txt"), says("done"), mode="ask")
    rig.engine.set_machine_sandbox(rig.session_id, True)
    rig.send("go")
    await rig.until(ApprovalRequested)
    assert not (tmp_path / "beside.txt").exists()
    await rig.engine.close()


async def test_what_is_asked_in_every_mode_is_asked_on_such_a_machine_too(tmp_path: Path) -> None:
    for number, call in enumerate((
        ("write", {"path": str(tmp_path / ".bashrc"), "content": "x"}),
        ("read", {"path": str(tmp_path / ".ssh" / "id_rsa")}),
        ("shell", {"command": f"echo x >> {tmp_path}/.bashrc"}),
        ("shell", {"command": f"rm -rf {tmp_path}/photos"}),
    )):  # fmt: skip
        rig = RealRig(tmp_path / f"work{number}", calls(call), says("done"), mode="free")
        rig.engine.set_machine_sandbox(rig.session_id, True)
        rig.send("go")
        assert (await rig.until(ApprovalRequested)).request.call.name == call[0]
        await rig.engine.close()


async def test_the_right_ends_when_it_is_taken_back_and_other_sessions_never_had_it(
    tmp_path: Path,
) -> None:
    script = (_writes(tmp_path / "a.txt"), says("done"))
    rig = RealRig(tmp_path / "work", *script, mode="free")
    other = SessionId("se_other")
    rig.engine.new_session(other, rig.workspace, model="m", mode="free")
    rig.engine.set_machine_sandbox(other, True)
    await rig.run("go")
    assert "outside the workspace" in rig.results[-1].text
    rig.engine.set_machine_sandbox(rig.session_id, True)
    rig.engine.set_machine_sandbox(rig.session_id, False)
    rig.model.script += script
    rig.send("again")
    await rig.until(TurnEnded)
    assert "outside the workspace" in rig.results[-1].text
    told = [event.session_ids for event in rig.of(MachineSandboxChanged)]
    assert told == [(other,), (other, rig.session_id), (other,)]


async def test_the_right_is_not_kept_with_the_session(tmp_path: Path) -> None:
    store = MemoryStore()
    rig = RealRig(tmp_path / "work", says("done"), mode="free", store=store)
    rig.engine.set_machine_sandbox(rig.session_id, True)
    await rig.run("go")
    await rig.engine.close()
    script = (_writes(tmp_path / "a.txt"), says("done"))
    again = RealRig(tmp_path / "work", *script, mode="free", store=store)
    await again.run("go")
    assert "outside the workspace" in again.results[-1].text
    assert again.of(MachineSandboxChanged) == []


async def test_a_deleted_session_is_not_listed_any_more(tmp_path: Path) -> None:
    rig = RealRig(tmp_path / "work", mode="free")
    rig.engine.set_machine_sandbox(rig.session_id, True)
    rig.engine.delete_session(rig.session_id)
    await rig.engine.close()
    assert [event.session_ids for event in rig.of(MachineSandboxChanged)][-1] == ()


def _child(spec: Workspace, *, has_machine: bool) -> Scope:
    info = SessionInfo(SessionId("se"), AgentId("ag"), "t", Workspace("/w"), "m", "free")
    child = AgentSpec(AgentId("ag"), "c", "p", 1, spec, mode="free")
    return scope_of(info, child, is_machine_sandbox=has_machine)


def test_a_subagent_has_the_machine_for_as_long_as_its_session_has() -> None:
    whole = Workspace("/w", writable=("/",))
    assert _child(whole, has_machine=True).workspace.has_whole_disk
    after = _child(whole, has_machine=False)
    assert (after.workspace, after.mode) == (Workspace("/w"), "free")
    narrow = Workspace("/w", writable=("/w/src",), has_root=False)
    assert _child(narrow, has_machine=True).workspace.write_roots == ("/w/src",)


@pytest.mark.parametrize("key", ["machine_sandbox", "allow_all", "allows_all"])
async def test_no_setting_gives_new_sessions_the_machine(tmp_path: Path, key: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"mode": "free", key: True}))
    settings = settings_file.load(file)
    assert settings.mode == "free"
    script = (_writes(tmp_path / "a.txt"), says("done"))
    rig = RealRig(tmp_path / "work", *script, mode=settings.mode, settings=settings)
    await rig.run("go")
    assert "outside the workspace" in rig.results[-1].text

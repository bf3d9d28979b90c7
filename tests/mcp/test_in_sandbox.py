"""A server's command runs in the sandbox where one holds; and a headless run has servers too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox, Programs
from desktop_agent.core.approvals import Rule
from tests.helpers.scripted import calls, says
from tests.mcp.rig import McpRig, honest

needs_bubblewrap = pytest.mark.skipif(
    sys.platform != "linux" or not Programs.find().bwrap, reason="needs bubblewrap"
)
# A session has a /tmp of its own there.
needs_its_python = pytest.mark.skipif(
    Path(sys.prefix).is_relative_to("/tmp"), reason="what is in /tmp is not seen in the sandbox"
)


@needs_bubblewrap
@needs_its_python
async def test_a_server_in_the_sandbox_writes_into_the_folder_and_not_beside_it(
    tmp_path: Path,
) -> None:
    script = (calls(("mcp__honest__write_note", {"text": "inside"})), says("ok"))
    sandbox = BubblewrapSandbox(tmp_path / "data")
    if not (await sandbox.check()).holds:
        pytest.skip("the sandbox does not hold here")
    rig = McpRig(tmp_path, *script, servers=[honest()], sandbox=sandbox)
    rig.allow_all()
    try:
        await rig.run("write")
        assert rig.results[-1].text == "written", rig.states()
        assert rig.states()["honest"].is_contained
        assert Path(rig.root, "note.txt").read_text() == "inside"
    finally:
        await rig.engine.close()


@needs_bubblewrap
@needs_its_python
async def test_a_server_writes_nothing_that_a_rule_refuses_to_write(tmp_path: Path) -> None:
    """A rule that is made while it runs is kept too: the server is started again for it."""
    note = ("mcp__honest__write_note", {"text": "inside"})
    script = (calls(note), says("ok"), calls(note), says("ok"))
    sandbox = BubblewrapSandbox(tmp_path / "data")
    if not (await sandbox.check()).holds:
        pytest.skip("the sandbox does not hold here")
    rig = McpRig(tmp_path, *script, servers=[honest()], sandbox=sandbox)
    rig.allow_all()
    try:
        await rig.run("write")
        Path(rig.root, "note.txt").write_text("old")
        rig.engine.add_rule(Rule("write", "note.txt", "folder", rig.root, is_deny=True))
        await rig.run("again")
        assert [result.is_error for result in rig.results] == [False, True]
        assert Path(rig.root, "note.txt").read_text() == "old"
    finally:
        await rig.engine.close()


async def test_a_folders_own_servers_wait_until_the_folder_is_trusted(tmp_path: Path) -> None:
    from desktop_agent.adapters.skills.state import SkillState
    from desktop_agent.engine.skills.catalog import Places
    from desktop_agent.engine.skills.registry import Skills

    folder = tmp_path / "folder"
    folder.mkdir()
    entry = {"command": sys.executable, "args": list(honest().args)}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"own": entry}}))
    script = (says("a"), says("b"))
    state = SkillState(tmp_path / "config")
    rig = McpRig(tmp_path, *script, new_skills=lambda emit: Skills(Places(), state, emit))
    await rig.run("one")
    assert rig.states()["own"].phase == "waiting"
    assert not any(tool.name.startswith("mcp") for tool in rig.model.requests[0].tools)
    rig.engine.trust_folder(rig.root, "trust")
    # At once, and not with the next message: so does its end.
    assert rig.states()["own"].phase == "starting"
    await rig.run("two")
    offered = {tool.name for tool in rig.model.requests[1].tools}
    # The user's own server of this name may have a rule.
    assert "mcp__own__add" not in offered
    assert any(name.startswith("mcp__own__add_") for name in offered)
    rig.engine.trust_folder(rig.root, "forget")
    assert rig.states()["own"].needs_trust
    assert not rig.states()["own"].tools
    await rig.engine.close()

"""The sandbox as sessions have it: checked once, told to the window, ended with the session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from desktop_agent.core.events import SandboxChanged
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary, Enclosure, SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.engine import Engine, Environment
from desktop_agent.engine.permissions.checked_sandbox import CheckedSandbox
from tests.engine.rig import Rig
from tests.helpers.scripted import MemoryStore, ScriptedModel, says

HOLDS, FAILS = SandboxState(holds=True, reason=""), SandboxState(reason="It is broken.")


class Sandbox:
    """Finds the states it was given, one a check, each when `may_end` is set."""

    def __init__(self, *found: SandboxState | Exception) -> None:
        self.state = SandboxState()
        self.found = list(found)
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.forgotten: list[SessionId] = []
        self.looked_at: list[str] = []

    async def check(self) -> SandboxState:
        await self.may_end.wait()
        found = self.found.pop(0)
        if isinstance(found, Exception):
            raise found
        self.state = found
        return found

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        self.state = FAILS  # bubblewrap was replaced meanwhile
        raise ToolError(self.state.reason)

    async def look_ahead(self, roots: Sequence[str]) -> None:
        self.looked_at += roots

    def temporary_folder(self, session_id: SessionId) -> str:
        raise NotImplementedError

    async def forget(self, session_id: SessionId) -> None:
        self.forgotten.append(session_id)


async def test_who_asks_before_the_check_has_ended_waits_for_it() -> None:
    told: list[SandboxState] = []
    inner = Sandbox(HOLDS, FAILS)
    inner.may_end.clear()
    checked = CheckedSandbox(inner, told.append)
    checked.begin_check()
    waiting = [asyncio.create_task(checked.ready()) for _ in range(3)]
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    assert not checked.state.holds
    inner.may_end.set()
    assert [await one for one in waiting[1:]] == [HOLDS, HOLDS]
    assert told == [HOLDS]
    assert await checked.check() == FAILS
    assert told == [HOLDS, FAILS]


async def test_a_check_that_breaks_says_so_and_can_be_repeated() -> None:
    told: list[SandboxState] = []
    checked = CheckedSandbox(Sandbox(RuntimeError("a defect"), HOLDS), told.append)
    assert not (await checked.ready()).holds
    assert "RuntimeError" in told[0].reason
    assert (await checked.check()).holds


async def test_what_a_command_finds_out_is_told() -> None:
    told: list[SandboxState] = []
    checked = CheckedSandbox(Sandbox(HOLDS), told.append)
    await checked.ready()
    with pytest.raises(ToolError, match="broken"):
        await checked.enclose(Boundary(SessionId("se_1"), Workspace("/")), "/", {})
    assert told == [HOLDS, FAILS]
    assert checked.state == FAILS


async def test_a_deleted_session_gives_up_what_its_commands_shared(tmp_path: Path) -> None:
    inner = Sandbox(HOLDS)
    events: list[object] = []
    engine = Engine(
        model=ScriptedModel(),
        store=MemoryStore(),
        tools=[],
        settings=Settings(),
        emit=events.append,
        spill_dir=tmp_path / "outputs",
        environment=Environment(sandbox=inner),
    )
    engine.start()
    engine.check_sandbox()
    assert await engine.sandbox_state() == HOLDS
    assert SandboxChanged(HOLDS) in events
    session = SessionId("se_1")
    engine.new_session(session, Workspace(str(tmp_path)), model="m")
    engine.delete_session(session)
    await engine.close()
    assert inner.forgotten == [session]


async def test_while_the_model_thinks_the_folder_of_its_commands_is_looked_at(
    tmp_path: Path,
) -> None:
    sandbox = Sandbox(HOLDS)
    rig = Rig(tmp_path, says("Done."), sandbox=sandbox)
    rig.engine.check_sandbox()
    assert await rig.engine.sandbox_state() == HOLDS
    await rig.run("go")
    await rig.engine.close()
    assert sandbox.looked_at == [rig.workspace.root]


class Installer:
    """Remembers what it was to run; what it says of it was given."""

    def __init__(self, *says: str) -> None:
        self.says = list(says)
        self.ran: list[Sequence[str]] = []

    async def install(self, command: Sequence[str]) -> str:
        self.ran.append(command)
        return self.says.pop(0)


async def test_a_fix_runs_what_the_last_check_named_and_nothing_else(tmp_path: Path) -> None:
    missing = SandboxState(reason="It is missing.", fix="install", command=("pkexec", "apt", "x"))
    inner, installer = Sandbox(missing, missing, FAILS), Installer("No password.", "")
    engine = Engine(
        model=ScriptedModel(),
        store=MemoryStore(),
        tools=[],
        settings=Settings(),
        emit=lambda _: None,
        spill_dir=tmp_path / "outputs",
        environment=Environment(sandbox=inner, installer=installer),
    )
    engine.start()
    try:
        assert "Nothing was run" in await engine.fix_sandbox(("pkexec", "rm", "-r"))
        assert "Nothing was run" in await engine.fix_sandbox(())
        assert installer.ran == []
        assert await engine.fix_sandbox(missing.command) == "No password."
        # What was installed is looked at again, and may not be all that was missing.
        assert await engine.fix_sandbox(missing.command) == FAILS.reason
        assert installer.ran == [missing.command] * 2
        assert "Nothing was run" in await engine.fix_sandbox(missing.command)
        assert inner.found == []
    finally:
        await engine.close()

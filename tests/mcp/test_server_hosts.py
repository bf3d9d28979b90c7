"""The hosts that a server's command wants to reach are asked about, as those of commands are."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.adapters.network.networked_sandbox import NetworkedSandbox
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox, Programs
from desktop_agent.core.approvals import (
    AllowAlways,
    AllowOnce,
    ApprovalRequest,
    Decision,
    Deny,
    Rule,
)
from desktop_agent.core.events import ApprovalRequested, ApprovalResolved
from desktop_agent.core.mcp import McpServer
from tests.guard.rig import Origin, origin, program
from tests.helpers.scripted import calls, says
from tests.mcp.rig import SERVERS, McpRig

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux"
        or not Programs.find().bwrap
        or Path(sys.prefix).is_relative_to("/tmp"),
        reason="needs bubblewrap, and a Python outside of /tmp",
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def fetching(*addresses: str) -> McpServer:
    """Return the server that fetches these at its start."""
    return McpServer("fetching", sys.executable, (str(SERVERS / "fetching.py"), *addresses))


def asked_for(site: Origin) -> str:
    return f"http://site.test:{site.port}/"


class Reaching(McpRig):
    """`answer_hosts` says what is decided about hosts, one after the other; tools are allowed."""

    def hosts(self) -> list[ApprovalRequest]:
        asked = self.of(ApprovalRequested)
        return [one.request for one in asked if one.request.call.name == "network"]

    def answer_hosts(self, *answers: Decision) -> None:
        left = list(answers)
        before = self.hear

        def hear(event: Any) -> None:
            before(event)
            if isinstance(event, ApprovalRequested):
                is_host = event.request.call.name == "network"
                self.engine.decide(event.request.id, left.pop(0) if is_host else AllowOnce())

        self.hear = hear


@asynccontextmanager
async def reaching(tmp_path: Path, server: McpServer, *script: Any) -> AsyncIterator[Reaching]:
    network = GuardedNetwork(lambda asked: rig.engine.ask_host(asked), program())
    inner = BubblewrapSandbox(tmp_path / "data")
    if not (await inner.check()).holds:
        pytest.skip("the sandbox does not hold here")
    sandbox = NetworkedSandbox(inner, network)
    rig = Reaching(tmp_path, *script, servers=[server], sandbox=sandbox)
    try:
        yield rig
    finally:
        await rig.engine.close()
        await network.close()


async def test_each_host_of_a_server_is_asked_about_while_its_tool_waits(tmp_path: Path) -> None:
    async with origin() as site:
        fetch = ("mcp__fetching__fetch", {"address": asked_for(site)})
        script = [calls(fetch), says("refused"), calls(fetch), says("fetched")]
        async with reaching(tmp_path, fetching(), *script) as rig:
            rig.answer_hosts(Deny())
            await rig.run("one")
            assert rig.results[-1].text.startswith("403: ")
            assert site.bytes == 0
            (request,) = rig.hosts()
            assert request.agent_id == rig.agent_id
            assert request.title == "Allow site.test?"
            assert request.reason.startswith("The MCP server “fetching” wants to reach it (port ")
            rig.engine.add_rule(Rule("network", f"site.test:{site.port}", "folder", rig.root))
            await rig.run("two")
            assert rig.results[-1].text == "hi"
            assert len(rig.hosts()) == 1


async def test_what_a_server_wants_at_its_start_is_asked_in_the_session_of_its_folder(
    tmp_path: Path,
) -> None:
    """Nobody calls it yet: a program that is fetched first, say."""
    async with (
        origin() as site,
        reaching(tmp_path, fetching(asked_for(site)), says("hello")) as rig,
    ):
        rule = Rule("network", f"site.test:{site.port}", "session", rig.session_id)
        rig.answer_hosts(AllowAlways(rule))
        await rig.run("hello")
        await rig.until_running("fetching")
        written = await rig.engine.mcp_log(rig.root, "fetching", 60)
        assert "hi" in [line.text for line in written]
        (request,) = rig.hosts()
        assert request.agent_id == rig.agent_id
        rig.engine.restart_mcp(rig.root, "fetching")
        await rig.until_state("fetching", lambda state: state.phase == "starting")
        await rig.until_running("fetching")
        assert len(rig.hosts()) == 1


async def test_where_no_session_is_open_in_its_folder_a_server_reaches_nothing(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with origin() as site, reaching(tmp_path, fetching(asked_for(site)), says("a")) as rig:
        state = await rig.engine.test_mcp(str(elsewhere), fetching(asked_for(site)))
        assert state.phase == "running"
        assert site.bytes == 0
        assert not rig.of(ApprovalRequested)
        assert not rig.of(ApprovalResolved)

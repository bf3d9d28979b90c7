"""Servers run, come back, and none of them stops another: with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.mcp.command import ServerCommand
from desktop_agent.core.approvals import AllowOnce, Deny
from desktop_agent.core.events import ApprovalRequested, CommandRefused, ToolEnded, TurnEnded
from desktop_agent.core.ids import new_session_id
from desktop_agent.core.mcp import McpServer
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.mcp import servers
from tests.helpers.scripted import Waits, calls, says
from tests.mcp.rig import SERVERS, McpRig, honest, hostile


@asynccontextmanager
async def rig_with(tmp_path: Path, *script: Any, **more: Any) -> AsyncGenerator[McpRig]:
    rig = McpRig(tmp_path, *script, **more)
    try:
        yield rig
    finally:
        await rig.engine.close()


@pytest.fixture
def http_server() -> Iterator[Callable[[], tuple[str, subprocess.Popen[bytes]]]]:
    """Return what starts the honest server, always at the same address of loopback."""
    started: list[subprocess.Popen[bytes]] = []
    # The socket stays open here: nobody else gets the port while no server runs, and who connects
    # before a new one is there waits for it.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        fd, port = listening.fileno(), listening.getsockname()[1]
        words = [sys.executable, str(SERVERS / "honest.py"), "--http", str(fd)]

        def start() -> tuple[str, subprocess.Popen[bytes]]:
            server = subprocess.Popen(words, stderr=subprocess.DEVNULL, pass_fds=[fd])
            started.append(server)
            return f"http://127.0.0.1:{port}/mcp", server

        yield start
        for server in started:
            server.kill()
            server.wait()


async def test_an_agent_uses_the_tools_of_a_server_once_they_were_allowed(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__add", {"a": 2, "b": 3})), says("five"))
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all()
        await rig.run("add them")
        assert rig.results[-1].text == "5"
        assert not rig.results[-1].is_error
        asked = rig.of(ApprovalRequested)[0].request
        assert asked.title == "Use add of the server honest?"
        assert asked.stakes == ("says it only reads",)
        offered = {tool.name: tool for tool in rig.model.requests[0].tools}
        assert (
            "says of it (not the person): Add two numbers."
            in offered["mcp__honest__add"].description
        )
        assert offered["mcp__honest__add"].schema["required"] == ["a", "b"]


async def test_an_image_without_a_word_is_not_nothing(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__picture", {})), says("ok"))
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all()
        await rig.run("look")
        assert [image.media_type for image in rig.results[-1].images] == ["image/png"]
        assert "nothing" not in rig.results[-1].text


async def test_nothing_of_a_server_runs_while_the_session_only_looks(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__write_note", {"text": "no"})), says("ok"))
    async with rig_with(tmp_path, *script, servers=[honest()], mode="look") as rig:
        await rig.run("write")
        assert rig.of(ToolEnded)[-1].outcome == "denied"
        assert not Path(rig.root, "note.txt").exists()


async def test_a_refusal_keeps_a_server_from_being_called(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__write_note", {"text": "no"})), says("ok"))
    async with rig_with(tmp_path, *script, servers=[honest()], mode="free") as rig:
        rig.send("write")
        asked = await rig.until(ApprovalRequested)
        rig.engine.decide(asked.request.id, Deny())
        await rig.once(lambda: bool(rig.of(ToolEnded)))
        await rig.at_rest()
        assert rig.of(ToolEnded)[-1].outcome == "denied"
        assert not Path(rig.root, "note.txt").exists()


async def test_a_rule_made_once_holds_for_the_tool_and_for_no_other(tmp_path: Path) -> None:
    script = (
        calls(("mcp__honest__add", {"a": 1, "b": 1})),
        calls(("mcp__honest__add", {"a": 1, "b": 2})),
        calls(("mcp__honest__variable", {"name": "HOME"})),
        says("done"),
    )
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all(always=True)
        await rig.run("add")
        asked = [event.request.call.name for event in rig.of(ApprovalRequested)]
        assert asked == ["mcp__honest__add", "mcp__honest__variable"]


async def test_one_server_that_fails_stops_neither_the_others_nor_the_turn(tmp_path: Path) -> None:
    missing = McpServer("missing", "no-such-program-anywhere")
    servers = [hostile("dies"), missing, hostile("babbles"), honest()]
    script = (calls(("mcp__honest__add", {"a": 2, "b": 2})), says("four"))
    async with rig_with(tmp_path, *script, servers=servers) as rig:
        rig.allow_all()
        await rig.run("add")
        assert rig.results[-1].text == "4"
        dead = await rig.until_state("dies", lambda state: "exit code 3" in state.problem)
        assert "the token is wrong" in dead.problem
        gone = await rig.until_state("missing", lambda state: state.phase == "failed")
        assert "“no-such-program-anywhere” was not found" in gone.problem
        babble = await rig.until_state("babbles", lambda state: state.phase == "failed")
        assert "something else than MCP" in babble.problem


async def test_a_server_that_never_answers_holds_up_one_step_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (says("first"), calls(("echo", {"what": "more"})), says("second"))
    async with rig_with(tmp_path, *script, servers=[hostile("hangs")]) as rig:
        with monkeypatch.context() as soon:
            soon.setattr(servers, "_PATIENCE_S", 0.1)
            await rig.run("one")
        await rig.at_rest()
        await rig.run("two")
        assert rig.messages[-1].text == "second"
        assert rig.states()["hangs"].phase == "starting"


async def test_a_server_that_was_killed_comes_back_by_itself(tmp_path: Path) -> None:
    call = calls(("mcp__honest__process", {}))
    again = calls(("mcp__honest__process", {}))
    async with rig_with(tmp_path, call, says("a"), again, says("b"), servers=[honest()]) as rig:
        rig.allow_all()
        await rig.run("who")
        first = int(rig.results[-1].text)
        os.kill(first, signal.SIGKILL)
        await rig.until_state("honest", lambda state: "signal 9" in state.problem)
        assert rig.states()["honest"].tools, "its tools stay known"
        await rig.until_running("honest")
        await rig.at_rest()
        await rig.run("who now")
        assert int(rig.results[-1].text) != first


async def test_what_a_server_wrote_can_be_read_once_it_has_failed(tmp_path: Path) -> None:
    """Each try of it, with the newest at the end: that is when it is looked for."""
    words = "import sys; print('no such table: users', file=sys.stderr); sys.exit(3)"
    broken = McpServer("broken", sys.executable, ("-c", words))
    async with rig_with(tmp_path, servers=[broken]) as rig:
        rig.engine.watch_mcp(rig.root)
        await rig.until_state("broken", lambda state: "exit code 3" in state.problem)
        before = await rig.engine.mcp_log(rig.root, "broken", 60)
        assert {line.text for line in before} == {"no such table: users"}
        rig.engine.restart_mcp(rig.root, "broken")
        await rig.until_state("broken", lambda state: state.phase == "starting")
        await rig.until_state("broken", lambda state: state.phase == "failed")
        after = await rig.engine.mcp_log(rig.root, "broken", 60)
        assert len(after) > len(before)
        assert after[: len(before)] == before
        assert list(after) == sorted(after, key=lambda line: line.at)
        assert len(await rig.engine.mcp_log(rig.root, "broken", 1)) == 1


async def test_a_server_that_ends_in_a_call_ends_the_call_and_not_the_turn(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__die", {})), says("it died"))
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all()
        ended = await rig.run("die")
        assert ended.reason == "finished"
        assert rig.results[-1].is_error
        assert "exit code 7" in rig.results[-1].text


async def test_the_process_that_speaks_with_servers_may_die_too(tmp_path: Path) -> None:
    first, second = calls(("mcp__honest__process", {})), calls(("mcp__honest__process", {}))
    async with rig_with(tmp_path, first, says("a"), second, says("b"), servers=[honest()]) as rig:
        rig.allow_all()
        await rig.run("who")
        assert rig.connector.pid is not None
        os.kill(rig.connector.pid, signal.SIGKILL)
        await rig.until_state("honest", lambda state: state.phase == "failed")
        await rig.until_running("honest")
        await rig.at_rest()
        await rig.run("who now")
        assert not rig.results[-1].is_error


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("refuses", "no such tool at all"),
        ("wrong", "content"),
    ],
)
async def test_each_way_of_failing_is_a_result_that_the_agent_reads(
    tmp_path: Path, kind: str, words: str
) -> None:
    script = (calls((f"mcp__{kind}__do", {})), says("I see"))
    async with rig_with(tmp_path, *script, servers=[hostile(kind)]) as rig:
        rig.allow_all()
        ended = await rig.run("do")
        assert ended.reason == "finished"
        assert rig.results[-1].is_error
        assert words in rig.results[-1].text


async def test_an_error_of_the_tool_itself_reads_as_one(tmp_path: Path) -> None:
    script = (calls(("mcp__honest__broken", {})), says("bees"))
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all()
        await rig.run("try")
        assert rig.results[-1].is_error
        assert "full of bees" in rig.results[-1].text


async def test_a_result_that_comes_in_two_forms_is_read_once(tmp_path: Path) -> None:
    script = (calls(("mcp__twice__do", {})), says("ok"))
    async with rig_with(tmp_path, *script, servers=[hostile("twice")]) as rig:
        rig.allow_all()
        await rig.run("do")
        assert rig.results[-1].text == '{"a": 1}'


async def test_a_result_of_ten_megabytes_is_cut_and_the_rest_can_be_read(tmp_path: Path) -> None:
    script = (calls(("mcp__large__do", {})), says("long"))
    async with rig_with(tmp_path, *script, servers=[hostile("large")]) as rig:
        rig.allow_all()
        await rig.run("do")
        text = rig.results[-1].text
        assert len(text) < 50_000
        assert "characters left out" in text
        assert "`read` opens" in text


async def test_an_endless_list_ends(tmp_path: Path) -> None:
    async with rig_with(tmp_path, servers=[hostile("endless")]) as rig:
        rig.engine.watch_mcp(rig.root)
        state = await rig.until_running("endless")
        assert len(state.tools) == 500


async def test_tools_that_are_nested_too_deep_are_a_failure_that_nobody_waits_for(
    tmp_path: Path,
) -> None:
    async with rig_with(tmp_path, servers=[hostile("deep")]) as rig:
        rig.engine.watch_mcp(rig.root)
        state = await rig.until_state("deep", lambda state: state.phase == "failed")
        assert "can't be read" in state.problem


async def test_names_of_any_kind_become_names_that_providers_take(tmp_path: Path) -> None:
    async with rig_with(tmp_path, says("hello"), servers=[hostile("names")]) as rig:
        await rig.run("hello")
        names = [tool.name for tool in rig.model.requests[0].tools]
        ours = [name for name in names if name.startswith("mcp__")]
        assert len(set(ours)) == len(ours) == 6, rig.states()["names"].problem
        assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in ours)
        assert all(name.isascii() for name in ours)
        assert "left out" in rig.states()["names"].problem


async def test_a_description_that_gives_orders_is_bounded_and_marked(tmp_path: Path) -> None:
    async with rig_with(tmp_path, says("hello"), servers=[hostile("orders")]) as rig:
        await rig.run("hello")
        offered = {tool.name: tool.description for tool in rig.model.requests[0].tools}
        said = offered["mcp__orders__kind"]
        assert said.startswith("A tool of the MCP server “orders”, which says of it")
        assert len(said) < 2_200
        assert "\u202e" not in said


async def test_a_picture_is_called_what_it_is_and_one_that_is_cut_off_is_left_out(
    tmp_path: Path,
) -> None:
    script = (calls(("mcp__pictures__do", {})), says("seen"))
    async with rig_with(tmp_path, *script, servers=[hostile("pictures")]) as rig:
        rig.allow_all()
        await rig.run("look")
        (image,) = rig.results[-1].images
        assert (image.media_type, image.data[:6]) == ("image/gif", b"GIF89a")
        assert "left out" in rig.results[-1].text


async def test_a_server_that_chats_on_its_output_is_understood_all_the_same(tmp_path: Path) -> None:
    script = (calls(("mcp__chatty__do", {})), says("ok"))
    async with rig_with(tmp_path, *script, servers=[hostile("chatty")]) as rig:
        rig.allow_all()
        await rig.run("do")
        assert rig.results[-1].text == "done"
        log = await rig.engine.mcp_log(rig.root, "chatty", 60)
        assert 0 < len(log) <= 60


async def test_more_than_forty_tools_are_found_by_a_search_and_asked_about_by_name(
    tmp_path: Path,
) -> None:
    script = (
        calls(("mcp_search", {"query": "find_37"})),
        calls(("mcp_call", {"tool": "mcp__many__find_37", "arguments": {}})),
        calls(("mcp_call", {"tool": "shell", "arguments": {}})),
        says("found"),
    )
    async with rig_with(tmp_path, *script, servers=[hostile("many")]) as rig:
        rig.allow_all()
        await rig.run("find")
        names = {tool.name for tool in rig.model.requests[0].tools}
        assert {"mcp_search", "mcp_call"} <= names
        assert not any(name.startswith("mcp__") for name in names)
        assert "mcp__many__find_37" in rig.results[0].text
        assert rig.results[1].text == "done"
        assert rig.of(ApprovalRequested)[0].request.call.name == "mcp__many__find_37"
        assert rig.results[2].is_error


async def test_a_missing_variable_is_named_and_a_given_one_reaches_the_server(
    tmp_path: Path,
) -> None:
    good = honest("good", env={"WHERE": "${PLACE:-nowhere} ${GARDEN}"})
    bad = honest("bad", env={"WHERE": "${NOT_SET_ANYWHERE}"})
    script = (calls(("mcp__good__variable", {"name": "WHERE"})), says("ok"))
    given = {"GARDEN": "beds"}
    async with rig_with(tmp_path, *script, servers=[good, bad], environment=given) as rig:
        rig.allow_all()
        await rig.run("where")
        assert rig.results[-1].text == "nowhere beds"
        failed = await rig.until_state("bad", lambda state: state.phase == "failed")
        assert failed.problem == "The variable NOT_SET_ANYWHERE is not set."


async def test_a_switch_takes_a_server_or_one_tool_away(tmp_path: Path) -> None:
    script = (says("a"), says("b"), says("c"))
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        await rig.run("one")
        rig.engine.switch_mcp_tools(rig.root, "honest", ("add",), False)
        await rig.at_rest()
        await rig.run("two")
        rig.engine.switch_mcp(rig.root, "honest", False)
        await rig.at_rest()
        await rig.run("three")
        offered = [{tool.name for tool in request.tools} for request in rig.model.requests]
        assert "mcp__honest__add" in offered[0]
        assert "mcp__honest__add" not in offered[1]
        assert "mcp__honest__process" in offered[1]
        assert not any(name.startswith("mcp") for name in offered[2])
        assert rig.states()["honest"].phase == "off"


@pytest.mark.parametrize("name", ["honest", "Honest"])
async def test_a_server_whose_name_is_taken_replaces_none(tmp_path: Path, name: str) -> None:
    async with rig_with(tmp_path, servers=[honest(), honest("other")]) as rig:
        rig.engine.save_mcp(rig.root, McpServer(name, "another"))
        rig.engine.save_mcp(rig.root, McpServer(name, "another"), "other")
        refused = [event.message for event in rig.of(CommandRefused)]
        assert refused == [f"The server was not changed. There is a server “{name}” already."] * 2
        assert [one.command for one in rig.file.servers()] == [honest().command] * 2
        rig.engine.save_mcp(rig.root, honest("Honest"), "honest")
        assert {one.name for one in rig.file.servers()} == {"Honest", "other"}


async def test_a_tool_that_is_described_otherwise_is_asked_about_again(tmp_path: Path) -> None:
    script = (
        calls(("mcp__honest__add", {"a": 1, "b": 1})),
        says("a"),
        calls(("mcp__honest__add", {"a": 1, "b": 2})),
        calls(("mcp__honest__add", {"a": 1, "b": 3})),
        says("b"),
    )
    async with rig_with(tmp_path, *script, servers=[honest()]) as rig:
        rig.allow_all(always=True)
        await rig.run("one")
        rig.file.accept("honest", {"add": "as it was described before"})
        rig.engine.watch_mcp(rig.root)
        await rig.until_state("honest", lambda state: state.changed == ("add",))
        await rig.at_rest()
        await rig.run("two")
        reasons = [event.request.reason for event in rig.of(ApprovalRequested)]
        assert len(reasons) == 2, "once it was allowed, the rule holds again"
        assert "describes this tool otherwise" in reasons[1]


async def test_a_tool_that_is_described_otherwise_while_its_call_waits_is_not_called(
    tmp_path: Path,
) -> None:
    script = (calls(("mcp__turns__do", {})), calls(("mcp__turns__do", {})), says("no"))
    async with rig_with(tmp_path, *script, servers=[hostile("turns")]) as rig:
        rig.send("look")
        first = await rig.until(ApprovalRequested)
        await rig.engine.mcp_prompt(rig.root, "turns", "do", {})
        await rig.until_state("turns", lambda state: state.changed == ("do",))
        rig.engine.decide(first.request.id, AllowOnce())
        ended = await rig.until(ToolEnded)
        assert ended.result.is_error
        assert "otherwise" in ended.result.text
        again = await rig.until(ApprovalRequested, 2)
        assert "describes this tool otherwise" in again.request.reason
        rig.engine.decide(again.request.id, AllowOnce())
        assert (await rig.until(ToolEnded, 2)).result.text == "done"


async def test_a_server_that_describes_its_tools_by_the_folder_is_used_in_two_at_once(
    tmp_path: Path,
) -> None:
    held = Waits(asyncio.Event(), answer=calls(("mcp__places__do", {})))
    script = (held, says("of the other folder"), says("done"))
    async with rig_with(tmp_path, *script, servers=[hostile("places")]) as rig:
        rig.allow_all()
        rig.send("one")
        await held.reached.wait()
        (tmp_path / "other").mkdir()
        rig.session_id = new_session_id()
        rig.engine.new_session(rig.session_id, Workspace(str(tmp_path / "other")), model="m")
        await rig.run("two")
        held.gate.set()
        assert (await rig.until(ToolEnded)).result.text == "done"
        await rig.until(TurnEnded, 2)


async def test_a_server_over_http_is_used_and_found_again_after_it_was_restarted(
    tmp_path: Path, http_server: Callable[[], tuple[str, subprocess.Popen[bytes]]]
) -> None:
    address, server = http_server()
    first, second = calls(("mcp__web__process", {})), calls(("mcp__web__process", {}))
    third = calls(("mcp__web__process", {}))
    script = (first, says("a"), second, third, says("b"))
    web = McpServer("web", url=address)
    async with rig_with(tmp_path, *script, servers=[web]) as rig:
        rig.allow_all()
        await rig.run("who")
        was = rig.results[-1].text
        server.kill()
        server.wait()
        http_server()
        await rig.at_rest()
        await rig.run("who now")
        assert rig.results[-1].text not in ("", was)
        assert not rig.results[-1].is_error


async def test_an_address_where_nobody_answers_is_a_failure_of_that_server(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/mcp"
    async with rig_with(tmp_path, servers=[McpServer("gone", url=address), honest()]) as rig:
        rig.engine.watch_mcp(rig.root)
        await rig.until_running("honest")
        gone = await rig.until_state("gone", lambda state: state.phase == "failed")
        assert gone.problem


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts of a shell")
async def test_outside_a_sandbox_no_program_of_the_folder_stands_in_for_the_systems(
    tmp_path: Path,
) -> None:
    folder, system = tmp_path / "folder", tmp_path / "bin"
    for place, names in ((folder / ".venv" / "bin", ("npx", "own")), (system, ("npx",))):
        place.mkdir(parents=True)
        for name in names:
            (place / name).write_text(f"#!/bin/sh\nprintf %s {place.name}:{place.parent.name}\n")
            (place / name).chmod(0o755)
    environment = {"PATH": f"{folder / '.venv' / 'bin'}{os.pathsep}{system}"}

    async def printed(name: str) -> str:
        pieces: list[bytes] = []
        codes, is_read = asyncio.Queue[int](), asyncio.Event()

        async def wrote(piece: bytes) -> None:
            pieces.append(piece)
            if not piece:
                is_read.set()

        command = ServerCommand(
            (name,), str(folder), environment, None, wrote, codes.put_nowait, str(folder)
        )
        await is_read.wait()
        await command.close()
        return b"".join(pieces).decode()

    assert await printed("npx") == f"bin:{tmp_path.name}"
    assert await printed("own") == "bin:.venv"

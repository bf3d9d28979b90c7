"""Prompts and resources of real servers, as the window asks for them."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from desktop_agent.core.mcp import McpArgument, McpError
from tests.helpers.scripted import says
from tests.mcp.rig import McpRig, honest, hostile


@asynccontextmanager
async def offering(tmp_path: Path, server, *script):
    rig = McpRig(tmp_path, *script, servers=[server])
    try:
        rig.engine.watch_mcp(rig.root)
        await rig.until_state(server.name, lambda state: bool(state.prompts and state.resources))
        yield rig, rig.states()[server.name]
    finally:
        await rig.engine.close()


async def test_a_prompt_is_listed_with_its_arguments_and_gives_its_text(tmp_path: Path) -> None:
    async with offering(tmp_path, honest()) as (rig, state):
        prompts = {one.name: one for one in state.prompts}
        assert prompts["review"].description == "Ask for a review of a file."
        assert prompts["review"].arguments == (
            McpArgument("file", "", True),
            McpArgument("style", "", False),
        )
        ask = rig.engine.mcp_prompt
        answer = await ask(rig.root, "honest", "review", {"file": "a.py", "style": "stern"})
        assert answer.text == "Please review a.py in a stern way."
        hidden = await ask(rig.root, "honest", "hello", {})
        assert hidden.text == "Hello\nthere.", "the person sees all that is sent"


async def test_a_resource_is_listed_and_read(tmp_path: Path) -> None:
    async with offering(tmp_path, honest()) as (rig, state):
        found = {one.uri: one for one in state.resources}["notes://garden"]
        assert found.description == "What grows in the garden."
        assert found.media_type == "text/plain"
        answer = await rig.engine.mcp_resource(rig.root, "honest", "notes://garden")
        assert answer.text.startswith("Beans.")


async def test_what_a_server_fails_to_give_is_a_failure_in_words(tmp_path: Path) -> None:
    async with offering(tmp_path, honest()) as (rig, _):
        with pytest.raises(McpError):
            await rig.engine.mcp_prompt(rig.root, "honest", "failing", {})
        with pytest.raises(McpError):
            await rig.engine.mcp_resource(rig.root, "honest", "notes://nowhere")
        with pytest.raises(McpError, match="switched off"):
            await rig.engine.mcp_prompt(rig.root, "another", "review", {})
        assert rig.states()["honest"].phase == "running"


async def test_prompts_and_resources_of_ten_megabytes_are_cut(tmp_path: Path) -> None:
    async with offering(tmp_path, hostile("large")) as (rig, _):
        prompt = await rig.engine.mcp_prompt(rig.root, "large", "do", {})
        resource = await rig.engine.mcp_resource(rig.root, "large", "x://do")
        for answer in (prompt, resource):
            assert len(answer.text) < 201_000
            assert "characters left out" in answer.text


async def test_what_is_described_wrongly_costs_itself_alone_and_is_named(tmp_path: Path) -> None:
    async with offering(tmp_path, hostile("badly_described")) as (rig, state):
        assert [one.name for one in state.tools] == ["do"]
        assert [one.name for one in (*state.prompts, *state.resources)] == ["do", "do"]
        assert "how they are described: none, text, ?, hint." in state.problem
        assert rig.states()["badly_described"].phase == "running"


async def test_endless_lists_of_prompts_and_resources_end(tmp_path: Path) -> None:
    async with offering(tmp_path, hostile("endless")) as (_, state):
        assert len(state.prompts) == 200
        assert len(state.resources) == 500


async def test_names_beyond_all_bounds_are_left_out_and_no_name_comes_twice(
    tmp_path: Path,
) -> None:
    async with offering(tmp_path, hostile("names")) as (_, state):
        assert [one.name for one in state.prompts] == ["a b/c", "\u202eevil", "twice"]
        assert len({one.uri for one in state.resources}) == len(state.resources) == 5
        assert all(len(one.name) <= 200 and len(one.uri) <= 2_000 for one in state.resources)


async def test_a_server_that_never_lists_its_prompts_has_tools_all_the_same(
    tmp_path: Path,
) -> None:
    rig = McpRig(tmp_path, says("hello"), servers=[hostile("silent")])
    try:
        await rig.run("hello")
        offered = {tool.name for tool in rig.model.requests[0].tools}
        assert "mcp__silent__do" in offered
    finally:
        await rig.engine.close()


def test_a_server_whose_offers_change_all_the_time_is_listed_less_and_less_often() -> None:
    """One that says so with each list was listed a hundred times a second, for hours."""
    # Here: it imports an SDK that no other test in this process needs.
    from desktop_agent.mcp_host.connection import pause_before_listing

    pauses = [0.0]
    for _ in range(20):
        pauses.append(pause_before_listing(pauses[-1], quiet_s=0.0))
    assert pauses == sorted(pauses)
    assert pauses[1] < 0.1, "a second change at once is soon seen"
    assert pauses[-1] >= 5
    assert sum(pauses[:11]) > 10
    assert pause_before_listing(pauses[-1], quiet_s=pauses[-1]) == 0, "once it is quiet, at once"

"""A server of this computer says how much context it gives a model, and that counts."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.adapters.models.local_servers import served_window
from desktop_agent.core.events import ContextCompacted
from desktop_agent.core.requests import Answer
from tests.adapters import loopback
from tests.engine.context.window_rig import LongRig, WindowModel
from tests.helpers.scripted import calls, says

WINDOW = 12_288  # what the server says


def work() -> list[Answer]:
    steps = (calls(("dump", {"what": f"out{number}", "size": 4_000})) for number in range(15))
    return [*steps, says("Painted.")]


async def test_the_window_that_a_server_here_gives_is_never_passed(tmp_path: Path) -> None:
    model = WindowModel(WINDOW, *work())
    async with loopback.serve(loopback.LLAMA_CPP) as running:
        rig = LongRig(tmp_path, model, served_window=served_window)
        name = "openai//models/Qwen3-4B-Q4_K_M.gguf"
        rig.engine.set_model(rig.session_id, name, f"{running.url}/v1")
        ended = await rig.run("Paint the lighthouse.")
    assert ended.reason == "finished"
    assert not model.refused
    assert {event.reason for event in rig.of(ContextCompacted)} == {"limit"}
    info = rig.listed.sessions[0]
    assert (info.context_limit, info.context_source) == (WINDOW, "known")
    assert running.paths.count("/props") == 1, "it is asked before each request"
    await rig.end()


async def test_a_server_that_loads_a_model_when_it_is_used_is_asked_a_second_time(
    tmp_path: Path,
) -> None:
    said: list[int | None] = [WINDOW, None]

    async def ask(model: str, api_base: str) -> int | None:
        return said.pop()

    model = WindowModel(WINDOW, *work())
    rig = LongRig(tmp_path, model, served_window=ask)
    rig.engine.set_model(rig.session_id, "ollama_chat/some", "http://127.0.0.1:1")
    assert (await rig.run("Paint the lighthouse.")).reason == "finished"
    assert not model.refused
    assert not said
    await rig.end()

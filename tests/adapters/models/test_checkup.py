"""How a local model does: context as loaded, tools by a real request, and the speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.models.catalog import ModelCatalog
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.models.local_servers import Address, find_servers
from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import TextPart, ThinkingPart
from desktop_agent.core.models import ModelCheckup
from desktop_agent.core.requests import Answer, ModelRequest
from desktop_agent.core.usage import Usage
from tests.adapters import loopback
from tests.helpers.provider_script import Calls, Say
from tests.helpers.providers import LoopbackProvider
from tests.helpers.scripted import Breaks, ScriptedModel, calls, says

SHAPES = {
    "lmstudio": (loopback.LM_STUDIO, "/v1", 32768),
    "ollama": (loopback.ollama(), "", 16384),
    "llamacpp": (loopback.LLAMA_CPP, "/v1", 12288),
}


def catalog(directory: Path, model: Any) -> ModelCatalog:
    secrets = Secrets(directory, environment={})
    return ModelCatalog(secrets, model, addresses=(), known_providers=())


@pytest.mark.parametrize("kind", SHAPES)
async def test_each_server_tells_its_context_after_the_model_was_asked(
    tmp_path: Path, kind: str
) -> None:
    routes, path, context = SHAPES[kind]
    async with loopback.serve(routes) as running:

        def ping(_: ModelRequest) -> Answer:
            return says("too late") if running.seen else calls(("ping", {}))

        (server,) = await find_servers([Address(running.url, is_native=True)])
        name = next(one.name for one in server.models if one.context_limit == context)
        running.seen.clear()
        model = ScriptedModel(ping, says("1 2 3"))
        found = await catalog(tmp_path, model).examine(name, running.url + path)
    assert found == ModelCheckup(kind, context, has_tools=True)  # type: ignore[arg-type]
    assert [request.api_base for request in model.requests] == [running.url + path] * 2


async def test_an_answer_that_came_at_once_tells_no_speed(
    tmp_path: Path, forked_hosts: None
) -> None:
    answer = Say(" ".join(map(str, range(1, 51))), chunks=1)
    with LoopbackProvider("openai", [Calls(("ping", {})), answer]) as provider:
        secrets = Secrets(tmp_path, environment={})
        host = HostedModel(key_for=secrets.key_for)
        try:
            asked = ModelCatalog(secrets, host, addresses=(), known_providers=())
            found = await asked.examine(provider.model, provider.api_base)
        finally:
            await host.close()
    assert found.fault is None
    assert (found.has_tools, found.tokens_per_s) == (True, None)


@pytest.mark.parametrize(
    ("part", "has_tools"),
    [
        (TextPart("Once upon a time, " * 30), False),
        (TextPart("I will call it"), None),
        (ThinkingPart("Once upon a time, " * 30), None),
    ],
)
async def test_a_model_that_talks_to_the_limit_instead_calls_no_tools(
    tmp_path: Path, part: TextPart | ThinkingPart, has_tools: bool | None
) -> None:
    model = ScriptedModel(Answer((part,), finish="length"), says("1 2 3"))
    found = await catalog(tmp_path, model).examine("openai/x", "https://models.example/v1")
    assert found.has_tools is has_tools


@pytest.mark.parametrize(
    ("pieces", "usage", "is_measured"),
    [(5, Usage(10, 40), True), (2, Usage(10, 40), False), (50, Usage(), True)],
)
async def test_the_speed_is_that_of_an_answer_in_pieces(
    tmp_path: Path, pieces: int, usage: Usage, is_measured: bool
) -> None:
    answer = Answer(tuple(TextPart(f"{n} ") for n in range(pieces)), usage=usage)
    model = ScriptedModel(calls(("ping", {})), answer)
    found = await catalog(tmp_path, model).examine("openai/x", "https://models.example/v1")
    assert (found.tokens_per_s is not None) is is_measured


async def test_a_model_that_does_not_answer_is_told_in_the_providers_words(tmp_path: Path) -> None:
    model = ScriptedModel(Breaks(Fault("server", "llama runner process has terminated")))
    async with loopback.serve(loopback.LLAMA_CPP) as running:
        found = await catalog(tmp_path, model).examine("openai/x", f"{running.url}/v1")
    assert found.fault == Fault("server", "llama runner process has terminated")
    assert (found.server, found.has_tools) == ("llamacpp", None)


async def test_no_server_elsewhere_is_asked_what_it_is(tmp_path: Path) -> None:
    model = ScriptedModel(calls(("ping", {})), says("1 2 3"))
    found = await catalog(tmp_path, model).examine("openai/x", "https://models.example/v1")
    assert (found.server, found.context, found.has_tools) == ("", None, True)

"""A model's name says nothing about the server that offers it."""

from __future__ import annotations

import pytest

from tests.helpers.providers import LoopbackProvider, Say
from tests.model_host.conftest import Ask

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    "name",
    [
        "deepseek-chat",
        "deepseek-reasoner",
        "deepseek/deepseek-r1",
        "openai/gpt-oss-120b",
        "openai/o1-pro",
        "o1-pro",
        "claude-sonnet-4-5",
        "anthropic/claude-sonnet-4.5",
        "gemini-2.5-pro",
        "x-ai/grok-4",
    ],
)
@pytest.mark.parametrize("dialect", ["responses", "openai"])
async def test_a_server_is_asked_for_a_stream_whoever_else_has_the_model(
    dialect, name, ask: Ask
) -> None:
    with LoopbackProvider(dialect, [Say("Here I am.")], name=name) as provider:
        heard = await ask(provider)
    assert heard.text == "Here I am."
    assert provider.requests[0].body["stream"] is True
    assert provider.requests[0].body["model"] == name


async def test_a_reasoning_model_of_azure_is_asked_for_a_stream(ask: Ask) -> None:
    with LoopbackProvider("openai", [Say("Here I am.")], name="o1") as provider:
        provider.model = "azure/o1"
        heard = await ask(provider)
    assert heard.text == "Here I am."
    assert provider.requests[0].body["stream"] is True


async def test_an_ollama_server_is_not_asked_about_a_model_that_others_have(ask: Ask) -> None:
    with LoopbackProvider("ollama", name="deepseek-chat") as provider:
        assert (await ask(provider)).text == "Done."
    assert provider.other_paths == ()

"""Every provider that the app offers can be talked to, through the real host and litellm."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from desktop_agent.core.providers import PROVIDERS
from desktop_agent.model_host.litellm_client.model import address
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Say
from tests.model_host.conftest import hear, request_to, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("offered", PROVIDERS, ids=lambda each: each.name)
async def test_a_provider_that_is_offered_streams_calls_tools_and_fails_in_words(
    offered, model
) -> None:
    script = [[Say("I look."), Calls(("read", {"path": "a.txt"}))], Say("Found it."), Fail(401)]
    with LoopbackProvider(offered.dialect, script) as provider:
        request = replace(request_to(provider), model=f"{offered.name}/some-model")
        called = await hear(model, request)
        assert [call.arguments for call in called.calls] == [{"path": "a.txt"}]
        assert called.shown == "I look."
        asked = (*request.messages, said(called.answer), user("Go on."))
        answered = await hear(model, replace(request, messages=asked))
        assert answered.text == "Found it."
        refused = await hear(model, request)
        assert refused.fault is not None
        assert refused.fault.kind == "auth"


async def test_cohere_is_asked_where_it_takes_tool_calls_and_not_for_what_it_refuses(model) -> None:
    with LoopbackProvider("openai", [Say("Found it.")]) as provider:
        request = replace(request_to(provider), model="cohere_chat/command-a")
        assert (await hear(model, request)).text == "Found it."
        body = provider.requests[0].body
    assert body["model"] == "command-a"
    assert "stream_options" not in body
    assert address("cohere/command-a", "", "key") == {
        "model": "openai/command-a",
        "api_base": "https://api.cohere.ai/compatibility/v1",
        "api_key": "key",
    }

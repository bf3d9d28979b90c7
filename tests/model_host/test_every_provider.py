"""Every provider that the app offers can be talked to, through the real host and litellm."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from desktop_agent.core.providers import PROVIDERS
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Say
from tests.model_host.conftest import hear, request_to, said, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Cohere's own wire is spoken by no provider here.
_OFFERED = [provider for provider in PROVIDERS if provider.name != "cohere"]


@pytest.mark.parametrize("offered", _OFFERED, ids=lambda each: each.name)
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

"""What a request said is gone with it: of hundreds, long ones would fill the memory."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import httpx
import pytest

from desktop_agent.model_host.litellm_client.exchange import CURRENT, Exchange
from desktop_agent.model_host.litellm_client.transport import WatchingTransport
from tests.helpers.providers import Fail, LoopbackProvider, Say, Step
from tests.model_host.conftest import QUICK

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nothing goes but what nobody refers to."""
    gc.disable()
    yield
    gc.enable()


class Listener:
    """Who is told that the provider takes the request."""

    def hear(self) -> None:
        pass


async def ask(
    client: httpx.AsyncClient, provider: LoopbackProvider, *, is_streamed: bool
) -> tuple[weakref.ref[httpx.Request], weakref.ref[Listener]]:
    body = {"stream": is_streamed, "messages": [{"role": "user", "content": "Hello"}]}
    listener = Listener()
    exchange = Exchange(QUICK, asyncio.timeout(None), on_accepted=listener.hear)
    token = CURRENT.set(exchange)
    try:
        async with exchange.clock:
            address = f"{provider.api_base}/chat/completions"
            request = client.build_request("POST", address, json=body)
            answer = await client.send(request, stream=is_streamed)
            async for _ in answer.aiter_bytes():
                pass
    finally:
        CURRENT.reset(token)
        await exchange.end()
    return weakref.ref(request), weakref.ref(listener)


@pytest.mark.parametrize(
    ("step", "is_streamed"), [(Say("Hello."), True), (Say("Hello."), False), (Fail(400), True)]
)
async def test_what_a_request_said_is_let_go_of_when_it_ends(
    step: Step, is_streamed: bool, uncollected: None
) -> None:
    with LoopbackProvider("openai", [step]) as provider:
        async with httpx.AsyncClient(
            transport=WatchingTransport(httpx.AsyncHTTPTransport())
        ) as one:
            request, listener = await ask(one, provider, is_streamed=is_streamed)
            await asyncio.sleep(0)  # the loop lets go of what ran last
            assert (request(), listener()) == (None, None)

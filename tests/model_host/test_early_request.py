"""The first request goes out once, before litellm is there, and says what litellm says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.ids import new_agent_id, new_message_id
from desktop_agent.core.messages import ImagePart, Message, Part, ThinkingPart, ToolCall, ToolResult
from desktop_agent.core.requests import ModelRequest
from desktop_agent.model_host.litellm_client.messages import Conversation
from desktop_agent.model_host.litellm_client.model import Asked, asked, begun_early
from tests.helpers.providers import LoopbackProvider, Say
from tests.model_host.conftest import KEY, READ, hear, request_to, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

# It is there once somebody says so; then it is the real one.
_LATE = """
import importlib, os, sys, threading
while not os.path.exists({go!r}):
    threading.Event().wait(0.01)
sys.path.remove({folder!r})
del sys.modules["litellm"]
{then}
"""
_REAL = 'importlib.import_module("litellm")'


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return what lets litellm be imported, with what it is then, and a host that waits for it."""
    go = tmp_path / "go"

    def prepare(then: str) -> HostedModel:
        folder = str(tmp_path)
        text = _LATE.format(go=str(go), folder=folder, then=then)
        (tmp_path / "litellm.py").write_text(text)
        monkeypatch.syspath_prepend(folder)
        return HostedModel(key_for=lambda _name: KEY)

    return go, prepare


async def test_a_request_does_not_wait_for_litellm_and_goes_out_once(late) -> None:
    go, prepare = late
    hosted = prepare(_REAL)
    try:
        with LoopbackProvider("openai", [Say("Quick."), Say("Usual.")]) as provider:
            asking = asyncio.ensure_future(hear(hosted, request_to(provider)))
            (sent,) = await asyncio.to_thread(provider.wait_for, 1)
            go.touch()
            first = await asking
            again = await hear(hosted, request_to(provider))
            count = len(provider.requests)
    finally:
        await hosted.close()
    assert sent.user_texts == ("Hello",)
    assert (first.text, first.accepted, again.text) == ("Quick.", 1, "Usual.")
    assert count == 2


async def test_a_proxy_that_httpx_does_not_know_keeps_no_local_model_from_answering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    hosted = HostedModel(key_for=lambda _name: KEY)
    try:
        with LoopbackProvider("openai", [Say("Here.")]) as provider:
            heard = await hear(hosted, request_to(provider))
    finally:
        await hosted.close()
    assert (heard.fault, heard.shown) == (None, "Here.")


async def test_a_request_under_way_is_given_up_when_litellm_cannot_be_loaded(late) -> None:
    go, prepare = late
    hosted = prepare('raise ImportError("no such thing")')
    try:
        with LoopbackProvider("openai", [Say("Unheard.")]) as provider:
            asking = asyncio.ensure_future(hear(hosted, request_to(provider)))
            await asyncio.to_thread(provider.wait_for, 1)
            go.touch()
            heard = await asking
    finally:
        await hosted.close()
    assert heard.fault is not None
    assert "no such thing" in heard.fault.details


def _history(*parts: Part) -> tuple[Message, ...]:
    call = ToolCall("call_1", "read", {"path": "ä.txt"})
    result = ToolResult("call_1", "It says \u2028 so.")
    return (
        user("Look, ü.", *parts),
        Message(new_message_id(), "assistant", (ThinkingPart("Hm.", ""), call)),
        Message(new_message_id(), "tool", (result,)),
        user("Go on."),
    )


_PIXEL = ImagePart("image/png", b"\x89PNG")


def _asked(request: ModelRequest) -> Asked:
    conversation = Conversation(request.model)
    conversation.advance(request, 0)
    return asked(request, conversation, KEY)


@pytest.mark.parametrize("tools", [(READ,), ()])
@pytest.mark.parametrize("name", ["loopback", "qwen3-coder", "deepseek-chat", "claude-sonnet-4-5"])
@pytest.mark.parametrize("messages", [(), _history(), _history(_PIXEL)])
async def test_it_says_what_litellm_says(tools, name, messages, model) -> None:
    await model.call("check_key", model="openai/x")  # litellm is there
    with LoopbackProvider("openai", name=name) as provider:
        await hear(model, request_to(provider, messages, tools=tools))
        begun = begun_early(_asked(request_to(provider, messages, tools=tools))).begun
        assert begun is not None
        usual, early = await asyncio.to_thread(provider.wait_for, 2)
        await begun.close()
    assert early.body == usual.body
    assert (early.path, early.headers["authorization"]) == (usual.path, f"Bearer {KEY}")


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("openai/gpt-5-mini", "http://127.0.0.1:9/v1"),
        ("openai/o3", "http://127.0.0.1:9/v1"),
        ("openai/responses/x", "http://127.0.0.1:9/v1"),
        ("anthropic/x", "http://127.0.0.1:9"),
        ("openai/x", ""),
    ],
)
async def test_what_litellm_asks_in_a_way_of_its_own_is_left_to_it(model, base) -> None:
    request = ModelRequest(new_agent_id(), model, "", (user("Hi"),), api_base=base)
    assert begun_early(_asked(request)).begun is None

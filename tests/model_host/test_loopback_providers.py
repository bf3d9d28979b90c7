"""The loopback providers keep to their script and to the dialects' wire formats."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from tests.helpers.providers import (
    DIALECTS,
    Calls,
    Fail,
    LoopbackProvider,
    Pace,
    Reset,
    Say,
    Think,
    refused,
)

PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/loopback:generateContent",
    "ollama": "/api/chat",
}
STREAM_PATHS = PATHS | {
    "gemini": "/v1beta/models/loopback:streamGenerateContent?alt=sse",
}


def url(provider: LoopbackProvider, path: str) -> str:
    return f"http://127.0.0.1:{provider.port}{path}"


def body(dialect: str, *, stream: bool) -> dict[str, object]:
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    if dialect == "responses":
        return {"model": "loopback", "input": "Hi", "stream": stream}
    messages = [{"role": "user", "content": "Hi"}]
    return {"model": "loopback", "messages": messages, "stream": stream}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_at_once_has_text_thinking_and_calls(dialect) -> None:
    script = [[Think("Hm."), Say("Hello."), Calls(("read", {"path": "a"}))]]
    with LoopbackProvider(dialect, script) as provider:
        answer = httpx.post(url(provider, PATHS[dialect]), json=body(dialect, stream=False))
    assert answer.status_code == 200
    text = answer.text
    for wanted in ("Hm.", "Hello.", "read", "path"):
        assert wanted in text
    assert provider.requests[0].user_texts == ("Hi",)
    json.loads(text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_is_made_of_whole_events(dialect) -> None:
    with LoopbackProvider(dialect, [Say("Hello you all", chunks=4)]) as provider:
        answer = httpx.post(url(provider, STREAM_PATHS[dialect]), json=body(dialect, stream=True))
    lines = [line for line in answer.text.splitlines() if line]
    if dialect != "ollama":
        lines = [line[5:] for line in lines if line.startswith("data:")]
    events = [json.loads(line) for line in lines if line.strip() != "[DONE]"]
    assert len(events) >= 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_errors_and_unknown_paths_have_the_dialects_form(dialect) -> None:
    with LoopbackProvider(dialect, [Fail(429, {"retry-after": "3"}, message="Slow")]) as provider:
        answer = httpx.post(url(provider, PATHS[dialect]), json=body(dialect, stream=False))
        wrong = httpx.post(url(provider, "/elsewhere"), json={})
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "3"
    assert "error" in answer.json()
    assert wrong.status_code == 404
    assert len(provider.requests) == 1


def test_a_function_of_the_request_decides_and_the_last_entry_is_followed_by_done() -> None:
    with LoopbackProvider("openai", [lambda request: Say(request.user_texts[-1])]) as provider:
        place = url(provider, PATHS["openai"])
        first = httpx.post(place, json=body("openai", stream=False)).json()
        second = httpx.post(place, json=body("openai", stream=False)).json()
    assert first["choices"][0]["message"]["content"] == "Hi"
    assert second["choices"][0]["message"]["content"] == "Done."


def test_a_script_that_fails_fails_the_test() -> None:
    def broken(_request: object) -> Say:
        raise KeyError("nothing")

    provider = LoopbackProvider("openai", [broken]).start()
    httpx.post(url(provider, PATHS["openai"]), json=body("openai", stream=False))
    with pytest.raises(KeyError):
        provider.close()


def test_a_reset_is_seen_as_one() -> None:
    with (
        LoopbackProvider("openai", [Reset()]) as provider,
        pytest.raises(httpx.TransportError),
    ):
        httpx.post(url(provider, PATHS["openai"]), json=body("openai", stream=True))


def test_waiting_works_from_another_thread() -> None:
    with LoopbackProvider("openai", [Pace(3, per_second=200)]) as provider:
        place = url(provider, PATHS["openai"])
        asking = threading.Thread(
            target=httpx.post, args=(place,), kwargs={"json": body("openai", stream=True)}
        )
        asking.start()
        assert len(provider.wait_for(1)) == 1
        provider.wait_answered(1)
        asking.join()
        assert len(provider.timings) == 1
        with pytest.raises(TimeoutError):
            provider.wait_for(2, timeout=0.01)


def test_nothing_listens_at_a_refused_address() -> None:
    _, address = refused("openai")
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)

"""Why an answer ended is told in the provider's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desktop_agent.core.requests import Limits
from tests.helpers.providers import Fail, LoopbackProvider, Raw
from tests.model_host.conftest import Ask, Heard

pytestmark = pytest.mark.asyncio(loop_scope="session")

NO_RETRY = Limits(retry_total_s=0, max_retries=0)


def event(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\r\n\r\n"


def candidate(reason: Any, text: str = "", **rest: Any) -> bytes:
    parts = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    return event({"candidates": [{"index": 0, "finishReason": reason} | parts | rest]})


async def hear(ask: Ask, *frames: bytes) -> Heard:
    with LoopbackProvider("gemini", [Raw(frames)]) as provider:
        return await ask(provider, limits=NO_RETRY)


async def test_a_blocked_prompt_is_an_end_with_its_reason(ask: Ask) -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "It asks for harm."}
    counts = {"promptTokenCount": 9, "totalTokenCount": 9}
    heard = await hear(ask, event({"promptFeedback": feedback, "usageMetadata": counts}))
    assert heard.fault is not None
    assert heard.fault.kind == "filtered"
    assert "PROHIBITED_CONTENT" in heard.fault.message
    assert "It asks for harm." in heard.fault.message


@pytest.mark.parametrize("reason", ["MODEL_ARMOR", "SAFETY", "IMAGE_SAFETY", 3, 8])
async def test_a_filter_of_any_name_is_told_with_its_message(reason, ask: Ask) -> None:
    heard = await hear(ask, candidate(reason, finishMessage="Blocked by the policy of ACME."))
    assert heard.fault is not None
    assert heard.fault.kind == "filtered"
    assert "Blocked by the policy of ACME." in heard.fault.message


async def test_text_before_a_filter_is_kept_with_the_reason(ask: Ask) -> None:
    heard = await hear(ask, candidate("MODEL_ARMOR", "So far.", finishMessage="Too far."))
    assert heard.text == "So far."
    assert heard.answer.finish == "filtered"
    assert "Too far." in heard.answer.reason


@pytest.mark.parametrize(("number", "finish"), [(1, "stop"), (2, "length")])
async def test_an_end_by_number_is_understood(number, finish, ask: Ask) -> None:
    heard = await hear(ask, candidate(number, "Said."))
    assert heard.text == "Said."
    assert heard.answer.finish == finish
    assert heard.answer.reason == ""


async def test_a_malformed_call_is_told_and_can_be_tried_again(ask: Ask) -> None:
    heard = await hear(ask, candidate("MALFORMED_FUNCTION_CALL", finishMessage="print(read())"))
    assert heard.fault is not None
    assert heard.fault.action == "retry"
    assert "MALFORMED_FUNCTION_CALL" in heard.fault.message


QUOTA = "You exceeded your current quota, please check your plan and billing details."
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}


def quota(*details: Any) -> dict[str, Any]:
    status = {"code": 429, "message": QUOTA, "status": "RESOURCE_EXHAUSTED"}
    return {"error": status | {"details": list(details)}}


async def test_a_quota_that_comes_back_is_a_rate_limit_with_its_countdown(ask: Ask) -> None:
    failures = [
        Fail(429, body=quota(RETRY_INFO)),
        Fail(429, {"retry-after": "34.5"}, body=quota()),
        Raw([event(quota(RETRY_INFO))]),
    ]
    with LoopbackProvider("gemini", failures) as provider:
        for _ in failures:
            heard = await ask(provider, limits=NO_RETRY)
            assert heard.fault is not None
            assert heard.fault.kind == "rate_limit"
            assert heard.fault.retry_after == 34.5


async def test_a_quota_that_does_not_come_back_is_an_empty_account(ask: Ask) -> None:
    with LoopbackProvider("gemini", [Fail(429, body=quota())]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    assert heard.fault.kind == "billing"


@pytest.mark.parametrize("as_text", [True, False])
async def test_the_reason_behind_a_router_is_told(as_text, ask: Ask) -> None:
    raw: Any = {"error": {"message": "tools.0: name is too long", "type": "invalid_request"}}
    metadata = {"raw": json.dumps(raw) if as_text else raw, "provider_name": "Acme"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}
    with LoopbackProvider("openai", [Fail(400, body={"error": error})]) as provider:
        heard = await ask(provider, limits=NO_RETRY)
    assert heard.fault is not None
    assert "tools.0: name is too long" in heard.fault.message
    assert "Provider returned error" not in heard.fault.message

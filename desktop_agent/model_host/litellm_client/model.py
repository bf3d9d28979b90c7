"""Asks a model through litellm: retries before the first delta, time limits, one Answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.providers import find_provider
from desktop_agent.core.requests import (
    Accepted,
    Answer,
    Delta,
    ModelRequest,
    Retrying,
    StreamItem,
    ToolSpec,
)
from desktop_agent.model_host.litellm_client import faults
from desktop_agent.model_host.litellm_client.assembly import Assembly
from desktop_agent.model_host.litellm_client.early import EarlyRequest, begin
from desktop_agent.model_host.litellm_client.exchange import CURRENT, SIGNATURE_IN_ID, Exchange
from desktop_agent.model_host.litellm_client.messages import (
    Conversation,
    Family,
    family_of,
    maker_of,
)
from desktop_agent.model_host.litellm_client.patches import OPENAI_HOST
from desktop_agent.model_host.litellm_client.pricing import (
    price_entry,
    read_usage,
    usage_of,
    with_cost,
)
from desktop_agent.model_host.litellm_client.setup import NO_MCP, make_ready

# Stops an answer that would never end; a thousand pages are not an answer.
CHARACTER_LIMIT = 4_000_000
_LONGEST_WAIT_S = 120.0
_LONGEST_DELAY_S = 30.0
_LONGEST_END_S = 2.0
# Tokens that every Claude of today can write at once, and every model that is served as one is.
_OF_A_CLAUDE, _OF_ANOTHER = 32_000, 8_192
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NEEDS_KEY = (
    "openai/",
    "anthropic/",
    "gemini/",
    "mistral/",
    "groq/",
    "openrouter/",
    "deepseek/",
    "xai/",
)


class Asked(msgspec.Struct, frozen=True):
    """A request with what the host keeps for it; `begun` is the same one, sent before."""

    request: ModelRequest
    prompt: list[dict[str, Any]]
    used_ids: set[str]
    key: str
    begun: EarlyRequest | None = None


def asked(request: ModelRequest, conversation: Conversation, key: str) -> Asked:
    """Take what the request needs out of the conversation, so that both may go on."""
    return Asked(request, conversation.prompt(request.system), conversation.call_ids(), key)


def missing_key(model: str, api_base: str, key: str) -> Fault | None:
    """Return the fault when the provider would certainly refuse a request."""
    if key or api_base or not model.startswith(_NEEDS_KEY):
        return None
    return faults.no_key(model)


def begun_early(asked: Asked) -> Asked:
    """Send the request before litellm is there, where that is possible."""
    return replace(asked, begun=begin(_arguments(asked), asked.request.limits.connect_s))


async def answer(litellm: Any, asked: Asked, emit: Callable[[StreamItem], None]) -> None:
    """Emit Retrying*, Accepted, Delta*, Answer; raises ModelError."""
    request = asked.request
    await make_ready(request.model)
    started = time.monotonic()
    tries = 0
    is_accepted = False
    while True:
        attempt = _Attempt(litellm, asked, emit, is_accepted=is_accepted)
        ending = await attempt.run()
        if ending is None:
            return
        is_accepted = attempt.is_accepted
        tries += 1
        delay = _delay(ending, tries, time.monotonic() - started, request)
        if delay is None or attempt.has_shown:
            raise ModelError(ending.fault)
        emit(Retrying(tries, delay, ending.fault))
        await asyncio.sleep(delay)


def _delay(
    ending: faults.Ending, attempt: int, spent: float, request: ModelRequest
) -> float | None:
    """Return how long to wait before the next try; None when there is none."""
    if not ending.is_retryable or attempt > request.limits.max_retries:
        return None
    asked_for = ending.fault.retry_after
    if asked_for is not None and asked_for > _LONGEST_WAIT_S:
        return None
    delay = asked_for
    if delay is None:
        # Full jitter: many agents that were refused together must not come back together.
        delay = random.uniform(0.0, min(_LONGEST_DELAY_S, 2.0 ** (attempt - 1)))
    return delay if spent + delay <= request.limits.retry_total_s else None


class _Attempt:
    """One request to the provider. `has_shown` tells that some of the answer was emitted."""

    def __init__(
        self,
        litellm: Any,
        asked: Asked,
        emit: Callable[[StreamItem], None],
        *,
        is_accepted: bool,
    ) -> None:
        self.is_accepted = is_accepted
        self.has_shown = False
        self._litellm = litellm
        self._asked = asked
        self._emit = emit
        request = asked.request
        tools = (tool.name for tool in request.tools)
        maker = maker_of(request.model, request.api_base)
        family = family_of(request.model)
        self._assembly = Assembly(family, tools, set(asked.used_ids), maker)

    async def run(self) -> faults.Ending | None:
        """Return None after the Answer, or how the attempt failed."""
        limits = self._asked.request.limits
        clock = asyncio.timeout(limits.connect_s + limits.first_byte_s)
        is_signed = any(SIGNATURE_IN_ID in id_ for id_ in self._asked.used_ids)
        exchange = Exchange(limits, clock, on_accepted=self._accept, has_signed_ids=is_signed)
        exchange.early = self._asked.begun
        token = CURRENT.set(exchange)
        response: Any = None
        try:
            async with clock:
                arguments = _arguments(self._asked)
                make_known(self._litellm, arguments["model"])
                arguments = longest_answer(self._litellm, arguments["model"]) | arguments
                base = arguments.get("api_base", "")
                exchange.is_streaming = can_stream(self._litellm, arguments["model"], base)
                response = await self._litellm.acompletion(**arguments)
                return await self._read(response, exchange)
        except Exception as error:  # noqa: BLE001  (litellm raises anything; all becomes a fault)
            return self._explained(error, exchange)
        finally:
            CURRENT.reset(token)
            await _close(response, exchange)

    def _accept(self) -> None:
        if not self.is_accepted:
            self.is_accepted = True
            self._emit(Accepted())

    async def _read(self, response: Any, exchange: Exchange) -> faults.Ending | None:
        assembly = self._assembly
        is_too_long = False
        if hasattr(response, "__aiter__"):
            async for chunk in response:
                exchange.note_content()
                # Amazon's own client does not go through our transport.
                self._accept()
                self._show(assembly.take(chunk))
                is_too_long = assembly.characters > CHARACTER_LIMIT
                # What litellm does after the end (counting, logging) is not wanted: it
                # costs time, and for some models a download.
                if is_too_long or (assembly.finish and await _is_complete(response, exchange)):
                    break
        else:
            self._show(assembly.take(response))
        if is_too_long:
            assembly.finish = "length"
        return self._end(response, exchange)

    def _end(self, response: Any, exchange: Exchange) -> faults.Ending | None:
        assembly = self._assembly
        if exchange.stream_error is not None or exchange.broken is not None:
            return self._explained(ValueError("the stream holds an error"), exchange)
        if assembly.finish != "length" and not _has_ended(response, exchange):
            if exchange.is_damaged:
                return faults.not_understood(exchange, "it is not valid JSON")
            return faults.broken_off(exchange)
        request = self._asked.request
        usage = read_usage(response, exchange)
        usage = with_cost(self._litellm, request.model, response, usage)
        assembly.reason = _reason(response, exchange, assembly.finish)
        deltas, whole = assembly.answer(usage)
        if not whole.parts and whole.finish in {"unknown", "stop", "filtered"}:
            return self._empty(whole, exchange)
        if exchange.end_words:
            whole = msgspec.structs.replace(whole, reason=faults.short(exchange.end_words))
        self._accept()
        self._show(deltas)
        self._emit(whole)
        return None

    def _empty(self, whole: Answer, exchange: Exchange) -> faults.Ending:
        if whole.finish == "filtered":
            return faults.withheld(exchange)
        why = (
            "it calls a tool without a name" if not self._assembly.is_empty else "it holds nothing"
        )
        return faults.not_understood(exchange, exchange.end_words or why)

    def _show(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            self.has_shown = True
            self._emit(delta)

    def _explained(self, error: Exception, exchange: Exchange) -> faults.Ending:
        if not exchange.clock.expired():
            return faults.explain(error, exchange)
        if exchange.status is not None:
            idle = exchange.limits.idle_s
            return faults.too_slow(exchange, f"The provider has been silent for {idle:g} s.")
        wait = exchange.limits.first_byte_s
        return faults.too_slow(exchange, f"The provider did not answer within {wait:g} s.")


def _arguments(asked: Asked) -> dict[str, Any]:
    request = asked.request
    arguments: dict[str, Any] = {
        "messages": asked.prompt,
        "stream": True,
        "stream_options": {"include_usage": True},
        "num_retries": 0,
        "max_retries": 0,
        **NO_MCP,
        # Our own clock watches; litellm's would also end answers that are only long.
        "timeout": 24 * 3600.0,
    }
    if request.tools:
        family = family_of(request.model)
        arguments["tools"] = [_tool(spec, family) for spec in request.tools]
    if request.max_output_tokens is not None:
        arguments["max_tokens"] = request.max_output_tokens
    place = address(request.model, request.api_base, asked.key)
    if place["model"] != request.model:
        # Cohere refuses it, and tells the counts all the same.
        del arguments["stream_options"]
    return arguments | place


def address(model: str, api_base: str, key: str) -> dict[str, str]:
    """Return the model, address and key for litellm; one's own server is given a dummy key."""
    provider = find_provider(model.partition("/")[0])
    if provider is not None and provider.openai_base:
        model = f"openai/{model.partition('/')[2]}"
        api_base = api_base or provider.openai_base
    return {"model": model} | _credentials(model, api_base, key)


def _credentials(model: str, api_base: str, key: str) -> dict[str, str]:
    if not api_base:
        return {"api_key": key} if key else {}
    is_keyless = model.startswith(("ollama/", "ollama_chat/"))
    dummy = {} if is_keyless else {"api_key": "none"}
    return {"api_base": api_base.rstrip("/")} | ({"api_key": key} if key else dummy)


def make_known(litellm: Any, model: str) -> None:
    """Put a model that litellm does not know into its list, before it goes wrong about it.

    It would make Gemini's system text a user's, and would ask an Ollama server about the model in
    a way that blocks every other stream. A model of the same name at another provider is another.
    """
    if not model.startswith(("ollama/", "ollama_chat/", "gemini/")):
        return
    provider, _, bare = model.partition("/")
    other = litellm.model_cost.get(bare) or {}
    if model in litellm.model_cost or other.get("litellm_provider") == provider:
        return
    litellm.model_cost[model] = {
        "litellm_provider": provider,
        "mode": "chat",
        "supports_native_streaming": True,
        "supports_function_calling": True,
        "supports_system_messages": True,
        "supports_vision": True,
    }


def longest_answer(litellm: Any, model: str) -> dict[str, Any]:
    """Return how long answers may get where Anthropic's language asks for a limit.

    litellm takes 4,096 tokens for a model that it does not know: a file of some length, or what is
    thought before it, would be cut off each time.
    """
    provider, _, bare = model.partition("/")
    is_claude = "claude" in bare.lower()
    if provider != "anthropic" and not (is_claude and provider in {"vertex_ai", "azure_ai"}):
        return {}
    if litellm.model_cost.keys() & {model, bare}:
        return {}
    return {"max_tokens": _OF_A_CLAUDE if is_claude else _OF_ANOTHER}


def can_stream(litellm: Any, model: str, api_base: str) -> bool:
    """Whether the provider streams this model: all do but OpenAI itself, a few of its own."""
    if api_base and OPENAI_HOST not in api_base:
        return True
    entry = price_entry(litellm.model_cost, model) or {}
    return entry.get("supports_native_streaming") is not False


def _tool(spec: ToolSpec, family: Family) -> dict[str, Any]:
    schema, description = spec.schema, spec.description
    if family == "anthropic" and (unfit := _unfit_names(schema)):
        schema = _without(schema, unfit)
        description += f"\n\nIt takes these arguments too: {json.dumps(unfit)[1:-1]}."
    function = {"name": spec.name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _unfit_names(schema: dict[str, Any]) -> list[str]:
    """Return the arguments whose names Anthropic refuses in a schema, and with it every request."""
    return [name for name in schema.get("properties", {}) if not _PLAIN_NAME.fullmatch(name)]


def _without(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    properties = {name: one for name, one in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    return schema | {"properties": properties, "required": required}


async def _is_complete(response: Any, exchange: Exchange) -> bool:
    """Whether the counts have come too, or never will; waits for the end of the stream.

    A server that keeps the connection open after its finish is waited for no longer than
    `_LONGEST_END_S`.
    """
    if usage_of(response) is not None:
        return True
    if not exchange.is_stream:
        return False
    if not exchange.has_usage:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(exchange.over.wait(), _LONGEST_END_S)
    return not exchange.has_usage


def _has_ended(response: Any, exchange: Exchange) -> bool:
    """Whether the provider itself said that this was all; litellm makes up an end.

    An answer in one piece that could be read was all there. Amazon's client does not go through
    our transport, but litellm notes the end that it told.
    """
    if not exchange.is_stream and not hasattr(response, "__aiter__"):
        return True
    if getattr(response, "received_finish_reason", None) is not None:
        return True
    # At what it can't read litellm ends as if that were all, whatever came after it.
    return exchange.has_end and not exchange.is_damaged


def _reason(response: Any, exchange: Exchange, told: str) -> str:
    """Return the provider's own reason for the end; litellm makes one up where there is none."""
    if told == "length" or not hasattr(response, "__aiter__"):
        return told
    if exchange.is_stream:
        return exchange.finish
    return getattr(response, "received_finish_reason", None) or ""


async def _close(response: Any, exchange: Exchange) -> None:
    """Close the provider's answer, whatever state it is in."""
    close_response = getattr(response, "aclose", None)
    for close in (close_response, exchange.end):
        if close is None:
            continue
        with contextlib.suppress(Exception):  # it is given up anyway
            await close()

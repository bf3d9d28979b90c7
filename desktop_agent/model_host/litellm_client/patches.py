"""Replaces what litellm does for each message of each request, and what it decides by a name.

A history of 600 messages goes out with each step of a long turn: what costs microseconds a
message is what makes the three-hundredth step slower than the fifth. And litellm looks a model up
in its list without its provider, so that a server with DeepSeek's model was asked unstreamed, and
one with Claude in another dialect.
"""

from __future__ import annotations

import functools
import json
import os
import ssl
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgspec

from desktop_agent.core.network.certificates import accept_older
from desktop_agent.model_host.litellm_client.exchange import CURRENT, SIGNATURE_IN_ID

_encode = msgspec.json.Encoder().encode


class FastJson:
    """Stands for the `json` module where litellm encodes a request's body."""

    loads = staticmethod(json.loads)
    JSONDecodeError = json.JSONDecodeError

    @staticmethod
    def dumps(value: Any, **options: Any) -> str:
        """Return JSON as UTF-8 without blanks; what msgspec refuses goes the usual way."""
        if options:
            return json.dumps(value, **options)
        try:
            return _encode(value).decode()
        except (TypeError, ValueError, msgspec.MsgspecError):
            return json.dumps(value)


def install() -> None:
    """Put the shortcuts in place; what litellm no longer has is left alone."""
    handler = import_module("litellm.llms.custom_httpx.llm_http_handler")
    if getattr(handler, "json", None) is json:
        setattr(handler, "json", FastJson)  # noqa: B010  (a module in its eyes)
    utils = import_module("litellm.utils")
    original = getattr(utils, "_remove_thought_signatures_from_messages", None)
    if original is not None:
        setattr(utils, original.__name__, only_when_signed(original))
    for module, owner in _FAKE_STREAMS:
        config = getattr(import_module(module), owner)
        config.should_fake_stream = unless_asked(config.should_fake_stream)
    main = import_module("litellm.main")
    setattr(main, "responses_api_bridge_check", by_prefix(main.responses_api_bridge_check))  # noqa: B010
    for module, name, instead in _FOR_ITS_PROXY:
        if hasattr(import_module(module), name):
            setattr(import_module(module), name, instead)
    http = import_module("litellm.llms.custom_httpx.http_handler")
    if create := getattr(http, "_create_ssl_context", None):
        setattr(http, create.__name__, with_folder_of_certificates(create))
        getattr(http, "_ssl_context_cache", {}).clear()
    # It looks Claude up in its list and in the one of its package, which it reads a second time.
    setattr(utils, "get_bundled_model_cost_map", _list_in_use)  # noqa: B010  (as above)


def _same_messages(messages: list[Any], **_: Any) -> list[Any]:
    return messages


def _same_input(input: Any, **_: Any) -> Any:
    return input


def _same_tools(tools: Any, **_: Any) -> Any:
    return tools


def _not_its_gateway(**_: Any) -> None:
    return None


# What they look for, ids of files and tools of litellm's own proxy, no request of ours has; to
# look they import the proxy's data types and an MCP client, at the first request: 0.1 s and 4 MB,
# with OpenAI's Responses 0.5 s and 30 MB.
_FOR_ITS_PROXY = (
    ("litellm.main", "update_messages_with_model_file_ids", _same_messages),
    ("litellm.responses.main", "update_responses_input_with_model_file_ids", _same_input),
    ("litellm.responses.main", "update_responses_tools_with_model_file_ids", _same_tools),
    ("litellm.responses.main", "_responses_try_dispatch_mcp_gateway", _not_its_gateway),
)


def _list_in_use() -> dict[str, Any]:
    return import_module("litellm").model_cost


_FAKE_STREAMS = (
    ("litellm.llms.openai.responses.transformation", "OpenAIResponsesAPIConfig"),
    ("litellm.llms.azure.chat.o_series_transformation", "AzureOpenAIO1Config"),
)
RESPONSES = "responses/"
OPENAI_HOST = "api.openai.com"


def unless_asked(should_fake: Callable[..., bool]) -> Callable[..., bool]:
    """Return `should_fake_stream` for requests of which we have not found out ourselves."""

    def should_fake_stream(*args: Any, **kwargs: Any) -> bool:
        exchange = CURRENT.get()
        is_streaming = exchange is not None and exchange.is_streaming
        return not is_streaming and should_fake(*args, **kwargs)

    return should_fake_stream


Bridge = Callable[..., tuple[dict[str, Any], str]]


def by_prefix(check: Bridge) -> Bridge:
    """Return litellm's choice of OpenAI's two interfaces; at one's own address, the user's."""

    def responses_api_bridge_check(
        model: str, custom_llm_provider: str, **rest: Any
    ) -> tuple[dict[str, Any], str]:
        base = rest.get("api_base") or ""
        if custom_llm_provider == "openai" and base and OPENAI_HOST not in base:
            if model.startswith(RESPONSES):
                return {"mode": "responses"}, model.removeprefix(RESPONSES)
            return {"mode": "chat"}, model
        return check(model=model, custom_llm_provider=custom_llm_provider, **rest)

    return responses_api_bridge_check


def with_folder_of_certificates(
    create: Callable[..., ssl.SSLContext],
) -> Callable[..., ssl.SSLContext]:
    """Return `create` with what SSL_CERT_DIR names, and with authorities taken that are old.

    litellm goes by SSL_CERT_FILE alone.
    """

    @functools.wraps(create)
    def created(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        context = create(*args, **kwargs)
        if folder := os.environ.get("SSL_CERT_DIR"):
            context.load_verify_locations(capath=folder)
        return accept_older(context, os.environ)

    return created


Strip = Callable[[list[Any], str], list[Any]]


def only_when_signed(strip: Strip) -> Strip:
    """Return `strip` for histories in which an id holds a signature; it copies every message."""

    def strip_if_signed(messages: list[Any], separator: str) -> list[Any]:
        exchange = CURRENT.get()
        if exchange and separator == SIGNATURE_IN_ID and not exchange.has_signed_ids:
            return list(messages)
        if any(_is_signed(message, separator) for message in messages):
            return strip(messages, separator)
        return list(messages)

    return strip_if_signed


def _is_signed(message: Any, separator: str) -> bool:
    if not isinstance(message, dict):
        return True
    calls: Sequence[Any] = message.get("tool_calls") or ()
    ids = [call.get("id") if isinstance(call, dict) else separator for call in calls]
    return any(separator in str(id_) for id_ in (*ids, message.get("tool_call_id")))

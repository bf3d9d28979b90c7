"""Asking a provider, or a server at a typed address, what models a key may use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from desktop_agent.adapters.models.json_fields import (
    Json,
    count,
    names,
    price,
    record,
    records,
    text,
    truth,
)
from desktop_agent.core.faults import Fault, FaultAction, FaultKind, ModelError
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.keys.redaction import redact
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.imports import import_httpx
from desktop_agent.core.providers import Provider, host_of

_MILLION = 1_000_000
_MAX_BYTES = 16_000_000
_MAX_WORDS = 300
# What lists hold beside models one can talk to; they don't say which is which.
_OTHER_KINDS = (
    "audio",
    "babbage",
    "dall-e",
    "davinci",
    "embed",
    "guard",
    "image",
    "imagen",
    "moderation",
    "ocr",
    "realtime",
    "rerank",
    "sora",
    "transcribe",
    "tts",
    "veo",
    "voxtral",
    "whisper",
)
_BY_STATUS: dict[int, tuple[FaultKind, FaultAction]] = {
    401: ("auth", "edit_key"),
    402: ("billing", "settings"),
    403: ("auth", "edit_key"),
    404: ("not_found", "settings"),
    429: ("rate_limit", "retry"),
    503: ("overloaded", "retry"),
    529: ("overloaded", "retry"),
}


async def list_models(provider: Provider, key: str, client: Any) -> tuple[ModelInfo, ...]:
    """Return the models the key may use. Raises ModelError with the provider's own words."""
    answer = await fetch(client, provider.models_url, _headers(provider, key), provider.title)
    match provider.dialect:
        case "gemini":
            models = _gemini_models(record(answer))
        case "anthropic" | "openai":
            models = _listed_models(answer, provider.name)
    return tuple(models)


async def list_server(
    title: str, api_base: str, key: str | None, client: Any
) -> tuple[ModelInfo, ...]:
    """Return the models of an OpenAI-compatible server at an address the user typed.

    `/v1` is added when only that is answered. Raises ModelError.
    """
    KEYS.remember(key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    base = api_base.rstrip("/")
    bases = [base] if base.endswith("/v1") else [base, f"{base}/v1"]
    failure: ModelError | None = None
    for candidate in bases:
        try:
            answer = await fetch(client, f"{candidate}/models", headers, title)
        except ModelError as error:
            failure = failure or error
            continue
        listed = _rows(answer)
        if listed:
            return tuple(_server_model(raw, title, candidate) for raw in listed)
    raise failure or ModelError(
        Fault("protocol", f"{title} answered, but not with a list of models.", "settings")
    )


async def check_provider(provider: Provider, key: str, client: Any) -> Fault | None:
    """Ask for something that needs a valid key; return what the provider said against it."""
    try:
        url = provider.check_url or provider.models_url
        await fetch(client, url, _headers(provider, key), provider.title)
    except ModelError as error:
        return error.fault
    return None


async def fetch(client: Any, url: str, headers: dict[str, str], title: str) -> Any:
    """GET some JSON. Raises ModelError; no redirect is followed, it could leak the key."""
    import_httpx()  # not before someone asks
    import httpx

    try:
        async with client.stream("GET", url, headers=headers) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    break
    except httpx.TimeoutException:
        fault = Fault("timeout", f"{title} did not answer in time.", "retry", details=url)
        raise ModelError(fault) from None
    # The group holds an OverflowError: a port that is none.
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ExceptionGroup) as error:
        words = redact(str(error)) or type(error).__name__
        host = host_of(url)
        message = f"Nothing answers at {host or url}."
        if title not in {host, url}:
            message = f"{title} can't be reached at {host or url}."
        raise ModelError(Fault("refused", message, "retry", details=words)) from None
    if response.status_code != httpx.codes.OK:
        raise ModelError(_fault(response.status_code, bytes(body), title))
    try:
        return KEYS.hide_all(msgspec.json.decode(bytes(body)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        words = f"{title} answered, but not with a list of models."
        raise ModelError(Fault("protocol", words, "settings", details=url)) from None


def _headers(provider: Provider, key: str) -> dict[str, str]:
    KEYS.remember(key)
    match provider.dialect:
        case "anthropic":
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        case "gemini":
            return {"x-goog-api-key": key}
        case "openai":
            return {"Authorization": f"Bearer {key}"}


def _fault(status: int, body: bytes, title: str) -> Fault:
    kind, action = _BY_STATUS.get(status, ("server" if status >= 500 else "bad_request", "retry"))
    words = redact(_error_text(body))
    # Gemini says 400 for a wrong key.
    if status == 400 and "api key" in words.lower():
        kind, action = "auth", "edit_key"
    message = f"{title} says: {words}" if words else f"{title} answered with status {status}."
    details = redact(body[:2000].decode("utf-8", "replace"))
    return Fault(kind, message, action, details=details, status=status)


def _error_text(body: bytes) -> str:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    error = record(answer).get("error")
    found = error if isinstance(error, str) else text(record(error), "message")
    found = found or text(record(answer), "message", "detail")
    return " ".join(found.split())[:_MAX_WORDS]


def _rows(answer: object) -> list[Json]:
    rows = records(answer if isinstance(answer, list) else record(answer).get("data"))
    return [raw for raw in rows if text(raw, "id")]


def _listed_models(answer: object, provider: str) -> Iterable[ModelInfo]:
    for raw in _rows(answer):
        if _is_chat(raw):
            yield _listed_model(raw, provider)


def _is_chat(raw: Json) -> bool:
    kind = text(raw, "type")
    if kind and kind not in {"model", "chat", "language"}:
        return False
    if raw.get("active") is False:
        return False
    capabilities = record(raw.get("capabilities"))
    if truth(capabilities, "completion_chat") is False:
        return False
    outputs = names(record(raw.get("architecture")), "output_modalities")
    if outputs is not None:
        return "text" in outputs
    return not any(word in text(raw, "id").lower() for word in _OTHER_KINDS)


def _listed_model(raw: Json, provider: str) -> ModelInfo:
    name = text(raw, "id")
    capabilities = record(raw.get("capabilities"))
    parameters = names(raw, "supported_parameters")
    inputs = names(record(raw.get("architecture")), "input_modalities")
    pricing = record(raw.get("pricing"))
    # OpenRouter: `prompt` and `completion` for a token; Together: `input`, for a million.
    return ModelInfo(
        f"{provider}/{name}",
        title=text(raw, "display_name", "name") or name,
        provider=provider,
        context_limit=_context(raw),
        has_tools=(
            truth(capabilities, "function_calling") if parameters is None else "tools" in parameters
        ),
        has_images=truth(capabilities, "vision") if inputs is None else "image" in inputs,
        input_price=_first(
            price(pricing, "prompt", scale=_MILLION), price(pricing, "input", scale=1)
        ),
        output_price=_first(
            price(pricing, "completion", scale=_MILLION), price(pricing, "output", scale=1)
        ),
    )


def _server_model(raw: Json, title: str, api_base: str) -> ModelInfo:
    name = text(raw, "id")
    file = name.removesuffix(".gguf")  # of llama.cpp, with its whole path
    return ModelInfo(
        f"openai/{name}",
        title=name if file == name else file.rpartition("/")[2],
        provider=title,
        api_base=api_base,
        context_limit=_context(raw),
    )


def _context(raw: Json) -> int | None:
    return count(
        raw,
        "context_length",
        "context_window",
        "max_context_length",
        "max_model_len",
        "max_input_tokens",
    )


def _gemini_models(answer: Json) -> Iterable[ModelInfo]:
    for raw in records(answer.get("models")):
        name = text(raw, "name").removeprefix("models/")
        methods = names(raw, "supportedGenerationMethods") or []
        if "generateContent" not in methods or any(word in name for word in _OTHER_KINDS):
            continue
        yield ModelInfo(
            f"gemini/{name}",
            title=text(raw, "displayName") or name,
            provider="gemini",
            context_limit=count(raw, "inputTokenLimit"),
        )


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)

"""Tokens and money of an answer: what the provider said, and litellm's own price list."""

from __future__ import annotations

from typing import Any

import msgspec

from desktop_agent.core.usage import Usage
from desktop_agent.model_host.litellm_client.exchange import Exchange


def usage_of(response: Any) -> Any:
    """Return litellm's usage value as it came with a chunk, or None."""
    chunks = getattr(response, "chunks", None)
    for chunk in reversed(chunks or ()):
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            return usage
    return getattr(response, "usage", None)


def read_usage(response: Any, exchange: Exchange) -> Usage:
    """Return the counts the provider sent; litellm's own guesses stay unknown."""
    usage = usage_of(response)
    if usage is None or (exchange.is_stream and not exchange.has_usage):
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        _count(getattr(usage, "prompt_tokens", None)),
        _count(getattr(usage, "completion_tokens", None)),
        _count(getattr(details, "cached_tokens", None)),
    )


def cost_of(litellm: Any, model: str, usage: Usage) -> Usage:
    """Add the cost when the model's price is known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage
    prices = price_entry(litellm.model_cost, model)
    cost = price(prices, usage) if prices else None
    return msgspec.structs.replace(usage, cost=cost)


def price_entry(prices: dict[str, Any], model: str) -> dict[str, Any] | None:
    """Find a model in litellm's price list, with or without its provider's name."""
    plain = model.replace("openai/responses/", "openai/", 1)
    for name in (plain, plain.partition("/")[2]):
        entry = prices.get(name)
        if isinstance(entry, dict) and _owns(entry, plain):
            return entry
    return None


def _owns(entry: dict[str, Any], model: str) -> bool:
    """A server of one's own may offer a model of a known name: `ollama/x` is not `x`."""
    provider = model.partition("/")[0] if "/" in model else ""
    owner = str(entry.get("litellm_provider", ""))
    return not provider or owner.startswith(provider) or provider == "vertex_ai"


def price(entry: dict[str, Any], usage: Usage) -> float | None:
    """Return the cost in dollars; None when the list has no price."""
    per_input = entry.get("input_cost_per_token")
    per_output = entry.get("output_cost_per_token")
    if per_input is None or per_output is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens or 0)
    per_cached = entry.get("cache_read_input_token_cost")
    per_cached = per_input if per_cached is None else per_cached
    fresh = (usage.input_tokens or 0) - cached
    cost = fresh * per_input + cached * per_cached + (usage.output_tokens or 0) * per_output
    return float(cost)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None

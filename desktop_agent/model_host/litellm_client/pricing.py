"""Tokens and money of an answer: what the provider said, at litellm's prices."""

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
    """Return the counts the provider sent; litellm's own guesses stay unknown.

    So does a 0, which litellm says where nothing was sent: no request and no answer is empty.
    """
    usage = usage_of(response)
    if usage is None or (exchange.is_stream and not exchange.has_usage):
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        _count(getattr(usage, "prompt_tokens", None)) or None,
        _count(getattr(usage, "completion_tokens", None)) or None,
        _count(getattr(details, "cached_tokens", None)),
    )


def with_cost(litellm: Any, model: str, response: Any, usage: Usage) -> Usage:
    """Add the cost, by litellm's own reckoning, when the model's price is known.

    It knows what reading and writing a provider's cache costs, and prices that change with the
    length of the prompt, the time of day or the kind of tokens.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage
    name = _plain(model)
    entry = price_entry(litellm.model_cost, name)
    if entry is None or not is_priced(entry):
        return usage  # litellm would say that it costs nothing
    provider = name.partition("/")[0] if "/" in name else entry.get("litellm_provider")
    try:
        cost = litellm.cost_per_token(
            model=name, custom_llm_provider=provider, usage_object=usage_of(response)
        )
    except Exception:  # noqa: BLE001  (litellm raises anything; an unknown cost is not nothing)
        return usage
    return msgspec.structs.replace(usage, cost=float(sum(cost)))


def price_entry(prices: dict[str, Any], model: str) -> dict[str, Any] | None:
    """Find a model in litellm's price list, with or without its provider's name."""
    plain = _plain(model)
    for name in (plain, plain.partition("/")[2]):
        entry = prices.get(name)
        if isinstance(entry, dict) and _owns(entry, plain):
            return entry
    return None


def token_prices(entry: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the dollars for one token in and out, the least where it depends on the length."""
    tiers = entry.get("tiered_pricing")
    first = tiers[0] if isinstance(tiers, list) and tiers else {}
    found = (
        entry.get(name, first.get(name))
        for name in ("input_cost_per_token", "output_cost_per_token")
    )
    read, write = (price if isinstance(price, int | float) else None for price in found)
    return read, write


def is_priced(entry: dict[str, Any]) -> bool:
    """Whether the list says what a model's tokens cost; 0 is a price too."""
    return None not in token_prices(entry)


def _plain(model: str) -> str:
    return model.replace("openai/responses/", "openai/", 1)


def _owns(entry: dict[str, Any], model: str) -> bool:
    """A server of one's own may offer a model of a known name: `ollama/x` is not `x`."""
    provider = model.partition("/")[0] if "/" in model else ""
    owner = str(entry.get("litellm_provider", ""))
    return not provider or owner.startswith(provider) or provider == "vertex_ai"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None

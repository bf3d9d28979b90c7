"""What is known offline about models, out of litellm's price list, without importing litellm."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.model_host.litellm_client.pricing import price_entry, token_prices

_LIST_NAME = "model_prices_and_context_window_backup.json"
_CHAT_MODES = frozenset({"chat", "responses"})


@functools.cache
def price_list() -> dict[str, Any]:
    """Return litellm's own list; empty when the file is not where it was."""
    spec = importlib.util.find_spec("litellm")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        path = Path(place) / _LIST_NAME
        if path.is_file():
            return json.loads(path.read_bytes())
    return {}


@functools.cache
def models() -> tuple[ModelInfo, ...]:
    """Return every chat model that litellm knows, by name."""
    found: dict[str, ModelInfo] = {}
    for name, entry in price_list().items():
        if isinstance(entry, dict) and entry.get("mode") in _CHAT_MODES:
            info = _info(_full_name(name, entry), entry)
            found[info.name] = info
    return tuple(found[name] for name in sorted(found))


def model_info(model: str) -> ModelInfo | None:
    """Return what is known of one model; None when it is not in the list."""
    if model == DEMO_MODEL:
        return ModelInfo(
            DEMO_MODEL, "Demo", has_tools=True, has_images=False, input_price=0.0, output_price=0.0
        )
    entry = price_entry(price_list(), model)
    return None if entry is None else _info(model, entry)


def _full_name(name: str, entry: dict[str, Any]) -> str:
    provider = str(entry.get("litellm_provider", ""))
    if entry.get("mode") == "responses" and provider == "openai":
        return f"openai/responses/{name.removeprefix('openai/')}"
    if not provider or "/" in name:
        return name
    family = next((p for p in ("vertex_ai", "bedrock") if provider.startswith(p)), provider)
    return f"{family}/{name}"


def _info(name: str, entry: dict[str, Any]) -> ModelInfo:
    read, write = token_prices(entry)
    limit = entry.get("max_input_tokens") or entry.get("max_tokens")
    return ModelInfo(
        name,
        title=name.rpartition("/")[2],
        provider=name.partition("/")[0] if "/" in name else str(entry.get("litellm_provider", "")),
        context_limit=int(limit) if isinstance(limit, int | float) else None,
        has_tools=bool(entry.get("supports_function_calling", False)),
        has_images=bool(entry.get("supports_vision", False)),
        input_price=_per_million(read),
        output_price=_per_million(write),
    )


def _per_million(price: float | None) -> float | None:
    return None if price is None else round(price * 1_000_000, 6)

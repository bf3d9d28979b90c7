"""Models in words and in order: what the picker, the first run and the settings say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.providers import provider_title

translate = QCoreApplication.translate

# Models of a provider that can't do an agent's work, whatever the list says of tools.
_OTHER_WORK = re.compile(
    r"embed|tts|whisper|audio|realtime|image|dall-e|sora|veo|moderation|transcri|rerank|guard"
    r"|ocr|babbage|davinci|instruct-0914",
    re.IGNORECASE,
)
_DEAR = 6.0


def model_title(model: ModelInfo) -> str:
    """Return the model's name for people."""
    return model.title or own_name(model.name)


def own_name(name: str) -> str:
    """Return what a model of this name is called, while no more is known of it."""
    if name == DEMO_MODEL:
        return translate("Models", "Demo")
    return name.rpartition("/")[2].removesuffix(".gguf")


def model_group(model: ModelInfo) -> str:
    """Return what the model is listed under: its server, or its provider."""
    if model.api_base:
        return provider_title(model.provider) if model.provider else model.api_base
    return provider_title(model.provider or model.name.partition("/")[0])


def count_text(count: int) -> str:
    """Return a number of models in words."""
    if count == 1:
        return translate("Models", "1 model")
    return translate("Models", "{count} models").format(count=count)


def short_count(count: int) -> str:
    """Return a number of tokens such as `200k` or `1M`."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{round(count / 1000)}k" if count >= 1000 else str(count)


def model_hints(model: ModelInfo) -> str:
    """Return context and price in a few words; what is unknown is left out."""
    words: list[str] = []
    if model.context_limit:
        context = translate("Models", "{count} context")
        words.append(context.format(count=short_count(model.context_limit)))
    if model.input_price or model.output_price:
        price = translate("Models", "${read} in, ${write} out per million tokens")
        words.append(
            price.format(read=_dollars(model.input_price), write=_dollars(model.output_price))
        )
    elif model.input_price == 0 and not model.note:
        words.append(translate("Models", "free"))
    if model.note:
        words.append(model.note)
    return " · ".join(words)


def _dollars(price: float | None) -> str:
    if price is None:
        return "?"
    return f"{price:.2f}".removesuffix("0").removesuffix(".0") if price >= 0.1 else f"{price:.3g}"


def can_work(model: ModelInfo) -> bool:
    """Whether the model may be offered unasked: it is not known to lack tool calls."""
    return model.has_tools is not False and not _OTHER_WORK.search(model.name)


def best_model(models: Iterable[ModelInfo]) -> ModelInfo | None:
    """Return the one to offer: calls tools, then large context, then able but not the dearest."""
    fitting = [model for model in models if can_work(model)]
    return max(fitting, key=_worth, default=None)


def _worth(model: ModelInfo) -> tuple[bool, bool, float, int]:
    price = model.input_price or 0.0
    return (
        model.has_tools is True,
        (model.context_limit or 0) >= 30_000,
        price if price <= _DEAR else -price,
        model.context_limit or 0,
    )

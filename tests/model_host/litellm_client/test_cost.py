"""What an answer costs: what the provider counts, at the prices it has for each kind of token."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from desktop_agent.model_host.litellm_client.price_list import model_info, price_list
from tests.helpers.providers import Counts, DialectName, LoopbackProvider, Say
from tests.model_host.conftest import Ask

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG = 300_000


def entry(name: str) -> dict[str, float]:
    """Return a model's prices for one token, as litellm's own list has them."""
    return {key: price for key, price in price_list()[name].items() if "cost" in key}


async def cost(ask: Ask, dialect: DialectName, name: str, **counts: int) -> float | None:
    told = Counts(**(asdict(Counts(cached=0)) | counts))
    with LoopbackProvider(dialect, [[told, Say("Hi")]], name=name) as provider:
        usage = (await ask(provider)).answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (told.input, told.output)
    return usage.cost


async def test_what_is_written_to_the_providers_cache_costs_more(ask: Ask) -> None:
    name = "claude-sonnet-4-5"
    price = entry(name)
    counts = {"input": 10_000, "cached": 3_000, "written": 2_000, "written_1h": 1_000}
    paid = await cost(ask, "anthropic", name, **counts)
    assert price["cache_creation_input_token_cost"] > price["input_cost_per_token"]
    assert paid == pytest.approx(
        4_000 * price["input_cost_per_token"]
        + 3_000 * price["cache_read_input_token_cost"]
        + 2_000 * price["cache_creation_input_token_cost"]
        + 1_000 * price["cache_creation_input_token_cost_above_1hr"]
        + 20 * price["output_cost_per_token"]
    )


@pytest.mark.parametrize(
    ("dialect", "name", "above"),
    [("gemini", "gemini-2.5-pro", "200k"), ("responses", "gpt-5.6", "272k")],
)
async def test_a_long_prompt_costs_more_a_token(dialect, name, above, ask: Ask) -> None:
    price = entry(f"gemini/{name}" if dialect == "gemini" else name)
    paid = await cost(ask, dialect, name, input=LONG, cached=10_000)
    assert price[f"input_cost_per_token_above_{above}_tokens"] > price["input_cost_per_token"]
    assert paid == pytest.approx(
        (LONG - 10_000) * price[f"input_cost_per_token_above_{above}_tokens"]
        + 10_000 * price[f"cache_read_input_token_cost_above_{above}_tokens"]
        + 20 * price[f"output_cost_per_token_above_{above}_tokens"]
    )


@pytest.mark.parametrize("dialect", ["openai", "responses"])
async def test_what_was_read_from_the_cache_costs_less(dialect, ask: Ask) -> None:
    price = entry("gpt-4o")
    paid = await cost(ask, dialect, "gpt-4o", input=1_000, cached=600)
    assert paid == pytest.approx(
        400 * price["input_cost_per_token"]
        + 600 * price["cache_read_input_token_cost"]
        + 20 * price["output_cost_per_token"]
    )


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini", "ollama"])
async def test_an_unknown_price_is_not_nothing(dialect, ask: Ask) -> None:
    for _ in range(2):  # after the first request litellm has heard of it
        assert await cost(ask, dialect, "of-my-own") is None
    assert model_info(f"{dialect}/of-my-own") is None


async def test_a_price_that_depends_on_the_length_is_a_known_price() -> None:
    tiered = [name for name, one in price_list().items() if "tiered_pricing" in one]
    known = [info for name in tiered if (info := model_info(name)) is not None]
    assert any(info.input_price and info.output_price for info in known)

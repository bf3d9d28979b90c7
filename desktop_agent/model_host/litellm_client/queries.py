"""The query that needs litellm itself."""

from __future__ import annotations

import asyncio
from typing import Any

from desktop_agent.core.faults import Fault
from desktop_agent.core.requests import Limits
from desktop_agent.model_host.litellm_client import faults
from desktop_agent.model_host.litellm_client.exchange import CURRENT, Exchange
from desktop_agent.model_host.litellm_client.model import address, make_known, missing_key

_CHECK_TOKENS = 16  # the least that every provider accepts


async def check_key(
    litellm: Any, model: str, api_base: str = "", key: str = "", limit_s: float = 30.0
) -> Fault | None:
    """Make the cheapest real request; None when the provider answered it."""
    fault = missing_key(model, api_base, key)
    if fault is not None:
        return fault
    clock = asyncio.timeout(limit_s)
    exchange = Exchange(Limits(connect_s=min(10.0, limit_s), idle_s=limit_s), clock)
    token = CURRENT.set(exchange)
    try:
        async with clock:
            make_known(litellm, model)
            await litellm.acompletion(
                messages=[{"role": "user", "content": "Hi"}],
                max_tokens=_CHECK_TOKENS,
                num_retries=0,
                max_retries=0,
                **address(model, api_base, key),
            )
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the answer)
        if exchange.clock.expired():
            return faults.too_slow(
                exchange, f"The provider did not answer within {limit_s:g} s."
            ).fault
        return faults.explain(error, exchange).fault
    finally:
        CURRENT.reset(token)
    return None

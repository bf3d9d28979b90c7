"""What an outpost asks for is answered, whatever happens here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from desktop_agent.adapters.places.home_model import HomeModel, HomeServices
from desktop_agent.core.ids import new_agent_id
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.pipes import host_pipe
from desktop_agent.core.requests import ModelRequest


class _Broken:
    async def stream(self, _: ModelRequest) -> AsyncIterator[Any]:
        raise AttributeError("a defect")
        yield


async def _admit(request: ModelRequest) -> ModelRequest:
    return request


async def _describe(_: str) -> ModelInfo | None:
    raise AttributeError("a defect")


async def test_a_defect_here_is_told_there_instead_of_leaving_the_agent_waiting() -> None:
    told: asyncio.Queue[host_pipe.FromHost] = asyncio.Queue()
    model: Any = _Broken()
    home = HomeModel(HomeServices(model, _admit, _describe, lambda _: None), told.put_nowait)
    home.take(host_pipe.StreamStarted(1, ModelRequest(new_agent_id(), "m", "", ()), 0))
    failed = await told.get()
    assert isinstance(failed, host_pipe.StreamFailed)
    assert (failed.id, failed.fault.kind) == (1, "internal")
    assert failed.fault.details == "AttributeError", "its words may hold a key"
    home.take(host_pipe.CallMade(2, "model_info", {"model": "m"}))
    answer = await told.get()
    assert isinstance(answer, host_pipe.CallFailed)
    assert answer.id == 2

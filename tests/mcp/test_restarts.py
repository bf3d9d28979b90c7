"""When a server is started again: after pauses that grow, in time that only the loop passes."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from desktop_agent.core.mcp import McpError, McpOffer, McpServer, McpTool
from desktop_agent.engine.mcp import instance
from desktop_agent.engine.mcp.instance import Instance
from desktop_agent.engine.mcp.ports import Launch, Listener
from tests.helpers.scripted import Waits, says
from tests.mcp.rig import McpRig

_OFFER = McpOffer((McpTool("look"),))


class _Clock(selectors.DefaultSelector):
    """Passes the time that a loop would wait for."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found and timeout:
            self.now += timeout
        return found


class _Connection:
    """Takes so long to end."""

    def __init__(self, still_open: set[Any], ends_in_s: float) -> None:
        self._still_open = still_open
        self._ends_in_s = ends_in_s
        still_open.add(self)

    def log(self, most: int) -> tuple[()]:
        return ()

    async def close(self) -> None:
        await asyncio.sleep(self._ends_in_s)
        self._still_open.discard(self)


class _Server:
    """Runs so many seconds at each start; None: it can't even begin. At last it runs on."""

    def __init__(self, *runs: float | None, ends_in_s: float = 1.0) -> None:
        self.starts: list[float] = []
        self.still_open: set[Any] = set()
        self._runs: Iterator[float | None] = iter(runs)
        self.is_done = asyncio.Event()
        self._ends_in_s = ends_in_s

    async def connect(self, launch: Launch, listener: Listener) -> Any:
        loop = asyncio.get_running_loop()
        self.starts.append(loop.time())
        runs_s = next(self._runs, -1.0)
        if runs_s is None:
            raise McpError("It ended with exit code 3.")
        loop.call_soon(listener.listed, _OFFER)
        if runs_s < 0:
            loop.call_soon(self.is_done.set)
        else:
            loop.call_later(runs_s, listener.ended, "It was ended.", False)
        return _Connection(self.still_open, self._ends_in_s)

    async def close(self) -> None:
        pass

    @property
    def pauses(self) -> list[float]:
        return [round(after - before, 3) for before, after in pairwise(self.starts)]


def _in_passing_time(work: Coroutine[Any, Any, None], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    loop = asyncio.SelectorEventLoop(clock)
    monkeypatch.setattr(loop, "time", lambda: clock.now)
    monkeypatch.setattr(instance, "time", SimpleNamespace(time=loop.time))
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


def _started(server: _Server) -> Instance:
    async def prepare(configured: McpServer) -> Launch:
        return Launch(configured, "/")

    one = Instance(McpServer("one", "one"), server, prepare, lambda: None, lambda _: None)
    one.start()
    return one


def test_a_server_that_worked_is_started_again_after_pauses_that_grow_up_to_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        server = _Server(*[0.0] * 9)
        one = _started(server)
        await server.is_done.wait()
        assert server.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert one.state.phase == "running"
        await one.close()

    _in_passing_time(work(), monkeypatch)


def test_a_server_that_ran_for_long_is_back_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        server = _Server(0.0, 0.0, 0.0, 100.0, 0.0)
        one = _started(server)
        await server.is_done.wait()
        assert server.pauses == [1, 2, 4, 101, 1]
        await one.close()

    _in_passing_time(work(), monkeypatch)


def test_a_server_that_never_worked_is_left_alone_after_five_tries_until_it_is_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        server = _Server(*[None] * 5)
        one = _started(server)
        await asyncio.sleep(3600)
        assert server.pauses == [1, 2, 4, 8]
        assert one.state.phase == "failed"
        await one.restart()
        await server.is_done.wait()
        assert len(server.starts) == 6
        await one.close()

    _in_passing_time(work(), monkeypatch)


async def _running() -> tuple[_Server, Instance]:
    server = _Server()
    one = _started(server)
    await server.is_done.wait()
    return server, one


def test_a_server_that_is_restarted_twice_at_once_runs_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        server, one = await _running()
        await asyncio.gather(one.restart(), one.restart())
        await asyncio.sleep(10)
        assert len(server.still_open) == 1
        await one.close()
        assert not server.still_open

    _in_passing_time(work(), monkeypatch)


def test_a_server_that_is_taken_away_while_it_restarts_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        server, one = await _running()
        await asyncio.gather(one.restart(), one.close())
        await asyncio.sleep(10)
        assert not server.still_open

    _in_passing_time(work(), monkeypatch)


def test_a_call_that_waits_for_the_start_of_a_server_ends_when_that_is_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(configured: McpServer) -> Launch:
        await asyncio.Event().wait()
        return Launch(configured, "/")

    async def work() -> None:
        server = McpServer("one", "one")
        one = Instance(server, _Server(), never, lambda: None, lambda _: None)
        call = asyncio.ensure_future(one.connected())
        await asyncio.sleep(1)
        await one.close()
        async with asyncio.timeout(60):
            with pytest.raises(McpError, match="does not run"):
                await call

    _in_passing_time(work(), monkeypatch)


async def test_a_folder_that_is_worked_in_keeps_its_server_however_many_others_are_looked_at(
    tmp_path: Path,
) -> None:
    held = Waits(asyncio.Event(), answer=says("done"))
    server = _Server(ends_in_s=0.0)
    rig = McpRig(tmp_path, held, servers=[McpServer("one", "one")], connector=server)
    try:
        rig.send("work")
        await held.reached.wait()
        for number in range(9):
            rig.engine.watch_mcp(str(tmp_path / str(number)))
        rig.engine.list_mcp(rig.root)
        assert rig.states()["one"].phase == "running", "the agent was to use it"
        held.gate.set()
        await rig.at_rest()
    finally:
        await rig.engine.close()

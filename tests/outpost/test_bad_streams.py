"""Places that say what is not the protocol, and folders and changes that are too much for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from desktop_agent.core.pipes.frames import LENGTH_BYTES
from desktop_agent.core.pipes.outpost_pipe import MARK
from tests.engine.tree.tree_rig import WAIT
from tests.helpers.scripted import says
from tests.outpost.test_far_agents import SPAWN, FarRig, pytestmark

__all__ = ["pytestmark"]


@pytest.fixture
async def closing() -> AsyncIterator[list[FarRig]]:
    rigs: list[FarRig] = []
    yield rigs
    for rig in rigs:
        await rig.engine.close()


@pytest.mark.parametrize("body", [b"\x81\xa1a\xa1\xff", b"\x81\xa1a" + b"\x91" * 100_000])
async def test_a_place_that_greets_with_garbage_is_not_waited_for_for_ever(
    tmp_path: Path, closing: list[FarRig], body: bytes
) -> None:
    greeting = tmp_path / "greeting"
    greeting.write_bytes(MARK + len(body).to_bytes(LENGTH_BYTES, "big") + body)
    command = f"sh -c 'cat {greeting}; sleep 3600'"
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("I see.")], [], command=command)
    closing.append(rig)
    end = await rig.ended(await rig.begun())
    assert end.status == "failed"
    assert end.text.startswith("box can't be reached: a frame can't be read")

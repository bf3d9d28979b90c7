"""What is loaded behind the scenes while a person writes: its failure has somebody who sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from desktop_agent.core.events import EngineFailed
from desktop_agent.core.tool import Tool
from tests.engine.rig import Rig
from tests.helpers.scripted import says


class LateRig(Rig):
    """Its tools can't be loaded before the trouble is over."""

    trouble: Exception | None = ImportError("a part is missing")

    def _tools(self):
        tools = super()._tools()

        def load() -> Sequence[Tool]:
            if self.trouble is not None:
                raise self.trouble
            return tools

        return load


async def test_tools_that_could_not_be_loaded_are_told_at_once_and_tried_again(tmp_path: Path):
    rig = LateRig(tmp_path, says("Hello"))
    rig.engine.get_ready()
    told = await rig.until(EngineFailed)
    assert told.message == "The tools could not be loaded: a part is missing"
    rig.engine.get_ready()
    await rig.until(EngineFailed, 2)
    rig.trouble = None
    rig.engine.get_ready()
    ended = await rig.run("Hi")
    assert ended.reason == "finished"
    assert len(rig.of(EngineFailed)) == 2

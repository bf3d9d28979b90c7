"""The program that gives a stream to a place leaves nothing open, however it is ended."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from desktop_agent.adapters.places import stream


def test_who_is_cancelled_while_the_program_ends_leaves_no_pipe_open() -> None:
    """As a place that is closed while its stream is begun again."""

    async def cancelled() -> None:
        process = await stream.begin(sys.executable, "-c", "import time; time.sleep(1000)")
        ending = asyncio.create_task(stream.end(process))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending

    asyncio.run(cancelled())
    gc.collect()  # complains of what is open

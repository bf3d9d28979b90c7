"""Runs one trial and prints what it found as JSON: as whoever starts it.

`python -m tests.adapters.sandbox.trial NAME FOLDER`; the folder holds a home and is the user's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.adapters.sandbox import stage
from tests.adapters.sandbox.bench import Bench


async def escapes(folder: Path) -> dict[str, Any]:
    """Make every attempt outside, inside, and inside with git's own files open."""
    bench = Bench(folder)
    with stage.staged(bench) as what:
        free = stage.free_attempts(bench, what)
        inside = await stage.enclosed_attempts(bench, what, git=False)
        with_git = await stage.enclosed_attempts(bench, what, git=True)
    await bench.close()
    return {"free": free, "inside": inside, "with git": with_git}


TRIALS: dict[str, Callable[[Path], Awaitable[Any]]] = {"escapes": escapes}


def main(name: str, folder: str) -> None:
    json.dump(asyncio.run(TRIALS[name](Path(folder))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

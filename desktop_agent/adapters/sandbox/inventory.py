"""What is in the sandbox, for the person to look at: toolchains that are seen, private caches."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from desktop_agent.adapters.sandbox.mounts import Mounts
from desktop_agent.adapters.sandbox.private_caches import PrivateCaches
from desktop_agent.adapters.sandbox.visible import Homes
from desktop_agent.core.sandbox import SandboxContents


class Inventory:
    """Looks at the disk, in threads. `caches` is the folder that holds them."""

    def __init__(self, caches: Path) -> None:
        self._caches = PrivateCaches(caches)

    async def contents(self, root: str) -> SandboxContents:
        """Return what commands of a session in `root` would see, and every private cache."""
        if sys.platform != "linux":
            return SandboxContents()
        return await asyncio.to_thread(self._contents, root)

    async def empty_cache(self, cache_id: str) -> None:
        """Delete what is in a private cache; an id that is none is ignored."""
        await asyncio.to_thread(self._caches.empty, cache_id)

    def _contents(self, root: str) -> SandboxContents:
        mounts = Mounts()
        homes = Homes(os.environ, (root,) if root else ())
        homes.hide(mounts)
        homes.show_programs(mounts)
        return SandboxContents(mounts.shown(), self._caches.found())

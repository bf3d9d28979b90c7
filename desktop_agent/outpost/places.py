"""Where jobs run: what every place can do, and this computer as one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from desktop_agent import paths
from desktop_agent.adapters.places.git_copy import GitStore
from desktop_agent.compose import users_rules
from desktop_agent.core.approvals import Rule
from desktop_agent.core.usage import Usage
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.runner import Ended, Runner


class Place(Protocol):
    """Where jobs run, each in a copy of its folder."""

    name: str

    async def run(
        self, key: str, job: Job, store: GitStore, commit: str, cost_left: float | None
    ) -> tuple[Ended, str]:
        """Follow one job to its end; return that, and what it changed as a patch."""
        ...

    def kept(self, key: str) -> None:
        """The result of a job is on disk here."""
        ...

    def stop(self) -> None:
        """Interrupt every job that runs; a second time, don't wait for them either."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


class ThisComputer:
    """Jobs as sessions of one engine in this process; `folder` is ours alone."""

    name = "local"

    def __init__(self, folder: Path, used: Callable[[Usage], None]) -> None:
        self._copies = folder / "copies"
        self._copies.mkdir(mode=0o700)
        self._runner = Runner(folder, used)

    async def run(
        self, key: str, job: Job, store: GitStore, commit: str, cost_left: float | None
    ) -> tuple[Ended, str]:
        """Follow one job to its end in a copy of its folder, which is deleted then."""
        copy = self._copies / key / Path(job.workspace).name
        try:
            copy.parent.mkdir()
            await asyncio.to_thread(store.copy, commit, copy)
            ended = await self._runner.run(job.options(copy), cost_left, refusals(job.workspace))
            return ended, await asyncio.to_thread(store.patch, commit, copy)
        finally:
            await asyncio.to_thread(shutil.rmtree, copy.parent, ignore_errors=True)

    def kept(self, key: str) -> None:
        """Nothing is left of it here."""

    def stop(self) -> None:
        """Interrupt every job that runs."""
        self._runner.stop()

    async def close(self) -> None:
        """End the engine."""
        await self._runner.close()


def refusals(folder: str, *, is_elsewhere: bool = False) -> Sequence[Rule]:
    """Return the rules that refuse in a folder, and so in its copy.

    Those that refuse everywhere hold on this computer anyhow; a copy elsewhere has none of them.
    """
    here = {("folder", folder), *([("everywhere", "")] if is_elsewhere else [])}
    rules = users_rules(paths.data_dir())
    return [one for one in rules if one.is_deny and (one.scope, one.where) in here]

"""What a test of a place wants to know of this computer."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess

import msgspec

from desktop_agent import __version__, paths
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from desktop_agent.core.pipes.outpost_pipe import PROTOCOL, About
from desktop_agent.engine.workspace.programs import find_program
from desktop_agent.outpost.ray_cluster import NoCluster, join


def about_this(*, has_ray: bool) -> About:
    """Look, and start nothing that stays; with Ray, at the cluster too."""
    here = asyncio.run(_about_this())
    if not has_ray:
        return here
    try:
        return msgspec.structs.replace(here, cluster=join().words)
    except NoCluster as error:
        return msgspec.structs.replace(here, no_cluster=str(error))


async def _about_this() -> About:
    sandbox = await BubblewrapSandbox(paths.data_dir()).check()
    system = f"{platform.system()} {platform.machine()}"
    reason = "" if sandbox.holds else sandbox.reason
    return About(PROTOCOL, __version__, system, os.cpu_count() or 0, _git(), reason)


def _git() -> str:
    program = find_program("git")
    if not program:
        return ""
    asked = [program, "--version"]
    told = subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return told.stdout.decode("utf-8", "replace").removeprefix("git version").strip()

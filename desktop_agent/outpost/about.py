"""What a test of a place wants to know of this computer."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess

from desktop_agent import __version__, paths
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from desktop_agent.core.pipes.outpost_pipe import PROTOCOL, About


async def about_this() -> About:
    """Look, and start nothing that stays."""
    sandbox = await BubblewrapSandbox(paths.data_dir()).check()
    system = f"{platform.system()} {platform.machine()}"
    reason = "" if sandbox.holds else sandbox.reason
    return About(PROTOCOL, __version__, system, os.cpu_count() or 0, _git(), reason)


def _git() -> str:
    program = shutil.which("git")
    if program is None:
        return ""
    asked = [program, "--version"]
    told = subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return told.stdout.decode("utf-8", "replace").removeprefix("git version").strip()

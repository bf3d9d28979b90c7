"""Runs the checks one after the other, and tells a line for each."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from desktop_agent import paths
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.core.events import Event
from desktop_agent.gui.bridge.backend import Backend
from desktop_agent.self_check import parts
from desktop_agent.self_check.dialects import DIALECTS
from desktop_agent.self_check.engine import EngineCheck
from desktop_agent.self_check.parts import CheckFailed

_STILL: tuple[tuple[str, Callable[[Path], str]], ...] = (
    ("resources", parts.resources),
    ("skills", parts.skills),
    ("scripts", parts.scripts),
    ("sessions", parts.sessions),
    ("secrets", parts.secrets),
    ("certificates", parts.certificates),
    ("documents", parts.documents),
)
_MADE_BY_DEMO = "OVERVIEW.md"

Say = Callable[[str], None]
Compose = Callable[[Callable[[Event], None]], Awaitable[Backend]]


class SelfCheck:
    """What was checked so far; `exit_code` is 0 as long as all of it worked."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.exit_code = 0

    def check(self, name: str, job: Callable[[], str]) -> None:
        """Do one check, and say how it went."""
        started = time.monotonic()
        try:
            words = job()
        except Exception as error:  # noqa: BLE001 - whatever fails is a line; the rest goes on
            self.exit_code = 1
            why = str(error) if isinstance(error, CheckFailed) else repr(error)
            self._say(f"FAILED  {name:<16} {why}")
            return
        self._say(f"ok      {name:<16} {words} ({time.monotonic() - started:.1f} s)")


def run(compose: Compose, say: Say) -> int:
    """Check everything in a folder of its own, without display or network; 0 if all works."""
    whole = SelfCheck(say)
    with temporary_folder("desktop-agent-") as home:
        place = home.resolve()
        os.environ["DESKTOP_AGENT_HOME"] = str(place / "home")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        for name, check in _STILL:
            whole.check(name, functools.partial(check, place))
        _check_engine(whole, place)
        whole.check("window", lambda: _demo(compose, place))
    say("Everything works." if whole.exit_code == 0 else "Not everything works.")
    return whole.exit_code


def _check_engine(whole: SelfCheck, place: Path) -> None:
    engine = EngineCheck(place)
    with asyncio.Runner() as runner:
        whole.check("engine and host", lambda: runner.run(engine.model_host()))
        for dialect in DIALECTS:
            job = functools.partial(engine.dialect, dialect)
            whole.check(dialect.title, lambda job=job: runner.run(job()))
        whole.check("file history", lambda: runner.run(engine.file_history()))
        whole.check("MCP", lambda: runner.run(engine.servers()))
        whole.check("sandbox", lambda: runner.run(engine.sandbox()))
        whole.check("providers", lambda: runner.run(engine.providers()))
        runner.run(engine.close())


def _demo(compose: Compose, place: Path) -> str:
    """Let the demo do its job in the real window, as `--demo-run` does."""
    from desktop_agent.gui.startup.demo_run import run_demo

    folder = place / "garden"
    shutil.copytree(paths.resource("demo"), folder)
    said: list[str] = []
    if run_demo(compose, folder, place / "window.png", said.append):
        raise CheckFailed("; ".join(said[-3:]) or "it did not come up")
    if not (folder / _MADE_BY_DEMO).is_file():
        raise CheckFailed(f"the demo did not write {_MADE_BY_DEMO}")
    if not (place / "window.png").stat().st_size:
        raise CheckFailed("there is no picture of it")
    return f"the demo's job was done in {sum(line.startswith('  ') for line in said)} steps"

"""A sandbox with a folder to work in, in which trials run real commands."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary, Enclosure
from desktop_agent.core.workspace import OwnPlaces, Workspace

SHELL = ("bash", "--noprofile", "--norc", "-c")
HANG_S = 300


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended: its exit code, its output, and what was put right after it."""

    code: int
    output: str
    lines: tuple[str, ...] = ()
    has_started: bool = True


class Bench:
    """`folder` holds the home, the app's data, and the folder that is worked in."""

    def __init__(self, folder: Path, *, sandbox: BubblewrapSandbox | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.work = self.folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.sandbox = sandbox or BubblewrapSandbox(self.data)
        self.session = SessionId("trial")
        self.own = OwnPlaces()
        # The tests' own Python, wherever it lies.
        self.readable: tuple[str, ...] = tuple(
            dict.fromkeys(map(os.path.realpath, (sys.prefix, Path(pytest.__file__).parents[1])))
        )

    def boundary(self, *, changes: bool = True, git: bool = False) -> Boundary:
        folders = Workspace(str(self.work), self.readable)
        return Boundary(
            self.session, folders, self.own, is_changing=changes, is_git_writable=git
        )  # fmt: skip

    async def start(
        self,
        command: str | Sequence[str],
        *,
        changes: bool = True,
        git: bool = False,
        directory: Path | None = None,
        more: Mapping[str, str] | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> tuple[subprocess.Popen[bytes], Enclosure]:
        """Start a command as the shell tool does: with what the enclosure says, and no more.

        `meanwhile` is done when all is prepared, and nothing started.
        """
        where = str(directory or self.work)
        environment = command_environment() | dict(more or {})
        boundary = self.boundary(changes=changes, git=git)
        enclosure = await self.sandbox.enclose(boundary, where, environment)
        words = [*SHELL, command] if isinstance(command, str) else list(command)
        meanwhile()
        process = subprocess.Popen(
            [*enclosure.words, *words],
            cwd=where,
            env={**environment, **enclosure.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=enclosure.descriptors,
            start_new_session=True,
        )
        enclosure.close()
        return process, enclosure

    async def run(self, command: str | Sequence[str], **options: Any) -> Done:
        """Run a command to its end; `options` are those of `start`."""
        process, enclosure = await self.start(command, **options)
        said, _ = await asyncio.to_thread(process.communicate, timeout=HANG_S)
        started = enclosure.has_started(process.returncode)
        output = said.decode(errors="replace")
        return Done(process.returncode, output, await enclosure.finished(), started)

    def free(self, command: str | Sequence[str], *, directory: Path | None = None) -> Done:
        """Run a command outside of any sandbox, as the person would."""
        words = [*SHELL, command] if isinstance(command, str) else list(command)
        done = subprocess.run(
            words,
            cwd=directory or self.work,
            env=command_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=HANG_S,
        )
        return Done(done.returncode, (done.stdout + done.stderr).decode(errors="replace"))

    async def close(self) -> None:
        await self.sandbox.forget(self.session)


def command_environment() -> dict[str, str]:
    """Return what commands get here: little, so that the machine's own settings don't matter."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
    return {**kept, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def make_repository(folder: Path) -> None:
    """Make a repository with one commit, and a hook of the person's own."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (
        "git init -q -b main && git config user.name P && git config user.email p@example.com"
        " && echo one > tracked && git add tracked && git commit -qm one"
        " && printf '#!/bin/sh\\n' > .git/hooks/post-commit && chmod +x .git/hooks/post-commit"
    )
    subprocess.run([*SHELL, lines], cwd=folder, env=command_environment(), check=True)


def interpreter() -> list[str]:
    """Return this Python, without what its environment adds."""
    return [sys.executable, "-I", "-S"]


def has(*programs: str) -> bool:
    return all(shutil.which(name) for name in programs)

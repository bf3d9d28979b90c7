"""A server's command is the program that its configuration means, wherever the app was started."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from desktop_agent.adapters.mcp.command import ServerCommand


def put(folder: Path, says: str) -> None:
    folder.mkdir(parents=True)
    if os.name == "nt":
        (folder / "tool.cmd").write_text(f"@echo {says}\n")
        return
    (folder / "tool").write_text(f"#!/bin/sh\necho {says}\n")
    (folder / "tool").chmod(0o700)


async def said(words: tuple[str, ...], directory: Path, path: Path) -> str:
    """Return what a server's command wrote until the end of its output."""
    wrote, ended = bytearray(), asyncio.Event()

    async def take(data: bytes) -> None:
        wrote.extend(data)
        if not data:
            ended.set()

    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    command = ServerCommand(words, str(directory), environment, None, take, lambda _: None)
    await ended.wait()
    await command.close()
    return wrote.decode().strip()


@pytest.mark.parametrize(
    ("word", "says"), [("tool", "installed"), ("./tool", "of the project"), ("bin/tool", "its bin")]
)
async def test_a_program_is_found_on_the_path_or_from_the_servers_folder_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, says: str
) -> None:
    # Windows looks in the folder that the app was started in first.
    put(tmp_path / "elsewhere", "planted")
    put(tmp_path / "installed", "installed")
    put(tmp_path / "work", "of the project")
    put(tmp_path / "work" / "bin", "its bin")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert await said((word,), tmp_path / "work", tmp_path / "installed") == says

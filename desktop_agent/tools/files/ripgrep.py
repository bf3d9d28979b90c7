"""Running ripgrep: with no configuration of anybody's, and bounded."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from glob import escape
from pathlib import Path

import msgspec

from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.tool import ToolContext, ToolError
from desktop_agent.engine.permissions.protected_files import private_below, search_exclusions
from desktop_agent.engine.workspace.containment import relative_name
from desktop_agent.engine.workspace.safe_open import open_folder
from desktop_agent.tools.files.patterns import LARGEST, LINE_LENGTH
from desktop_agent.tools.files.walk import glob_pattern
from desktop_agent.tools.shell.environment import command_environment

_BUFFER = 1 << 20
_PLAIN_NAME = re.compile(r"[\w.*{},-]+")
_FIXED = (
    "--no-config", "--color=never", "--no-heading", "--with-filename", "--sort=path", "--hidden",
    "--no-require-git", "--no-follow", f"--max-columns={LINE_LENGTH}", "--max-columns-preview",
    f"--max-filesize={LARGEST}", "--no-messages", "--crlf",
)  # fmt: skip


class Query(msgspec.Struct, frozen=True):
    """What to search for, and which of the results to return."""

    pattern: str
    glob: str
    ignore_case: bool
    files_only: bool
    skip: int
    limit: int
    heeds_above: bool


async def search(program: str, folder: Path, query: Query, ctx: ToolContext) -> list[str]:
    """Return the wanted result lines, their paths relative to the workspace folder."""
    what = ("--files-with-matches",) if query.files_only else ("--line-number", "--null")
    words = [program, *_FIXED, *what]
    if not query.heeds_above:
        words.append("--no-ignore-parent")
    if query.ignore_case:
        words.append("--ignore-case")
    if query.glob.isascii() and _PLAIN_NAME.fullmatch(query.glob):
        # Only to be quick: `--glob` itself would bring back what git ignores.
        words += ["--type-add", f"wanted:{query.glob}", "--type", "wanted"]
    words += [f"--iglob=!{pattern}" for pattern in search_exclusions()]
    words += [f"--glob=!/{escape(name)}*" for name in private_below(folder, ctx.boundary.own)]
    words += ["-e", query.pattern, "--", "."]
    process = await _start(words, folder, ctx)
    try:
        lines = await _read_lines(process, query)
    finally:
        # One that has ended is only waited for: a signal would take its exit from the loop.
        if process.stdout is None or not process.stdout.at_eof():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
    prefix = relative_name(ctx.boundary, folder)
    return lines if prefix == "." else [f"{prefix}/{line}" for line in lines]


async def _start(words: list[str], folder: Path, ctx: ToolContext) -> Process:
    options = {
        "stdin": DEVNULL,
        "stdout": PIPE,
        "stderr": PIPE,
        "env": command_environment(ctx.environment),
        "limit": _BUFFER,
        "creationflags": NO_WINDOW,
    }
    if sys.platform != "linux":
        return await asyncio.create_subprocess_exec(*words, cwd=folder, **options)
    # Through the open folder: what is put in its place meanwhile is not searched.
    with open_folder(ctx.boundary, folder) as descriptor:
        directory = f"/proc/self/fd/{descriptor}"
        return await asyncio.create_subprocess_exec(*words, cwd=directory, **options)


async def _read_lines(process: Process, query: Query) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    skipped = 0
    names = glob_pattern(query.glob) if query.glob else None
    while len(lines) < query.limit:
        raw = await process.stdout.readline()
        if not raw:
            await _require_no_error(process, found=bool(lines or skipped))
            break
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        path, _, rest = line.partition("\0")
        path = path.removeprefix("./").removeprefix(".\\")
        if names and not names.fullmatch(path.replace("\\", "/")):
            continue
        if skipped < query.skip:
            skipped += 1
            continue
        lines.append(f"{path}:{rest}" if rest else path)
    return lines


async def _require_no_error(process: Process, *, found: bool) -> None:
    assert process.stderr is not None
    words = (await process.stderr.read(4000)).decode("utf-8", "replace").strip()
    if words and not found:
        raise ToolError(f"the search failed: {words}")

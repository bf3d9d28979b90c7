"""`write` and `edit`: changing files, with the exact change known beforehand."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from desktop_agent.core.approvals import Rule
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.pipes.file_capture import FileWrite
from desktop_agent.core.tool import Access, Preview, ToolContext, ToolError, ToolOutput
from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.permissions.protected_files import is_program, is_protected, names_of
from desktop_agent.engine.workspace.containment import relative_name, resolve_for_write
from desktop_agent.engine.workspace.diffs import file_diff
from desktop_agent.engine.workspace.safe_open import digest, open_read, write_atomic
from desktop_agent.engine.workspace.text_files import decode, encode_new
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.files import spelling
from desktop_agent.tools.files.documents import require_text_file
from desktop_agent.tools.files.edits import Replacement, apply
from desktop_agent.tools.files.reading import WHOLE

_ANY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class WriteArguments(Arguments, frozen=True):
    """What to write."""

    path: Annotated[
        str, Meta(description="The file, relative to the workspace folder or absolute.")
    ]
    content: Annotated[str, Meta(description="The whole new content of the file.")]


class EditArguments(Arguments, frozen=True):
    """What to replace: one text, or several by `edits`."""

    path: Annotated[
        str, Meta(description="The file, relative to the workspace folder or absolute.")
    ]
    old_string: Annotated[str, Meta(description="The exact text to replace.")] = ""
    new_string: Annotated[str, Meta(description="The text to put there.")] = ""
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False
    edits: Annotated[
        tuple[Replacement, ...],
        Meta(
            description="Several replacements in place of one, made in order: all of them, or none."
        ),
    ] = ()


class _Change(msgspec.Struct, frozen=True):
    """A change of one file, complete: nothing about it is decided later."""

    path: Path
    name: str
    new: bytes
    old: bytes | None
    old_digest: str
    display: DiffDisplay


async def _preview_write(args: WriteArguments, ctx: ToolContext) -> Preview:
    change = await asyncio.to_thread(_plan_write, args, ctx)
    verb = "Create" if change.display.is_new else "Overwrite"
    return _preview("write", f"{verb} {change.name}?", change, args.path, ctx)


async def _preview_edit(args: EditArguments, ctx: ToolContext) -> Preview:
    change = await asyncio.to_thread(_plan_edit, args, ctx)
    return _preview("edit", f"Edit {change.name}?", change, args.path, ctx)


def _describe_write(raw: Mapping[str, Any]) -> str:
    return f"writing {raw['path']}"


def _describe_edit(raw: Mapping[str, Any]) -> str:
    return f"editing {raw['path']}"


@tool(access=Access.WRITE, preview=_preview_write, describe=_describe_write)
async def write(args: WriteArguments, ctx: ToolContext) -> ToolOutput:
    """Create a file, or replace the whole content of one.

    Missing folders are made. To change a part of a file use `edit`. A file that you read is
    refused when it changed since. Encoding and CRLF line ends stay as they were.
    """
    return await _carry_out(_plan_write, args, ctx)


@tool(access=Access.WRITE, preview=_preview_edit, describe=_describe_edit)
async def edit(args: EditArguments, ctx: ToolContext) -> ToolOutput:
    """Replace exact text in a file that you have read.

    `old_string` must occur exactly once, unless `replace_all` is set; copy it from `read`
    without the line numbers. For several changes give `edits`: all are made, or none.
    """
    return await _carry_out(_plan_edit, args, ctx)


async def _carry_out(plan: Any, args: Arguments, ctx: ToolContext) -> ToolOutput:
    change: _Change = await asyncio.to_thread(plan, args, ctx)
    ctx.require_judged(change.path)
    if ctx.changes is None:
        return await asyncio.to_thread(_write, change, ctx)
    write = FileWrite(os.fsencode(change.path), change.old, change.new)
    return await ctx.changes.write(write, lambda: _write(change, ctx))


def _write(change: _Change, ctx: ToolContext) -> ToolOutput:
    write_atomic(ctx.boundary, change.path, change.new, expected=change.old_digest)
    ctx.files.remember(change.path, digest(change.new))
    display = change.display
    verb = "Created" if display.is_new else "Changed"
    lines = f" (+{display.added} -{display.removed} lines)" if display.is_counted else ""
    return ToolOutput(f"{verb} {change.name}{lines}.", display)


def _plan_write(args: WriteArguments, ctx: ToolContext) -> _Change:
    path = spelling.find(resolve_for_write, ctx.boundary, args.path)
    name = relative_name(ctx.boundary, path)
    require_text_file(name, args.content)
    old = _content(path, ctx)
    new = encode_new(args.content, old or b"")
    if old is None:
        return _change(path, name, None, new)
    if old == new:
        raise ToolError(f"{name} already has exactly this content; nothing was written.")
    _require_unchanged(path, name, old, ctx)
    # What `read` would refuse can't have been seen either.
    if ctx.files.is_outdated(path, _written_at(path)) and decode(old) is not None:
        raise ToolError(f"{name} changed since you last looked. Read it, then change it.")
    return _change(path, name, old, new)


def _plan_edit(args: EditArguments, ctx: ToolContext) -> _Change:
    path = spelling.find(resolve_for_write, ctx.boundary, args.path)
    name = relative_name(ctx.boundary, path)
    replacements = _replacements(args)
    old = _content(path, ctx)
    if old is None:
        raise ToolError(f"{name} doesn't exist; use `write` to make it.")
    require_text_file(name, "")
    if ctx.files.digest_of(path) is None:
        raise ToolError(f"read {name} before you edit it.")
    _require_unchanged(path, name, old, ctx)
    text = decode(old)
    if text is None:
        raise ToolError(f"{name} is a binary file.")
    return _change(path, name, old, text.encoded(apply(text, replacements)))


def _replacements(args: EditArguments) -> tuple[Replacement, ...]:
    if args.edits and args.old_string:
        raise ToolError("give either `edits`, or `old_string` and `new_string`, not both.")
    if args.edits:
        return args.edits
    single = Replacement(
        old_string=args.old_string, new_string=args.new_string, replace_all=args.replace_all
    )
    return (single,)


def _content(path: Path, ctx: ToolContext) -> bytes | None:
    """Return what the file holds now, None when there is none.

    Raises ToolError for one that nobody may write: to replace it only the folder's rights count.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not status.st_mode & _ANY_WRITES:
        raise ToolError(f"{path.name} is read-only; nothing was written.")
    with open_read(ctx.boundary, path) as file:
        content = file.read(WHOLE + 1)
    if len(content) > WHOLE:
        raise ToolError(f"{path.name} is larger than {WHOLE // 1_000_000} MB.")
    return content


def _written_at(path: Path) -> float:
    """Return when a file was last written or put where it is, 0 if it is gone meanwhile."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        return max(status.st_mtime, status.st_ctime)
    return 0.0


def _require_unchanged(path: Path, name: str, old: bytes, ctx: ToolContext) -> None:
    seen = ctx.files.digest_of(path)
    if seen is not None and seen != digest(old):
        raise ToolError(f"{name} changed since you read it. Read it again, then change it.")


def _change(path: Path, name: str, old: bytes | None, new: bytes) -> _Change:
    old_digest = "" if old is None else digest(old)
    return _Change(path, name, new, old, old_digest, file_diff(name, old, new))


def _is_asked(name: PurePath, own: OwnPlaces) -> bool:
    return is_protected(name, own) or is_program(name, own)


def _preview(tool_name: str, title: str, change: _Change, given: str, ctx: ToolContext) -> Preview:
    display = change.display
    names = names_of(ctx.boundary, given, change.path)
    return Preview(
        title=title,
        display=display,
        stakes=_stakes(display),
        paths=(str(change.path),),
        called=tuple(map(os.path.normpath, names[1:])),
        protected=(change.name,)
        if any(_is_asked(name, ctx.boundary.own) for name in names)
        else (),
        rules=(Rule(tool_name, glob.escape(change.name)), Rule(tool_name, "*")),
        fingerprint=f"{change.old_digest}:{digest(change.new)}",
    )


def _stakes(display: DiffDisplay) -> tuple[str, ...]:
    lines = f"{display.added:,} line{'' if display.added == 1 else 's'}"
    verb = "makes 1 file" if display.is_new else "writes 1 file"
    if not display.is_counted:
        return (verb,)
    return (verb, lines if display.is_new else f"{lines} added, {display.removed:,} removed")

"""`read`: text with line numbers, images as images, documents as text."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta

from desktop_agent.core.messages import FilesDisplay, ImagePart
from desktop_agent.core.parts.pictures import picture_type, whole_picture_type
from desktop_agent.core.tool import Access, Preview, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.permissions.protected_files import is_secret, names_of
from desktop_agent.engine.workspace.containment import relative_name, resolve_for_read
from desktop_agent.engine.workspace.safe_open import digest, open_read
from desktop_agent.engine.workspace.text_files import (
    decode,
    decode_plain,
    is_binary,
    lines_of,
    wide_encoding,
)
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.files import spelling
from desktop_agent.tools.files.documents import LARGEST, document_text, is_document

# More than this is read line by line, and can't be edited.
WHOLE = 10_000_000
_PIECE = 1 << 16
_LINES = 2000
_LINE_LENGTH = 2000
_RESULT_LENGTH = 100_000
_LARGEST_IMAGE = 5_000_000


class ReadArguments(Arguments, frozen=True):
    """What to read."""

    path: Annotated[
        str, Meta(description="The file, relative to the workspace folder or absolute.")
    ]
    offset: Annotated[int, Meta(ge=0, description="The first line to read, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, description="How many lines to read.")] = _LINES

    @property
    def first(self) -> int:
        """The first line's number; models send 0 for it too."""
        return max(1, self.offset)

    @property
    def count(self) -> int:
        """How many lines to give at most."""
        return min(self.limit, _LINES)


class _Window(msgspec.Struct, frozen=True):
    """The lines asked for, and how many lines there are."""

    lines: list[str]
    first: int
    total: int


async def _preview(args: ReadArguments, ctx: ToolContext) -> Preview:
    path = _resolved(args.path, ctx)
    name = relative_name(ctx.boundary, path)
    names = names_of(ctx.boundary, args.path, path)
    return Preview(
        title=f"Read {name}?",
        display=FilesDisplay((name,)),
        paths=(str(path),),
        called=tuple(map(os.path.normpath, names[1:])),
        protected=(name,) if any(is_secret(each, ctx.boundary.own) for each in names) else (),
    )


def _describe(raw: Mapping[str, Any]) -> str:
    return f"reading {raw['path']}"


@tool(access=Access.READ, preview=_preview, describe=_describe, timeout_s=120)
async def read(args: ReadArguments, ctx: ToolContext) -> ToolOutput:
    """Read a file and return its lines, numbered.

    Gives up to 2,000 lines from `offset`; a note at the end says how to go on. Images (PNG,
    JPEG, GIF, WebP) are shown as images; PDF, DOCX, XLSX and PPTX are given as text. Other
    binary files are refused. Use `glob` to list a folder.
    """
    path = _resolved(args.path, ctx)
    ctx.require_judged(path)
    try:
        return await asyncio.to_thread(_read, path, args, ctx)
    except OSError as error:  # its disk fails, or another program has locked it
        raise ToolError(f"{args.path} can't be read: {error.strerror or error}.") from error


def _resolved(path: str, ctx: ToolContext) -> Path:
    """Resolve a path; what was cut out of the session's results may be read too."""
    return ctx.outputs.find(path) or spelling.find(resolve_for_read, ctx.boundary, path)


def _open(path: Path, ctx: ToolContext) -> BinaryIO:
    if ctx.outputs.find(str(path)) == path:
        return ctx.outputs.open(path)
    return open_read(ctx.boundary, path)


def _read(path: Path, args: ReadArguments, ctx: ToolContext) -> ToolOutput:
    name = relative_name(ctx.boundary, path)
    if path.is_dir():
        raise ToolError(f"{name} is a folder; use `glob` to list it.")
    with _open(path, ctx) as file:
        start = file.read(64)
        file.seek(0)
        if picture_type(start) and (image := _image(name, file)) is not None:
            return image
        if is_document(name):
            return _document(name, file, args)
        content = file.read(WHOLE + 1)
        if len(content) > WHOLE:
            file.seek(0)
            window, found = _stream(name, file, args)
        else:
            window, found = _window(name, content, args), digest(content)
    ctx.files.remember(path, found)
    return _numbered(name, window)


def _image(name: str, file: BinaryIO) -> ToolOutput | None:
    """Return an image to look at; None for a text that only begins like one."""
    content = file.read(_LARGEST_IMAGE + 1)
    file.seek(0)
    if len(content) > _LARGEST_IMAGE:
        raise ToolError(f"{name} is an image of more than 5 MB; make it smaller first.")
    media_type = whole_picture_type(content)
    if not media_type and decode(content) is not None:
        return None
    if not media_type:
        raise ToolError(f"{name} is an image that is damaged or cut off, so it can't be looked at.")
    size = f"{max(1, len(content) // 1000):,} kB"
    return ToolOutput(
        f"{name}: an image ({media_type}, {size}).",
        FilesDisplay((name,), f"image, {size}"),
        (ImagePart(media_type, content, name),),
    )


def _document(name: str, file: BinaryIO, args: ReadArguments) -> ToolOutput:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ToolError(f"{name} is larger than {LARGEST // 1_000_000} MB.")
    text = document_text(name, content)
    return _numbered(name, _cut_out(lines_of(text), args))


def _window(name: str, content: bytes, args: ReadArguments) -> _Window:
    text = decode(content)
    if text is None:
        raise ToolError(f"{name} is a binary file ({len(content):,} bytes), so it was not read.")
    return _cut_out(lines_of(text.shown), args)


def _cut_out(lines: list[str], args: ReadArguments) -> _Window:
    start = args.first - 1
    return _Window(lines[start : start + args.count], args.first, len(lines))


def _stream(name: str, file: BinaryIO, args: ReadArguments) -> tuple[_Window, str]:
    """Read a huge file, holding only the lines asked for."""
    start = file.read(_PIECE)
    wide = wide_encoding(start)
    if not wide and is_binary(start):
        raise ToolError(f"{name} is a binary file, so it was not read.")
    file.seek(0)
    found = hashlib.sha256()
    while chunk := file.read(_PIECE):
        found.update(chunk)
    file.seek(len(BOM_UTF8) if start.startswith(BOM_UTF8) else 0)
    lines: list[str] = []
    total, is_line_start = 0, True
    for piece in _pieces(file, wide):
        total += is_line_start
        if is_line_start and args.first <= total < args.first + args.count:
            # A character has four bytes at most.
            lines.append(decode_plain(piece[: 4 * _LINE_LENGTH + 4]).shown)
        is_line_start = piece.endswith(b"\n")
    return _Window(lines, args.first, total), found.hexdigest()


def _pieces(file: BinaryIO, wide: str) -> Iterator[bytes]:
    """Yield lines, very long ones in several pieces."""
    if not wide:
        while piece := file.readline(_PIECE):
            yield piece
        return
    with io.TextIOWrapper(file, wide, "replace", newline="\n") as text:
        while line := text.readline(_PIECE):
            yield line.encode("utf-8")


def _numbered(name: str, window: _Window) -> ToolOutput:
    if window.total == 0:
        return ToolOutput(f"{name} is empty.", FilesDisplay((name,), "empty"))
    if window.first > window.total:
        raise ToolError(f"{name} has {window.total:,} lines; offset {window.first} is past them.")
    shown: list[str] = []
    room = _RESULT_LENGTH
    for number, line in enumerate(window.lines, start=window.first):
        numbered = f"{number:6}\t{_shortened(line.rstrip(chr(10)).removesuffix(chr(13)))}"
        room -= len(numbered) + 1
        if room < 0 and shown:
            break
        shown.append(numbered)
    last = window.first + len(shown) - 1
    text = "\n".join(shown)
    if last < window.total:
        text += (
            f"\n\n[Lines {window.first}-{last} of {window.total}; go on with offset={last + 1}.]"
        )
    elif window.first > 1:
        text += f"\n\n[Lines {window.first}-{last} of {window.total}.]"
    summary = f"{len(shown):,} line{'s' if len(shown) != 1 else ''}"
    if len(shown) < window.total:
        summary += f" of {window.total:,}"
    return ToolOutput(text, FilesDisplay((name,), summary))


def _shortened(line: str) -> str:
    if len(line) <= _LINE_LENGTH:
        return line
    return (
        f"{line[:_LINE_LENGTH]} … [the line goes on; it is longer than {_LINE_LENGTH} characters]"
    )

"""`glob` and `grep`: finding files by name and by content."""

from __future__ import annotations

import asyncio
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from msgspec import Meta

from desktop_agent.core.messages import FilesDisplay
from desktop_agent.core.tool import Access, Preview, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.permissions.file_rules import is_unreadable, unreadable_patterns
from desktop_agent.engine.permissions.protected_files import is_secret, names_of, private_below
from desktop_agent.engine.workspace.containment import as_text, relative_name, resolve_for_read
from desktop_agent.engine.workspace.programs import find_program
from desktop_agent.engine.workspace.safe_open import open_read
from desktop_agent.engine.workspace.text_files import (
    decode,
    decode_plain,
    is_binary,
    lines_of,
    wide_encoding,
)
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.files import ripgrep, spelling
from desktop_agent.tools.files.documents import is_document
from desktop_agent.tools.files.ignored_above import ignored_above
from desktop_agent.tools.files.patterns import LARGEST, LINE_LENGTH, Expression
from desktop_agent.tools.files.walk import Walk, glob_pattern

_FILES = 500
_MATCHES = 200
_SHOWN_IN_CARD = 50
_LOOKED_AT = 8192
_SECONDS = 40.0
# For what a search leaves out, beside the search.
_MOST_DOCUMENTS = 100
_SECONDS_BESIDE = 0.3


class GlobArguments(Arguments, frozen=True):
    """Which names to find."""

    pattern: Annotated[
        str,
        Meta(description="Such as `**/*.py` or `src/*.{ts,tsx}`; without a slash: in any folder."),
    ]
    path: Annotated[str, Meta(description="The folder to look in.")] = "."
    offset: Annotated[int, Meta(ge=0, description="How many results to skip.")] = 0


class GrepArguments(Arguments, frozen=True):
    """What to search for, and where."""

    pattern: Annotated[str, Meta(min_length=1, description="A regular expression.")]
    path: Annotated[str, Meta(description="The file or folder to search.")] = "."
    glob: Annotated[str, Meta(description="Search only files that match, such as `*.py`.")] = ""
    ignore_case: Annotated[bool, Meta(description="Whether case doesn't matter.")] = False
    files_only: Annotated[bool, Meta(description="Give only the files that match.")] = False
    offset: Annotated[int, Meta(ge=0, description="How many results to skip.")] = 0


_EVERYTHING = ("*", "**", "**/*")


def _describe_glob(raw: Mapping[str, Any]) -> str:
    pattern = str(raw["pattern"])
    return "listing files" if pattern in _EVERYTHING else f"finding {pattern}"


def _describe_grep(raw: Mapping[str, Any]) -> str:
    return f"searching for “{raw['pattern']}”"


async def _preview_grep(args: GrepArguments, ctx: ToolContext) -> Preview:
    path = spelling.find(resolve_for_read, ctx.boundary, args.path)
    name = relative_name(ctx.boundary, path)
    names = names_of(ctx.boundary, args.path, path)
    return Preview(
        title=f"Search {name}?",
        display=FilesDisplay((name,)),
        paths=(str(path),),
        called=tuple(map(os.path.normpath, names[1:])),
        protected=(name,) if any(is_secret(each, ctx.boundary.own) for each in names) else (),
    )


@tool(access=Access.READ, describe=_describe_glob, timeout_s=60)
async def glob(args: GlobArguments, ctx: ToolContext) -> ToolOutput:
    """Find files by name, such as `**/*.py`.

    Leaves out what git ignores. Gives paths relative to the workspace folder, one a line.
    """
    folder = spelling.find(resolve_for_read, ctx.boundary, args.path)
    return await asyncio.to_thread(_glob, folder, args, ctx)


@tool(access=Access.READ, preview=_preview_grep, describe=_describe_grep, timeout_s=60)
async def grep(args: GrepArguments, ctx: ToolContext) -> ToolOutput:
    """Search the contents of files for a regular expression.

    Gives `path:line:text`, one a line. Leaves out what git ignores, binary files and documents
    (DOCX, PDF …, which `read` opens), files with secrets and, in a folder, files over 200 MB.
    """
    path = spelling.find(resolve_for_read, ctx.boundary, args.path)
    ctx.require_judged(path)
    is_folder = _is_folder(path, args.path)
    # What rules keep from being read is passed over by our own search alone.
    own = {ctx.boundary.root, *ctx.boundary.write_roots}
    program = "" if unreadable_patterns(ctx.boundary) else find_program("rg", own)
    above = ignored_above(ctx.boundary, path)
    if program and is_folder and (above.is_the_same or above.says_nothing):
        query = _query(args, heeds_above=above.is_the_same)
        lines = await ripgrep.search(program, path, query, ctx)
        note = await asyncio.to_thread(_not_searched, path, args, ctx)
        return _matches_output(lines, args, note=note)
    wanted = Expression(args.pattern, ignore_case=args.ignore_case, of_lines=True)
    lines = await asyncio.to_thread(_grep, path, wanted, args, ctx, is_folder=is_folder)
    note = await asyncio.to_thread(_not_searched, path, args, ctx) if is_folder else ""
    return _matches_output(lines, args, cut=wanted.cut, note=note)


def _glob(folder: Path, args: GlobArguments, ctx: ToolContext) -> ToolOutput:
    if not _is_folder(folder, args.path):
        raise ToolError(f"{args.path} is a file; use `read`.")
    wanted = glob_pattern(args.pattern)
    walk = Walk(ctx.boundary, folder)
    matching = (path for path in walk.files() if wanted.fullmatch(path))
    found = list(islice(matching, args.offset, args.offset + _FILES + 1))
    prefix = relative_name(ctx.boundary, folder)
    names = [as_text(path if prefix == "." else f"{prefix}/{path}") for path in found[:_FILES]]
    notes: list[str] = []
    if len(found) > _FILES:
        notes.append(f"[There are more; go on with offset={args.offset + _FILES}.]")
    if walk.was_cut:
        notes.append("[The folder is too large to look through; give a deeper path.]")
    more = "+" if len(found) > _FILES else ""
    summary = f"{len(names)}{more} file{'' if len(names) == 1 else 's'}"
    text = "\n".join([*names, *notes]) or "No file matches."
    return ToolOutput(text, FilesDisplay(tuple(names[:_SHOWN_IN_CARD]), summary))


def _query(args: GrepArguments, *, heeds_above: bool) -> ripgrep.Query:
    return ripgrep.Query(
        pattern=args.pattern,
        glob=args.glob,
        ignore_case=args.ignore_case,
        files_only=args.files_only,
        skip=args.offset,
        limit=_MATCHES + 1,
        heeds_above=heeds_above,
    )


def _grep(
    path: Path, wanted: Expression, args: GrepArguments, ctx: ToolContext, *, is_folder: bool
) -> list[str]:
    end = args.offset + _MATCHES + 1
    if not is_folder:
        # Asked for by name, a pipe or a device is an error and not "no match".
        _require_text(path, args.path, ctx)
        if is_unreadable(ctx.boundary, str(path)):
            raise ToolError(f"a rule of the person's refuses to read {args.path}.")
        name = relative_name(ctx.boundary, path)
        return list(islice(_matches(path, name, wanted, args, ctx), args.offset, end))
    names = glob_pattern(args.glob) if args.glob else None
    walk = Walk(ctx.boundary, path, seconds=_SECONDS)
    private = private_below(path, ctx.boundary.own)

    def everything() -> Iterator[str]:
        for relative in walk.files():
            shown = relative_name(ctx.boundary, path / relative)
            # The folder itself was evaluated already; only what is below it is checked here.
            if is_secret(relative) or relative.startswith(private):
                continue
            if names is None or names.fullmatch(relative):
                yield from _matches(path / relative, shown, wanted, args, ctx, largest=LARGEST)

    found = list(islice(everything(), args.offset, end))
    if walk.was_cut:
        # Without a word, "no match" would be a lie.
        raise ToolError(
            "the folder is too large to search through here; give a deeper path or a glob."
        )
    return found


def _require_text(path: Path, shown: str, ctx: ToolContext) -> None:
    """Refuse what holds no lines, for it has no match whatever it says; raises ToolError."""
    try:
        with open_read(ctx.boundary, path) as file:
            start = file.read(_LOOKED_AT)
    except OSError as error:
        raise ToolError(f"{shown} can't be read: {error.strerror or error}.") from error
    if is_document(path.name):
        raise ToolError(f"{shown} is a document, which can't be searched; `read` gives its text.")
    if not wide_encoding(start) and is_binary(start):
        raise ToolError(f"{shown} is a binary file, which can't be searched.")


def _not_searched(folder: Path, args: GrepArguments, ctx: ToolContext) -> str:
    """Say which documents a search passed over: without a word, "no match" would be a lie."""
    names = glob_pattern(args.glob) if args.glob else None
    walk = Walk(ctx.boundary, folder, seconds=_SECONDS_BESIDE)
    documents = (
        path
        for path in walk.files()
        if is_document(path) and (names is None or names.fullmatch(path))
    )
    found = list(islice(documents, _MOST_DOCUMENTS))
    if not found:
        return ""
    count = f"{len(found)}{'+' if len(found) == _MOST_DOCUMENTS or walk.was_cut else ''}"
    return f"\n[Not searched: {count} documents, such as {as_text(found[0])}; `read` opens them.]"


def _matches(
    path: Path,
    name: str,
    wanted: Expression,
    args: GrepArguments,
    ctx: ToolContext,
    *,
    largest: int | None = None,
) -> Iterator[str]:
    # A search would show its lines just as well.
    if is_unreadable(ctx.boundary, str(path)):
        return
    try:
        file = open_read(ctx.boundary, path)
    except ToolError:  # a link, a pipe, or gone by now
        return
    with file:
        if largest is not None and os.fstat(file.fileno()).st_size > largest:
            return
        for number, line in enumerate(_read_lines(file, name, is_one=largest is None), start=1):
            if wanted.search(line):
                text = f"{as_text(name)}:{number}:{line[:LINE_LENGTH]}"
                yield as_text(name) if args.files_only else text
                if args.files_only:
                    return


def _read_lines(file: BinaryIO, name: str, *, is_one: bool) -> Iterator[str]:
    """Yield the lines of a file; where its disk fails, or another program has locked it, those
    before. Only of the one file that was named that is an error.
    """
    try:
        yield from _lines(file)
    except OSError as error:
        if is_one:
            raise ToolError(f"{name} can't be read: {error.strerror or error}.") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text as `read` shows them, none of what is no text."""
    start = file.read(_LOOKED_AT)
    if wide_encoding(start):
        text = decode(start + file.read(LARGEST))
        yield from (line.rstrip("\r\n") for line in lines_of(text.shown if text else ""))
        return
    if is_binary(start):
        return
    file.seek(len(BOM_UTF8) if start.startswith(BOM_UTF8) else 0)
    while line := file.readline(LARGEST):
        plain = line.removesuffix(b"\n").removesuffix(b"\r")
        yield decode_plain(plain).shown


def _matches_output(
    lines: list[str], args: GrepArguments, *, cut: int = 0, note: str = ""
) -> ToolOutput:
    shown = lines[:_MATCHES]
    paths = dict.fromkeys(line if args.files_only else line.split(":", 1)[0] for line in shown)
    what = "file" if args.files_only else "match"
    plural = "" if len(shown) == 1 else ("s" if args.files_only else "es")
    more = "+" if len(lines) > _MATCHES else ""
    summary = f"{len(shown)}{more} {what}{plural}"
    text = "\n".join(shown) or "No match."
    if more:
        text += (
            f"\n[There are more; go on with offset={args.offset + _MATCHES}, or narrow the search.]"
        )
    if cut:
        text += (
            f"\n[Of {cut} long line{'' if cut == 1 else 's'} only the start was searched: the "
            "pattern takes too long there.]"
        )
    return ToolOutput(text + note, FilesDisplay(tuple(paths)[:_SHOWN_IN_CARD], summary))


def _is_folder(path: Path, shown: str) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        raise ToolError(f"{shown} doesn't exist.") from None

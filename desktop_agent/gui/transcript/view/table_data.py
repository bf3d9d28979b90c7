"""Tables from files and answers: read within limits, searched and sorted. No Qt."""

from __future__ import annotations

import csv
import io
import math
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.kit.links import real_path

MOST_BYTES = 10_000_000
MOST_ROWS, MOST_COLUMNS, MOST_CELLS = 100_000, 200, 1_000_000
_LONGEST_LINE, _LONGEST_CELL = 1_000_000, 10_000
_DELIMITERS = ",;\t|"

# What was left out: `rows` after the limit, or of a `broken` file from where it is no table;
# the end of `wide` rows. A file may be `gone`.
Cut = Literal["", "rows", "wide", "broken", "gone"]


class Table(msgspec.Struct, frozen=True):
    """The names of columns, and rows that are all as wide; the first row of a file is the names."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    cut: Cut = ""


def read_table(path: str, workspace: Workspace) -> Table:
    """Return the table in a file of the session's folders, as it is now."""
    try:
        real = real_path(path, workspace)
        if real is None:
            return Table(cut="gone")
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(real, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Table(cut="gone")
            return parse_table(file.read(MOST_BYTES + 1), is_tabbed=path.lower().endswith(".tsv"))
    except OSError:
        return Table(cut="gone")


def parse_table(data: bytes, *, is_tabbed: bool = False) -> Table:
    """Return the table in a file's bytes; its delimiter is the one that its first line has most."""
    text = _decoded(data[:MOST_BYTES])
    head = text[:_LONGEST_CELL].partition("\n")[0]
    delimiter = "\t" if is_tabbed else max(_DELIMITERS, key=head.count)
    lines = (line[:_LONGEST_LINE] for line in io.StringIO(text, newline=""))
    return table_of(csv.reader(lines, delimiter=delimiter), is_cut=len(data) > MOST_BYTES)


def pipe_table(text: str) -> Table | None:
    """Return the table that a text in Markdown is; None if it is none."""
    lines = [line.strip() for line in text.strip().splitlines()[: MOST_ROWS + 2]]
    if len(lines) < 2 or "|" not in lines[0] or not lines[1] or set(lines[1]) - set("|-: \t"):
        return None
    return table_of(_cells(line) for line in (lines[0], *lines[2:]))


def _cells(line: str) -> list[str]:
    """Split at the bars that have no backslash before them."""
    cells = line.replace("\\|", "\0").removeprefix("|").removesuffix("|").split("|")
    return [cell.replace("\0", "|").strip() for cell in cells]


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Cut within a character at the end, or text of an older Windows.
        is_end = error.start >= len(data) - 3
        return data.decode("utf-8-sig" if is_end else "cp1252", "replace")


def table_of(source: Iterable[Sequence[str]], *, is_cut: bool = False) -> Table:
    """Return the table of these rows, the names first, as far as it may be long."""
    rows: list[tuple[str, ...]] = []
    cut: Cut = "rows" if is_cut else ""
    cells = 0
    found = _until_broken(source)
    for row in found:
        if row is None:
            cut = "broken"
            break
        if len(rows) > MOST_ROWS or cells > MOST_CELLS:
            cut = "rows"
            break
        if len(row) > MOST_COLUMNS:
            cut = cut or "wide"
        if any(row):
            rows.append(tuple(cell[:_LONGEST_CELL] for cell in row[:MOST_COLUMNS]))
            cells += len(rows[-1])
    width = max(map(len, rows), default=0)
    names = (*rows[0], *[""] * (width - len(rows[0]))) if rows else ()
    filled = (row if len(row) == width else (*row, *[""] * (width - len(row))) for row in rows[1:])
    return Table(names, tuple(filled), cut)


def _until_broken(source: Iterable[Sequence[str]]) -> Iterator[Sequence[str] | None]:
    try:
        yield from source
    except csv.Error:
        yield None


def arranged(
    table: Table, words: str = "", column: int = -1, *, is_down: bool = False
) -> tuple[int, ...]:
    """Return which rows have the words, in any case, in a cell, sorted by a column if there is one.

    Numbers come before texts, and what is empty last, whichever the direction.
    """
    wanted = words.casefold().strip()
    found = [
        number
        for number, row in enumerate(table.rows)
        if not wanted or any(wanted in cell.casefold() for cell in row)
    ]
    if column < 0:
        return tuple(found)
    empty = [number for number in found if not table.rows[number][column].strip()]
    having = [number for number in found if table.rows[number][column].strip()]
    having.sort(key=lambda number: _sort_key(table.rows[number][column]), reverse=is_down)
    return (*having, *empty)


def _sort_key(cell: str) -> tuple[bool, float, str]:
    number = number_in(cell)
    return (False, number, "") if number is not None else (True, 0.0, cell.casefold())


def number_in(cell: str) -> float | None:
    """Return the number that a cell is; None if it is anything else."""
    try:
        number = float(cell[:50])
    except ValueError:
        return None
    return number if math.isfinite(number) and len(cell) <= 50 else None

"""Look into Excel and CSV files: what is in them, their cells, and sums by group."""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from specials import special  # noqa: E402
from tables import (  # noqa: E402
    EXIT_CODES,
    Sheet,
    Trouble,
    filled,
    is_text,
    letter,
    markdown,
    open_book,
    read_sheet,
    run,
    shown,
    tell,
)

_MOST_ROWS = 200
_MOST_TOP = 3


def show_info(args: argparse.Namespace) -> None:
    """Say what is in the file: sheets, sizes, headers, formulas, charts, and what is special."""
    if is_text(args.file):
        _show_sheet(read_sheet(args.file), [])
        return
    book, plain = open_book(args.file, formulas=True), open_book(args.file)
    for sheet in book.worksheets:
        formulas = [c for c in sheet._cells.values() if c.data_type == "f"]
        unknown = [c for c in formulas if plain[sheet.title][c.coordinate].value is None]
        notes = [f"{len(formulas)} formulas"] if formulas else []
        if unknown:
            notes.append(f"{len(unknown)} of them without a stored result")
        counts = {
            "charts": len(sheet._charts),
            "pictures": len(sheet._images),
            "tables": len(sheet.tables),
            "merged ranges": len(sheet.merged_cells.ranges),
            "comments": sum(1 for cell in sheet._cells.values() if cell.comment),
            **_hidden(sheet),
        }
        notes += [f"{count} {name}" for name, count in counts.items() if count]
        if sheet.sheet_state != "visible":
            notes.append("hidden")
        _show_sheet(filled(sheet), notes)
    names = sorted(book.defined_names)
    if names:
        print(f"named ranges: {', '.join(names)}")
    found = special(args.file)
    if found:
        print(f"special: {', '.join(found)}")


def _hidden(sheet: Any) -> dict[str, int]:
    """Return how many rows and columns nobody sees; filters hide rows too."""
    columns = (d for d in sheet.column_dimensions.values() if d.hidden)
    return {
        "hidden or filtered rows": sum(1 for d in sheet.row_dimensions.values() if d.hidden),
        "hidden columns": sum((d.max or 1) - (d.min or 1) + 1 for d in columns),
    }


def _show_sheet(sheet: Sheet, notes: list[str]) -> None:
    if not sheet.cells:
        print(f"{sheet.name}: empty{''.join(f', {note}' for note in notes)}")
        return
    right = letter(sheet.column + len(sheet.cells[0]) - 1)
    area = f"{letter(sheet.column)}{sheet.row}:{right}{sheet.row + len(sheet.cells) - 1}"
    print(f"{sheet.name}: {area}{''.join(f', {note}' for note in notes)}")
    print(f"    first row: {' | '.join(sheet.header)}")


def show_cells(args: argparse.Namespace) -> None:
    """Print cells as a Markdown table, CSV or JSON."""
    sheet = read_sheet(args.file, args.sheet, args.range, formulas=args.formulas)
    if not sheet.cells:
        raise Trouble("There is nothing in there.")
    rows = sheet.rows[args.skip : args.skip + args.limit]
    if args.format == "json":
        header = _distinct(sheet.header)
        records = [dict(zip(header, map(_json, row), strict=True)) for row in rows]
        print(json.dumps(records, indent=1, ensure_ascii=False))
    elif args.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(sheet.header)
        writer.writerows([shown(cell) for cell in row] for row in rows)
    else:
        print(markdown(sheet.header, rows))
    left = len(sheet.rows) - args.skip - len(rows)
    if left > 0:
        tell(f"{left} more rows: go on with --skip {args.skip + len(rows)}.")
    _tell_unseen(args, sheet)


def _tell_unseen(args: argparse.Namespace, sheet: Sheet) -> None:
    """What counts as empty, and what counts though nobody sees it, must not go untold."""
    if is_text(args.file):
        return
    book = open_book(args.file, formulas=True)[sheet.name]
    rows = range(sheet.row, sheet.row + len(sheet.cells))
    hidden = sum(1 for at, row in book.row_dimensions.items() if row.hidden and at in rows)
    if hidden:
        tell(f"Hidden or filtered rows are among these, and count: {hidden}.")
    formulas = [cell.coordinate for cell in book._cells.values() if cell.data_type == "f"]
    results = open_book(args.file)[sheet.name] if formulas and not args.formulas else None
    count = sum(1 for at in formulas if results and results[at].value is None)
    if count:
        tell(
            f"{count} formulas have no stored result and count as empty. Open the file in Excel "
            "or LibreOffice and save it, or see them with --formulas."
        )


def _distinct(names: list[str]) -> list[str]:
    seen = Counter[str]()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _json(value: Any) -> Any:
    return value if isinstance(value, (int, float, bool, str)) or value is None else shown(value)


def summarise(args: argparse.Namespace) -> None:
    """Describe every column, or add up columns by groups."""
    sheet = read_sheet(args.file, args.sheet, args.range)
    if len(sheet.cells) < 2:
        raise Trouble("There are no rows under the header.")
    if args.by:
        _by_group(sheet, args)
    else:
        header = [
            "column",
            "kind",
            "filled",
            "empty",
            "different",
            "from",
            "to",
            "mean",
            "most often",
        ]
        columns = [[row[at] for row in sheet.rows] for at in range(len(sheet.header))]
        described = [_described(*pair) for pair in zip(sheet.header, columns, strict=True)]
        print(markdown(header, described))
    _tell_unseen(args, sheet)


def _described(name: str, cells: list[Any]) -> list[Any]:
    filled = [cell for cell in cells if cell not in (None, "")]
    kinds = {_kind(cell) for cell in filled}
    kind = kinds.pop() if len(kinds) == 1 else ("mixed" if kinds else "empty")
    facts: list[Any] = [name, kind, len(filled), len(cells) - len(filled)]
    texts = Counter(shown(cell) for cell in filled)
    facts.append(len(texts))
    is_ordered = kind in {"number", "date"}
    ends = (min(filled, key=_order), max(filled, key=_order)) if is_ordered else ("", "")
    facts += ends
    facts.append(statistics.fmean(filled) if kind == "number" else "")
    is_listed = kind not in {"number", "empty"} and len(texts) < len(filled)
    top = [f"{text} ({count})" for text, count in texts.most_common(_MOST_TOP)]
    return [*facts, ", ".join(top) if is_listed else ""]


def _order(cell: Any) -> Any:
    is_day = isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime)
    return datetime.datetime.combine(cell, datetime.time()) if is_day else cell


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes/no"
    if isinstance(cell, (int, float)):
        return "number"
    is_date = isinstance(cell, (datetime.date, datetime.datetime))
    return "date" if is_date else "time" if isinstance(cell, datetime.time) else "text"


_HOW: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum,
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "count": len,
}


def _by_group(sheet: Sheet, args: argparse.Namespace) -> None:
    by = [sheet.index_of(name) for name in _names(args.by)]
    of = [sheet.index_of(name) for name in _names(args.of)]
    if not of and args.how != "count":
        raise Trouble("Say with --of which columns to add up, or use --how count.")
    groups: dict[tuple[str, ...], list[list[Any]]] = {}
    for row in sheet.rows:
        if any(cell not in (None, "") for cell in row):
            groups.setdefault(tuple(shown(row[at]) for at in by), []).append(row)
    header = [sheet.header[at] for at in by] + [f"{args.how} of {sheet.header[at]}" for at in of]
    if not of:
        header.append("rows")
    wrong = Counter[str]()
    rows: list[list[Any]] = []
    for group, members in groups.items():
        columns = [_numbers((row[at] for row in members), sheet.header[at], wrong) for at in of]
        results = [_HOW[args.how](column) if column else None for column in columns]
        rows.append([*group, *(results if of else [len(members)])])
    print(markdown(header, sorted(rows, key=lambda row: row[: len(by)])))
    for name, count in wrong.items():
        tell(f"{name}: {count} cells are not numbers and were left out.")


def _numbers(cells: Iterable[Any], name: str, wrong: Counter[str]) -> list[Any]:
    found: list[Any] = []
    for cell in cells:
        if _kind(cell) == "number":
            found.append(cell)
        elif cell not in (None, ""):
            wrong[name] += 1
    return found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, work in (("info", show_info), ("read", show_cells), ("summary", summarise)):
        command = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        command.add_argument("file", help=".xlsx, .xlsm, .csv or .tsv")
        command.set_defaults(run=work)
        if name == "info":
            continue
        command.add_argument("--sheet", default="", help="its name; the first one by default")
        command.add_argument("--range", default="", help="such as A1:D20")
        if name == "read":
            command.add_argument("--format", choices=("table", "csv", "json"), default="table")
            command.add_argument("--formulas", action="store_true", help="instead of their results")
            command.add_argument("--limit", type=int, default=_MOST_ROWS, help="rows (%(default)s)")
            command.add_argument("--skip", type=int, default=0, help="rows to leave out at first")
        else:
            command.set_defaults(formulas=False)
            command.add_argument("--by", default="", help="columns that make the groups")
            command.add_argument("--of", default="", help="columns of numbers")
            command.add_argument("--how", choices=sorted(_HOW), default="sum")
    return made


if __name__ == "__main__":
    sys.exit(run(parser()))

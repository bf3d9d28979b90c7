"""Look into Excel and CSV files: what is in them, their cells, and sums by group."""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import re
import statistics
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from tables import (  # noqa: E402
    EXIT_CODES,
    Sheet,
    Trouble,
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
# What openpyxl does not write back.
_LOST = {
    "xl/slicers/": "slicers",
    "xl/pivotTables/": "pivot tables (kept as they are, not refreshed)",
    "xl/vbaProject.bin": "macros",
    "xl/embeddings/": "embedded objects",
    "xl/threadedComments/": "threaded comments",
    "xl/externalLinks/": "links to other workbooks",
    "xl/ctrlProps/": "form controls",
    "xl/activeX/": "ActiveX controls",
    "xl/richData/": "pictures or data types within cells",
}
# The same within parts of which it writes the rest back.
_LOST_WITHIN = (
    ("xl/drawings/drawing", rb"<(?:xdr:)?(?:sp|cxnSp|grpSp)[ >]", "shapes"),
    ("xl/worksheets/sheet", rb"<x14:sparkline[ >]", "sparklines"),
    ("xl/worksheets/sheet", rb"<x14:dataValidation[ >]", "choices taken from other sheets"),
    ("xl/worksheets/sheet", rb"<x14:cfRule[ >]", "newer conditional formats"),
)


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
        }
        notes += [f"{count} {name}" for name, count in counts.items() if count]
        if sheet.sheet_state != "visible":
            notes.append("hidden")
        _show_sheet(read_sheet(args.file, sheet.title, formulas=True), notes)
    names = sorted(book.defined_names)
    if names:
        print(f"named ranges: {', '.join(names)}")
    special = _special(args.file)
    if special:
        print(f"special: {', '.join(special)}")


def _special(path: str) -> list[str]:
    with zipfile.ZipFile(path) as parts:
        names = parts.namelist()
        found = [words for start, words in _LOST.items() if any(n.startswith(start) for n in names)]
        for start, form, words in _LOST_WITHIN:
            inside = (parts.read(name) for name in names if name.startswith(start))
            if any(re.search(form, content) for content in inside):
                found.append(words)
    return found


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
    if not args.formulas:
        _tell_unknown(args, sheet)


def _tell_unknown(args: argparse.Namespace, sheet: Sheet) -> None:
    """A formula that no program has calculated yet reads as empty: that must not go unseen."""
    if is_text(args.file):
        return
    count = _unknown(args.file, sheet.name)
    if count:
        tell(
            f"{count} formulas have no stored result and count as empty. Open the file in Excel "
            "or LibreOffice and save it, or see them with --formulas."
        )


def _unknown(path: str, name: str) -> int:
    formulas, results = open_book(path, formulas=True)[name], open_book(path)[name]
    cells = (cell for cell in formulas._cells.values() if cell.data_type == "f")
    return sum(1 for cell in cells if results[cell.coordinate].value is None)


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
    _tell_unknown(args, sheet)


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
            command.add_argument("--by", default="", help="columns that make the groups")
            command.add_argument("--of", default="", help="columns of numbers")
            command.add_argument("--how", choices=sorted(_HOW), default="sum")
    return made


if __name__ == "__main__":
    sys.exit(run(parser()))

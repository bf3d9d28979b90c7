"""Make Excel files: a workbook out of rows, or a copy of one with a chart in it."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
from pathlib import Path
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from specials import lost  # noqa: E402
from tables import (  # noqa: E402
    EXIT_CODES,
    Sheet,
    Trouble,
    is_text,
    open_book,
    openpyxl,
    read_sheet,
    read_text,
    run,
    save,
    shown,
    tell,
)

_KINDS = ("column", "bar", "line", "area", "pie", "scatter")
_WIDEST = 60
# What a sheet of Excel takes.
_MOST_ROWS, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767
_EXACT = 10**15  # numbers of so many digits are kept as they are


def make_book(args: argparse.Namespace) -> None:
    """Write the rows of a CSV or JSON file as an Excel workbook with a table in it."""
    rows = _rows(args.source)
    if not rows:
        raise Trouble(f"There are no rows in {args.source}.")
    book = openpyxl().Workbook()
    _fill(book.active, rows, args.title or Path(args.source).stem)
    _save(args.out, args.force, book)
    tell(f"{args.out}: {len(rows) - 1} rows, {len(rows[0])} columns.")


def _rows(path: str) -> list[list[Any]]:
    if Path(path).suffix.lower() != ".json":
        if not is_text(path):
            raise Trouble("Give a .csv, .tsv or .json file.")
        return read_text(path)
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise Trouble(f"{path} can't be read as JSON: {error}") from None
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise Trouble(f"{path} must hold a list of objects with the same keys.")
    header = list(dict.fromkeys(key for record in records for key in record))
    return [header, *([_cell(record.get(key)) for key in header] for record in records)]


def _cell(value: Any) -> Any:
    is_rounded = isinstance(value, int) and abs(value) >= _EXACT
    if is_rounded or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)  # what Excel would not hold as it is
    is_plain = isinstance(value, (str, int, float, bool)) or value is None
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _fill(sheet: Any, rows: list[list[Any]], title: str) -> None:
    if len(rows) > _MOST_ROWS or len(rows[0]) > _MOST_COLUMNS:
        raise Trouble(f"A sheet takes {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns at most.")
    cut = sum(isinstance(c, str) and len(c) > _LONGEST_TEXT for row in rows for c in row)
    if cut:
        tell(f"{cut} texts were cut at {_LONGEST_TEXT:,} characters, the most that a cell takes.")
    library = openpyxl()
    sheet.title = "".join(" " if c in "[]:*?/\\" else c for c in title)[:31].strip("' ") or "Data"
    for at, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            _put(sheet.cell(at, column), value)
    for column, cell in enumerate(sheet[1], 1):
        cell.font = library.styles.Font(bold=True)
        widest = max(len(shown(row[column - 1])) for row in rows[:500])
        name = library.utils.get_column_letter(column)
        sheet.column_dimensions[name].width = min(_WIDEST, widest + 3)
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions


def _put(cell: Any, value: Any) -> None:
    try:
        cell.value = value
    except ValueError:  # a control character
        cell.value = "".join(c for c in str(value) if c.isprintable() or c in "\n\t")
    if isinstance(value, str) and value.startswith("="):
        # What comes from a file is a text, never a formula that runs when it is opened.
        cell.data_type = "s"
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        cell.number_format = "yyyy-mm-dd"


def add_chart(args: argparse.Namespace) -> None:
    """Write a copy with a chart of some columns."""
    if is_text(args.file):
        book = openpyxl().Workbook()
        _fill(book.active, read_text(args.file), Path(args.file).stem)
        table = Sheet(book.active.title, [list(row) for row in book.active.values])
    else:
        table = read_sheet(args.file, args.sheet, args.range)
        book = open_book(args.file, formulas=True, is_copied=True)
    sheet = book[table.name]
    if len(table.cells) < 2:
        raise Trouble("There are no rows under the header.")
    chart = _chart(args, sheet, table)
    place = args.at or f"{openpyxl().utils.get_column_letter(sheet.max_column + 2)}{table.row}"
    try:
        sheet.add_chart(chart, place)
        gone = _save(args.out, args.force, book, args.file)
    except ValueError as error:
        raise Trouble(f"{place!r} is no place for a chart: {error}") from None
    tell(f"{args.out}: a {args.kind} chart of {len(table.rows)} rows at {table.name}!{place}.")
    if gone:
        tell(f"Not in it, though in {args.file}: {', '.join(gone)}.")
    count = sum(c.data_type == "f" for each in book.worksheets for c in each._cells.values())
    if count:
        tell(f"Its {count} formulas have no results until Excel or LibreOffice saves it.")


def _chart(args: argparse.Namespace, sheet: Any, table: Sheet) -> Any:
    library = openpyxl().chart
    kinds = {
        "column": library.BarChart,
        "bar": library.BarChart,
        "line": library.LineChart,
        "area": library.AreaChart,
        "pie": library.PieChart,
        "scatter": library.ScatterChart,
    }
    chart = kinds[args.kind]()
    if args.kind in {"column", "bar"}:
        chart.type = "bar" if args.kind == "bar" else "col"
    x = table.index_of(args.x)
    names = [name.strip() for name in args.y.split(",") if name.strip()]
    indexes = [table.index_of(name) for name in names]
    if args.kind == "pie" and len(indexes) > 1:
        raise Trouble("A pie chart shows one column: give one name with --y.")
    for index in indexes:
        _require_numbers(table, index)
    for index in indexes:
        values = _reference(sheet, table, index, has_header=True)
        if args.kind == "scatter":
            across = _reference(sheet, table, x, has_header=False)
            points = library.Series(values, across, title_from_data=True)
            points.marker.symbol = "circle"
            points.graphicalProperties.line.noFill = True
            chart.series.append(points)
        else:
            chart.add_data(values, titles_from_data=True)
    if args.kind != "scatter":
        chart.set_categories(_reference(sheet, table, x, has_header=False))
    chart.title = args.title or f"{', '.join(table.header[i] for i in indexes)}"
    if args.kind != "pie":
        chart.x_axis.title, chart.y_axis.title = table.header[x], None
        # Without this, newer versions of Excel leave the axes out.
        chart.x_axis.delete = chart.y_axis.delete = False
    chart.width, chart.height = 22, 11
    return chart


def _reference(sheet: Any, table: Sheet, index: int, *, has_header: bool) -> Any:
    top = table.row if has_header else table.row + 1
    column = table.column + index
    bottom = table.row + len(table.cells) - 1
    return openpyxl().chart.Reference(sheet, column, top, column, bottom)


def _require_numbers(table: Sheet, index: int) -> None:
    cells = [row[index] for row in table.rows]
    kinds = [isinstance(c, (int, float)) and not isinstance(c, bool) for c in cells]
    if not any(kinds) and any(cell is not None for cell in cells):
        raise Trouble(f"The column {table.header[index]!r} holds no numbers.")


def _save(name: str, is_forced: bool, book: Any, source: str = "") -> list[str]:
    """Write a workbook; return what one that it is a copy of has, and it has not."""
    # Excel opens no file whose name tells of another kind.
    ending = ".xlsm" if book.vba_archive else ".xlsx"
    if Path(name).suffix.lower() != ending:
        why = ", for it has macros" if book.vba_archive else ""
        raise Trouble(f"The file to write must end in {ending}{why}.")
    book.template = False  # nor one that calls itself a template
    gone: list[str] = []

    def write(place: str) -> None:
        book.save(place)
        if source and not is_text(source):
            gone.extend(lost(source, place))
        if gone and Path(name).exists() and Path(name).samefile(source):
            raise Trouble(
                f"{name} would lose: {', '.join(gone)}. Nothing was written; give another name."
            )

    save(name, is_forced, write)
    return gone


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    book = commands.add_parser("book", help=make_book.__doc__, description=make_book.__doc__)
    book.add_argument("source", help="a .csv or .tsv file, or .json with a list of objects")
    book.add_argument("out", help="the .xlsx to write")
    book.add_argument("--title", default="", help="the sheet's name")
    book.set_defaults(run=make_book)
    chart = commands.add_parser("chart", help=add_chart.__doc__, description=add_chart.__doc__)
    chart.add_argument("file", help="where the numbers are: .xlsx, .xlsm, .csv or .tsv")
    chart.add_argument("out", help="the .xlsx to write")
    chart.add_argument("--x", required=True, help="the column along the axis, or of the labels")
    chart.add_argument("--y", required=True, help="columns of numbers, with commas between")
    chart.add_argument("--kind", choices=_KINDS, default="column")
    chart.add_argument("--title", default="")
    chart.add_argument("--sheet", default="", help="its name; the first one by default")
    chart.add_argument("--range", default="", help="such as A1:D20, with the header")
    chart.add_argument("--at", default="", help="the cell for its corner; beside the table")
    chart.set_defaults(run=add_chart)
    for command in (book, chart):
        command.add_argument("--force", action="store_true", help="replace a file that is there")
    return made


if __name__ == "__main__":
    sys.exit(run(parser()))

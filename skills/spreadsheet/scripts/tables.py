"""What the scripts share: opening files, finding the table in a sheet, failing in a sentence."""

from __future__ import annotations

import argparse
import codecs
import csv
import datetime
import io
import itertools
import math
import os
import re
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXIT_CODES = (
    "Exit codes: 0 done, 1 not possible (the reason is on standard error), 2 wrong arguments,\n"
    "3 a Python package is missing."
)
_TEXTS = {".csv": ",", ".tsv": "\t", ".txt": None}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# What a library raises for a file that is not whole; XML's errors are of syntax.
_DAMAGED = (
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    SyntaxError,
    zlib.error,
    zipfile.BadZipFile,
)
_CODE = re.compile(r"[+-]?0\d+.*|[+-]?\d{16,}|\+\d{7,}|\d+[eE]\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_GROUPED = re.compile(r" *[+-]?[1-9]\d{0,2}\.\d{3} *")
_DECIMAL_COMMA = re.compile(r" *[+-]?\d[\d.]*,(\d\d?|\d{4,}) *")
_LOOKED_AT = 100_000


class Trouble(Exception):
    """What could not be done, in a sentence."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.code = code


@dataclass
class Sheet:
    """The cells of a sheet from `row` and `column` on (both from 1), rectangular."""

    name: str
    cells: list[list[Any]]
    row: int = 1
    column: int = 1

    @property
    def header(self) -> list[str]:
        """The first row as names; columns without one are called by their letter."""
        first = self.cells[0] if self.cells else []
        return [
            shown(name).strip() if name not in (None, "") else letter(self.column + at)
            for at, name in enumerate(first)
        ]

    @property
    def rows(self) -> list[list[Any]]:
        """Everything below the header."""
        return self.cells[1:]

    def index_of(self, name: str) -> int:
        """Return the column of a name, or of a letter that is no name."""
        header = self.header
        folded = [entry.casefold() for entry in header]
        if name.casefold() in folded:
            return folded.index(name.casefold())
        letters = [letter(self.column + at) for at in range(len(header))]
        if name.upper() in letters:
            return letters.index(name.upper())
        raise Trouble(f"There is no column {name!r}. There are: {', '.join(header)}.")


def openpyxl() -> Any:
    """Return the library, asked for late: --help works without it."""
    try:
        import openpyxl as library
    except ImportError:
        words = f"This needs the Python package openpyxl: {sys.executable} -m pip install openpyxl"
        raise Trouble(words, 3) from None
    return library


def open_book(path: str, *, formulas: bool = False, is_copied: bool = False) -> Any:
    """Return an Excel workbook, with results of formulas or with the formulas themselves.

    One that is copied has the looks of parts of a text too.
    """
    file = Path(path)
    if not file.is_file():
        raise Trouble(f"There is no file {path}.")
    if file.suffix.lower() == ".xls":
        raise Trouble(f"{path} is of the old .xls kind. Save it as .xlsx first.")
    if file.suffix.lower() == ".ods":
        raise Trouble(f"{path} is an OpenDocument sheet. Save it as .xlsx first.")
    if not zipfile.is_zipfile(file):
        raise Trouble(f"{path} is not an Excel file, or it is encrypted with a password.")
    if _is_strict(file):
        raise Trouble(f"{path} is a Strict Open XML file. Save it as a plain .xlsx first.")
    library = openpyxl()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return library.load_workbook(
                file,
                data_only=not formulas,
                keep_vba=file.suffix.lower() == ".xlsm",
                rich_text=is_copied,
            )
    except _DAMAGED as error:
        raise Trouble(f"{path} is damaged, or not an Excel file: {error}") from None


def _is_strict(file: Path) -> bool:
    """Whether a file is of the other kind of .xlsx, in which the library finds no sheets."""
    try:
        with zipfile.ZipFile(file) as parts:
            return b"//purl.oclc.org/ooxml/" in parts.read("_rels/.rels")
    except _DAMAGED:
        return False


def is_text(path: str) -> bool:
    """Whether a file is comma- or tab-separated text."""
    return Path(path).suffix.lower() in _TEXTS


def read_sheet(path: str, name: str = "", area: str = "", *, formulas: bool = False) -> Sheet:
    """Return a sheet's cells without empty rows and columns around; the first sheet by default."""
    if is_text(path):
        if area:
            raise Trouble("--range works with Excel files only.")
        return _trimmed(Sheet(Path(path).stem, read_text(path)))
    book = open_book(path, formulas=formulas)
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise Trouble(f"{path} holds no sheet with cells.")
    if name and name not in names:
        raise Trouble(f"There is no sheet {name!r}. There are: {', '.join(names)}.")
    sheet = book[name] if name else book.worksheets[0]
    if not area:
        return filled(sheet)
    try:
        left, top, right, bottom = openpyxl().utils.range_boundaries(area.upper())
    except (ValueError, TypeError):
        raise Trouble(f"{area!r} is not a range such as A1:D20.") from None
    bounds = {"min_row": top, "max_row": bottom, "min_col": left, "max_col": right}
    cells = [list(map(_value, row)) for row in sheet.iter_rows(**bounds)]
    return Sheet(sheet.title, cells, top or 1, left or 1)


def filled(sheet: Any) -> Sheet:
    """Return what is filled in: cells that only have a look may lie a million rows away."""
    places = [place for place, cell in sheet._cells.items() if cell.value not in (None, "")]
    if not places:
        return Sheet(sheet.title, [])
    rows, columns = zip(*places, strict=True)
    bounds = {"max_row": max(rows), "max_col": max(columns)}
    top, left = min(rows), min(columns)
    found = sheet.iter_rows(min_row=top, min_col=left, **bounds)
    return Sheet(sheet.title, [list(map(_value, row)) for row in found], top, left)


def _value(cell: Any) -> Any:
    """Return what a cell holds; a number that is shown with zeros before it is a code, a text."""
    value = cell.value
    if type(value) is not int:
        return value
    zeros = cell.number_format
    is_code = len(zeros) > 1 and not zeros.strip("0")
    return str(value).zfill(len(zeros)) if is_code else value


def read_text(path: str) -> list[list[Any]]:
    """Return the rows of a CSV or TSV file, numbers and dates as such."""
    file = Path(path)
    if not file.is_file():
        raise Trouble(f"There is no file {path}.")
    text = _decoded(file)
    csv.field_size_limit(sys.maxsize >> 32)
    named = re.match(r"sep=(.)\r?\n", text)  # a line of Excel's own
    if named:
        text = text[named.end() :]
    mark = named[1] if named else _delimiter(_TEXTS[file.suffix.lower()] or "\t", text)
    rows = list(_lines(text, mark))
    is_grouped = mark != "," and _is_grouped(rows, mark)
    if is_grouped:
        tell("Numbers such as 1.234 stay texts: its point may stand between thousands.")
    width = max((len(row) for row in rows), default=0)
    return [
        [cell if is_grouped and _GROUPED.fullmatch(cell) else typed(cell) for cell in row]
        + [None] * (width - len(row))
        for row in rows
    ]


def _lines(text: str, mark: str) -> Iterator[list[str]]:
    # Not its lines: a row may hold what Python takes for the end of one.
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark)


def _decoded(file: Path) -> str:
    raw = file.read_bytes()
    encoding = "utf-8-sig"
    # Excel saves "Unicode text" as UTF-16, other programs without a mark.
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif b"\0" in raw[:2]:
        encoding = "utf-16-be" if raw[0] == 0 else "utf-16-le"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        tell(
            f"{file.name} is not UTF-8. It was read as Windows-1252, of Western Europe: where "
            "letters look wrong, save it as UTF-8 from what it is in, such as cp1250."
        )
        return raw.decode("cp1252", "replace")


def _delimiter(usual: str, text: str) -> str:
    """Return the sign that parts most of the first rows alike: each may stand in a text too."""
    # Where all rows hold two of them alike, a comma is that of decimals.
    marks = dict.fromkeys((usual.replace(",", ";"), ";", "\t", ",", "|"))
    return max(marks, key=lambda mark: _alike(text[:_LOOKED_AT], mark))


def _alike(text: str, mark: str) -> int:
    widths = Counter(map(len, itertools.islice(_lines(text, mark), 100)))
    return max((count for width, count in widths.items() if width > 1), default=0)


def _is_grouped(rows: list[list[str]], mark: str) -> bool:
    """Whether `1.234` may be a thousand: beside decimal commas, or as Excel writes it."""
    cells = [cell for row in rows for cell in row]
    grouped = sum(1 for cell in cells if _GROUPED.fullmatch(cell))
    if not grouped:
        return False
    pointed = sum(1 for cell in cells if "." in cell and _NUMBER.fullmatch(cell))
    has_commas = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    return has_commas or (mark == ";" and pointed == grouped)


def typed(text: str) -> Any:
    """Return a number or a date where the text is one; `007` and long numbers stay texts.

    So do `+4915112345678` and `12e3456`, which are of a telephone and of a commit.
    """
    plain = text.strip()
    if not plain:
        return None
    if _NUMBER.fullmatch(plain) and not _CODE.fullmatch(plain) and math.isfinite(float(plain)):
        return int(plain) if re.fullmatch(r"[+-]?\d+", plain) else float(plain)
    if _DATE.fullmatch(plain):
        try:
            return datetime.date.fromisoformat(plain)
        except ValueError:
            return text
    return text


def _trimmed(sheet: Sheet) -> Sheet:
    cells = sheet.cells
    full = [at for at, row in enumerate(cells) if any(cell not in (None, "") for cell in row)]
    if not full:
        return Sheet(sheet.name, [])
    cells = cells[full[0] : full[-1] + 1]
    used = [at for at in range(len(cells[0])) if any(row[at] not in (None, "") for row in cells)]
    left, right = used[0], used[-1] + 1
    return Sheet(sheet.name, [row[left:right] for row in cells], full[0] + 1, left + 1)


def letter(column: int) -> str:
    """Return `A` for 1, `AB` for 28."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def shown(value: Any) -> str:
    """Return a cell as text for people."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"  # what Excel keeps: fewer would cut the cents of large sums
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time()
        return value.date().isoformat() if is_day else value.isoformat(" ")
    if hasattr(value, "ref"):  # a formula for several cells; without a text it is Excel's own
        return f"{{{getattr(value, 'text', '') or '=TABLE()'}}}"
    return str(value)


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *([shown(cell) for cell in row] for row in rows)]
    plain = ([str(c).replace("|", "\\|").replace("\n", " ") for c in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in plain)


def save(name: str, is_forced: bool, write: Callable[[str], Any]) -> None:
    """Write a file whole or not at all; one that is there is only replaced with --force."""
    target = Path(name)
    if target.exists() and not is_forced:
        raise Trouble(f"{name} is there already. Choose another name, or add --force.")
    if not target.parent.is_dir():
        raise Trouble(f"There is no folder {target.parent}.")
    # The same ending: libraries go by it.
    temporary = target.with_name(f".part-{os.urandom(6).hex()}{target.suffix}")
    try:
        write(str(temporary))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def tell(words: str) -> None:
    """Say something beside the result."""
    print(words, file=sys.stderr)


def end_quietly() -> int:
    """Whoever reads the output has seen enough: `head`, for instance."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def run(parser: argparse.ArgumentParser) -> int:
    """Run the command that was asked for; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe on Windows has an old code page.
        getattr(stream, "reconfigure")(encoding="utf-8", errors="replace")  # noqa: B009
    args = parser.parse_args()
    try:
        args.run(args)
        sys.stdout.flush()
    except Trouble as trouble:
        tell(str(trouble))
        return trouble.code
    except BrokenPipeError:
        return end_quietly()
    except OSError as error:
        tell(f"{error.filename or 'A file'}: {error.strerror or error}")
        return 1
    return 0

"""Documents of an office are read whole: what is left out without a word is read wrongly."""

from __future__ import annotations

import io
import re
import zipfile

import openpyxl

from desktop_agent.tools.files.reading import read
from tests.tools.conftest import Bench


def saved(document) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def with_part(content: bytes, name: str, pattern: str, text: str) -> bytes:
    """Return the document with something replaced in one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.namelist():
            whole = old.read(part)
            new.writestr(part, re.sub(pattern, text, whole.decode()) if part == name else whole)
    return out.getvalue()


async def lines(bench: Bench, name: str, content: bytes) -> list[str]:
    """Return what an agent is given of a document, without the numbers of the lines."""
    bench.put(name, content)
    return [line.partition("\t")[2] for line in (await bench.run(read, path=name)).text.split("\n")]


async def test_a_sheet_that_misstates_its_size_is_read_whole(bench: Bench) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["tea", 3])
    book.worksheets[0].append(["milk", 4])
    sheet = "xl/worksheets/sheet1.xml"
    content = with_part(saved(book), sheet, '<dimension ref="[^"]*"', '<dimension ref="A1"')
    assert await lines(bench, "a.xlsx", content) == ["[Sheet Sheet]", "tea\t3", "milk\t4"]


async def test_a_sheet_with_a_stray_cell_in_its_last_row_and_column_is_read_at_once(
    bench: Bench,
) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0]["A1"], book.worksheets[0]["XFD1"], book.worksheets[0]["A1048576"] = (
        "first",
        "far",
        "last",
    )
    found = await lines(bench, "a.xlsx", saved(book))
    assert (found[1][:6], found[2]) == ("first\t", "last")


async def test_a_formula_that_no_program_has_worked_out_yet_is_shown(bench: Bench) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["sum", "=SUM(B2:B3)"])
    book.worksheets[0].append(["tea", 3])
    found = await lines(bench, "a.xlsx", saved(book))
    assert found[1:] == ["sum\t=SUM(B2:B3)", "tea\t3"]


async def test_what_a_program_worked_out_is_shown_in_place_of_the_formula(bench: Bench) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["sum", "=SUM(B2:B3)"])
    sheet = "xl/worksheets/sheet1.xml"
    content = with_part(saved(book), sheet, r"</f><v\s*/>|</f><v></v>", "</f><v>42</v>")
    assert (await lines(bench, "a.xlsx", content))[1] == "sum\t42"


async def test_a_cell_of_two_lines_stays_one_cell(bench: Bench) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["tea\ngreen", 3])
    assert (await lines(bench, "a.xlsx", saved(book)))[1] == "tea<br>green\t3"

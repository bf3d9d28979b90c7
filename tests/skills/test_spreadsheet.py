"""The `spreadsheet` skill's scripts on real workbooks: formulas, dates, charts, hidden sheets."""

from __future__ import annotations

import csv
import datetime
import json
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.worksheet.formula import ArrayFormula

from tests.skills.scripts import Done, run, run_without

MONTHS = ["January", "February", "March", "April"]


def sheet(*words: str | Path) -> Done:
    return run("spreadsheet", "sheet.py", *words)


def make(*words: str | Path) -> Done:
    return run("spreadsheet", "make.py", *words)


def make_book(path: Path) -> Path:
    """A table that begins at B3, with dates, a formula nobody calculated, and a chart."""
    book = Workbook()
    sales = book.active
    sales.title = "Sales"
    sales["B1"] = "Sales of the year"
    sales.append([])
    sales.append([None, "Day", "Region", "Amount", "Paid"])
    for day, region, amount in [
        (1, "North", 10.5),
        (2, "South", 20),
        (3, "North", 30),
        (4, "", "?"),
    ]:
        sales.append([None, datetime.date(2026, 3, day), region or None, amount, day % 2 == 0])
    sales["D8"] = "=SUM(D4:D7)"
    chart = BarChart()
    chart.add_data(Reference(sales, 4, 3, 4, 6), titles_from_data=True)
    sales.add_chart(chart, "H3")
    notes = book.create_sheet("Notes")
    notes.sheet_state = "hidden"
    book.save(path)
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "sales.xlsx")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "months.csv"
    lines = [f"{m},{n * 10},{n},00{n}" for n, m in enumerate(MONTHS, 1)]
    path.write_text("\n".join(["Month,Sales,Costs,Code", *lines]) + "\n", encoding="utf-8")
    return path


def test_it_tells_what_is_in_a_workbook(book: Path) -> None:
    out = sheet("info", book).out
    assert "Sales: B1:E8, 1 formulas, 1 of them without a stored result, 1 charts" in out
    assert "Notes: empty, hidden" in out


def test_cells_are_read_as_a_table_csv_and_json(book: Path) -> None:
    done = sheet("read", book, "--range", "B3:E5")
    assert done.out.split("\n")[:3] == [
        "| Day | Region | Amount | Paid |",
        "| --- | --- | --- | --- |",
        "| 2026-03-01 | North | 10.5 | False |",
    ]
    assert "1 formulas have no stored result and count as empty" in done.err
    rows = json.loads(sheet("read", book, "--range", "B3:E7", "--format", "json").out)
    assert rows[3] == {"Day": "2026-03-04", "Region": None, "Amount": "?", "Paid": True}
    assert (
        "2026-03-02,South,20,True" in sheet("read", book, "--range", "B3:E7", "--format", "csv").out
    )
    assert "=SUM(D4:D7)" in sheet("read", book, "--formulas").out


def test_a_long_sheet_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("n\n" + "\n".join(map(str, range(1000))), encoding="utf-8")
    done = sheet("read", path, "--limit", "3", "--skip", "500", "--format", "csv")
    assert done.out == "n\n500\n501\n502\n"
    assert done.err == "497 more rows: go on with --skip 503.\n"


def test_every_column_is_described(book: Path) -> None:
    lines = sheet("summary", book, "--range", "B3:E7").out.split("\n")
    assert lines[2] == "| Day | date | 4 | 0 | 4 | 2026-03-01 | 2026-03-04 |  |  |"
    assert lines[3] == "| Region | text | 3 | 1 | 2 |  |  |  | North (2), South (1) |"
    assert lines[4].startswith("| Amount | mixed | 4 | 0 | 4 |")
    assert lines[5].startswith("| Paid | yes/no | 4 | 0 | 2 |")


def test_sums_by_group_name_what_was_left_out(book: Path) -> None:
    done = sheet("summary", book, "--range", "B3:E7", "--by", "region", "--of", "Amount")
    assert done.out.split("\n")[2:5] == ["|  |  |", "| North | 40.5 |", "| South | 20 |"]
    assert "Amount: 1 cells are not numbers and were left out." in done.err
    counted = sheet("summary", book, "--range", "B3:E7", "--by", "C", "--how", "count").out
    assert "| North | 2 |" in counted


def test_text_files_of_several_kinds_are_read(tmp_path: Path) -> None:
    german = tmp_path / "german.csv"
    german.write_bytes("Stra\u00dfe;Wert\nM\u00fcnchen;1,5\n".encode("cp1252"))
    assert sheet("read", german).out.split("\n")[2] == "| M\u00fcnchen | 1,5 |"
    tabs = tmp_path / "tabs.tsv"
    tabs.write_text('a\tb\n1\t"two\nlines"\n', encoding="utf-8-sig")
    assert "| 1 | two lines |" in sheet("read", tabs).out
    codes = tmp_path / "codes.csv"
    codes.write_text("code,n,long\n007,7,12345678901234567890\n", encoding="utf-8")
    read = json.loads(sheet("read", codes, "--format", "json").out)
    assert read == [{"code": "007", "n": 7, "long": "12345678901234567890"}]


@pytest.mark.parametrize(
    ("text", "encoding", "rows", "told"),
    [
        ("Nr;Name, Vorname;Betrag\n1;Meier, Anna;2,5\n2;Li;3", "utf-8",
         [["Nr", "Name, Vorname", "Betrag"], ["1", "Meier, Anna", "2,5"], ["2", "Li", "3"]], ""),
        ("1;2,5\n3;4,5", "utf-8", [["1", "2,5"], ["3", "4,5"]], ""),
        ("sep=;\r\nA;B\r\n1;2\r\n", "cp1252", [["A", "B"], ["1", "2"]], ""),
        ("Größe;B\n1;2", "utf-16-le", [["Größe", "B"], ["1", "2"]], ""),
        ("name,tags\nx,a;b\ny,c", "utf-8", [["name", "tags"], ["x", "a;b"], ["y", "c"]], ""),
        ("Ř\nx", "cp1250", [["\u00d8"], ["x"]], "a.csv is not UTF-8. It was read as Windows-1252"),
    ],
)  # fmt: skip
def test_a_text_file_is_parted_and_read_as_it_was_meant(
    tmp_path: Path, text: str, encoding: str, rows: list[list[str]], told: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    done = sheet("read", path, "--format", "csv")
    assert list(csv.reader(done.out.splitlines())) == rows
    assert done.err.startswith(told) if told else not done.err


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("a;n\nx;1.234\nx;950\n", "950"),
        ("a\tn\nx\t1.234\nx\t2.5\nx\t3,5\n", "2.5"),
        ("a;n\nx;1.234\nx;2.5\n", "3.734"),
        ("a,n\nx,1.234\n", "1.234"),
    ],
)
def test_a_point_that_may_stand_between_thousands_makes_no_number(
    tmp_path: Path, text: str, total: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    done = sheet("summary", path, "--by", "a", "--of", "n")
    assert f"| x | {total} |" in done.out
    is_left_out = "1.234" not in total and total != "3.734"
    assert ("its point may stand between thousands" in done.err) == is_left_out
    assert ("cells are not numbers and were left out" in done.err) == is_left_out


def test_a_chart_of_a_csv_stands_in_a_workbook_of_its_own(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "chart.xlsx"
    words = ("--x", "Month", "--y", "Sales,Costs", "--kind", "line", "--title", "A year")
    assert make("chart", table, out, *words).code == 0
    made = load_workbook(out).active
    (chart,) = made._charts
    series = [entry.val.numRef.f for entry in chart.series]
    assert series == ["'months'!$B$2:$B$5", "'months'!$C$2:$C$5"]
    assert chart.series[0].cat.numRef.f == "'months'!$A$2:$A$5"
    assert made["D2"].value == "001"


@pytest.mark.parametrize("kind", ["column", "bar", "area", "pie", "scatter"])
def test_a_chart_is_added_to_a_copy_and_all_else_stays(
    book: Path, tmp_path: Path, kind: str
) -> None:
    before, out = book.read_bytes(), tmp_path / "out.xlsx"
    words = ("--range", "B3:E6", "--x", "Day", "--y", "Amount", "--kind", kind)
    done = make("chart", book, out, *words)
    assert (done.code, book.read_bytes()) == (0, before), done.err
    made = load_workbook(out)
    assert len(made["Sales"]._charts) == 2
    assert made["Sales"]["D8"].value == "=SUM(D4:D7)"
    assert made["Sales"]["B4"].value == datetime.datetime(2026, 3, 1)
    assert made["Notes"].sheet_state == "hidden"
    series = made["Sales"]._charts[1].series[0]
    assert (series.val or series.yVal).numRef.f == "'Sales'!$D$4:$D$6"


def test_a_workbook_is_made_of_rows_and_no_text_becomes_a_formula(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.json", tmp_path / "rows.xlsx"
    rows.write_text(
        json.dumps([{"name": "=HYPERLINK(1)", "n": 1.5}, {"name": "b", "more": [1, 2]}]),
        encoding="utf-8",
    )
    assert make("book", rows, out).code == 0
    made = load_workbook(out).active
    assert [cell.value for cell in made[1]] == ["name", "n", "more"]
    assert (made["A2"].data_type, made["A2"].value) == ("s", "=HYPERLINK(1)")
    assert (made["B2"].value, made["C3"].value) == (1.5, "[1, 2]")
    assert made.freeze_panes == "A2"


def test_what_can_not_be_done_is_said_in_a_sentence(
    book: Path, table: Path, tmp_path: Path
) -> None:
    fake = tmp_path / "fake.xlsx"
    fake.write_text("no", encoding="utf-8")
    old = tmp_path / "old.xls"
    old.write_bytes(b"x")
    bad = tmp_path / "bad.json"
    bad.write_text("[1]", encoding="utf-8")
    for done, told in (
        (sheet("info", tmp_path / "none.xlsx"), "There is no file"),
        (sheet("info", fake), "is not an Excel file, or it is encrypted"),
        (sheet("info", old), "old .xls kind"),
        (sheet("read", book, "--sheet", "Nope"), "There are: Sales, Notes."),
        (sheet("read", book, "--range", "hello!"), "is not a range"),
        (sheet("summary", table, "--by", "Mon", "--of", "Sales"), "There are: Month, Sales"),
        (sheet("summary", table, "--by", "Month"), "Say with --of"),
        (make("chart", table, tmp_path / "x.xlsx", "--x", "Month", "--y", "Code"), "no numbers"),
        (make("chart", table, tmp_path / "x.csv", "--x", "Month", "--y", "Sales"), "end in .xlsx"),
        (make("book", bad, tmp_path / "x.xlsx"), "list of objects"),
        (make("book", table, book), "add --force"),
    ):
        assert done.code == 1
        assert told in done.err
    assert not (tmp_path / "x.xlsx").exists()
    assert sheet("nonsense").code == 2


def test_a_missing_package_is_named_and_csv_is_read_without_it(book: Path, table: Path) -> None:
    done = run_without("openpyxl", "spreadsheet", "sheet.py", "info", book)
    assert (done.code, "-m pip install openpyxl" in done.err) == (3, True)
    assert (
        "| January | 10 |" in run_without("openpyxl", "spreadsheet", "sheet.py", "read", table).out
    )
    assert "usage" in run_without("openpyxl", "spreadsheet", "make.py", "--help").out


def test_large_amounts_keep_their_cents(tmp_path: Path) -> None:
    path, book = tmp_path / "amounts.xlsx", Workbook()
    for row in [("Who", "Amount"), ("N", 1234567890.12), ("S", 12345678901.5), ("S", 0.1)]:
        book.active.append(row)
    book.save(path)
    summed = sheet("summary", path, "--by", "Who", "--of", "Amount").out
    assert summed.split("\n")[2:4] == ["| N | 1234567890.12 |", "| S | 12345678901.6 |"]
    assert "\nS,12345678901.5\n" in sheet("read", path, "--format", "csv").out
    by_amount = sheet("summary", path, "--by", "Amount", "--how", "count").out
    assert "| 12345678901.5 | 1 |" in by_amount


def test_a_row_of_text_stays_one_whatever_it_holds(tmp_path: Path) -> None:
    path, long = tmp_path / "odd.csv", "x" * 200_000
    path.write_text(f"name,n\nJohn\u2028Smith\x0c,5\n{long},6\n", encoding="utf-8")
    read = json.loads(sheet("read", path, "--format", "json").out)
    assert read == [{"name": "John\u2028Smith\x0c", "n": 5}, {"name": long, "n": 6}]
    path = tmp_path / "excel.txt"
    path.write_text("Name\tGröße\r\nJürgen\t5\r\n", encoding="utf-16", newline="")
    read = json.loads(sheet("read", path, "--format", "json").out)
    assert read == [{"Name": "Jürgen", "Größe": 5}]


def test_long_numbers_and_codes_are_not_rounded(tmp_path: Path) -> None:
    words = ["4e12345", "12e3", "+4915112345678", "1.5e3", "-2.5", "+5", "1e999"]
    path, out = tmp_path / "codes.csv", tmp_path / "codes.xlsx"
    path.write_text("\n".join(["code", *words]), encoding="utf-8")
    assert make("book", path, out).code == 0
    found = [cell.value for cell in load_workbook(out).active["A"]][1:]
    assert found == ["4e12345", "12e3", "+4915112345678", 1500, -2.5, 5, "1e999"]
    path, out = tmp_path / "ids.json", tmp_path / "ids.xlsx"
    path.write_text('[{"a": 1234567890123456789, "b": 0.1, "c": true, "d": NaN}]', "utf-8")
    assert make("book", path, out).code == 0
    found = [cell.value for cell in load_workbook(out).active[2]]
    assert found == ["1234567890123456789", 0.1, True, "nan"]


def test_a_number_that_is_shown_with_zeros_before_it_is_a_code(tmp_path: Path) -> None:
    path, made = tmp_path / "codes.xlsx", Workbook()
    made.active.append(["Code", "n"])
    made.active.append([1067, 5])
    made.active["A2"].number_format = "00000"
    made.save(path)
    assert "\n| 01067 | 5 |\n" in sheet("read", path).out
    assert "\n| 01067 | 5 |\n" in sheet("summary", path, "--by", "Code", "--of", "n").out


def test_a_file_ends_as_its_kind_does_else_excel_refuses_it(
    book: Path, table: Path, tmp_path: Path
) -> None:
    macros = tmp_path / "macros.xlsm"
    with zipfile.ZipFile(book) as plain, zipfile.ZipFile(macros, "w") as made:
        for name in plain.namelist():
            made.writestr(name, plain.read(name))
        made.writestr("xl/vbaProject.bin", b"macros")
    words = ("--range", "B3:E6", "--x", "Day", "--y", "Amount")
    for done, told in (
        (make("book", table, tmp_path / "x.xlsm"), "must end in .xlsx."),
        (make("chart", book, tmp_path / "x.xlsm", *words), "must end in .xlsx."),
        (make("chart", macros, tmp_path / "x.xlsx", *words), "must end in .xlsm, for it has"),
    ):
        assert (done.code, told in done.err) == (1, True), done.err
    assert make("chart", macros, tmp_path / "x.xlsm", *words).code == 0
    assert zipfile.ZipFile(tmp_path / "x.xlsm").read("xl/vbaProject.bin") == b"macros"
    template = load_workbook(book)
    template.template = True
    template.save(tmp_path / "house.xltx")
    assert make("chart", tmp_path / "house.xltx", tmp_path / "y.xlsx", *words).code == 0
    types = zipfile.ZipFile(tmp_path / "y.xlsx").read("[Content_Types].xml")
    assert b"spreadsheetml.sheet.main" in types, "Excel would refuse it"


def test_a_copy_keeps_the_looks_within_a_text_and_info_names_what_it_would_lose(
    tmp_path: Path,
) -> None:
    path, out, rich = tmp_path / "rich.xlsx", tmp_path / "out.xlsx", Workbook()
    rich.active.append(["A", "B"])
    rich.active.append([CellRichText("a ", TextBlock(InlineFont(b=True), "bold")), 2])
    rich.save(path)
    assert "special" not in sheet("info", path).out
    assert make("chart", path, out, "--x", "A", "--y", "B").code == 0
    copied = load_workbook(out, rich_text=True).active["A2"].value
    assert [str(part) for part in copied] == ["a ", "bold"]
    assert copied[1].font.b
    with zipfile.ZipFile(path, "a") as parts:
        parts.writestr("xl/drawings/drawing9.xml", "<xdr:wsDr><xdr:sp macro=''/></xdr:wsDr>")
        parts.writestr("xl/metadata.xml", "<metadata/>")
        parts.writestr("xl/drawings/drawing8.xml", "<xdr:wsDr><c:chart r:id='rId1'/></xdr:wsDr>")
    spilling = "formulas that spill over (they become fixed arrays)"
    assert f"special: {spilling}, shapes\n" in sheet("info", path).out
    before = path.read_bytes()
    words = ("--x", "A", "--y", "B", "--force")
    done = make("chart", path, path, *words)
    assert (done.code, path.read_bytes()) == (1, before)
    assert f"would lose: {spilling}, shapes, charts. Nothing was written" in done.err
    assert f"Not in it, though in {path}: {spilling}," in make("chart", path, out, *words).err


def test_hidden_rows_that_count_and_results_that_a_copy_lacks_are_told(
    book: Path, tmp_path: Path
) -> None:
    made = load_workbook(book)
    filtered = made["Sales"]
    filtered.row_dimensions[4].hidden = filtered.column_dimensions["C"].hidden = True
    filtered["B3"].comment = Comment("Which year?", "Ada")
    filtered["F1"] = ArrayFormula("F1", "=SUM(D4:D7)")
    made.save(book)
    told = sheet("info", book).out
    assert ", 1 comments, 1 hidden or filtered rows, 1 hidden columns\n" in told
    assert "first row: Sales of the year | C | D | E | {=SUM(D4:D7)}\n" in told
    area = ("--range", "B3:E7")
    words = ("summary", book, *area, "--by", "Region", "--of", "Amount")
    assert "Hidden or filtered rows are among these, and count: 1." in sheet(*words).err
    assert "Hidden" not in sheet("read", book, "--range", "B5:E7").err
    done = make("chart", book, tmp_path / "out.xlsx", *area, "--x", "Day", "--y", "Amount")
    assert "Its 2 formulas have no results until Excel or LibreOffice saves it." in done.err
    assert "Not in it" not in done.err


def test_what_a_sheet_does_not_take_is_told(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.json", tmp_path / "rows.xlsx"
    path.write_text(json.dumps([{"a": "x" * 40_000}]), encoding="utf-8")
    told = "1 texts were cut at 32,767 characters"
    assert told in make("book", path, out).err
    path.write_text(json.dumps([{str(n): n for n in range(16_385)}]), encoding="utf-8")
    assert "16,384 columns at most" in make("book", path, tmp_path / "wide.xlsx").err
    assert not (tmp_path / "wide.xlsx").exists()


def test_formulas_for_several_cells_are_shown(tmp_path: Path) -> None:
    path, book = tmp_path / "arrays.xlsx", Workbook()
    book.active.append(["A", "B"])
    book.active["A2"] = ArrayFormula("A2:A3", "=B2:B3*2")
    book.save(path)
    assert "| {=B2:B3*2} |" in sheet("read", path, "--formulas").out


def test_a_workbook_that_is_not_whole_or_without_cells_is_told(book: Path, tmp_path: Path) -> None:
    broken, charts = tmp_path / "broken.xlsx", Workbook()
    with zipfile.ZipFile(book) as parts, zipfile.ZipFile(broken, "w") as made:
        for name in parts.namelist():
            content = parts.read(name)
            made.writestr(name, content[:-9] if name == "xl/worksheets/sheet1.xml" else content)
    assert "is damaged" in sheet("read", broken).err
    charts.create_chartsheet("Only").add_chart(BarChart())
    charts.remove(charts.active)
    charts.save(tmp_path / "charts.xlsx")
    assert "holds no sheet with cells" in sheet("read", tmp_path / "charts.xlsx").err


def test_a_strict_file_is_said_to_be_one_in_place_of_empty_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "strict.xlsx"
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("_rels/.rels", "<a Type='http://purl.oclc.org/ooxml/officeDocument/x'/>")
    done = sheet("info", path)
    assert (done.code, "Strict Open XML file. Save it as" in done.err) == (1, True)


def test_cells_that_only_have_a_look_are_not_gone_through(tmp_path: Path) -> None:
    path, far = tmp_path / "far.xlsx", Workbook()
    far.active["C3"], far.active["D4"] = "A", 1
    far.active["XFD1000000"].font = Font(bold=True)
    far.save(path)
    assert sheet("info", path).out.startswith("Sheet: C3:D4\n")
    assert sheet("read", path).out == "| A | D |\n| --- | --- |\n|  | 1 |\n"

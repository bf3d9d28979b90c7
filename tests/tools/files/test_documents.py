"""Documents of an office are read whole: what is left out without a word is read wrongly."""

from __future__ import annotations

import io
import re
import zipfile

import docx
import docx.oxml.ns
import openpyxl
import pptx
import pypdf
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from pptx.util import Length
from pypdf.annotations import FreeText, Link, Text
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from desktop_agent.core.tool import ToolError
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.writing import edit, write
from tests.tools.conftest import Bench
from tests.tools.files.test_files import make_docx, make_pdf, make_pptx, make_xlsx, saved


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


async def test_a_number_that_is_shown_with_zeros_before_it_has_them(bench: Bench) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Dresden", 1067, 2, "=B1", True])
    for cell in sheet[1]:
        cell.number_format = "00000" if cell.column > 1 and cell.column != 3 else "0.00"
    found = await lines(bench, "a.xlsx", saved(book))
    assert found[1] == "Dresden\t01067\t2\t=B1\tTrue"


async def test_a_cell_of_two_lines_stays_one_cell(bench: Bench) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["tea\ngreen", 3])
    assert (await lines(bench, "a.xlsx", saved(book)))[1] == "tea<br>green\t3"


def word_file(body: str) -> bytes:
    """Return a Word document of this body, where `[words]` are a run."""
    document = docx.Document()
    document.add_paragraph("PLACE")
    whole = body.replace("[", '<w:r><w:t xml:space="preserve">').replace("]", "</w:t></w:r>")
    return with_part(saved(document), "word/document.xml", r"<w:p><w:r><w:t>PLACE.*?</w:p>", whole)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<w:p>[It costs ]<w:ins>[200]</w:ins><w:del><w:r><w:delText>100</w:delText></w:r></w:del>"
         "[ a year.]</w:p>", ["It costs 200 a year."]),
        ("<w:p><w:moveFrom>[Away]</w:moveFrom><w:moveTo>[Here]</w:moveTo></w:p>", ["Here"]),
        ("<w:sdt><w:sdtContent><w:p>[Name: ]<w:sdt><w:sdtContent>[Ada]</w:sdtContent></w:sdt></w:p>"
         "</w:sdtContent></w:sdt>", ["Name: Ada"]),
        ("<w:p>[Of ]<w:fldSimple>[1 May]</w:fldSimple><w:smartTag>[, Bonn]</w:smartTag></w:p>",
         ["Of 1 May, Bonn"]),
        ("<w:p>[See ]<w:hyperlink>[here]</w:hyperlink><w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t>"
         "</w:r></w:p>", ["See here\ta", "b"]),
        ('<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:t>yes </w:t>'
         '<w:sym w:font="Wingdings" w:char="F0A8"/><w:t>no</w:t></w:r>'
         '<w:r><w:sym w:font="Symbol" w:char="F0A3"/></w:r></w:p>', ["\u2611yes \u2610no\ufffd"]),
        ("<w:p>[Around ]<w:r><w:pict><w:txbxContent><w:p>[Boxed]</w:p></w:txbxContent></w:pict>"
         "</w:r></w:p>", ["Around ", "Boxed"]),
        ("<w:tbl><w:tr><w:tc><w:p>[a]</w:p><w:tbl><w:tr><w:tc><w:p>[inner]</w:p></w:tc></w:tr>"
         "</w:tbl><w:p/></w:tc><w:tc><w:p>[b]</w:p></w:tc></w:tr></w:tbl>", ["a<br>inner | b"]),
        ('<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p>[wide]</w:p></w:tc><w:tc>'
         "<w:p>[c]</w:p></w:tc></w:tr></w:tbl>", ["wide |  | c"]),
        ("<w:p><w:r><w:fldChar><w:ffData><w:checkBox><w:default/><w:checked/></w:checkBox>"
         "</w:ffData></w:fldChar><w:fldChar><w:ffData><w:checkBox><w:default w:val='0'/>"
         "</w:checkBox></w:ffData></w:fldChar><w:fldChar><w:ffData><w:ddList>"
         "<w:result w:val='1'/><w:listEntry w:val='red'/><w:listEntry w:val='blue'/></w:ddList>"
         "</w:ffData></w:fldChar><w:fldChar/></w:r>[.]</w:p>", ["\u2612\u2610blue."]),
        ("<w:altChunk/>", ["[A document of another kind is embedded here, and not read.]"]),
    ],
)  # fmt: skip
async def test_words_of_a_document_are_read_wherever_they_stand(bench, body, said) -> None:
    assert await lines(bench, "a.docx", word_file(body)) == said


def numbering(document, levels: str, *, anew: str = "") -> None:
    """Give the document one list of these levels, number 77, and 78 which begins with `anew`."""
    root = document.part.numbering_part.element
    space = docx.oxml.ns.nsdecls("w")
    shape = f'<w:abstractNum {space} w:abstractNumId="77">{levels}</w:abstractNum>'
    root.insert(0, docx.oxml.parse_xml(shape))
    for number, start in (("77", ""), ("78", anew)):
        own = f'<w:abstractNumId w:val="77"/>{start}'
        root.append(docx.oxml.parse_xml(f'<w:num {space} w:numId="{number}">{own}</w:num>'))


async def test_numbers_of_headings_clauses_and_lists_are_read(bench: Bench) -> None:
    document = docx.Document()
    level_of = (
        '<w:lvl w:ilvl="{}"><w:start w:val="{}"/><w:numFmt w:val="{}"/>{}'
        '<w:lvlText w:val="{}"/></w:lvl>'
    ).format
    levels = (
        level_of(0, 4, "decimal", '<w:pStyle w:val="Heading1"/>', "\u00a7 %1")
        + level_of(1, 1, "decimal", "", "%1.%2")
        + level_of(2, 1, "lowerLetter", "", "(%3)")
        + level_of(3, 9, "upperRoman", "", "%4.")
        + level_of(4, 1, "bullet", "", "\uf0b7")
    )
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbering(document, levels, anew=again)
    style = document.styles["Heading 1"].element.get_or_add_pPr()
    style.get_or_add_numPr().get_or_add_numId().val = 77
    for text, number, level in (
        ("Rent", None, 0), ("Due", 77, 1), ("cash", 77, 2), ("card", 77, 2), ("Late", 77, 1),
        ("cash", 77, 2), ("then", 77, 3), ("dot", 77, 4), ("End", None, 0), ("Annex", 78, 0),
        ("Free", 0, 0), ("Plain", -1, 0),
    ):  # fmt: skip
        made = document.add_paragraph(text, "Heading 1" if number is None else None)
        if number is not None and number >= 0:
            own = made.paragraph_format.element.get_or_add_pPr().get_or_add_numPr()
            own.get_or_add_numId().val, own.get_or_add_ilvl().val = number, level
    assert await lines(bench, "a.docx", saved(document)) == [
        *("# \u00a7 4 Rent", "4.1 Due", "(a) cash", "(b) card", "4.2 Late", "(a) cash", "IX. then"),
        *("- dot", "# \u00a7 5 End", "\u00a7 1 Annex", "Free", "Plain"),
    ]


async def test_notes_comments_and_the_edge_of_the_page_are_read_too(bench: Bench) -> None:
    document = docx.Document()
    run = document.add_paragraph("The text.").runs[0]
    document.add_comment(run, "Is this so?", author="Ada")
    document.sections[0].header.paragraphs[0].text = "Draft"
    found = await lines(bench, "a.docx", saved(document))
    assert found[0] == "The text."
    assert found[1:] == ["[Page header]", "Draft", "[Comments]", "Ada: Is this so?"]


async def test_what_is_grouped_on_a_slide_is_read(bench: Bench) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    group = slide.shapes.add_group_shape().shapes.add_group_shape()
    group.shapes.add_textbox(*[Length(99)] * 4).text_frame.text = "Grouped twice"
    assert await lines(bench, "a.pptx", saved(show)) == ["[Slide 1]", "Grouped twice"]


async def test_a_page_that_can_not_be_read_costs_itself_alone(bench: Bench) -> None:
    writer = pypdf.PdfWriter()
    for content in (make_pdf(), make_pdf().replace(b"(Hello", b"[Hello"), make_pdf()):
        writer.append(io.BytesIO(content))
    out = io.BytesIO()
    writer.write(out)
    found = await lines(bench, "a.pdf", out.getvalue())
    whole = "Hello from a PDF"
    assert (found[:2], found[-2:]) == (["[Page 1]", whole], ["[Page 3]", whole])
    assert found[3].startswith("[This page can't be read")


async def test_what_people_wrote_onto_a_pdf_is_read_and_a_scan_is_said_to_be_one(bench) -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(595, 842)
    place = {"rect": (0, 0, 99, 99)}
    writer.add_annotation(0, FreeText(text="Approved", **place))
    writer.add_annotation(0, Text(text="Why so much?", **place))
    writer.add_annotation(0, Link(url="https://example.org", **place))
    parent = DictionaryObject({NameObject("/T"): TextStringObject("Applicant")})
    held = {"Name": TextStringObject("Ada"), "Member": NameObject("/Yes"), "Child": None}
    for name, value in held.items():
        field = FreeText(text="", **place)
        field[NameObject("/Subtype")] = NameObject("/Widget")
        field[NameObject("/T")] = TextStringObject(name)
        field[NameObject("/Parent")] = parent
        if value is not None:
            field[NameObject("/V")] = value
        writer.add_annotation(0, field)
    out = io.BytesIO()
    writer.write(out)
    assert await lines(bench, "a.pdf", out.getvalue()) == [
        "[Page 1]",
        "[No text: this page may be a scan, a picture.]",
        "[Comment] Approved",
        "[Comment] Why so much?",
        "[Field Applicant.Name] Ada",
        "[Field Applicant.Member] Yes",
    ]


async def test_what_is_hidden_or_not_given_as_text_is_said(bench: Bench) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["tea", 3], ["milk", 4]):
        sheet.append(row)
    sheet.row_dimensions[2].hidden = True
    sheet["A1"].comment = Comment("Is this so?", "Ada")
    chart = BarChart()
    chart.add_data(Reference(sheet, 2, 1, 2, 2))
    sheet.add_chart(chart)
    book.create_sheet("Old").sheet_state = "hidden"
    assert await lines(bench, "a.xlsx", saved(book)) == [
        "[Not given as text: charts (1), sheets with comments (1).]",
        "[Rows that are hidden or filtered out are given too: 1.]",
        "[Sheet Sheet]",
        "tea\t3",
        "milk\t4",
        "[Sheet Old, hidden]",
    ]
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "One\vTwo"
    slide.element.set("show", "0")
    assert await lines(bench, "a.pptx", saved(show)) == ["[Slide 1, hidden]", "One", "Two"]


async def test_a_document_with_a_password_is_not_said_to_be_damaged(bench: Bench) -> None:
    bench.put("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512)
    with pytest.raises(ToolError, match="locked with a password, or of the kind before"):
        await bench.run(read, path="a.docx")


def strict(content: bytes) -> bytes:
    """Return the document as "Strict Open XML", the other kind that Office saves."""
    out = io.BytesIO()
    known = rb"http://schemas\.openxmlformats\.org/(?!package)(\w+)/2006/"
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.namelist():
            whole = re.sub(known, rb"http://purl.oclc.org/ooxml/\1/", old.read(part))
            new.writestr(part, whole)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.xlsx", make_xlsx, ["[Sheet Prices]", "tea\t3"]),
        ("a.docx", make_docx, ["## A heading", "Some words.", "left | right"]),
        ("a.pptx", make_pptx, ["[Slide 1]", "The plan"]),
    ],
)
async def test_a_strict_document_is_read_too_and_not_as_an_empty_one(bench, name, make, said):
    assert await lines(bench, name, strict(make())) == said


_OFFICE = "application/vnd.openxmlformats-officedocument."
_WORDS = ["## A heading", "Some words.", "left | right"]
_MACROS = "[Macros are in it: they were not run, and are not given.]"


@pytest.mark.parametrize(
    ("name", "make", "kind", "said"),
    [
        ("a.docm", make_docx, "application/vnd.ms-word.document.macroEnabled", _WORDS),
        ("a.dotm", make_docx, "application/vnd.ms-word.template.macroEnabledTemplate", _WORDS),
        ("a.XLSM", make_xlsx, "application/vnd.ms-excel.sheet.macroEnabled", ["[Sheet Prices]"]),
        ("a.xltx", make_xlsx, f"{_OFFICE}spreadsheetml.template", ["[Sheet Prices]"]),
        ("a.ppsx", make_pptx, f"{_OFFICE}presentationml.slideshow", None),
        ("a.ppsm", make_pptx, "application/vnd.ms-powerpoint.slideshow.macroEnabled", None),
    ],
)
async def test_templates_shows_and_files_with_macros_are_read_as_others(
    bench: Bench, name: str, make, kind: str, said: list[str] | None
) -> None:
    main = rf"{re.escape(_OFFICE)}\w+\.(document|sheet|presentation)\.main"
    content = with_part(make(), "[Content_Types].xml", main, f"{kind}.main")
    out = io.BytesIO(content)
    if "macro" in kind:
        folder = {"d": "word", "X": "xl", "p": "ppt"}[name[2]]
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr(f"{folder}/vbaProject.bin", b"MsgBox")
    expected = said or ["[Slide 1]", "The plan"]
    found = await lines(bench, name, out.getvalue())
    assert [line for line in found if line == _MACROS] == ([_MACROS] if "macro" in kind else [])
    assert [line for line in found if line != _MACROS][: len(expected)] == expected


@pytest.mark.parametrize("name", ["a.docx", "a.XLSM", "a.pptx", "a.potm", "a.odt", "a.pdf"])
async def test_a_document_is_never_replaced_by_its_text(bench: Bench, name: str) -> None:
    path = bench.put(name, b"PK\3\4")
    with pytest.raises(ToolError, match="a document, which can't be written as text"):
        await bench.run(write, path=name, content="# The text of it")
    with pytest.raises(ToolError, match="a document, which can't be written as text"):
        await bench.run(edit, path=name, old_string="text", new_string="words")
    assert path.read_bytes() == b"PK\3\4"
    await bench.run(write, path="by-hand.pdf", content="%PDF-1.4\n")

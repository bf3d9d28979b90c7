"""The `document` skill's script on real Word files, there and back."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn

from tests.skills.scripts import Done, run, run_without

MARKDOWN = """\
# Plan *for* May

Text with **bold**, *italic*, ~~gone~~, `code()` and a [link](https://example.org/a?b=1).

## Lists

1. One
   - inner *a*
   - inner b
     1. deep
2. Two

   More of two.

- [ ] open
- [x] done

5. five
6. six

> A quote of snake_case
>
> that goes on

```
def f():
    return "*"
```

| Name | Amount |
| --- | --: |
| **A** \\| b | 1 |
| c | 2 |

---

Stars \\* and 1\\. stay.

1\\. No list.
"""


def document(*words: str | Path) -> Done:
    return run("document", "document.py", *words)


def picture(path: Path, width: int = 4000) -> Path:
    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">L", len(content)) + body + struct.pack(">L", zlib.crc32(body))

    rows = b"\0" + b"\xff\0\0" * width
    head = struct.pack(">LLBBBBB", width, 1, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)
    return path


def test_markdown_comes_back_as_it_went_in(tmp_path: Path) -> None:
    source, made, back = (tmp_path / name for name in ("plan.md", "plan.docx", "back.md"))
    source.write_text(MARKDOWN, encoding="utf-8")
    assert document("from-markdown", source, made).err == ""
    assert document("to-markdown", made, back).err == ""
    assert back.read_text(encoding="utf-8") == MARKDOWN.replace("and 1\\. stay", "and 1. stay")


def test_the_document_has_words_own_headings_lists_links_and_tables(tmp_path: Path) -> None:
    source, made = tmp_path / "plan.md", tmp_path / "plan.docx"
    source.write_text(f"---\ntitle: x\n---\n{MARKDOWN}", encoding="utf-8")
    assert document("from-markdown", source, made, "--title", "May").code == 0
    opened = docx.Document(str(made))
    styles = [(p.style.name, p.text) for p in opened.paragraphs if p.style is not None]
    assert styles[0] == ("Heading 1", "Plan for May")
    assert ("Quote", "A quote of snake_case") in styles
    assert ("Code", '    return "*"') in styles
    items = [p for p in opened.paragraphs if p.text in {"One", "inner *a*", "five", "deep"}]
    numbers = [p._p.pPr.numPr for p in items]
    assert [n.ilvl.val for n in numbers] == [0, 2, 0]
    assert len({n.numId.val for n in numbers}) == 3
    (link,) = opened.paragraphs[1].hyperlinks
    assert (link.text, link.address) == ("link", "https://example.org/a?b=1")
    assert [cell.text for cell in opened.tables[0].rows[1].cells] == ["A | b", "1"]
    assert opened.core_properties.title == "May"
    kinds = [element.tag.rpartition("}")[2] for element in opened.part.numbering_part.element]
    assert kinds == sorted(kinds, key=["abstractNum", "num"].index), "Word refuses another order"


def _with_everything(path: Path, tmp_path: Path) -> Path:
    made = docx.Document()
    made.add_paragraph("Report", style="Title")
    made.sections[0].header.paragraphs[0].text = "Confidential"
    made.add_paragraph("First", style="List Bullet")
    made.add_paragraph("Second", style="List Bullet 2")
    made.add_paragraph("Step", style="List Number")
    tracked = made.add_paragraph("We ")
    for kind, text in (("ins", "really "), ("del", "never ")):
        words = "t" if kind == "ins" else "delText"
        xml = f'<w:{kind} {nsdecls("w")} w:id="1" w:author="A"><w:r><w:{words} xml:space='
        tracked._p.append(parse_xml(f'{xml}"preserve">{text}</w:{words}></w:r></w:{kind}>'))
    tracked.add_run("agree")
    xml = f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'
    tracked._p.append(parse_xml(xml))
    notes = (
        f'<w:footnotes {nsdecls("w")}><w:footnote w:id="0" w:type="separator"/>'
        '<w:footnote w:id="2"><w:p><w:r><w:t>A source.</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), made.part.package)
    made.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    table = made.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Both"
    table.cell(0, 2).text = "C"
    table.cell(1, 0).text = "two\nlines"
    made.add_picture(str(picture(tmp_path / "p.png")))
    shape: Any = made.inline_shapes[0]
    shape._inline.docPr.set("descr", "A red line")
    wrapped = parse_xml(f"<w:sdt {nsdecls('w')}><w:sdtContent/></w:sdt>")
    inside = made.add_paragraph("In a content control")
    wrapped.find(qn("w:sdtContent")).append(inside._p)
    made.element.body.insert(1, wrapped)
    made.save(str(path))
    return path


def test_a_document_of_another_program_is_read_and_what_is_left_out_is_named(
    tmp_path: Path,
) -> None:
    source, out = _with_everything(tmp_path / "all.docx", tmp_path), tmp_path / "all.md"
    done = document("to-markdown", source, out, "--images", tmp_path / "pictures")
    assert out.read_text(encoding="utf-8") == (
        "# Report\n\nIn a content control\n\n- First\n  - Second\n\n1. Step\n\n"
        "We really agree[^2]\n\n"
        "| Both |  | C |\n| --- | --- | --- |\n| two<br>lines |  |  |\n\n"
        "![A red line](pictures/picture-1.png)\n\n[^2]: A source.\n"
    )
    assert (tmp_path / "pictures/picture-1.png").read_bytes()[:4] == b"\x89PNG"
    assert "Left out: deletions that were tracked." in done.err
    assert "Left out: the page header." in done.err
    assert "give --images FOLDER" in document("to-markdown", source).err


def test_text_is_found_wherever_it_stands_and_what_is_lost_is_named(tmp_path: Path) -> None:
    made, path = docx.Document(), tmp_path / "odd.docx"
    run_of = "<w:r><w:t>{}</w:t></w:r>".format
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "A", "B"
    cells = "".join(f"<w:tc><w:p>{run_of(text)}</w:p></w:tc>" for text in ("1", "2"))
    control = "<w:sdt {}><w:sdtContent>{}</w:sdtContent></w:sdt>"
    rows: Any = made.element.body.find(qn("w:tbl"))
    rows.append(parse_xml(control.format(nsdecls("w"), f"<w:tr>{cells}</w:tr>")))
    cell = control.format("", f"<w:tc><w:p>{run_of('3')}</w:p></w:tc>")
    rows.append(parse_xml(f"<w:tr {nsdecls('w')}>{cell}{cells[: len(cells) // 2]}</w:tr>"))
    for inner in (
        f"<w:moveFrom w:id='1' w:author='A'>{run_of('moved')}</w:moveFrom>{run_of('.')}",
        f"<w:moveTo w:id='1' w:author='A'>{run_of('moved')}</w:moveTo>",
        f"<w:dir w:val='rtl'>{run_of('שלום')}</w:dir>",
        "<w:r><w:ruby><w:rt><w:r><w:t>kanji</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r>"
        "</w:rubyBase></w:ruby></w:r>",
        "<w:r><w:sym w:font='Wingdings' w:char='F0FE'/><w:t>yes</w:t>"
        "<w:sym w:font='Symbol' w:char='F0A3'/></w:r>",
        f"{run_of('end')}<m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath>",
        run_of("~~~ no ~~code~~ &amp;lt; R&amp;D"),
    ):
        math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
        made.element.body.insert(
            -1, parse_xml(f"<w:p {nsdecls('w')} xmlns:m='{math}'>{inner}</w:p>")
        )
    made.save(str(path))
    done = document("to-markdown", path)
    assert done.out == (
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 1 |\n\n.\n\nmoved\n\nשלום\n\n漢字\n\n"
        "\u2611yes\ufffd\n\nend\n\n\\~\\~\\~ no \\~\\~code\\~\\~ \\&lt; R&D\n"
    )
    assert "Left out: equations." in done.err
    assert "Left out: signs of fonts such as Symbol, each is a \ufffd." in done.err


def test_notes_at_the_end_are_kept(tmp_path: Path) -> None:
    made, path = docx.Document(), tmp_path / "notes.docx"
    xml = "<w:r><w:t>Said</w:t></w:r><w:r><w:endnoteReference w:id='2'/></w:r>"
    made.element.body.insert(-1, parse_xml(f"<w:p {nsdecls('w')}>{xml}</w:p>"))
    notes = (
        f'<w:endnotes {nsdecls("w")}><w:endnote w:id="2"><w:p><w:r><w:t>A source.</w:t></w:r></w:p>'
        "</w:endnote></w:endnotes>"
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.endnotes+xml"
    part = Part(PackURI("/word/endnotes.xml"), kind, notes.encode(), made.part.package)
    made.part.relate_to(part, RELATIONSHIP_TYPE.ENDNOTES)
    made.save(str(path))
    assert document("to-markdown", path).out == "Said[^e2]\n\n[^e2]: A source.\n"


def test_pictures_of_another_document_stay_and_each_text_finds_its_own(tmp_path: Path) -> None:
    images, texts = tmp_path / "all (of them)", tmp_path / "texts"
    texts.mkdir()
    for name, width in (("a", 1), ("b", 2), ("a", 1)):
        file = docx.Document()
        file.add_picture(str(picture(tmp_path / f"{name}.png", width)))
        file.save(str(tmp_path / f"{name}.docx"))
        words = (tmp_path / f"{name}.docx", texts / f"{name}.md", "--images", images, "--force")
        assert document("to-markdown", *words).code == 0
    for number, name in ((1, "a"), (2, "b")):
        link = f"![](<../all (of them)/picture-{number}.png>)\n"
        assert (texts / f"{name}.md").read_text(encoding="utf-8") == link
        kept = images / f"picture-{number}.png"
        assert kept.read_bytes() == (tmp_path / f"{name}.png").read_bytes()
    assert len(list(images.iterdir())) == 2


def test_a_picture_is_put_in_no_wider_than_the_page_and_only_from_below_the_folder(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    picture(folder / "wide one.png")
    picture(tmp_path / "outside.png")
    source, made = folder / "a.md", folder / "a.docx"
    source.write_text("![Wide](wide%20one.png)\n\n![Out](../outside.png)\n", encoding="utf-8")
    done = document("from-markdown", source, made)
    opened = docx.Document(str(made))
    (shape,) = opened.inline_shapes
    section = opened.sections[0]
    assert shape.width == section.page_width - section.left_margin - section.right_margin
    assert "Left out: pictures that are not below" in done.err
    assert "[Out]" in opened.paragraphs[1].text


def test_the_looks_of_a_template_are_taken_and_its_text_is_not(tmp_path: Path) -> None:
    house, source, made = (tmp_path / name for name in ("house.docx", "a.md", "a.docx"))
    template = docx.Document()
    template.styles["Heading 1"].font.name = "Georgia"
    template.sections[0].footer.paragraphs[0].text = "Our company"
    template.add_paragraph("Old text")
    template.save(str(house))
    source.write_text("# New\n\n- a\n", encoding="utf-8")
    assert document("from-markdown", source, made, "--template", house).code == 0
    opened = docx.Document(str(made))
    assert [p.text for p in opened.paragraphs] == ["New", "a"]
    assert opened.styles["Heading 1"].font.name == "Georgia"
    assert opened.sections[0].footer.paragraphs[0].text == "Our company"


@pytest.mark.parametrize("name", ["none.docx", "old.doc", "fake.docx"])
def test_what_is_no_word_document_is_said_in_a_sentence(tmp_path: Path, name: str) -> None:
    if name != "none.docx":
        (tmp_path / name).write_text("no", encoding="utf-8")
    done = document("to-markdown", tmp_path / name)
    assert done.code == 1
    assert any(words in done.err for words in ("no file", "not a .docx file"))


def test_no_file_is_overwritten_unasked(tmp_path: Path) -> None:
    source, made = tmp_path / "a.md", tmp_path / "a.docx"
    source.write_text("# A\n", encoding="utf-8")
    assert document("from-markdown", source, made).code == 0
    for words in (("from-markdown", source, made), ("to-markdown", made, source)):
        assert "add --force" in document(*words).err
    assert "end in .docx" in document("from-markdown", source, tmp_path / "a.pdf").err
    assert source.read_text(encoding="utf-8") == "# A\n"


@pytest.mark.parametrize(
    ("module", "package"), [("docx", "python-docx"), ("markdown_it", "markdown-it-py")]
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    tmp_path: Path, module: str, package: str
) -> None:
    source = tmp_path / "a.md"
    source.write_text("# A\n", encoding="utf-8")
    words = ("from-markdown", source, tmp_path / "a.docx")
    done = run_without(module, "document", "document.py", *words)
    assert (done.code, f"-m pip install {package}" in done.err) == (3, True)
    assert "usage" in run_without(module, "document", "document.py", "--help").out
    assert not (tmp_path / "a.docx").exists()


def test_a_document_that_is_not_whole_and_a_long_title_are_no_failures(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.docx", tmp_path / "broken.docx"
    docx.Document().save(str(whole))
    with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(broken, "w") as made:
        for name in parts.namelist():
            content = parts.read(name)
            made.writestr(name, content[:-9] if name == "word/document.xml" else content)
    assert "is damaged" in document("to-markdown", broken).err
    source, made_of = tmp_path / "a.md", tmp_path / "a.docx"
    source.write_text("x", encoding="utf-8")
    assert document("from-markdown", source, made_of, "--title", "t\x01" * 300).code == 0
    assert docx.Document(str(made_of)).core_properties.title == "t" * 255


def test_a_strict_file_is_said_to_be_one_in_place_of_empty_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "strict.docx"
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("_rels/.rels", "<a Type='http://purl.oclc.org/ooxml/officeDocument/x'/>")
    done = document("to-markdown", path)
    assert (done.code, "Strict Open XML file. Save it as" in done.err) == (1, True)


def test_a_template_of_word_is_taken_and_one_with_macros_is_refused_in_words(
    tmp_path: Path,
) -> None:
    source, plain = tmp_path / "a.md", tmp_path / "plain.docx"
    source.write_text("Words.\n", encoding="utf-8")
    docx.Document().save(str(plain))
    kinds = {"house.dotx": "ml.template.main", "old.dotm": ".macroEnabledTemplate.main"}
    for name, kind in kinds.items():
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(tmp_path / name, "w") as new:
            for part in old.namelist():
                new.writestr(part, old.read(part).replace(b"ml.document.main", kind.encode()))
    made = tmp_path / "made.docx"
    assert document("from-markdown", source, made, "--template", tmp_path / "house.dotx").code == 0
    assert document("to-markdown", made).out == "Words.\n"
    done = document("to-markdown", tmp_path / "old.dotm")
    assert (done.code, "old.dotm has macros. Save it as" in done.err) == (1, True)


def test_signs_that_are_not_seen_stay_and_what_a_document_can_not_hold_is_no_failure(
    tmp_path: Path,
) -> None:
    source, made = tmp_path / "a.md", tmp_path / "a.docx"
    kept = (
        "10\u00a0000\u202f\u20ac, Soft\u00adhyphen, \u0645\u06cc\u200c\u062e\u0648\u0627, "
        "\U0001f468\u200d\U0001f469, \u5168\u89d2\u3000\u7a7a\u767d"
    )
    source.write_text(f"{kept}\n\n```\n\x1b[31mred\n```\n", encoding="utf-8")
    done = document("from-markdown", source, made, "--title", "10\u00a0%\x1b")
    assert (done.code, done.err) == (0, "")
    assert document("to-markdown", made).out == f"{kept}\n\n```\n[31mred\n```\n"
    assert docx.Document(str(made)).core_properties.title == "10\u00a0%"


def test_cells_and_choices_of_a_form_are_kept_and_further_things_that_are_lost_are_named(
    tmp_path: Path,
) -> None:
    made, path = docx.Document(), tmp_path / "form.docx"
    cell_of = "<w:tc>{}<w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>".format
    below = "<w:tcPr><w:vMerge{}/></w:tcPr>".format
    rows = (
        cell_of("", "Title"),
        cell_of(below(" w:val='restart'"), "all") + cell_of("", "b") + cell_of("", "c"),
        cell_of(below(""), "") + cell_of("", "d") + cell_of("", "e"),
    )
    lines = "".join(f"<w:tr>{row}</w:tr>" for row in rows)
    field_of = "<w:fldChar w:fldCharType='begin'><w:ffData>{}</w:ffData></w:fldChar>".format
    listed = "".join(f"<w:listEntry w:val='{word}'/>" for word in ("red", "blue"))
    fields = (
        "<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>",
        "<w:checkBox><w:default w:val='0'/></w:checkBox>",
        f"<w:ddList><w:result w:val='1'/>{listed}</w:ddList>",
        "<w:textInput/>",
    )
    boxed = "<w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict>"
    run = "".join(map(field_of, fields)) + boxed
    form = f"<w:p {{}}><w:r>{run}</w:r></w:p>"
    for element in (f"<w:tbl {{}}>{lines}</w:tbl>", form, "<w:altChunk {}/>"):
        made.element.body.insert(-1, parse_xml(element.format(nsdecls("w"))))
    numbered: Any = made.add_paragraph("Numbered", "Heading 1").paragraph_format.element
    numbered.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = 2
    numbers: Any = made.part.numbering_part.element
    for shape in numbers.iter(qn("w:numFmt")):
        shape.set(qn("w:val"), "lowerLetter")
    made.add_paragraph("Lettered", "List Number")
    section = made.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.add_table(1, 1, section.page_width).cell(0, 0).text = "Letterhead"
    made.save(str(path))
    done = document("to-markdown", path)
    assert done.out == (
        "| Title |  |  |\n| --- | --- | --- |\n| all | b | c |\n|  | d | e |\n\n"
        "\u2612\u2610blue\n\n# Numbered\n\n1. Lettered\n"
    )
    assert sorted(done.err.splitlines()) == [
        "Left out: embedded documents of another kind.",
        "Left out: letters or Roman numbers of a list, each is 1, 2, 3.",
        "Left out: numbers of headings.",
        "Left out: text boxes, with their words.",
        "Left out: the page header.",
    ]


def test_cells_that_markdown_leaves_out_of_a_table_are_told(tmp_path: Path) -> None:
    source = tmp_path / "a.md"
    rows = "> | a | b \\| c |\n> | - | - |\n> | 1 | 2 | lost | too |\n> | 3 | 4 |\r\n> | 5 |\n"
    source.write_text(f"---\ntitle: x\n---\nText\n\n{rows}", encoding="utf-8", newline="")
    done = document("from-markdown", source, tmp_path / "a.docx")
    assert done.err == "Left out: cells to the right of a table's header (2).\n"

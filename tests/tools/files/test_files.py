"""Reading and changing files: nothing is lost, nothing changes that was not shown."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
import stat
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.messages import DiffDisplay, FilesDisplay
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.agent.read_files import FilesSeen
from desktop_agent.engine.workspace.containment import OutsideWorkspace
from desktop_agent.engine.workspace.diffs import diff_of
from desktop_agent.engine.workspace.safe_open import digest
from desktop_agent.engine.workspace.text_files import encode_new, lines_of
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.writing import edit, write
from tests.helpers.pictures import encoded, moving_gif
from tests.tools.conftest import Bench, with_folders

PNG = encoded("PNG")
WEBP = base64.b64decode("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")


async def test_a_file_is_read_with_line_numbers(bench: Bench) -> None:
    bench.put("a.txt", "one\ntwo\r\nthree")
    result = await bench.run(read, path="a.txt")
    assert result.text == "     1\tone\n     2\ttwo\n     3\tthree"
    assert result.display == FilesDisplay(("a.txt",), "3 lines")


async def test_a_long_file_says_how_to_go_on(bench: Bench) -> None:
    bench.put("a.txt", "".join(f"line {n}\n" for n in range(1, 5001)))
    first = await bench.run(read, path="a.txt")
    assert first.text.endswith("[Lines 1-2000 of 5000; go on with offset=2001.]")
    rest = await bench.run(read, path="a.txt", offset=4999, limit=10)
    assert rest.text == "  4999\tline 4999\n  5000\tline 5000\n\n[Lines 4999-5000 of 5000.]"
    with pytest.raises(ToolError, match="5,000 lines"):
        await bench.run(read, path="a.txt", offset=5001)


async def test_models_may_say_offset_0_and_any_limit(bench: Bench) -> None:
    bench.put("a.txt", "one\n")
    assert (await bench.run(read, path="a.txt", offset=0, limit=99999)).text == "     1\tone"


async def test_a_long_line_is_cut_with_a_note(bench: Bench) -> None:
    bench.put("a.txt", "x" * 5000 + "\nend\n")
    text = (await bench.run(read, path="a.txt")).text
    assert "the line goes on" in text
    assert len(text) < 2200
    assert text.endswith("2\tend")


async def test_a_result_stays_bounded(bench: Bench) -> None:
    bench.put("a.txt", ("y" * 1900 + "\n") * 2000)
    text = (await bench.run(read, path="a.txt")).text
    assert len(text) < 105_000
    go_on = re.search(r"offset=(\d+)", text)
    assert go_on
    again = await bench.run(read, path="a.txt", offset=int(go_on[1]))
    assert again.text.startswith(f"{go_on[1]:>6}\t")


async def test_a_huge_file_is_read_piece_by_piece(bench: Bench) -> None:
    path = bench.root / "huge.txt"
    with path.open("w") as file:
        for number in range(1, 1_200_001):
            file.write(f"line {number}\n")
    result = await bench.run(read, path="huge.txt", offset=1_100_000, limit=1)
    assert "1100000\tline 1100000" in result.text
    assert "of 1200000" in result.text
    with pytest.raises(ToolError, match="10 MB"):
        await bench.run(edit, path="huge.txt", old_string="line 7\n", new_string="x")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
async def test_a_huge_file_is_read_in_its_own_encoding(bench: Bench, encoding: str) -> None:
    bench.put("a.txt", ("grüße\r\n" + "x" * 999 + "\n").encode(encoding) * 11_000)
    text = (await bench.run(read, path="a.txt", limit=1)).text
    assert text == "     1\tgrüße\n\n[Lines 1-1 of 22000; go on with offset=2.]"


async def test_a_huge_file_that_begins_with_a_line_of_text_can_be_a_binary_one(
    bench: Bench,
) -> None:
    bench.put("a.ppm", b"P6\n" + b"\0\1\2\3" * 2_600_000)
    with pytest.raises(ToolError, match="binary file"):
        await bench.run(read, path="a.ppm")


async def test_an_empty_file_is_called_empty(bench: Bench) -> None:
    bench.put("a.txt")
    assert (await bench.run(read, path="a.txt")).text == "a.txt is empty."


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (encoded("JPEG"), "image/jpeg"),
        (moving_gif(), "image/gif"),
        (WEBP, "image/webp"),
    ],
)
async def test_an_image_is_seen_as_an_image(bench: Bench, content: bytes, kind: str) -> None:
    bench.put("picture", content)
    result = await bench.run(read, path="picture")
    assert result.images[0].media_type == kind
    assert result.images[0].data == content


@pytest.mark.parametrize("content", [PNG, encoded("JPEG"), moving_gif(), WEBP])
async def test_an_image_that_is_cut_off_is_not_sent_to_a_provider_that_would_refuse_all_of_it(
    bench: Bench, content: bytes
) -> None:
    for length in (12, len(content) // 2, len(content) - 4):
        bench.put("picture", content[:length])
        with pytest.raises(ToolError, match="cut off"):
            await bench.run(read, path="picture")


async def test_a_text_that_begins_like_an_image_is_read_as_text(bench: Bench) -> None:
    bench.put("a.md", "GIF89a is an old format; it moves.\n")
    result = await bench.run(read, path="a.md")
    assert not result.images
    assert "GIF89a is an old format" in result.text


async def test_an_image_that_is_too_large_is_refused(bench: Bench) -> None:
    bench.put("a.png", PNG + b"\0" * 5_000_000)
    with pytest.raises(ToolError, match="5 MB"):
        await bench.run(read, path="a.png")


@pytest.mark.parametrize("content", [b"\0\1\2", b"abc\0def", b"\x7fELF\2\1\1\0", bytes(range(32))])
async def test_a_binary_file_is_refused(bench: Bench, content: bytes) -> None:
    bench.put("a.bin", content)
    with pytest.raises(ToolError, match="binary"):
        await bench.run(read, path="a.bin")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-8"])
async def test_other_encodings_are_read_and_kept(bench: Bench, encoding: str) -> None:
    before = "grüße\r\nzwei\r\n".encode(encoding)
    path = bench.put("a.txt", before)
    assert "grüße" in (await bench.run(read, path="a.txt")).text
    await bench.run(edit, path="a.txt", old_string="zwei\n", new_string="drei\nvier\n")
    after = path.read_bytes()
    assert after.decode(encoding) == "grüße\r\ndrei\r\nvier\r\n"
    assert after[:4] == before[:4]


async def test_signs_of_windows_programs_are_read_and_edited_as_they_are(bench: Bench) -> None:
    path = bench.put("a.csv", "Tee;5 \u20ac\r\n\u201eMüsli\u201c;3\r\n".encode("cp1252"))
    text = (await bench.run(read, path="a.csv")).text
    assert text == "     1\tTee;5 \u20ac\n     2\t\u201eMüsli\u201c;3"
    await bench.run(edit, path="a.csv", old_string="5 \u20ac", new_string="4 \u20ac")
    assert path.read_bytes() == "Tee;4 \u20ac\r\n\u201eMüsli\u201c;3\r\n".encode("cp1252")
    path.write_bytes(b"\x80 and \x81 are controls of Latin-1")
    assert "\x80 and \x81 are" in (await bench.run(read, path="a.csv")).text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-8"])
async def test_a_text_that_is_written_anew_stays_as_other_programs_read_it(
    bench: Bench, encoding: str
) -> None:
    path = bench.put("a.csv", "größe;1\r\nzwei;2\r\n".encode(encoding))
    await bench.run(write, path="a.csv", content="grüße;3\nvier;4\n")
    assert path.read_bytes() == "grüße;3\r\nvier;4\r\n".encode(encoding)


@pytest.mark.parametrize(
    ("content", "after"),
    [
        ("a\r\nb\n", b"a\r\nb\n"),  # it says how its lines end
        ("\ufeffa\n", b"\xef\xbb\xbfa\r\n"),
        ("5 \u20ac\n", "5 \u20ac\r\n".encode()),  # Latin-1 has no such sign
    ],
)
async def test_a_text_that_is_written_anew_may_have_a_form_of_its_own(
    bench: Bench, content: str, after: bytes
) -> None:
    path = bench.put("a.txt", "grün\r\n".encode("latin-1"))
    await bench.run(write, path="a.txt", content=content)
    assert path.read_bytes() == after


async def test_a_binary_file_and_one_of_mixed_line_ends_give_their_form_to_nothing(
    bench: Bench,
) -> None:
    for name, before in (("a", b"\0\1\2\r\n"), ("b", b"a\r\nb\n"), ("c", b"")):
        path = bench.put(name, before)
        await bench.run(write, path=name, content="x\n")
        assert path.read_bytes() == b"x\n"


async def test_a_file_that_nobody_may_write_is_left_alone(bench: Bench) -> None:
    path = bench.put("a.txt", "one\n")
    path.chmod(0o444)
    await bench.run(read, path="a.txt")
    for change in (
        bench.run(write, path="a.txt", content="two\n"),
        bench.run(edit, path="a.txt", old_string="one", new_string="two"),
    ):
        with pytest.raises(ToolError, match="read-only"):
            await change
    assert path.read_text() == "one\n"


async def test_what_an_encoding_cannot_hold_is_refused_whole(bench: Bench) -> None:
    path = bench.put("a.txt", "grüße".encode("latin-1"))
    await bench.run(read, path="a.txt")
    with pytest.raises(ToolError, match="latin-1"):
        await bench.run(edit, path="a.txt", old_string="gr", new_string="€")
    assert path.read_bytes() == "grüße".encode("latin-1")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_a_torn_character_does_not_make_another_encoding_of_a_whole_file(
    bench: Bench, mark: bytes
) -> None:
    torn = mark + "grüße".encode() + b"\xe2\x82\n"
    path = bench.put("a.txt", torn + "schön\nzwei\n".encode())
    text = (await bench.run(read, path="a.txt")).text
    assert text == "     1\tgrüße\ufffd\ufffd\n     2\tschön\n     3\tzwei"
    change = {"path": "a.txt", "old_string": "schön\nzwei", "new_string": "schöner für 5 €"}
    shown = (await bench.preview(edit, **change)).display
    assert isinstance(shown, DiffDisplay)
    shown.patch.encode()
    await bench.run(edit, **change)
    assert path.read_bytes() == torn + "schöner für 5 €\n".encode()


async def test_a_folder_is_pointed_to_the_tool_that_lists_it(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    with pytest.raises(ToolError, match="use `glob`"):
        await bench.run(read, path="sub")


# ---- documents ----


def make_pdf() -> bytes:
    text = b"BT /F1 12 Tf 20 100 Td (Hello from a PDF) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n"
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start)


def make_docx() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("A heading", level=2)
    document.add_paragraph("Some words.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    return saved(document)


def make_xlsx() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Prices"
    book.active.append(["tea", 3])
    return saved(book)


def make_pptx() -> bytes:
    import pptx

    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "The plan"
    return saved(show)


def saved(document) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("a.pdf", make_pdf, ["Hello from a PDF"]),
        ("a.docx", make_docx, ["## A heading", "Some words.", "left | right"]),
        ("a.XLSX", make_xlsx, ["[Sheet Prices]", "tea\t3"]),
        ("a.pptx", make_pptx, ["[Slide 1]", "The plan"]),
    ],
)
async def test_a_document_is_read_as_text(bench: Bench, name, make, words) -> None:
    bench.put(name, make())
    text = (await bench.run(read, path=name)).text
    for word in words:
        assert word in text


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.pptx"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\3\4 broken"])
async def test_a_damaged_document_is_an_error_in_words(bench: Bench, name, content) -> None:
    bench.put(name, content)
    with pytest.raises(ToolError):
        await bench.run(read, path=name)


async def test_a_document_that_unfolds_without_end_is_refused(bench: Bench) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 210_000_000)
    bench.put("bomb.docx", out.getvalue())
    with pytest.raises(ToolError, match="too much"):
        await bench.run(read, path="bomb.docx")


# ---- write ----


async def test_writing_makes_a_file_and_its_folders(bench: Bench) -> None:
    preview = await bench.preview(write, path="new/a.txt", content="hi\n")
    assert preview.title == "Create new/a.txt?"
    assert preview.display == DiffDisplay(
        "new/a.txt", "--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1 @@\n+hi\n", 1, 0, is_new=True
    )
    assert preview.paths == (str(bench.root / "new" / "a.txt"),)
    assert not (bench.root / "new").exists(), "a preview does nothing"
    await bench.run(write, path="new/a.txt", content="hi\n")
    assert (bench.root / "new" / "a.txt").read_bytes() == b"hi\n"


async def test_writing_the_same_again_is_refused_before_anyone_is_asked(bench: Bench) -> None:
    bench.put("a.txt", "same")
    with pytest.raises(ToolError, match="already has exactly this"):
        await bench.preview(write, path="a.txt", content="same")


async def test_writing_over_a_file_that_changed_since_it_was_read_is_refused(bench: Bench) -> None:
    path = bench.put("a.txt", "one")
    await bench.run(read, path="a.txt")
    path.write_text("the person's")
    with pytest.raises(ToolError, match="changed since"):
        await bench.run(write, path="a.txt", content="two")
    assert path.read_text() == "the person's"


async def test_a_file_that_was_written_can_be_edited_at_once(bench: Bench) -> None:
    await bench.run(write, path="a.txt", content="one two")
    await bench.run(edit, path="a.txt", old_string="two", new_string="three")
    assert (bench.root / "a.txt").read_text() == "one three"


async def test_half_a_character_is_refused(bench: Bench) -> None:
    with pytest.raises(ToolError, match="half a character"):
        await bench.run(write, path="a.txt", content="x\ud800")


async def test_a_binary_file_may_be_replaced_and_the_card_says_so(bench: Bench) -> None:
    bench.put("a.bin", b"\0\1\2")
    preview = await bench.preview(write, path="a.bin", content="text")
    assert isinstance(preview.display, DiffDisplay)
    assert "3 bytes become 4" in preview.display.patch
    assert preview.stakes == ("writes 1 file",)
    written = await bench.run(write, path="a.bin", content="text")
    assert written.text == "Changed a.bin."


# ---- edit ----


async def test_an_edit_changes_what_was_shown_and_nothing_else(bench: Bench) -> None:
    path = bench.put("a.txt", "one\ntwo\nthree\n")
    await bench.run(read, path="a.txt")
    preview = await bench.preview(edit, path="a.txt", old_string="two", new_string="2")
    assert preview.title == "Edit a.txt?"
    assert isinstance(preview.display, DiffDisplay)
    assert "-two\n+2\n" in preview.display.patch
    result = await bench.run(edit, path="a.txt", old_string="two", new_string="2")
    assert path.read_text() == "one\n2\nthree\n"
    assert preview.fingerprint.endswith(digest(path.read_bytes()))
    assert result.display == preview.display


async def test_an_edit_needs_a_file_that_was_read(bench: Bench) -> None:
    bench.put("a.txt", "one")
    with pytest.raises(ToolError, match="before you edit it"):
        await bench.preview(edit, path="a.txt", old_string="one", new_string="two")
    with pytest.raises(ToolError, match="doesn't exist"):
        await bench.preview(edit, path="b.txt", old_string="one", new_string="two")


async def test_an_edit_of_a_file_that_changed_since_is_refused(bench: Bench) -> None:
    path = bench.put("a.txt", "one")
    await bench.run(read, path="a.txt")
    path.write_text("one more")
    with pytest.raises(ToolError, match="changed since"):
        await bench.run(edit, path="a.txt", old_string="one", new_string="two")
    assert path.read_text() == "one more"


async def edit_fails(bench: Bench, content: str, **arguments) -> str:
    path = bench.put("a.txt", content)
    await bench.run(read, path="a.txt")
    with pytest.raises(ToolError) as failed:
        await bench.run(edit, path="a.txt", **arguments)
    assert path.read_bytes() == content.encode(), "a failed edit changes nothing"
    return str(failed.value)


async def test_of_edits_that_two_agents_make_at_once_none_is_lost(bench: Bench) -> None:
    file = bench.put("a.txt", "one\ntwo\n")
    agents = [msgspec.structs.replace(bench.context, files=FilesSeen()) for _ in range(2)]
    for agent in agents:
        await read.run(read.parse({"path": "a.txt"}), agent)
    changes = [
        edit.parse({"path": "a.txt", "old_string": word, "new_string": word.upper()})
        for word in ("one", "two")
    ]
    made = await asyncio.gather(
        *(edit.run(change, agent) for change, agent in zip(changes, agents, strict=True)),
        return_exceptions=True,
    )
    refused = [str(error) for error in made if isinstance(error, ToolError)]
    assert len(refused) == sum(word in file.read_text() for word in ("one", "two"))
    assert all("changed" in words for words in refused)


async def test_an_edit_that_fits_twice_says_where(bench: Bench) -> None:
    words = await edit_fails(bench, "x\ny\nx\n", old_string="x", new_string="z")
    assert "2 times (line 1, 3)" in words
    assert "replace_all" in words


async def test_an_edit_that_fits_twice_where_both_overlap_is_refused(bench: Bench) -> None:
    file = bench.put("a.c", "  }\n  }\n  }\n")
    await bench.run(read, path="a.c")
    with pytest.raises(ToolError, match=r"more than once \(line 1, 2\)"):
        await bench.run(edit, path="a.c", old_string="  }\n  }\n", new_string="  }\n  x\n  }\n")
    assert file.read_text() == "  }\n  }\n  }\n"


async def test_edits_that_would_grow_without_end_are_refused(bench: Bench) -> None:
    file = bench.put("a.txt", "a" * 1000)
    await bench.run(read, path="a.txt")
    grow = {"old_string": "a", "new_string": "a" * 5000, "replace_all": True}
    with pytest.raises(ToolError, match="larger than 10 MB"):
        await bench.run(edit, path="a.txt", edits=[grow] * 4)
    assert file.read_text() == "a" * 1000


async def test_an_edit_that_fits_nowhere_says_so(bench: Bench) -> None:
    assert "not found" in await edit_fails(bench, "x\n", old_string="q", new_string="z")
    words = await edit_fails(bench, "if a:\n    b\n", old_string="if a:\n  b", new_string="z")
    assert "whitespace differs" in words
    assert "line 1" in words


@pytest.mark.parametrize(
    "arguments",
    [
        {"old_string": "", "new_string": "z"},
        {"old_string": "x", "new_string": "x"},
        {},
        {"old_string": "x", "new_string": "y", "edits": [{"old_string": "x", "new_string": "y"}]},
        {"edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "q", "new_string": "r"}]},
        {"edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "y", "new_string": "x"}]},
    ],
)
async def test_an_edit_that_makes_no_sense_changes_nothing(bench: Bench, arguments) -> None:
    words = await edit_fails(bench, "x\n", **arguments)
    assert words, "a refusal says why"


async def test_several_edits_are_made_in_order(bench: Bench) -> None:
    path = bench.put("a.txt", "a b c")
    await bench.run(read, path="a.txt")
    edits = [
        {"old_string": "a", "new_string": "b"},
        {"old_string": "b", "new_string": "x", "replace_all": True},
    ]
    await bench.run(edit, path="a.txt", edits=edits)
    assert path.read_text() == "x x c"


async def test_edits_sent_as_json_text_are_understood(bench: Bench) -> None:
    path = bench.put("a.txt", "a")
    await bench.run(read, path="a.txt")
    await bench.run(edit, path="a.txt", edits='[{"old_string": "a", "new_string": "b"}]')
    assert path.read_text() == "b"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", "x\r\ny\nz\r\n"),
        ("a\r\nb\nc\r\n", "b\nc\n", "1\n2\n3\n", "a\r\n1\n2\r\n3\r\n"),
        ("a\nb\nc\r\nd\n", "c\nd", "", "a\nb\n\n"),
        ("a\nb\na\r\nb\n", "a\nb\n", "c\nd\n", "c\nd\nc\r\nd\n"),
        ("a\r\nb\n", "a\r\nb", "a\nb", "a\nb\n"),
    ],
)
async def test_lines_are_found_however_each_of_them_ends(
    bench: Bench, before: str, old: str, new: str, after: str
) -> None:
    file = bench.put("a.txt", before)
    await bench.run(read, path="a.txt")
    is_twice = before.count("a") > 1
    if is_twice:
        with pytest.raises(ToolError, match="2 times"):
            await bench.run(edit, path="a.txt", old_string=old, new_string=new)
    one = {"old_string": old, "new_string": new, "replace_all": is_twice}
    await bench.run(edit, path="a.txt", **one)
    assert file.read_bytes() == after.encode()


async def test_mixed_line_ends_are_left_alone(bench: Bench) -> None:
    path = bench.put("a.txt", "a\r\nb\nc\r\n")
    await bench.run(read, path="a.txt")
    await bench.run(edit, path="a.txt", old_string="b\n", new_string="x\ny\n")
    assert path.read_bytes() == b"a\r\nx\ny\nc\r\n"


async def test_what_runs_is_what_was_shown_or_nothing(bench: Bench) -> None:
    path = bench.put("a.txt", "one\n")
    await bench.run(read, path="a.txt")
    before = await bench.preview(write, path="a.txt", content="two\n")
    path.write_text("changed\n")
    bench.context.files.remember(path, digest(b"changed\n"))
    after = await bench.preview(write, path="a.txt", content="two\n")
    assert before != after


# ---- diffs ----


def patched(old: str, patch: str) -> str:
    """Apply a unified diff: an independent reading of it."""
    source, out, at = lines_of(old), [], 0
    lines = lines_of(patch)[2:]
    for index, line in enumerate(lines):
        body = line[1:]
        if index + 1 < len(lines) and lines[index + 1].startswith("\\ "):
            body = body.removesuffix("\n")
        if line.startswith("@@"):
            start, count = re.match(r"@@ -(\d+)(?:,(\d+))?", line).groups()  # type: ignore[union-attr]
            first = int(start) - (count != "0")
            out += source[at:first]
            at = first
        elif line.startswith((" ", "-")):
            assert source[at] == body
            out += [body] if line.startswith(" ") else []
            at += 1
        elif line.startswith("+"):
            out.append(body)
    return "".join(out + source[at:])


_texts = st.lists(
    st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d", "é\n", "-x\n", "+y\n"]), max_size=30
).map("".join)


@given(_texts, _texts)
@settings(max_examples=300)
def test_a_diff_is_exactly_the_change(old: str, new: str) -> None:
    shown = diff_of("a.txt", old, new)
    if old == new:
        assert shown.patch == ""
        return
    assert patched(old, shown.patch) == new
    body = shown.patch.split("\n")[2:]
    assert shown.added == sum(line.startswith("+") for line in body)
    assert shown.removed == sum(line.startswith("-") for line in body)


@given(before=_texts, after=_texts, mark=st.booleans())
@settings(
    max_examples=150,
    suppress_health_check=[
        *settings.default.suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ],
)
async def test_the_bytes_on_disk_are_the_bytes_on_the_card(bench, before, after, mark) -> None:
    path = bench.put("a.txt", b"\xef\xbb\xbf" + before.encode() if mark else before)
    bench.context.files.remember(path, digest(path.read_bytes()))
    old = path.read_bytes().decode()
    try:
        preview = await bench.preview(write, path="a.txt", content=after)
    except ToolError:
        assert path.read_bytes() == encode_new(after, path.read_bytes())
        return
    await bench.run(write, path="a.txt", content=after)
    assert preview.fingerprint.endswith(digest(path.read_bytes()))
    assert patched(old, preview.display.patch) == path.read_bytes().decode()


def test_a_diff_of_large_unlike_files_is_quick() -> None:
    old = "".join(f"{n}\n" for n in range(40_000))
    new = "".join(f"x{n}\n" for n in range(40_000))
    shown = diff_of("a", old, new)
    assert (shown.added, shown.removed) == (40_000, 40_000)


async def test_a_small_change_of_a_large_file_is_shown_as_it_will_be_made(bench: Bench) -> None:
    path = bench.put("large.txt", "".join(f"{n:09}\n" for n in range(250_000)))
    await bench.run(read, path="large.txt", limit=1)
    change = {"path": "large.txt", "old_string": "000000007", "new_string": "seven"}
    preview = await bench.preview(edit, **change)
    assert patched(path.read_text(), preview.display.patch).count("seven") == 1
    assert preview.stakes == ("writes 1 file", "1 line added, 1 removed")


async def test_the_lines_of_a_change_that_is_too_large_to_be_shown_are_counted(
    bench: Bench,
) -> None:
    bench.put("large.txt", "".join(f"{n:019}\n" for n in range(60_000)))
    await bench.run(read, path="large.txt", limit=1)
    preview = await bench.preview(
        write, path="large.txt", content="".join(["x" * 19 + "\n"] * 60_000)
    )
    assert preview.display.patch.startswith("[Too large")
    assert preview.stakes == ("writes 1 file", "60,000 lines added, 60,000 removed")


# ---- where it may reach ----


@pytest.fixture
def traps(bench: Bench) -> Path:
    outside = bench.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    sibling = bench.root.parent / "work-sibling"
    sibling.mkdir()
    (sibling / "secret.txt").write_text("secret")
    (bench.root / "link").symlink_to(outside / "secret.txt")
    (bench.root / "folder").symlink_to(outside)
    (bench.root / "dangling").symlink_to(outside / "new.txt")
    (bench.root / "loop").symlink_to("loop")
    (bench.root / "proc").symlink_to("/proc/self/root")
    os.mkfifo(bench.root / "pipe")
    return outside


WAYS_OUT = ["../outside/secret.txt", "link", "folder/secret.txt", "dangling", "~/x", "/etc/passwd"]
WAYS_OUT += ["../work-sibling/secret.txt", "proc/etc/passwd", "/proc/self/root/etc/passwd"]
WAYS_OUT += ["folder/../work-sibling/secret.txt"]


@pytest.mark.parametrize("path", WAYS_OUT)
async def test_no_file_tool_reaches_outside(bench: Bench, traps: Path, path: str) -> None:
    for tool, more in (
        (read, {}),
        (write, {"content": "x"}),
        (edit, {"old_string": "secret", "new_string": "x"}),
    ):
        for act in (bench.run, bench.preview):
            with pytest.raises(OutsideWorkspace, match="is outside the workspace"):
                await act(tool, path=path, **more)
    assert (traps / "secret.txt").read_text() == "secret"
    assert not (traps / "new.txt").exists()


@pytest.mark.parametrize("path", ["", "a\0b", "loop", "pipe", "."])
async def test_no_file_tool_hangs_or_breaks_on_an_odd_path(bench, traps, path: str) -> None:
    for tool, more in (
        (read, {}),
        (write, {"content": "x"}),
        (edit, {"old_string": "secret", "new_string": "x"}),
    ):
        with pytest.raises(ToolError):
            await bench.run(tool, path=path, **more)


async def test_a_hard_link_is_not_written_through(bench: Bench, traps: Path) -> None:
    os.link(traps / "secret.txt", bench.root / "hard.txt")
    await bench.run(read, path="hard.txt")
    await bench.run(edit, path="hard.txt", old_string="secret", new_string="mine")
    assert (traps / "secret.txt").read_text() == "secret"


FLIPPER = """
import os, sys
place, secret = sys.argv[1:]
os.chdir(place)
while True:
    os.symlink(secret, "spare")
    os.replace("spare", "flip.txt")
    with open("spare", "w") as file:
        file.write("inside")
    os.replace("spare", "flip.txt")
"""


async def test_no_file_tool_escapes_a_race(bench: Bench, traps: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    bench.put("flip.txt", "inside")
    secret = traps / "secret.txt"
    process = subprocess.Popen([sys.executable, "-c", FLIPPER, str(bench.root), str(secret)])
    done = 0
    try:
        for number in range(600):
            for tool, more in (
                (read, {}),
                (write, {"content": f"inside {number}"}),
                (edit, {"old_string": "inside", "new_string": "inside!"}),
            ):
                try:
                    result = await bench.run(tool, path="flip.txt", **more)
                except ToolError:
                    continue
                assert "secret" not in result.text
                assert "secret" not in getattr(result.display, "patch", "")
                done += 1
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert done
    assert secret.read_text() == "secret"


async def test_a_link_that_stays_inside_is_followed(bench: Bench) -> None:
    target = bench.put("real.txt", "one")
    (bench.root / "alias").symlink_to("real.txt")
    await bench.run(read, path="alias")
    await bench.run(edit, path="alias", old_string="one", new_string="two")
    assert target.read_text() == "two"
    assert (bench.root / "alias").is_symlink()


async def test_a_readable_folder_is_read_and_not_written(bench: Bench, traps: Path) -> None:
    with_folders(bench, readable=[traps])
    assert "secret" in (await bench.run(read, path=str(traps / "secret.txt"))).text
    with pytest.raises(OutsideWorkspace, match="writable roots"):
        await bench.run(write, path=str(traps / "x.txt"), content="x")


async def test_the_mode_of_a_script_survives_an_edit(bench: Bench) -> None:
    path = bench.put("run.sh", "old")
    path.chmod(0o755)
    await bench.run(read, path="run.sh")
    await bench.run(edit, path="run.sh", old_string="old", new_string="new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def only_for(owner: int, another: int, group: int) -> bytes:
    """Return a list of who may use a file: its owner, another user and its group."""
    who = ((1, owner, -1), (2, another, 1234), (4, group, -1), (0x10, another, -1), (0x20, 0, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each) for each in who)


@pytest.mark.skipif(sys.platform != "linux", reason="lists of users are looked at on Linux")
async def test_who_may_use_a_file_is_the_same_after_an_edit(bench: Bench) -> None:
    access, default = "system.posix_acl_access", "system.posix_acl_default"
    shared, plain = bench.put("shared.txt", "old"), bench.put("plain.txt", "old")
    plain.chmod(0o640)
    try:
        os.setxattr(shared, access, only_for(6, 6, 0))
        os.setxattr(shared, "user.note", b"mine")
        os.setxattr(bench.root, default, only_for(6, 6, 0))
    except OSError:
        pytest.skip("the file system keeps no such lists")
    for path in (shared, plain):
        await bench.run(read, path=path.name)
        await bench.run(edit, path=path.name, old_string="old", new_string="new")
    assert os.getxattr(shared, access) == only_for(6, 6, 0)
    assert os.getxattr(shared, "user.note") == b"mine"
    assert os.listxattr(plain) == []
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".GIT/config", ".bashrc", ".env", ".ssh/config", "id_rsa"]
)
async def test_writing_what_runs_or_is_secret_is_marked(bench: Bench, path: str) -> None:
    preview = await bench.preview(write, path=path, content="x")
    assert preview.protected == (path,)


async def test_a_link_with_a_plain_name_does_not_hide_what_it_leads_to(bench: Bench) -> None:
    bench.put(".git/hooks/pre-commit", "x")
    bench.put(".env", "KEY=1")
    (bench.root / "notes.txt").symlink_to(".git/hooks/pre-commit")
    (bench.root / "env.txt").symlink_to(".env")
    assert (await bench.preview(write, path="notes.txt", content="y")).protected
    assert (await bench.preview(read, path="env.txt")).protected == (".env",)


async def test_reading_plain_files_is_not_marked(bench: Bench) -> None:
    bench.put("a.py", "x")
    assert (await bench.preview(read, path="a.py")).protected == ()


async def test_a_rule_for_an_odd_name_covers_that_name(bench: Bench) -> None:
    from fnmatch import fnmatchcase

    preview = await bench.preview(write, path="a[1]*.py", content="x")
    assert fnmatchcase("a[1]*.py", preview.rules[0].pattern)
    assert not fnmatchcase("a1x.py", preview.rules[0].pattern)
    assert preview.rules[1].pattern == "*"


def test_what_they_do_is_said_in_words() -> None:
    said = [tool.describe({"path": "src/a.py"}) for tool in (read, write, edit) if tool.describe]
    assert said == ["reading src/a.py", "writing src/a.py", "editing src/a.py"]

"""The `pdf` skill's scripts on real files: plain, scanned, encrypted, and with a form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    TextStringObject,
)

from tests.skills.scripts import Done, run, run_without, succeed


def pdf(*words: str | Path) -> Done:
    return run("pdf", "pdf.py", *words)


def form(*words: str | Path) -> Done:
    return run("pdf", "form.py", *words)


def _page(writer: PdfWriter, text: str) -> DictionaryObject:
    page = writer.add_blank_page(595, 842)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    fonts = DictionaryObject({NameObject("/Helv"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if text:
        content = DecodedStreamObject()
        content.set_data(f"BT /Helv 12 Tf 72 760 Td ({text}) Tj ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(content)
    return page


def make_pdf(path: Path, texts: list[str], password: str = "") -> Path:
    writer = PdfWriter()
    for text in texts:
        _page(writer, text)
    writer.add_metadata({"/Title": "Minutes", "/Author": "Ada"})
    if password:
        writer.encrypt(password, algorithm="AES-256")
    writer.write(path)
    return path


def _widget(writer: PdfWriter, kind: str, name: str, top: int, **more: object) -> DictionaryObject:
    rectangle = ArrayObject(FloatObject(edge) for edge in (200, top, 400, top + 20))
    widget = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/Rect"): rectangle,
            NameObject("/DA"): TextStringObject("/Helv 10 Tf 0 g"),
        }
    )
    if kind:
        widget[NameObject("/FT")] = NameObject(kind)
    if name:
        widget[NameObject("/T")] = TextStringObject(name)
    for key, value in more.items():
        widget[NameObject(f"/{key}")] = value
    return widget


def _looks(writer: PdfWriter, *states: str) -> DictionaryObject:
    normal = DictionaryObject()
    for state in states:
        look = DecodedStreamObject()
        look.set_data(b"")
        look[NameObject("/Subtype")] = NameObject("/Form")
        look[NameObject("/BBox")] = ArrayObject(NumberObject(edge) for edge in (0, 0, 20, 20))
        normal[NameObject(state)] = writer._add_object(look)
    return DictionaryObject({NameObject("/N"): normal})


def make_form(path: Path, *, has_spouse: bool = False) -> Path:
    writer = PdfWriter()
    keep = writer._add_object
    page = _page(writer, "Application")
    fields: list[DictionaryObject] = []
    widgets: list[DictionaryObject] = []

    def add(field: DictionaryObject) -> None:
        fields.append(field)
        widgets.append(field)

    add(_widget(writer, "/Tx", "Full name", 700, Ff=NumberObject(2), MaxLen=NumberObject(40)))
    add(_widget(writer, "/Tx", "Office use", 670, Ff=NumberObject(1)))
    off = NameObject("/Off")
    add(_widget(writer, "/Btn", "Member", 640, AP=_looks(writer, "/Off", "/Ja"), AS=off, V=off))
    options = ArrayObject(TextStringObject(text) for text in ("Norway", "Peru"))
    add(_widget(writer, "/Ch", "Country", 610, Ff=NumberObject(1 << 17), Opt=options))
    above = DictionaryObject({NameObject("/T"): TextStringObject("Spouse")})
    inner = _widget(writer, "/Tx", "Full name", 500)
    inner[NameObject("/Parent")] = keep(above)
    if has_spouse:
        fields.append(above)
        widgets.append(inner)
    radio = DictionaryObject(
        {
            NameObject("/FT"): NameObject("/Btn"),
            NameObject("/T"): TextStringObject("Size"),
            NameObject("/Ff"): NumberObject(1 << 15),
            NameObject("/V"): NameObject("/Off"),
            NameObject("/Kids"): ArrayObject(),
        }
    )
    fields.append(radio)
    parent = keep(radio)
    for top, state in ((580, "/S"), (550, "/L")):
        button = _widget(writer, "", "", top, AP=_looks(writer, "/Off", state), AS=off)
        button[NameObject("/Parent")] = parent
        widgets.append(button)
    placed = {id(widget): keep(widget) for widget in widgets}
    above[NameObject("/Kids")] = ArrayObject([placed.get(id(inner), parent)])
    radio[NameObject("/Kids")].extend(placed[id(widget)] for widget in widgets[-2:])
    page[NameObject("/Annots")] = ArrayObject(placed.values())
    placed[id(above)] = inner.raw_get("/Parent")
    writer._root_object[NameObject("/AcroForm")] = DictionaryObject(
        {
            NameObject("/Fields"): ArrayObject(placed.get(id(field), parent) for field in fields),
            NameObject("/DR"): page["/Resources"],
            NameObject("/DA"): TextStringObject("/Helv 10 Tf 0 g"),
        }
    )
    writer.write(path)
    return path


def texts(path: Path) -> list[str]:
    return [page.extract_text().strip() for page in PdfReader(path).pages]


@pytest.fixture
def minutes(tmp_path: Path) -> Path:
    return make_pdf(tmp_path / "minutes.pdf", ["One", "Two", "Three", "Four", "Five"])


def test_its_text_is_read_page_by_page(minutes: Path, tmp_path: Path) -> None:
    done = pdf("text", minutes, "--pages", "4-,1")
    assert done.out.split("\n")[:2] == ["--- page 4 of 5 ---", "Four"]
    assert [line for line in done.out.split("\n") if line[:1].isupper()] == ["Four", "Five", "One"]
    assert pdf("text", minutes, "--out", tmp_path / "all.txt").code == 0
    assert "Three" in (tmp_path / "all.txt").read_text(encoding="utf-8")


def test_letters_of_all_languages_reach_a_pipe(tmp_path: Path) -> None:
    assert "Größe" in pdf("text", make_pdf(tmp_path / "a.pdf", ["Größe"])).out


def test_scanned_pages_are_told_instead_of_passing_for_empty_ones(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "scan.pdf", ["One", "", "", "Four", ""])
    assert "pages without text: 2-3, 5" in pdf("info", path).out
    assert "page 2-3, 5" in pdf("text", path).err


def test_what_it_is_is_told(minutes: Path) -> None:
    out = pdf("info", minutes).out
    assert "pages: 5\nsize of page 1 in mm: 210 x 297\ntitle: Minutes\nauthor: Ada\n" in out
    assert "encrypted: no\nform fields: 0\npages without text: none" in out


def test_files_and_pages_of_files_are_put_together(minutes: Path, tmp_path: Path) -> None:
    other = make_pdf(tmp_path / "other.pdf", ["Alpha", "Beta"])
    out = tmp_path / "out.pdf"
    assert pdf("merge", out, other, f"{minutes}[2-3,last]").code == 0
    assert texts(out) == ["Alpha", "Beta", "Two", "Three", "Five"]


def test_a_file_is_split_into_pages_and_ranges(minutes: Path, tmp_path: Path) -> None:
    made = pdf("split", minutes, "--into", tmp_path / "new" / "parts", "--every", "2").out.split()
    assert [Path(name).name for name in made] == [
        "minutes-1-2.pdf", "minutes-3-4.pdf", "minutes-5.pdf",
    ]  # fmt: skip
    assert texts(Path(made[1])) == ["Three", "Four"]
    made = pdf("split", minutes, "--into", tmp_path / "two", "--ranges", "1-4,5").out.split()
    assert [texts(Path(name)) for name in made] == [["One", "Two", "Three", "Four"], ["Five"]]


def test_pages_are_picked_in_the_order_given_and_turned(minutes: Path, tmp_path: Path) -> None:
    picked, turned = tmp_path / "picked.pdf", tmp_path / "turned.pdf"
    assert pdf("pick", minutes, picked, "--pages", "3,2-1,last").code == 0
    assert texts(picked) == ["Three", "Two", "One", "Five"]
    assert pdf("rotate", picked, turned, "--by", "90", "--pages", "2").code == 0
    assert [page.rotation for page in PdfReader(turned).pages] == [0, 90, 0, 0]


def test_an_encrypted_file_opens_with_its_password_only(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "locked.pdf", ["Secret"], password="plum")
    assert "needs a password" in pdf("text", path).err
    assert "does not open" in pdf("text", path, "--password", "pear").err
    assert "Secret" in pdf("text", path, "--password", "plum").out
    assert "encrypted: yes" in pdf("info", path, "--password", "plum").out
    opened = tmp_path / "opened.pdf"
    assert pdf("pick", path, opened, "--pages", "1", "--password", "plum").code == 0
    assert texts(opened) == ["Secret"]


def test_no_file_is_overwritten_unasked(minutes: Path, tmp_path: Path) -> None:
    before = minutes.read_bytes()
    done = pdf("pick", minutes, minutes, "--pages", "1")
    assert (done.code, minutes.read_bytes()) == (1, before)
    assert "add --force" in done.err
    assert pdf("pick", minutes, minutes, "--pages", "1", "--force").code == 0
    assert texts(minutes) == ["One"]
    assert [path.name for path in tmp_path.iterdir()] == ["minutes.pdf"]
    (tmp_path / "new").write_bytes(b"")
    assert minutes.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_what_can_not_be_done_is_said_in_a_sentence(minutes: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.pdf"
    page.write_text("<html>", encoding="utf-8")
    torn = tmp_path / "torn.pdf"
    torn.write_bytes(minutes.read_bytes()[:200])
    for words, told in (
        (("info", tmp_path / "none.pdf"), "There is no file"),
        (("info", page), "is not a PDF"),
        (("text", torn), "damaged"),
        (("text", minutes, "--pages", "7"), "There is no page 7: the file has 5."),
        (("text", minutes, "--pages", "x"), "names no page"),
        (("pick", minutes, tmp_path / "no/out.pdf", "--pages", "1"), "There is no folder"),
    ):
        done = pdf(*words)
        assert done.code == 1
        assert told in done.err
    assert pdf("nonsense").code == 2
    assert pdf("split", minutes, "--into", tmp_path, "--every", "0").code == 2


def test_a_form_lists_what_can_be_filled_in(tmp_path: Path) -> None:
    path = make_form(tmp_path / "form.pdf")
    fields = {field["name"]: field for field in json.loads(form("fields", path, "--json").out)}
    assert {name: (field["kind"], field["choices"]) for name, field in fields.items()} == {
        "Full name": ("text", []),
        "Office use": ("text", []),
        "Member": ("checkbox", ["/Ja", "/Off"]),
        "Country": ("choice", ["Norway", "Peru"]),
        "Size": ("radio", ["/S", "/L", "/Off"]),
    }
    assert fields["Full name"]["required"]
    assert fields["Office use"]["read only"]
    assert "one of Norway | Peru" in form("fields", path).out
    plain = make_pdf(tmp_path / "plain.pdf", ["x"])
    assert "no form fields" in form("fields", plain).err


def test_a_form_is_filled_in_and_every_kind_of_field_holds_its_value(tmp_path: Path) -> None:
    path, out = make_form(tmp_path / "form.pdf"), tmp_path / "out.pdf"
    values = tmp_path / "values.json"
    values.write_text(
        json.dumps({"Full name": "Zoë Å", "Member": True, "Country": "Peru", "Size": "L"}),
        encoding="utf-8",
    )
    done = form("fill", path, out, "--values", values)
    assert (done.code, done.err) == (0, f"{out}: 4 of 5 fields filled in.\n")
    filled = PdfReader(out)
    held = {name: field.get("/V") for name, field in (filled.get_fields() or {}).items()}
    assert held["Full name"] == "Zoë Å"
    assert (held["Member"], held["Country"], held["Size"]) == ("/Ja", "Peru", "/L")
    states = [a.get_object().get("/AS") for a in filled.pages[0]["/Annots"]]
    assert states[-2:] == ["/Off", "/L"]
    again = {f["name"]: f["value"] for f in json.loads(form("fields", out, "--json").out)}
    assert again["Size"] == "/L"
    assert PdfReader(path).get_form_text_fields()["Full name"] is None


def test_a_field_of_the_same_last_name_keeps_its_own_value(tmp_path: Path) -> None:
    path, out = make_form(tmp_path / "form.pdf", has_spouse=True), tmp_path / "out.pdf"

    def held(file: Path) -> dict[str, str]:
        return {f["name"]: f["value"] for f in json.loads(form("fields", file, "--json").out)}

    assert form("fill", path, out, "--set", "Spouse.Full name=Maria").code == 0
    assert (held(out)["Full name"], held(out)["Spouse.Full name"]) == ("", "Maria")
    assert form("fill", out, out, "--set", "Full name=Jon", "--force").code == 0
    assert (held(out)["Full name"], held(out)["Spouse.Full name"]) == ("Jon", "Maria")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("Ful name=x", "Did you mean 'Full name'?"),
        ("Country=France", "takes one of: Norway | Peru."),
        ("Size=M", "takes one of: /S | /L | /Off."),
        ("Office use=x", "is read only"),
        (f"Full name={'x' * 41}", "'Full name' takes 40 characters at most; 'xx"),
        ("nothing", "NAME=VALUE"),
    ],
)
def test_a_wrong_value_is_told_and_nothing_is_written(tmp_path: Path, word: str, told: str) -> None:
    path, out = make_form(tmp_path / "form.pdf"), tmp_path / "out.pdf"
    done = form("fill", path, out, "--set", "Member=yes", "--set", word)
    assert done.code == 1
    assert told in done.err
    assert not out.exists()


def test_required_fields_that_stay_empty_are_named(tmp_path: Path) -> None:
    path, out = make_form(tmp_path / "form.pdf"), tmp_path / "out.pdf"
    assert "still empty: Full name" in form("fill", path, out, "--set", "Member=yes").err


@pytest.mark.parametrize("script", ["pdf.py", "form.py"])
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    tmp_path: Path, script: str
) -> None:
    words = ("info", "x.pdf") if script == "pdf.py" else ("fields", "x.pdf")
    done = run_without("pypdf", "pdf", script, *words)
    assert done.code == 3
    assert done.err.startswith("This needs the Python package pypdf: ")
    assert "-m pip install pypdf" in done.err
    assert "usage" in run_without("pypdf", "pdf", script, "--help").out
    assert "usage" in succeed("pdf", script, "--help")


def test_a_page_without_a_size_is_told(minutes: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(minutes.read_bytes().replace(b"/MediaBox", b"/MediaBix"))
    assert "The PDF is damaged" in pdf("info", broken).err


def test_what_a_result_no_longer_has_is_told(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=make_pdf(tmp_path / "plain.pdf", ["Invoice"]))
    writer.add_attachment("factur-x.xml", b"<x/>")
    writer.encrypt("plum", algorithm="AES-256")
    writer.write(tmp_path / "invoice.pdf")
    first = make_form(tmp_path / "a.pdf")
    second, out = tmp_path / "b.pdf", tmp_path / "out.pdf"
    form("fill", first, second, "--set", "Full name=Ada")
    locked = (tmp_path / "invoice.pdf", "--password", "plum", "--force")
    unlocked, attached = "is protected by a password;", f"to {locked[0]} (factur-x.xml)."
    for words, told in (
        (("rotate", locked[0], out, *locked[1:]), [unlocked]),
        (("pick", locked[0], out, "--pages", "1", *locked[1:]), [unlocked, attached]),
        (("split", locked[0], "--into", tmp_path, *locked[1:]), [unlocked, attached]),
        (("pick", second, out, "--pages", "1", "--force"), ["Left out: 5 form fields of"]),
        (("merge", out, first, second, "--force"), ["are one field now: Full name, Office use,"]),
        (("merge", out, tmp_path / "plain.pdf", "--force"), []),
        (("text", second), ["Not in this text: what was filled into the form."]),
        (("text", first), []),
    ):
        done = pdf(*words)
        lines = [line for line in done.err.splitlines() if not line.startswith(str(out))]
        assert (done.code, len(lines)) == (0, len(told)), done.err
        assert all(part in line for part, line in zip(told, lines, strict=True)), done.err

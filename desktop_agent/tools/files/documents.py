"""PDF, Word, Excel and PowerPoint files as text, with bounds on what they may unfold to."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from desktop_agent.core.tool import ToolError
from desktop_agent.tools.files.cells import in_a_row
from desktop_agent.tools.files.pdf_text import pdf_text
from desktop_agent.tools.files.word_text import word_text

LARGEST = 30_000_000
# Files that programs open only as these packed them; those before Office 2007 take texts too.
_PACKED = {
    *("docx", "docm", "dotx", "dotm", "xlsx", "xlsm", "xlsb", "xltx", "xltm", "pptx", "pptm"),
    *("ppsx", "ppsm", "potx", "potm", "odt", "ods", "odp", "pdf"),
}
# How files begin that Office encrypts, and all of its files before 2007.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNPACKED = 200_000_000
_LONGEST = 2_000_000
_SECONDS = 30.0

# Parts of a document that hold no words, or some that are not looked for.
_SILENT = {
    "charts": re.compile(r"(word|xl|ppt)/charts/chart(Ex)?\d*\.xml"),
    "diagrams": re.compile(r"(word|xl|ppt)/diagrams/data\d*\.xml"),
    "pictures": re.compile(r"(word|xl|ppt)/media/[^/]+"),
    "embedded files": re.compile(r"(word|xl|ppt)/embeddings/[^/]+"),
    "sheets with comments": re.compile(r"xl/(comments/)?comments?\d*\.xml"),
    "slides with comments": re.compile(r"ppt/comments/[^/]{1,200}\.xml"),
}
# Excel's macros of before 1993 are sheets.
_MACROS = re.compile(r"(word|xl|ppt)/vbaProject\.bin|xl/macrosheets/[^/]+")
# Templates, shows, and what has macros call their main part otherwise, which parsers refuse.
_KINDS = re.compile(
    rb"application/vnd\.(?:ms-(?:word|powerpoint)|openxmlformats-officedocument\.\w{1,20})\."
    rb"(?:document|template|presentation|slideshow)(?:\.macroEnabled(?:Template)?)?\.main\+xml"
)
_PLAIN_KINDS = {
    "docx": b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    "pptx": (b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"),
}
_CONTENT_TYPES = "[Content_Types].xml"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_NO = {"0", "false"}
_CODED = re.compile(rb'formatCode="00+"')
_HIDDEN_ROW = re.compile(rb"<row [^>]{0,500}\bhidden=\"(?:1|true)\"")


def is_document(name: str) -> bool:
    """Whether the file's name says it is a document that can be read as text."""
    suffix = _suffix(name)
    return _LIKE.get(suffix, suffix) in _READERS


def require_text_file(name: str, content: str) -> None:
    """Refuse text as the content of a document: no program opens that, and what was in it is gone.

    Raises ToolError. A PDF can be written as text, and begins with what it is.
    """
    suffix = _suffix(name)
    if suffix in _PACKED and not (suffix == "pdf" and content.startswith("%PDF-")):
        raise ToolError(
            f"{name} is a document, which can't be written as text: nothing would open it. Use a "
            "skill for such files, or a script with a library for them, and make a new file."
        )


def document_text(name: str, content: bytes) -> str:
    """Return the text of a document; raises ToolError. Takes seconds: run it in a thread."""
    kind = _LIKE.get(_suffix(name), _suffix(name))
    if kind != "pdf":
        _require_modest_zip(content)
    try:
        content = content if kind == "pdf" else _plain(content, kind)
        silent = "" if kind == "pdf" else _without_words(content)
        text = _bounded(_READERS[kind](content))
        return f"{silent}\n{text}" if silent else text
    except ToolError:
        raise
    except Exception as error:  # noqa: BLE001 - four parsers' own errors, for a damaged file
        raise ToolError(
            f"the document can't be read ({type(error).__name__}): it may be damaged or locked."
        ) from None


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].casefold()


def _require_modest_zip(content: bytes) -> None:
    if content.startswith(_OLE):
        raise ToolError(
            "the document is locked with a password, or of the kind before Office 2007."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile:
        raise ToolError("the document is damaged.") from None
    if unpacked > _UNPACKED:
        raise ToolError("the document unfolds to too much to be read.")


def _plain(content: bytes, kind: str) -> bytes:
    """Return a document with the names that parsers know.

    Those that were saved as "Strict Open XML" have others, and so have templates, shows and what
    has macros.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        is_strict = _STRICT.search(archive.read("_rels/.rels")) is not None
        types = archive.read(_CONTENT_TYPES)
        known = _KINDS.sub(_PLAIN_KINDS[kind], types) if kind in _PLAIN_KINDS else types
        if not is_strict and known == types:
            return content
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            for name in archive.namelist():
                part = known if name == _CONTENT_TYPES else archive.read(name)
                is_xml = is_strict and name.endswith((".xml", ".rels"))
                common = rb"http://schemas.openxmlformats.org/\1/2006/"
                made.writestr(name, _STRICT.sub(common, part) if is_xml else part)
    return out.getvalue()


def _without_words(content: bytes) -> str:
    """Return a line that says what a document shows beside its text, if it shows anything."""
    found: Counter[str] = Counter()
    hidden, has_macros = 0, False
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            found.update(kind for kind, form in _SILENT.items() if form.fullmatch(name))
            has_macros = has_macros or _MACROS.fullmatch(name) is not None
            if _SHEET.fullmatch(name):
                hidden += len(_HIDDEN_ROW.findall(archive.read(name)))
    told = [f"{kind} ({count})" for kind, count in sorted(found.items())]
    lines = [f"[Not given as text: {', '.join(told)}.]"] if told else []
    if has_macros:
        lines.append("[Macros are in it: they were not run, and are not given.]")
    if hidden:
        lines.append(f"[Rows that are hidden or filtered out are given too: {hidden:,}.]")
    return "\n".join(lines)


def _bounded(pieces: Iterator[str | None]) -> str:
    """Join what a reader gives until it is too long or takes too long. None is for nothing yet."""
    deadline = time.monotonic() + _SECONDS
    kept: list[str] = []
    length = 0
    for piece in pieces:
        if piece is not None:
            kept.append(piece)
            length += len(piece) + 1
        if length > _LONGEST:
            kept.append("[The document goes on; this is as much as can be read.]")
            break
        if time.monotonic() > deadline:
            kept.append("[The document goes on; reading it took too long.]")
            break
    return "\n".join(kept)


# The parsers are imported where they are used: together they take a second to load.


def _xlsx(content: bytes) -> Iterator[str | None]:
    import openpyxl

    book, formulas = (
        openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=is_worked_out)
        for is_worked_out in (True, False)
    )
    is_coded = _has_codes(content)
    try:
        for sheet, written in zip(book.worksheets, formulas.worksheets, strict=True):
            yield f"[Sheet {sheet.title}{'' if sheet.sheet_state == 'visible' else ', hidden'}]"
            for each in (sheet, written):
                # What a file says of its size may be wrong; and rows are filled up to it.
                each.reset_dimensions()
            rows = (
                map(_values, sheet.iter_rows()) if is_coded else sheet.iter_rows(values_only=True)
            )
            for row in zip(rows, written.iter_rows(values_only=True), strict=True):
                yield "\t".join(map(_cell, *row)).rstrip("\t") or None
    finally:
        book.close()
        formulas.close()


def _has_codes(content: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        styles = (name for name in archive.namelist() if name.endswith("/styles.xml"))
        return any(_CODED.search(archive.read(name)) for name in styles)


def _values(cells: Iterable[Any]) -> list[object]:
    """Return what cells of a row show: a number like a postal code may begin with zeros."""
    values: list[object] = []
    for cell in cells:
        value = cell.value
        is_number = isinstance(value, int) and not isinstance(value, bool)
        zeros = cell.number_format if is_number else ""
        is_code = is_number and zeros and not zeros.strip("0")
        values.append(str(value).zfill(len(zeros)) if is_code else value)
    return values


def _cell(value: object, written: object) -> str:
    """Return a cell's text: its formula where no program has worked out a value yet."""
    shown = getattr(written, "text", written) if value is None else value
    return "" if shown is None else in_a_row(str(shown))


def _pptx(content: bytes) -> Iterator[str]:
    import pptx

    for number, slide in enumerate(pptx.Presentation(io.BytesIO(content)).slides, start=1):
        yield f"[Slide {number}{', hidden' if slide.element.get('show') in _NO else ''}]"
        yield from _shapes(slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield f"Notes: {slide.notes_slide.notes_text_frame.text}"


def _shapes(shapes: Any) -> Iterator[str]:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text.replace("\v", "\n")
        if getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield " | ".join(in_a_row(cell.text.replace("\v", "\n")) for cell in row.cells)
        yield from _shapes(getattr(shape, "shapes", ()))


_READERS: dict[str, Callable[[bytes], Iterator[str | None]]] = {
    "pdf": pdf_text,
    "docx": word_text,
    "xlsx": _xlsx,
    "pptx": _pptx,
}
# Templates, shows and files with macros, and as what they are read.
_LIKE = {
    **dict.fromkeys(("docm", "dotx", "dotm"), "docx"),
    **dict.fromkeys(("xlsm", "xltx", "xltm"), "xlsx"),
    **dict.fromkeys(("pptm", "potx", "potm", "ppsx", "ppsm"), "pptx"),
}

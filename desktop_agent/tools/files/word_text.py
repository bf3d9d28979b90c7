"""The words of a Word document, wherever they stand in it.

Read from its XML: python-docx passes over what is tracked as inserted, content controls, fields,
text boxes and tables in tables. What is tracked as deleted is left out.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from desktop_agent.tools.files.cells import in_a_row
from desktop_agent.tools.files.word_numbers import Numbers

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# `Fallback` says again what stands before it, for older programs.
_PASSED_OVER = {"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sdtPr", "sectPr"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# By the end of their number.
_WINGDINGS = {
    "6f": "\u2610", "71": "\u2610", "a8": "\u2610", "fd": "\u2612", "fe": "\u2611",
    "78": "\u2612", "fb": "\u2717", "fc": "\u2713", "e0": "\u2192", "a7": "\u25aa",
}  # fmt: skip
_NOTES = {"footnoteReference", "endnoteReference"}
_BESIDES = {
    "header": "Page header",
    "footer": "Page footer",
    "footnotes": "Footnotes",
    "endnotes": "Endnotes",
    "comments": "Comments",
}


class _Marks:
    """What stands before a paragraph: how high a heading it is, and its number."""

    def __init__(self, document: Any) -> None:
        found = ((style.style_id, style.name or "") for style in document.styles)
        levels = {key: name.removeprefix("Heading ") for key, name in found}
        self._levels = {
            key: int(level) for key, level in levels.items() if level in set("123456789")
        }
        self._numbers = Numbers(document)

    def before(self, paragraph: Any) -> str:
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        level = self._levels.get(style.get(f"{_WORD}val", ""), 0) if style is not None else 0
        number = ""
        with contextlib.suppress(ValueError):  # what should be a number is none: the words count
            number = self._numbers.of(paragraph)
        return f"{'#' * level} {number}" if level else number


def word_text(content: bytes) -> Iterator[str]:
    """Yield the lines of a document, then what stands at the edge of its pages and in notes."""
    import docx

    document: Any = docx.Document(io.BytesIO(content))
    marks = _Marks(document)
    yield from _blocks(document.element.body, marks)
    found: list[tuple[str, str]] = []
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _BESIDES and not relation.is_external:
            found += [(kind, line) for line in _beside(relation.target_part, marks)]
    for kind, title in _BESIDES.items():
        said = [line for each, line in found if each == kind]
        if said:
            yield f"[{title}]"
        # Each section may say the same at the edge of its pages.
        yield from dict.fromkeys(said) if title.startswith("Page ") else said


def _beside(part: Any, marks: _Marks) -> Iterator[str]:
    from docx.oxml import parse_xml

    root = parse_xml(part.blob)
    for element in root:
        name = _name(element)
        if name not in {"footnote", "endnote", "comment"}:
            yield from filter(str.strip, _blocks([element], marks))
            continue
        words = in_a_row("\n".join(_blocks(element, marks)).strip())
        number, author = element.get(f"{_WORD}id", ""), element.get(f"{_WORD}author", "")
        if words:
            yield f"{author}: {words}" if name == "comment" else f"[^{number}] {words}"


def _blocks(parent: Any, marks: _Marks) -> Iterator[str]:
    for element in parent:
        name = _name(element)
        if name == "p":
            yield marks.before(element) + _text(element, marks)
        elif name == "tr":
            yield " | ".join(_cells(element, marks))
        elif name == "altChunk":  # of programs that export web pages, often all there is
            yield "[A document of another kind is embedded here, and not read.]"
        elif name not in _PASSED_OVER:
            yield from _blocks(element, marks)


def _cells(row: Any, marks: _Marks) -> Iterator[str]:
    for element in row:
        name = _name(element)
        if name != "tc":
            yield from () if name in _PASSED_OVER else _cells(element, marks)
            continue
        lines = list(_blocks(element, marks))
        yield in_a_row("\n".join(lines).strip())
        # A cell over several columns leaves the others where they are.
        span = element.find(f"{_WORD}tcPr/{_WORD}gridSpan")
        width = span.get(f"{_WORD}val", "1") if span is not None else "1"
        yield from [""] * (min(int(width), 100) - 1)


def _text(parent: Any, marks: _Marks) -> str:
    pieces: list[str] = []
    for element in parent:
        name = _name(element)
        if name == "t":
            pieces.append(element.text or "")
        elif name in _SIGNS:
            pieces.append(_SIGNS[name])
        elif name in _NOTES:
            pieces.append(f"[^{element.get(f'{_WORD}id', '')}]")
        elif name == "sym":
            pieces.append(_symbol(element))
        elif name == "fldChar":
            pieces.append(_form_field(element))
        elif name == "txbxContent":
            pieces.append("\n" + "\n".join(_blocks(element, marks)))
        elif name not in _PASSED_OVER:
            pieces.append(_text(element, marks))
    return "".join(pieces)


def _form_field(element: Any) -> str:
    """Return what was chosen in a field of an older form: its box or list holds no text."""
    box = element.find(f"{_WORD}ffData/{_WORD}checkBox")
    if box is not None:
        state = box.find(f"{_WORD}checked")
        state = box.find(f"{_WORD}default") if state is None else state
        is_ticked = state is not None and state.get(f"{_WORD}val", "1") not in {"0", "false"}
        return "\u2612" if is_ticked else "\u2610"
    entries = element.findall(f"{_WORD}ffData/{_WORD}ddList/{_WORD}listEntry")
    result = element.find(f"{_WORD}ffData/{_WORD}ddList/{_WORD}result")
    chosen = result.get(f"{_WORD}val", "0") if result is not None else "0"
    is_there = chosen.isdecimal() and int(chosen) < len(entries)
    return entries[int(chosen)].get(f"{_WORD}val", "") if is_there else ""


def _symbol(element: Any) -> str:
    """Return a letter of a font that holds signs: whether a box of a form is ticked, mostly."""
    is_known = element.get(f"{_WORD}font", "").lower() == "wingdings"
    sign = element.get(f"{_WORD}char", "").lower()[-2:]
    return _WINGDINGS.get(sign, "\ufffd") if is_known else "\ufffd"


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""

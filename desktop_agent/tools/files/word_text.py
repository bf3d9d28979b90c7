"""The words of a Word document, wherever they stand in it.

Read from its XML: python-docx passes over what is tracked as inserted, content controls, fields,
text boxes and tables in tables. What is tracked as deleted is left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from desktop_agent.tools.files.cells import in_a_row

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# `Fallback` says again what stands before it, for older programs.
_PASSED_OVER = {"del", "moveFrom", "Fallback", "pPr", "rPr", "tblPr", "sdtPr", "sectPr"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = {"footnoteReference", "endnoteReference"}
_BESIDES = {
    "header": "Page header",
    "footer": "Page footer",
    "footnotes": "Footnotes",
    "endnotes": "Endnotes",
    "comments": "Comments",
}


def word_text(content: bytes) -> Iterator[str]:
    """Yield the lines of a document, then what stands at the edge of its pages and in notes."""
    import docx

    document: Any = docx.Document(io.BytesIO(content))
    yield from _blocks(document.element.body, document)
    found: list[tuple[str, str]] = []
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _BESIDES and not relation.is_external:
            found += [(kind, line) for line in _beside(relation.target_part, document)]
    for kind, title in _BESIDES.items():
        # Each section may say the same at the edge of its pages.
        if said := dict.fromkeys(line for each, line in found if each == kind):
            yield f"[{title}]"
            yield from said


def _beside(part: Any, document: Any) -> Iterator[str]:
    from docx.oxml import parse_xml

    root = parse_xml(part.blob)
    for element in root:
        name = _name(element)
        if name not in {"footnote", "endnote", "comment"}:
            yield from filter(str.strip, _blocks([element], document))
            continue
        words = in_a_row("\n".join(_blocks(element, document)).strip())
        number, author = element.get(f"{_WORD}id", ""), element.get(f"{_WORD}author", "")
        if words:
            yield f"{author}: {words}" if name == "comment" else f"[^{number}] {words}"


def _blocks(parent: Any, document: Any) -> Iterator[str]:
    for element in parent:
        name = _name(element)
        if name == "p":
            yield _heading(element, document) + _text(element, document)
        elif name == "tr":
            yield " | ".join(_cells(element, document))
        elif name not in _PASSED_OVER:
            yield from _blocks(element, document)


def _cells(row: Any, document: Any) -> Iterator[str]:
    for element in row:
        name = _name(element)
        if name != "tc":
            yield from () if name in _PASSED_OVER else _cells(element, document)
            continue
        lines = list(_blocks(element, document))
        yield in_a_row("\n".join(lines).strip())
        # A cell over several columns leaves the others where they are.
        span = element.find(f"{_WORD}tcPr/{_WORD}gridSpan")
        width = span.get(f"{_WORD}val", "1") if span is not None else "1"
        yield from [""] * (min(int(width), 100) - 1)


def _text(parent: Any, document: Any) -> str:
    pieces: list[str] = []
    for element in parent:
        name = _name(element)
        if name == "t":
            pieces.append(element.text or "")
        elif name in _SIGNS:
            pieces.append(_SIGNS[name])
        elif name in _NOTES:
            pieces.append(f"[^{element.get(f'{_WORD}id', '')}]")
        elif name == "txbxContent":
            pieces.append("\n" + "\n".join(_blocks(element, document)))
        elif name not in _PASSED_OVER:
            pieces.append(_text(element, document))
    return "".join(pieces)


def _heading(paragraph: Any, document: Any) -> str:
    from docx.text.paragraph import Paragraph

    style = Paragraph(paragraph, document).style
    level = ((style.name or "") if style else "").removeprefix("Heading ")
    return f"{'#' * int(level)} " if level in set("123456789") else ""


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""

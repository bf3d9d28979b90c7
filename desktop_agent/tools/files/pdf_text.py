"""The words of a PDF: of its pages, and what people filled in and wrote on them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from desktop_agent.core.tool import ToolError

# They lead elsewhere, or are the window that another one opens.
_SILENT = {"/Link", "/Popup", "/Widget"}
_DEEPEST = 50


def pdf_text(content: bytes) -> Iterator[str]:
    """Yield the text of each page, then what its fields hold and its comments say."""
    import pypdf

    document = pypdf.PdfReader(io.BytesIO(content))
    if document.is_encrypted and not document.decrypt(""):
        raise ToolError("the PDF is locked with a password.")
    for number, page in enumerate(document.pages, start=1):
        yield f"[Page {number}]"
        try:
            text = page.extract_text()
            yield text if text.strip() else "[No text: this page may be a scan, a picture.]"
        except Exception as error:  # noqa: BLE001 - the library's own, for one page's content
            yield f"[This page can't be read ({type(error).__name__}).]"
        with contextlib.suppress(Exception):  # as above
            yield from _written_on(page)


def _written_on(page: Any) -> Iterator[str]:
    """Yield what stands on a page in the annotations: its text does not hold that."""
    told: set[str] = set()
    for reference in page.get("/Annots") or ():
        note = reference.get_object()
        line = ""
        if note.get("/Subtype") == "/Widget":
            line = _field(note)
        elif note.get("/Subtype") not in _SILENT and str(note.get("/Contents") or "").strip():
            line = f"[Comment] {note['/Contents']}"
        if line and line not in told:
            told.add(line)
            yield line


def _field(widget: Any) -> str:
    """Return name and value of a form's field, nothing where it holds none."""
    names: list[str] = []
    value: Any = None
    node = widget
    for _ in range(_DEEPEST):
        if "/T" in node:
            names.insert(0, str(node["/T"]))
        value = node.get("/V") if value is None else value
        if "/Parent" not in node:
            break
        node = node["/Parent"].get_object()
    if value in (None, "", "/Off"):
        return ""
    return f"[Field {'.'.join(names)}] {_said(value)}"


def _said(value: Any) -> str:
    if hasattr(value, "get_data"):  # a long text is a stream
        return value.get_data().decode("utf-8", "replace")
    if isinstance(value, dict):
        return "(signed)"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).removeprefix("/")

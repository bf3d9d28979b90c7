"""What the library does not write back into a copy of a workbook."""

from __future__ import annotations

import re
import zipfile
from collections import Counter

_PARTS = {
    "xl/slicers/": "slicers",
    "xl/timelines/": "timelines",
    "xl/pivotTables/": "pivot tables (kept as they are, not refreshed)",
    "xl/vbaProject.bin": "macros",
    "xl/embeddings/": "embedded objects",
    "xl/threadedComments/": "threaded comments",
    "xl/externalLinks/": "links to other workbooks",
    "xl/ctrlProps/": "form controls",
    "xl/activeX/": "ActiveX controls",
    "xl/richData/": "pictures or data types within cells",
    "xl/featurePropertyBag/": "check boxes within cells",
    "xl/metadata.xml": "formulas that spill over (they become fixed arrays)",
    "xl/charts/chartEx": "charts of newer kinds",
    "xl/diagrams/data": "diagrams",
    "xl/connections.xml": "connections to data",
    "xl/queryTables/": "queries",
    "xl/model/": "a data model",
    "customXml/item": "custom data, such as queries",
    "_xmlsignatures/": "a digital signature",
}
# The same within parts of which it writes the rest back.
_WITHIN = (
    ("xl/drawings/drawing", rb"<(?:xdr:)?(?:sp|cxnSp|grpSp)[ >]", "shapes"),
    ("xl/drawings/vmlDrawing", rb"<v:imagedata[ >]", "pictures in headers or of objects"),
    ("xl/worksheets/sheet", rb"<picture[ >]", "backgrounds"),
    ("xl/worksheets/sheet", rb"<x14:sparkline[ >]", "sparklines"),
    ("xl/worksheets/sheet", rb"<x14:dataValidation[ >]", "choices taken from other sheets"),
    ("xl/worksheets/sheet", rb"<x14:cfRule[ >]", "newer conditional formats"),
)
# What it writes back if nothing is odd about it.
_MOSTLY_KEPT = (
    ("xl/drawings/drawing", rb"<(?:\w+:)?chart [^>]{0,500}\bid=", "charts"),
    ("xl/drawings/drawing", rb"<(?:xdr:)?pic[ >]", "pictures"),
)


def special(path: str) -> Counter[str]:
    """Return what is special in a workbook: what a copy of it may lose."""
    found: Counter[str] = Counter()
    with zipfile.ZipFile(path) as parts:
        for start, words in _PARTS.items():
            if count := sum(1 for name in parts.namelist() if name.startswith(start)):
                found[words] = count
    return found + _within(path, _WITHIN)


def lost(path: str, copy: str) -> list[str]:
    """Return what a workbook has, and its copy, in which there is a chart more, has not."""
    before = special(path) + _within(path, _MOSTLY_KEPT)
    before["charts"] += 1
    return list(before - special(copy) - _within(copy, _MOSTLY_KEPT))


def _within(path: str, forms: tuple[tuple[str, bytes, str], ...]) -> Counter[str]:
    found: Counter[str] = Counter()
    with zipfile.ZipFile(path) as parts:
        for start, form, words in forms:
            names = (name for name in parts.namelist() if name.startswith(start))
            found[words] += sum(len(re.findall(form, parts.read(name))) for name in names)
    return +found
